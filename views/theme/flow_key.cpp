// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/flow_key.h"

#include <algorithm>

#include <QPainter>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int between_keyed = 12;  ///< pixels from an entry to the next

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
    for (const auto& entry : entries_) lines << entry.words;
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
        const int wide = before_words(entry) + fontMetrics().horizontalAdvance(entry.words) + 1;
        if (x > edge.left() && x + wide > right) {
            x = edge.left();
            y += high;
        }
        places.emplace_back(x, y, std::min(wide, right - x), high);
        x += wide + between_keyed;
    }
    return places;
}

int FlowKey::heightForWidth(int width) const {
    const auto all = places(width);
    return all.empty() ? 0 : all.back().bottom() + 1 + contentsMargins().bottom();
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
    painter.setPen(theme().text);
    const auto all = places(width());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const auto& [picture, words] = entries_[i];
        const QRect beside = all[i].adjusted(before_words(entries_[i]), 0, 0, 0);
        const auto above = (all[i].height() - picture.deviceIndependentSize().height()) / 2;
        painter.drawPixmap(QPointF(all[i].left(), all[i].top() + above), picture);
        painter.drawText(beside, Qt::AlignLeft | Qt::AlignVCenter,
                         fontMetrics().elidedText(words, Qt::ElideRight, beside.width()));
    }
}

}  // namespace skippipe
