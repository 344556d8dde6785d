// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/flow_key.h"

#include <algorithm>

#include <QPainter>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int between_keyed = 12;  ///< pixels from an entry to the next

QString more_words(std::size_t count) { return QStringLiteral("+%1").arg(count); }

}  // namespace

FlowKey::FlowKey(const QFont& font, QWidget* parent) : QWidget(parent) {
    setFont(font);
    hide();
}

void FlowKey::set_entries(std::vector<Entry> entries) {
    const QString before = words();
    entries_ = std::move(entries);
    if (const QString now = words(); now != before) {
        setAccessibleName(now);
        setToolTip(now);
        updateGeometry();
    }
    setVisible(!entries_.empty());
    update();
}

QString FlowKey::words() const {
    QStringList lines;
    for (const auto& entry : entries_)
        if (!entry.words.isEmpty()) lines << entry.words;
    return lines.join('\n');
}

int FlowKey::line_height() const {
    int height = fontMetrics().height();
    for (const auto& entry : entries_)
        height = std::max(height, static_cast<int>(entry.picture.deviceIndependentSize().height()));
    return height + 2;
}

int FlowKey::before_words(const Entry& entry) {
    return entry.picture.isNull() ? 0 : static_cast<int>(entry.picture.deviceIndependentSize().width()) + size::unit;
}

std::vector<QRect> FlowKey::places(int width) const {
    const QMargins edge = contentsMargins();
    const int right = width - edge.right(), high = line_height();
    int x = edge.left(), y = edge.top();
    std::vector<QRect> places;
    for (const auto& entry : entries_) {
        const int words = std::max(entry.least, fontMetrics().horizontalAdvance(entry.words));
        const int wide = before_words(entry) + words + 1;
        if (x > edge.left() && x + wide > right) {
            x = edge.left();
            y += high;
        }
        places.emplace_back(x, y, std::min(wide, right - x), high);
        x += wide + between_keyed;
    }
    return places;
}

void FlowKey::set_folds(bool folds) {
    if (folds == folds_) return;
    folds_ = folds;
    updateGeometry();
    point_out();
    update();
}

std::size_t FlowKey::shown(int width) const {
    const auto all = places(width);
    if (!is_folded() || all.empty() || all.back().top() == all.front().top()) return all.size();
    std::size_t count = 0;
    while (count < all.size() && all[count].top() == all.front().top()) ++count;
    const int end = width - contentsMargins().right();
    const auto more = [&](std::size_t left) { return fontMetrics().horizontalAdvance(more_words(left)); };
    while (count > 1 && all[count - 1].right() + between_keyed + more(all.size() - count) > end) --count;
    return count;
}

int FlowKey::whole_height(int width) const {
    const auto all = places(width);
    return all.empty() ? 0 : all.back().bottom() + 1 + contentsMargins().bottom();
}

int FlowKey::heightForWidth(int width) const {
    const auto all = places(width);
    if (all.empty() || !is_folded()) return whole_height(width);
    return all.front().bottom() + 1 + contentsMargins().bottom();
}

/// A hand where a press shows more, or less.
void FlowKey::point_out() {
    const bool more = folds_ && whole_height(width()) > minimumSizeHint().height();
    setCursor(more ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void FlowKey::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    point_out();
}

void FlowKey::mousePressEvent(QMouseEvent* event) {
    if (!folds_) return QWidget::mousePressEvent(event);
    opened_ = !opened_;
    updateGeometry();
    update();
}

QSize FlowKey::sizeHint() const {
    constexpr int usual_width = 240;
    return {usual_width, heightForWidth(usual_width)};
}

QSize FlowKey::minimumSizeHint() const {
    return {0, line_height() + contentsMargins().top() + contentsMargins().bottom()};
}

void FlowKey::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const auto all = places(width());
    const std::size_t count = shown(width());
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [picture, words, _, is_faint] = entries_[i];
        const QRect beside = all[i].adjusted(before_words(entries_[i]), 0, 0, 0);
        const auto above = (all[i].height() - picture.deviceIndependentSize().height()) / 2;
        painter.setOpacity(is_faint ? faint : 1);
        painter.drawPixmap(QPointF(all[i].left(), all[i].top() + above), picture);
        painter.setOpacity(1);
        painter.setPen(is_faint ? theme().text_2 : theme().text);
        painter.drawText(beside, Qt::AlignLeft | Qt::AlignVCenter,
                         fontMetrics().elidedText(words, Qt::ElideRight, beside.width()));
    }
    if (count == entries_.size() || count == 0) return;
    painter.setPen(theme().text_2);
    painter.drawText(all[count - 1].translated(all[count - 1].width() + between_keyed, 0),
                     Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, more_words(entries_.size() - count));
}

}  // namespace skippipe
