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
    const QPointF place = event->scenePos();
    // A failure goes from sight where the canvas is clicked, a stage or a microbatch where it is clicked beside all
    // things, also where nothing of it was selected before.
    if (Selection without = selection_.now(); event->button() == Qt::LeftButton) {
        without.failure.reset();
        if (editable_ && subject_at(place).empty()) {
            without.stage.reset();
            without.microbatch.reset();
        }
        if (without != selection_.now()) selection_.select(without);
    }
    if (!editable_ || event->button() != Qt::LeftButton) return QGraphicsScene::mousePressEvent(event);
    if (QGraphicsItem* source = link_source_at(place)) {
        event->accept();
        link_from_ = source;
        new_link_ = addLine(QLineF(start_of_link(*source), place), QPen(theme().accent, 2));
        return;
    }
    QGraphicsItem* grabbed = node_at(place);
    if (grabbed == nullptr && subject_at(place).links.empty()) grabbed = region_at(place);
    if (grabbed == nullptr) return QGraphicsScene::mousePressEvent(event);
    QGraphicsScene::mousePressEvent(event);
    event->accept();
    // A region's name may stand beside its area, which alone takes the mouse.
    const bool adds = (event->modifiers() & Qt::ControlModifier) != 0;
    if (grabbed->type() == region_item && !grabbed->isSelected() && !grabbed->contains(grabbed->mapFromScene(place))) {
        if (!adds) clearSelection();
        grabbed->setSelected(true);
    }
    if (grabbed->isSelected()) begin_drag(grabbed, place);
}

void TopologyScene::begin_drag(QGraphicsItem* grabbed, QPointF place) {
    dragging_ = true;
    drag_moved_ = false;
    drag_start_ = place;
    drag_places_.clear();
    for (auto& [id, node] : nodes_)
        if (node->isSelected() || (node->region != nullptr && node->region->isSelected()))
            drag_places_[node] = node->pos();
    for (auto& [id, region] : regions_)
        if (region->isSelected() && region->nodes.empty()) drag_places_[region] = region->pos();
    drag_grip_ = grabbed->type() == region_item && !static_cast<RegionItem*>(grabbed)->nodes.empty()
                     ? static_cast<RegionItem*>(grabbed)->nodes.front()->pos()
                     : grabbed->pos();
}

void TopologyScene::mouseMoveEvent(QGraphicsSceneMouseEvent* event) {
    const QPointF place = event->scenePos();
    if (new_link_ != nullptr) return aim_link(place);
    if (dragging_) return drag_nodes(place, !(event->modifiers() & Qt::AltModifier));
    if (event->buttons() == Qt::NoButton) {
        hover(place);
        if (editable_)
            for (auto* view : views())
                view->viewport()->setCursor(link_source_at(place) != nullptr ? Qt::CrossCursor
                                            : node_at(place) != nullptr      ? Qt::SizeAllCursor
                                                                             : Qt::ArrowCursor);
    }
    QGraphicsScene::mouseMoveEvent(event);
}

/// What the mouse holds comes to rest on the grid; what goes with it keeps its place beside it.
void TopologyScene::drag_nodes(QPointF to, bool snap) {
    QPointF moved = to - drag_start_;
    if (!drag_moved_ && std::hypot(moved.x(), moved.y()) < 3) return;
    if (!drag_moved_) {
        drag_moved_ = true;
        Q_EMIT drag_changed();
    }
    if (snap) {
        const QPointF at = drag_grip_ + moved;
        moved = QPointF(std::round(at.x() / grid) * grid, std::round(at.y() / grid) * grid) - drag_grip_;
    }
    std::set<RegionItem*> moving;  // follow once, not with each of their nodes
    for (auto& [item, place] : drag_places_)
        if (auto* region =
                item->type() == region_item ? static_cast<RegionItem*>(item) : static_cast<NodeItem*>(item)->region)
            region->waits = true, moving.insert(region);
    for (auto& [item, place] : drag_places_) item->setPos(place + moved);
    for (auto* region : moving) region->waits = false, region->follow_nodes();
    way_->follow_nodes();
    reduction_->follow_nodes();
    link_words_->follow_links();
    shares_->follow();
}

std::vector<QGraphicsItem*> TopologyScene::moving_items() const {
    std::set<QGraphicsItem*> found;
    if (!dragging_ || !drag_moved_) return {};
    const auto add_region = [&](RegionItem* region) {
        found.insert({region, region->label});
        found.insert(region->links.begin(), region->links.end());
    };
    for (const auto& [item, place] : drag_places_) {
        if (item->type() == region_item) {
            add_region(static_cast<RegionItem*>(item));
            continue;
        }
        auto* node = static_cast<NodeItem*>(item);
        found.insert(node);
        found.insert(node->links.begin(), node->links.end());
        if (node->region != nullptr) add_region(node->region);
    }
    found.insert({way_, reduction_, link_words_, shares_});
    std::vector<QGraphicsItem*> moving(found.begin(), found.end());
    std::stable_sort(moving.begin(), moving.end(),
                     [](const auto* a, const auto* b) { return a->zValue() < b->zValue(); });
    return moving;
}

std::vector<QGraphicsItem*> TopologyScene::moving_as_one() const {
    std::set<const QGraphicsItem*> dragged;
    for (const auto& [item, place] : drag_places_)
        if (item->type() == node_item && item->isVisible()) dragged.insert(item);
    std::set<QGraphicsItem*> found;
    for (const auto& [item, place] : drag_places_) {
        if (!dragged.contains(item)) continue;
        auto* node = static_cast<NodeItem*>(item);
        if (node->critical_share == 0) found.insert(node);  // a share looks for a free place
        for (auto* link : node->links)
            if (!link->critical && dragged.contains(link->from()) && dragged.contains(link->to())) found.insert(link);
    }
    return {found.begin(), found.end()};
}

void TopologyScene::end_drag() {
    dragging_ = false;
    // Where the canvas laid the nodes out itself, a drag fixes all of them as they are seen.
    std::vector<std::pair<std::string, Point>> places;
    const auto add = [&](const std::string& id, const QGraphicsItem& item) {
        places.push_back({id, {std::round(item.pos().x()), std::round(item.pos().y())}});
    };
    for (auto& [id, node] : nodes_) add(id, *node);
    for (auto& [id, region] : regions_)
        if (region->isSelected()) add(id, *region);
    if (drag_moved_) document_.edit(tr("Move"), [&](Experiment& e) { move_nodes(e, places); });
    drag_places_.clear();
    Q_EMIT drag_changed();
}

void TopologyScene::mouseReleaseEvent(QGraphicsSceneMouseEvent* event) {
    if (new_link_ != nullptr) return end_link(event->scenePos());
    if (dragging_) {
        end_drag();
        if (drag_moved_) return;
    }
    QGraphicsScene::mouseReleaseEvent(event);
}

void TopologyScene::mouseDoubleClickEvent(QGraphicsSceneMouseEvent* event) {
    if (RegionItem* region = region_at(event->scenePos()); region != nullptr && region->is_folded()) {
        event->accept();
        if (is_folded(region->id())) return toggle_folded({region->id()});
        return Q_EMIT region_opened(region);
    }
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
