// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes of stages: painting, and nodes under mouse and keyboard.
#include <algorithm>
#include <cstdlib>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "views/plan/stage_lanes.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int head_width = 210, chip_height = 24, chip_gap = 6, lane_padding = 6, chip_padding = 9;

}  // namespace

StageLaneView::StageLaneView(SelectionModel& selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    setObjectName("stage_lanes");
    setAccessibleName(tr("Stages with their nodes"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    connect(&selection, &SelectionModel::changed, this, qOverload<>(&QWidget::update));
}

void StageLaneView::show_lanes(std::vector<StageLane> lanes) {
    lanes_ = std::move(lanes);
    lay_out();
    update();
}

void StageLaneView::lay_out() {
    chips_.clear();
    boxes_.clear();
    const QFontMetrics metrics(small_font());
    int y = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        int x = head_width, row = y + lane_padding;
        for (const auto& node : lanes_[i].nodes) {
            const int width = metrics.horizontalAdvance(QString::fromStdString(node)) + 2 * chip_padding;
            if (x > head_width && x + width > this->width() - chip_gap) x = head_width, row += chip_height + chip_gap;
            chips_.push_back({node, i, QRect(x, row, width, chip_height)});
            x += width + chip_gap;
        }
        const int bottom = row + chip_height + lane_padding;
        boxes_.emplace_back(0, y, width(), bottom - y);
        y = bottom;
    }
    setMinimumHeight(y);
}

void StageLaneView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    lay_out();
}

QRect StageLaneView::chip(const std::string& node) const {
    for (const auto& one : chips_)
        if (one.node == node) return one.box;
    return {};
}

QRect StageLaneView::lane(int stage) const {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].stage == stage) return boxes_[i];
    return {};
}

const StageLaneView::Chip* StageLaneView::chip_at(QPoint at) const {
    const auto found = std::find_if(chips_.begin(), chips_.end(), [&](const Chip& c) { return c.box.contains(at); });
    return found == chips_.end() ? nullptr : &*found;
}

int StageLaneView::lane_at(int y) const {
    for (std::size_t i = 0; i < boxes_.size(); ++i)
        if (y >= boxes_[i].top() && y <= boxes_[i].bottom()) return static_cast<int>(i);
    return -1;
}

void StageLaneView::paint_lane(QPainter& painter, std::size_t index) const {
    const Theme& t = theme();
    const auto& lane = lanes_[index];
    const QRect box = boxes_[index];
    const bool target = dragging_ && lane_at(held_at_.y()) == static_cast<int>(index);
    const bool selected = lane.stage >= 0 && selection_.now().stage == lane.stage;
    if (target || selected) painter.fillRect(box, mix(t.surface, t.accent, target ? 0.18 : 0.1));
    painter.setPen(QPen(t.line, 1));
    painter.drawLine(box.bottomLeft(), box.bottomRight());
    const int top = box.top() + lane_padding;
    if (lane.stage >= 0) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.stage(lane.stage));
        painter.drawRoundedRect(QRect(size::wide_gap, top + 4, 4, chip_height - 8), 2, 2);
    }
    const QRect words(size::wide_gap + 10, top, head_width - size::wide_gap - 16, chip_height);
    painter.setPen(t.text);
    painter.setFont(body_font());
    const QString name = lane.stage >= 0 ? tr("Stage %1").arg(lane.stage) : tr("In no stage");
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, name);
    const int used = painter.fontMetrics().horizontalAdvance(name) + size::gap;
    painter.setPen(t.text_2);
    painter.setFont(small_font());
    const QRect rest = words.adjusted(used, 0, 0, 0);
    painter.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(lane.figures, Qt::ElideRight, rest.width()));
}

void StageLaneView::paint_chip(QPainter& painter, const Chip& chip, QPoint by) const {
    const Theme& t = theme();
    const int stage = lanes_[chip.lane].stage;
    const QColor fill = stage >= 0 ? t.stage(stage) : t.surface_2;
    const bool selected = selection_.now().nodes.contains(chip.node);
    painter.setPen(selected ? QPen(t.accent, 2) : QPen(stage >= 0 ? fill : t.text_2, 1));
    painter.setBrush(fill);
    const QRect box = chip.box.translated(by);
    painter.drawRoundedRect(QRectF(box).adjusted(1, 1, -1, -1), chip_height / 2.0, chip_height / 2.0);
    painter.setPen(stage >= 0 ? t.text_on(fill) : t.text);
    painter.setFont(small_font());
    painter.drawText(box, Qt::AlignCenter, QString::fromStdString(chip.node));
}

void StageLaneView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < lanes_.size(); ++i) paint_lane(painter, i);
    const Chip* held = nullptr;
    for (const auto& chip : chips_) {
        if (dragging_ && chip.node == held_)
            held = &chip;
        else
            paint_chip(painter, chip, {});
    }
    if (held != nullptr) paint_chip(painter, *held, held_at_ - held_from_);
}

void StageLaneView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
    setFocus(Qt::MouseFocusReason);
    if (const auto* chip = chip_at(event->pos())) {
        held_ = chip->node;
        held_from_ = held_at_ = event->pos();
        return selection_.select({.nodes = {chip->node}});
    }
    const int index = lane_at(event->pos().y());
    Selection s;
    if (index >= 0 && lanes_[static_cast<std::size_t>(index)].stage >= 0)
        s.stage = lanes_[static_cast<std::size_t>(index)].stage;
    selection_.select(s);
}

void StageLaneView::mouseMoveEvent(QMouseEvent* event) {
    const bool over = chip_at(event->pos()) != nullptr;
    if (held_.empty()) return setCursor(over ? Qt::OpenHandCursor : Qt::ArrowCursor);
    held_at_ = event->pos();
    if (!dragging_ && (held_at_ - held_from_).manhattanLength() < QApplication::startDragDistance()) return;
    dragging_ = true;
    setCursor(Qt::ClosedHandCursor);
    update();
}

void StageLaneView::mouseReleaseEvent(QMouseEvent* event) {
    const std::string node = std::exchange(held_, {});
    if (!std::exchange(dragging_, false)) return;
    setCursor(Qt::ArrowCursor);
    update();
    const int index = lane_at(event->pos().y());
    const auto from = std::find_if(chips_.begin(), chips_.end(), [&](const Chip& c) { return c.node == node; });
    if (index < 0 || from == chips_.end() || from->lane == static_cast<std::size_t>(index)) return;
    Q_EMIT moved(node, lanes_[static_cast<std::size_t>(index)].stage);
}

void StageLaneView::keyPressEvent(QKeyEvent* event) {
    const auto& nodes = selection_.now().nodes;
    const auto current = nodes.size() != 1 ? chips_.end()
                                           : std::find_if(chips_.begin(), chips_.end(),
                                                          [&](const Chip& c) { return c.node == *nodes.begin(); });
    const int key = event->key();
    const bool vertical = key == Qt::Key_Up || key == Qt::Key_Down;
    if (event->key() == Qt::Key_Escape && dragging_) {
        held_.clear();
        dragging_ = false;
        return update();
    }
    if (vertical && (event->modifiers() & Qt::AltModifier) && current != chips_.end()) {
        const int to = static_cast<int>(current->lane) + (key == Qt::Key_Down ? 1 : -1);
        if (to >= 0 && static_cast<std::size_t>(to) < lanes_.size()) {
            const std::string node = current->node;
            Q_EMIT moved(node, lanes_[static_cast<std::size_t>(to)].stage);
        }
        return event->accept();
    }
    if (vertical || key == Qt::Key_Left || key == Qt::Key_Right) return step(key);
    QWidget::keyPressEvent(event);
}

/// To the nearest chip in that direction; the first of all where none is selected.
void StageLaneView::step(int key) {
    if (chips_.empty()) return;
    const auto& nodes = selection_.now().nodes;
    const QRect from = nodes.size() == 1 ? chip(*nodes.begin()) : QRect();
    const Chip* best = from.isNull() ? &chips_.front() : nullptr;
    int least = 1 << 30;
    for (const auto& one : chips_) {
        if (from.isNull()) break;
        const QPoint d = one.box.center() - from.center();
        const bool ahead = key == Qt::Key_Left    ? d.x() < 0 && d.y() == 0
                           : key == Qt::Key_Right ? d.x() > 0 && d.y() == 0
                           : key == Qt::Key_Up    ? d.y() < 0
                                                  : d.y() > 0;
        const int far = std::abs(d.x()) + 4 * std::abs(d.y());
        if (ahead && far < least) least = far, best = &one;
    }
    if (best != nullptr) selection_.select({.nodes = {best->node}});
}

bool StageLaneView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event);
    const int index = lane_at(help->pos().y());
    if (chip_at(help->pos()) != nullptr)
        QToolTip::showText(help->globalPos(), tr("Drag it to another stage, or Alt+Up and Alt+Down"), this);
    else if (index >= 0)
        QToolTip::showText(help->globalPos(), lanes_[static_cast<std::size_t>(index)].figures, this);
    return true;
}

}  // namespace skippipe
