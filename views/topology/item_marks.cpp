// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/item_marks.h"

#include <algorithm>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/items.h"

namespace skippipe {
namespace {

constexpr double least_text_zoom = 0.6;  // below it, words shrink with the rest
constexpr double share_height = 14, share_pad = 5;

}  // namespace

bool is_close(const QPainter* painter) { return painter->worldTransform().m11() >= least_name_zoom; }

double text_scale(double zoom) { return 1 / std::clamp(zoom, least_text_zoom, 1.0); }

double text_scale(const QPainter* painter) { return text_scale(painter->worldTransform().m11()); }

void draw_share(QPainter* painter, QPointF at, double share) {
    painter->save();
    painter->translate(at);
    const double scale = text_scale(painter);
    painter->scale(scale, scale);
    painter->setFont(small_font());
    const QString words = whole_percent(share);
    QRectF box(0, 0, painter->fontMetrics().horizontalAdvance(words) + 2 * share_pad, share_height);
    box.moveCenter({0, 0});
    painter->setPen(QPen(theme().surface, 1));
    painter->setBrush(theme().text);
    painter->drawRoundedRect(box, share_height / 2, share_height / 2);
    painter->setPen(theme().surface);
    painter->drawText(box, Qt::AlignCenter, words);
    painter->restore();
}

void draw_badge(QPainter* painter, QPointF at, int level) {
    if (level == 0) return;
    const QColor fill = level == 2 ? theme().bad : theme().warning;
    painter->setPen(QPen(theme().surface, 1.5));
    painter->setBrush(fill);
    painter->drawEllipse(at, badge_radius, badge_radius);
    painter->setPen(theme().text_on(fill));
    QFont font = small_font();
    font.setBold(true);
    painter->setFont(font);
    painter->drawText(QRectF(at.x() - badge_radius, at.y() - badge_radius, 2 * badge_radius, 2 * badge_radius),
                      Qt::AlignCenter, "!");
}

QPolygonF failure_flash() { return QPolygonF({{1.2, -5}, {-3, 0.8}, {-0.2, 0.8}, {-1.2, 5}, {3, -0.8}, {0.2, -0.8}}); }

}  // namespace skippipe
