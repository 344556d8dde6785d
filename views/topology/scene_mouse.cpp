// SPDX-License-Identifier: GPL-3.0-or-later
// Mouse on the canvas: from a node's rim a link is drawn, from its middle it is moved, elsewhere the view's rubber band
// selects.
#include <algorithm>
#include <cmath>
#include <set>

#include <QGraphicsSceneMouseEvent>
#include <QGraphicsView>

#include "views/document/document.h"
#include "views/theme/theme.h"
#include "views/topology/edits.h"
#include "views/topology/scene.h"

namespace skippipe {

void TopologyScene::mousePressEvent(QGraphicsSceneMouseEvent* event) {
    if (event->button() == Qt::RightButton) return event->accept();  // asks for the menu; what is selected stays
    // A failure goes from sight where the canvas is clicked, also where nothing of it was selected before.
    if (event->button() == Qt::LeftButton && selection_.now().failure) {
        Selection without = selection_.now();
        without.failure.reset();
        selection_.select(without);
    }
    NodeItem* item = node_at(event->scenePos());
    if (!editable_ || event->button() != Qt::LeftButton || item == nullptr) {
        QGraphicsScene::mousePressEvent(event);
        return;
    }
    event->accept();
    if (item->on_rim(event->scenePos())) {
        link_from_ = item;
        new_link_ = addLine(QLineF(item->pos(), event->scenePos()), QPen(theme().accent, 2));
        return;
    }
    QGraphicsScene::mousePressEvent(event);
    if (!item->isSelected()) return;
    dragging_ = true;
    drag_moved_ = false;
    drag_start_ = event->scenePos();
    drag_places_.clear();
    for (auto& [id, node] : nodes_)
        if (node->isSelected()) drag_places_[node] = node->pos();
}

void TopologyScene::mouseMoveEvent(QGraphicsSceneMouseEvent* event) {
    if (new_link_ != nullptr) {
        new_link_->setLine(QLineF(link_from_->pos(), event->scenePos()));
        NodeItem* target = node_at(event->scenePos());
        if (target == link_from_) target = nullptr;
        if (target != link_to_) {
            if (link_to_ != nullptr) link_to_->link_target = false, link_to_->update();
            if (target != nullptr) target->link_target = true, target->update();
            link_to_ = target;
        }
        return;
    }
    if (dragging_) {
        drag_nodes(event->scenePos(), !(event->modifiers() & Qt::AltModifier));
        return;
    }
    if (editable_ && event->buttons() == Qt::NoButton) {
        NodeItem* item = node_at(event->scenePos());
        const bool rim = item != nullptr && item->on_rim(event->scenePos());
        for (auto* view : views())
            view->viewport()->setCursor(rim ? Qt::CrossCursor : item != nullptr ? Qt::SizeAllCursor : Qt::ArrowCursor);
    }
    QGraphicsScene::mouseMoveEvent(event);
}

void TopologyScene::drag_nodes(QPointF to, bool snap) {
    const QPointF moved = to - drag_start_;
    if (!drag_moved_ && std::hypot(moved.x(), moved.y()) < 3) return;
    if (!drag_moved_) {
        drag_moved_ = true;
        Q_EMIT drag_changed();
    }
    for (auto& [node, place] : drag_places_) {
        QPointF at = place + moved;
        if (snap) at = QPointF(std::round(at.x() / grid) * grid, std::round(at.y() / grid) * grid);
        node->setPos(at);
    }
    way_->follow_nodes();
    reduction_->follow_nodes();
}

std::vector<QGraphicsItem*> TopologyScene::moving_items() const {
    std::set<QGraphicsItem*> found;
    if (!dragging_ || !drag_moved_) return {};
    for (const auto& [node, place] : drag_places_) {
        found.insert(node);
        found.insert(node->links.begin(), node->links.end());
        if (node->region == nullptr) continue;
        found.insert({node->region, node->region->label});
        found.insert(node->region->links.begin(), node->region->links.end());
    }
    found.insert({way_, reduction_});
    std::vector<QGraphicsItem*> moving(found.begin(), found.end());
    std::stable_sort(moving.begin(), moving.end(),
                     [](const auto* a, const auto* b) { return a->zValue() < b->zValue(); });
    return moving;
}

void TopologyScene::mouseReleaseEvent(QGraphicsSceneMouseEvent* event) {
    if (new_link_ != nullptr) {
        delete new_link_;
        new_link_ = nullptr;
        if (link_to_ != nullptr) link_to_->link_target = false;
        const NodeItem *from = link_from_, *to = node_at(event->scenePos());
        link_from_ = link_to_ = nullptr;
        if (to != nullptr && to != from) {
            const std::string a = from->id(), b = to->id();
            bool added = false;
            document_.edit(tr("Draw link"), [&](Experiment& e) { added = add_link(e, a, b); });
            if (added) selection_.select({.links = {LinkKey{a, b}}});
        }
        return;
    }
    if (dragging_) {
        dragging_ = false;
        std::vector<std::pair<std::string, Point>> places;
        // Where the canvas laid the nodes out itself, a drag fixes all of them as they are seen.
        for (auto& [id, node] : nodes_)
            places.push_back({id, {std::round(node->pos().x()), std::round(node->pos().y())}});
        if (drag_moved_) document_.edit(tr("Move"), [&](Experiment& e) { move_nodes(e, places); });
        drag_places_.clear();
        Q_EMIT drag_changed();
        if (drag_moved_) return;
    }
    QGraphicsScene::mouseReleaseEvent(event);
}

void TopologyScene::mouseDoubleClickEvent(QGraphicsSceneMouseEvent* event) {
    bool on_thing = false;
    for (auto* item : items(event->scenePos()))
        on_thing = on_thing || item->type() == node_item || item->type() == link_item;
    if (!editable_ || on_thing || event->button() != Qt::LeftButton) {
        QGraphicsScene::mouseDoubleClickEvent(event);
        return;
    }
    event->accept();
    Q_EMIT empty_place_double_clicked(event->scenePos());
}

}  // namespace skippipe
