// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/item_marks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "views/theme/theme.h"
#include "views/topology/items.h"

namespace skippipe {
namespace {

constexpr double least_text_zoom = 0.5;  // below it, words shrink with the rest
constexpr double share_height = 14, share_pad = 5;
constexpr double least_weight = 1e-6;  // of what is not covered, as an area
constexpr double refused = 1e6;        // of a place on a node, as an area: any other place goes before it

}  // namespace

double area_of(const QRectF& box) { return std::max(0.0, box.width()) * std::max(0.0, box.height()); }

QPen screen_pen(const QPainter& painter, const QColor& colour, double width) {
    QPen pen(colour, width * painter.device()->devicePixelRatioF());
    pen.setCosmetic(true);
    return pen;
}

bool is_close(const QPainter* painter) { return painter->worldTransform().m11() >= least_name_zoom; }

double text_scale(double zoom) { return 1 / std::clamp(zoom, least_text_zoom, 1.0); }

double text_scale(const QPainter* painter) { return text_scale(painter->worldTransform().m11()); }

double share_scale(double zoom) { return zoom < least_name_zoom ? 1 / zoom : text_scale(zoom); }

QSizeF share_size(const QString& words) {
    return {QFontMetrics(small_font()).horizontalAdvance(words) + 2 * share_pad, share_height};
}

void draw_share(QPainter* painter, QPointF at, const QString& words) {
    painter->save();
    painter->translate(at);
    const double scale = share_scale(painter->worldTransform().m11());
    painter->scale(scale, scale);
    painter->setFont(small_font());
    QRectF box({0, 0}, share_size(words));
    box.moveCenter({0, 0});
    painter->setPen(QPen(theme().surface, 1));
    painter->setBrush(theme().text);
    painter->drawRoundedRect(box, share_height / 2, share_height / 2);
    painter->setPen(theme().surface);
    painter->drawText(box, Qt::AlignCenter, words);
    painter->restore();
}

QPointF quietest_place(const QGraphicsScene& scene, const std::vector<QPointF>& places, QSizeF size, double zoom,
                       const QGraphicsItem* own, const std::vector<QRectF>& taken,
                       const std::function<double(const QRectF&)>& cost) {
    QPointF best = places.front();
    const auto on_disc = [](const QRectF& box, QPointF middle, double radius) {
        const double hidden = area_of(box & QRectF(middle.x() - radius, middle.y() - radius, 2 * radius, 2 * radius));
        return hidden + (hidden > 0 ? refused : 0);
    };
    double least = std::numeric_limits<double>::infinity();
    for (const QPointF at : places) {
        const QRectF box(at - QPointF(size.width() / 2, size.height() / 2), size);
        double covered = 0;
        for (const QRectF& words : taken)
            if (const double hidden = area_of(box & words); hidden > 0) covered += hidden + refused;
        for (const auto* item : scene.items(box, Qt::IntersectsItemBoundingRect)) {
            if (const auto* label = dynamic_cast<const RegionLabel*>(item); label != nullptr && label->is_shown())
                covered += area_of(box & label->words_and_handle_box(zoom));
            if (const auto* region = dynamic_cast<const RegionItem*>(item);
                region != nullptr && region->is_folded() && region != own)
                covered += on_disc(box, region->pos(), region->boundingRect().width() / 2);
            const auto* node = dynamic_cast<const NodeItem*>(item);
            if (node == nullptr || !node->isVisible()) continue;
            covered += (node == own ? 0 : on_disc(box, node->pos(), node_radius)) + area_of(box & node->name_box(zoom));
        }
        if (cost && covered < least) covered += least_weight * cost(box);
        if (covered < least) best = at, least = covered;
        if (covered == 0) break;
    }
    return best;
}

void draw_arrow_head(QPainter* painter, QPointF tip, double angle, double length) {
    const QPointF back_left = tip - length * QPointF(std::cos(angle - 0.4), std::sin(angle - 0.4));
    const QPointF back_right = tip - length * QPointF(std::cos(angle + 0.4), std::sin(angle + 0.4));
    painter->drawPolygon(QPolygonF({tip, back_left, back_right}));
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

QIcon badge_icon(int level) {
    if (level == 0) return {};
    constexpr int wide = static_cast<int>(2 * badge_radius) + 2;
    QIcon icon;
    for (const double pixels : {1.0, 2.0}) {
        QPixmap picture(static_cast<int>(wide * pixels), static_cast<int>(wide * pixels));
        picture.setDevicePixelRatio(pixels);
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        draw_badge(&painter, {wide / 2.0, wide / 2.0}, level);
        painter.end();
        icon.addPixmap(picture);
    }
    return icon;
}

QPolygonF failure_flash() { return QPolygonF({{1.2, -5}, {-3, 0.8}, {-0.2, 0.8}, {-1.2, 5}, {3, -0.8}, {0.2, -0.8}}); }

}  // namespace skippipe
