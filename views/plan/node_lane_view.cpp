// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes: painting, and nodes under mouse and keyboard.
#include <algorithm>
#include <cstdlib>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "views/plan/node_lane_view.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int chip_height = 24, chip_gap = 6, lane_padding = 6, chip_padding = 9;
constexpr int least_head = 180;
constexpr double head_share = 0.46;

}  // namespace

NodeLaneView::NodeLaneView(SelectionModel& selection, const QString& name, int head_width, const QString& hint)
    : selection_(selection), head_width_(head_width), hint_(hint) {
    setAccessibleName(name);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    connect(&selection, &SelectionModel::changed, this, qOverload<>(&QWidget::update));
}

void NodeLaneView::show_lanes(std::vector<NodeLane> lanes) {
    lanes_ = std::move(lanes);
    lay_out();
    update();
}

int NodeLaneView::head_width() const {
    return std::min(head_width_, std::max(least_head, static_cast<int>(head_share * width())));
}

void NodeLaneView::lay_out() {
    chips_.clear();
    boxes_.clear();
    const QFontMetrics metrics(small_font());
    int y = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        int x = head_width(), row = y + lane_padding;
        for (const auto& node : lanes_[i].nodes) {
            const int width = metrics.horizontalAdvance(QString::fromStdString(node)) + 2 * chip_padding;
            if (x > head_width() && x + width > this->width() - chip_gap)
                x = head_width(), row += chip_height + chip_gap;
            chips_.push_back({node, i, QRect(x, row, width, chip_height)});
            x += width + chip_gap;
        }
        const int bottom = row + chip_height + lane_padding;
        boxes_.emplace_back(0, y, width(), bottom - y);
        y = bottom;
    }
    setMinimumHeight(y);
}

void NodeLaneView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    lay_out();
}

QRect NodeLaneView::chip(const std::string& node) const {
    for (const auto& one : chips_)
        if (one.node == node) return one.box;
    return {};
}

QRect NodeLaneView::lane(int key) const {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].key == key) return boxes_[i];
    return {};
}

const NodeLaneView::Chip* NodeLaneView::chip_at(QPoint at) const {
    const auto found = std::find_if(chips_.begin(), chips_.end(), [&](const Chip& c) { return c.box.contains(at); });
    return found == chips_.end() ? nullptr : &*found;
}

int NodeLaneView::lane_at(int y) const {
    for (std::size_t i = 0; i < boxes_.size(); ++i)
        if (y >= boxes_[i].top() && y <= boxes_[i].bottom()) return static_cast<int>(i);
    return -1;
}

void NodeLaneView::paint_lane(QPainter& painter, std::size_t index) const {
    const Theme& t = theme();
    const auto& lane = lanes_[index];
    const QRect box = boxes_[index];
    const bool target = dragging_ && lane_at(held_at_.y()) == static_cast<int>(index);
    const bool selected = lane.is_stage && selection_.now().stage == lane.key;
    if (target || selected) painter.fillRect(box, mix(t.surface, t.accent, target ? 0.18 : 0.1));
    painter.setPen(QPen(t.line, 1));
    painter.drawLine(box.bottomLeft(), box.bottomRight());
    const int top = box.top() + lane_padding;
    if (lane.is_stage) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.stage(lane.key));
        painter.drawRoundedRect(QRect(size::wide_gap, top + 4, 4, chip_height - 8), 2, 2);
    }
    const QRect words(size::wide_gap + 10, top, head_width() - size::wide_gap - 16, chip_height);
    painter.setPen(t.text);
    painter.setFont(body_font());
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, lane.name);
    const int used = painter.fontMetrics().horizontalAdvance(lane.name) + size::gap;
    painter.setPen(t.text_2);
    painter.setFont(small_font());
    const QRect rest = words.adjusted(used, 0, 0, 0);
    painter.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(lane.figures, Qt::ElideRight, rest.width()));
}

void NodeLaneView::paint_chip(QPainter& painter, const Chip& chip, QPoint by) const {
    const Theme& t = theme();
    const auto& lane = lanes_[chip.lane];
    const QColor fill = lane.is_stage ? t.stage(lane.key) : t.surface_2;
    const bool selected = selection_.now().nodes.contains(chip.node);
    painter.setPen(selected ? QPen(t.accent, 2) : QPen(lane.is_stage ? fill : t.text_2, 1));
    painter.setBrush(fill);
    const QRect box = chip.box.translated(by);
    painter.drawRoundedRect(QRectF(box).adjusted(1, 1, -1, -1), chip_height / 2.0, chip_height / 2.0);
    painter.setPen(lane.is_stage ? t.text_on(fill) : t.text);
    painter.setFont(small_font());
    painter.drawText(box, Qt::AlignCenter, QString::fromStdString(chip.node));
}

void NodeLaneView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (!isEnabled()) painter.setOpacity(0.5);
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

void NodeLaneView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
    setFocus(Qt::MouseFocusReason);
    if (const auto* chip = chip_at(event->pos())) {
        held_ = chip->node;
        held_from_ = held_at_ = event->pos();
        return selection_.select({.nodes = {chip->node}});
    }
    const int index = lane_at(event->pos().y());
    Selection s;
    if (index >= 0 && lanes_[static_cast<std::size_t>(index)].is_stage)
        s.stage = lanes_[static_cast<std::size_t>(index)].key;
    selection_.select(s);
}

void NodeLaneView::mouseMoveEvent(QMouseEvent* event) {
    const bool over = chip_at(event->pos()) != nullptr;
    if (held_.empty()) return setCursor(over ? Qt::OpenHandCursor : Qt::ArrowCursor);
    held_at_ = event->pos();
    if (!dragging_ && (held_at_ - held_from_).manhattanLength() < QApplication::startDragDistance()) return;
    dragging_ = true;
    setCursor(Qt::ClosedHandCursor);
    update();
}

void NodeLaneView::mouseReleaseEvent(QMouseEvent* event) {
    const std::string node = std::exchange(held_, {});
    if (!std::exchange(dragging_, false)) return;
    setCursor(Qt::ArrowCursor);
    update();
    const int index = lane_at(event->pos().y());
    const auto from = std::find_if(chips_.begin(), chips_.end(), [&](const Chip& c) { return c.node == node; });
    if (index < 0 || from == chips_.end() || from->lane == static_cast<std::size_t>(index)) return;
    Q_EMIT moved(node, lanes_[static_cast<std::size_t>(index)].key);
}

void NodeLaneView::keyPressEvent(QKeyEvent* event) {
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
            Q_EMIT moved(node, lanes_[static_cast<std::size_t>(to)].key);
        }
        return event->accept();
    }
    if (vertical || key == Qt::Key_Left || key == Qt::Key_Right) return step(key);
    QWidget::keyPressEvent(event);
}

/// To the nearest chip in that direction; the first of all where none is selected.
void NodeLaneView::step(int key) {
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

bool NodeLaneView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event);
    const int index = lane_at(help->pos().y());
    if (chip_at(help->pos()) != nullptr)
        QToolTip::showText(help->globalPos(), hint_, this);
    else if (index >= 0)
        QToolTip::showText(help->globalPos(), lanes_[static_cast<std::size_t>(index)].figures, this);
    return true;
}

/// Of the chip under the mouse, by key of the selected one.
void NodeLaneView::contextMenuEvent(QContextMenuEvent* event) {
    const auto& nodes = selection_.now().nodes;
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    if (by_key && nodes.empty()) return;
    const auto* chip = chip_at(event->pos());
    if (!by_key && chip == nullptr) return;
    const std::string node = by_key ? *nodes.begin() : chip->node;
    if (!nodes.contains(node)) selection_.select({.nodes = {node}});
    Q_EMIT menu_wanted(node, by_key ? mapToGlobal(this->chip(node).center()) : event->globalPos());
}

}  // namespace skippipe
