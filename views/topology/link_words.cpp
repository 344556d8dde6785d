// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/link_words.h"

#include <algorithm>
#include <cmath>

#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {
constexpr double words_room = 320, words_height = 60;  // where words are magnified most
constexpr double least_words_zoom = 0.4;
}  // namespace

double link_width(double bandwidth_bytes_per_s) {
    constexpr double narrow_bytes_per_s = 20e6 / 8, pixels_a_decade = 1;
    return std::clamp(1 + pixels_a_decade * std::log10(std::max(bandwidth_bytes_per_s, 1.0) / narrow_bytes_per_s), 1.0,
                      widest_link);
}

QString link_words(const Link& link) {
    return QObject::tr("%1, %2").arg(duration(link.latency_s), quantity(8 * link.bandwidth_bytes_per_s, "bit/s"));
}

QString critical_words(double share) {
    return QObject::tr("critical link: %1 of the critical path").arg(percent(share));
}

QString critical_node_words(double share) {
    return QObject::tr("critical node: %1 of the critical path").arg(percent(share));
}

LinkWordsItem::LinkWordsItem() {
    setZValue(4);
    setAcceptedMouseButtons(Qt::NoButton);
}

void LinkWordsItem::show_links(std::vector<const LinkItem*> links) {
    prepareGeometryChange();
    links_ = std::move(links);
    bounds_ = {};
    for (const auto* link : links_)
        bounds_ |= QRectF(link->middle() - QPointF(words_room, words_height), QSizeF(2 * words_room, 2 * words_height));
    update();
}

void LinkWordsItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const Theme& t = theme();
    const double zoom = painter->worldTransform().m11();
    for (const auto* link : links_) {
        painter->save();
        painter->translate(link->middle());
        const double scale = 1 / std::clamp(zoom, least_words_zoom, 1.0);
        painter->scale(scale, scale);
        painter->setFont(small_font());
        const QString words = link->critical ? link->words + '\n' + critical_words(link->critical_share) : link->words;
        QRectF box =
            QRectF(painter->fontMetrics().boundingRect(QRect(), Qt::AlignCenter, words)).adjusted(-5, -2, 5, 2);
        // Beside the badges that may stand on the line.
        box.moveCenter(QPointF(0, link->fault_level > 0 || link->fails ? 20 : 0));
        painter->setPen(QPen(link->isSelected() ? t.accent : t.line, 1));
        painter->setBrush(t.surface);
        painter->drawRoundedRect(box, size::radius, size::radius);
        painter->setPen(t.text);
        painter->drawText(box, Qt::AlignCenter, words);
        painter->restore();
    }
}

}  // namespace skippipe
