// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/drag_picture.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <QGraphicsItem>
#include <QGraphicsScene>
#include <QGraphicsView>
#include <QPainter>

namespace skippipe {
namespace {

constexpr double areas_below = -2, links_below = 0, nodes_from = 2;  // heights (zValue) in the scene
constexpr std::size_t most_sharp = 60;  ///< items that are drawn without stairs while they move
constexpr int beyond = 256;             ///< pixels around the view that are drawn of what may move into it

/// Those of `items` that `rect` of the scene touches, where they are.
void draw_items(QPainter& painter, const std::vector<QGraphicsItem*>& items, const QRectF& rect,
                const QTransform& place, QWidget* widget) {
    const QTransform before = painter.transform();
    for (auto* item : items) {
        if (!item->isVisible() || !item->sceneBoundingRect().intersects(rect)) continue;
        painter.setTransform(item->sceneTransform() * place * before);
        item->paint(&painter, nullptr, widget);
    }
    painter.setTransform(before);
}

QRectF seen_of(const QGraphicsView& view, int more = 0) {
    return view.mapToScene(view.viewport()->rect().adjusted(-more, -more, more, more)).boundingRect();
}

/// A picture of so many of the view's pixels with nothing in it.
QPixmap clear_picture(QSize size, const QGraphicsView& view) {
    const double ratio = view.viewport()->devicePixelRatioF();
    QPixmap picture(size * ratio);
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    return picture;
}

}  // namespace

DragPicture::DragPicture(const std::vector<QGraphicsItem*>& moving, const std::vector<QGraphicsItem*>& as_one) {
    const std::set<QGraphicsItem*> rigid(as_one.begin(), as_one.end());
    for (auto* item : moving) {
        const double height = item->zValue();
        if (rigid.count(item))
            (height < links_below ? links_as_one_ : nodes_as_one_).push_back(item);
        else
            (height <= areas_below  ? areas_
             : height < links_below ? links_
             : height < nodes_from  ? marks_
                                    : words_)
                .push_back(item);
    }
}

void DragPicture::prepare(const QGraphicsView& view) {
    const QSize size = view.viewport()->size() * view.viewport()->devicePixelRatioF();
    const bool is_another = size != size_ || view.viewportTransform() != place_;
    size_ = size;
    place_ = view.viewportTransform();
    if (is_another) prepare_still(view);
    const QPointF moved = is_another ? QPointF() : moved_by(view);
    const bool reaches = links_moved_.all && nodes_moved_.all;
    if (is_another || (!reaches && std::max(std::abs(moved.x()), std::abs(moved.y())) > beyond)) prepare_moved(view);
}

void DragPicture::prepare_still(const QGraphicsView& view) {
    std::vector<QGraphicsItem*> low, high;
    std::set<QGraphicsItem*> moving;
    for (const auto* items : {&areas_, &links_, &marks_, &words_, &links_as_one_, &nodes_as_one_})
        moving.insert(items->begin(), items->end());
    for (auto* item : view.scene()->items(Qt::AscendingOrder))
        if (!moving.count(item)) (item->zValue() < links_below ? low : high).push_back(item);
    const auto layer = [&](const std::vector<QGraphicsItem*>& items) {
        if (items.empty()) return QPixmap();
        QPixmap picture = clear_picture(view.viewport()->size(), view);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        draw_items(painter, items, seen_of(view), view.viewportTransform(), view.viewport());
        return picture;
    };
    below_ = layer(low);
    above_ = layer(high);
}

DragPicture::Moved DragPicture::picture_of(const std::vector<QGraphicsItem*>& items, const QGraphicsView& view) {
    QRectF whole;
    for (const auto* item : items)
        if (item->isVisible()) whole |= item->sceneBoundingRect();
    const QRectF near = seen_of(view, beyond), part = whole & near;
    if (part.isEmpty()) return {{}, {}, near.contains(whole) || whole.isEmpty()};
    const QRect box = view.viewportTransform().mapRect(part).toAlignedRect();
    Moved moved{clear_picture(box.size(), view), box.topLeft(), near.contains(whole)};
    QPainter painter(&moved.picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(-box.topLeft());
    draw_items(painter, items, part, view.viewportTransform(), view.viewport());
    return moved;
}

void DragPicture::prepare_moved(const QGraphicsView& view) {
    links_moved_ = picture_of(links_as_one_, view);
    nodes_moved_ = picture_of(nodes_as_one_, view);
    if (!nodes_as_one_.empty()) drawn_at_ = nodes_as_one_.front()->scenePos();
}

QPointF DragPicture::moved_by(const QGraphicsView& view) const {
    if (nodes_as_one_.empty()) return {};
    const QTransform place = view.viewportTransform();
    return place.map(nodes_as_one_.front()->scenePos()) - place.map(drawn_at_);
}

void DragPicture::draw(QPainter& painter, const QGraphicsView& view) {
    prepare(view);
    const QPointF moved = moved_by(view);
    const auto draw_moving = [&](const std::vector<QGraphicsItem*>& items) {
        draw_items(painter, items, seen_of(view), view.viewportTransform(), view.viewport());
    };
    const auto draw_moved = [&](const Moved& things) {
        if (!things.picture.isNull()) painter.drawPixmap((things.corner + moved).toPoint(), things.picture);
    };
    painter.setRenderHint(QPainter::Antialiasing, links_.size() + marks_.size() + words_.size() < most_sharp);
    draw_moving(areas_);
    if (!below_.isNull()) painter.drawPixmap(0, 0, below_);
    draw_moved(links_moved_);
    draw_moving(links_);
    if (!above_.isNull()) painter.drawPixmap(0, 0, above_);
    draw_moving(marks_);
    draw_moved(nodes_moved_);
    draw_moving(words_);
}

}  // namespace skippipe
