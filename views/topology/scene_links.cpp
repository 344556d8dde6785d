// SPDX-License-Identifier: GPL-3.0-or-later
// Links of the canvas: drawn from nodes and regions with the mouse, and what they say.
#include <cmath>
#include <utility>

#include <QGraphicsView>

#include "views/document/document.h"
#include "views/topology/edits.h"
#include "views/topology/layouts.h"
#include "views/topology/scene.h"

namespace skippipe {
namespace {

constexpr std::size_t most_link_words = 12;

const std::string& id_of_end(const QGraphicsItem* item) {
    return item->type() == node_item ? static_cast<const NodeItem*>(item)->id()
                                     : static_cast<const RegionItem*>(item)->id();
}

void mark_end(QGraphicsItem* item, bool on) {
    if (item == nullptr) return;
    if (item->type() == node_item)
        static_cast<NodeItem*>(item)->link_target = on;
    else
        static_cast<RegionItem*>(item)->link_target = on, static_cast<RegionItem*>(item)->label->update();
    item->update();
}

}  // namespace

RegionItem* TopologyScene::region(const std::string& id) const {
    const auto it = regions_.find(id);
    return it == regions_.end() ? nullptr : it->second;
}

double TopologyScene::zoom() const { return views().isEmpty() ? 1 : views().front()->transform().m11(); }

RegionItem* TopologyScene::region_at(QPointF place) const {
    for (auto* item : items(place)) {
        if (item->type() == region_label_item) return &static_cast<RegionLabel*>(item)->region();
        if (item->type() == region_item) return static_cast<RegionItem*>(item);
    }
    return nullptr;
}

QGraphicsItem* TopologyScene::link_source_at(QPointF place) const {
    if (NodeItem* item = node_at(place)) return item->on_rim(place) ? item : nullptr;
    for (const auto& [id, item] : regions_)
        if (item->label->on_handle(place, zoom())) return item;
    return nullptr;
}

/// The region there, or that whose ring, which links are drawn from, is there.
RegionItem* TopologyScene::link_region_at(QPointF place) const {
    if (RegionItem* region = region_at(place)) return region;
    for (const auto& [id, item] : regions_)
        if (item->label->on_handle(place, zoom())) return item;
    return nullptr;
}

/// What it is dragged from: a node, or the ring beside a region's name.
QPointF TopologyScene::start_of_link(const QGraphicsItem& from) const {
    return from.type() == node_item ? from.pos() : static_cast<const RegionItem&>(from).label->handle(zoom());
}

/// What the link would end at is marked: a node or, from a region, another region.
void TopologyScene::aim_link(QPointF place) {
    new_link_->setLine(QLineF(start_of_link(*link_from_), place));
    QGraphicsItem* target = node_at(place);
    if (target == nullptr || (link_from_->type() == region_item && static_cast<NodeItem*>(target)->region != nullptr))
        target = link_region_at(place);
    if (target == link_from_) target = nullptr;
    if (target == link_to_) return;
    mark_end(link_to_, false);
    mark_end(target, true);
    link_to_ = target;
}

void TopologyScene::end_link(QPointF place) {
    delete new_link_;
    new_link_ = nullptr;
    mark_end(link_to_, false);
    QGraphicsItem* from = link_from_;
    link_from_ = link_to_ = nullptr;
    NodeItem* node = node_at(place);
    RegionItem* region = node != nullptr ? node->region : link_region_at(place);
    if (from->type() == node_item) {
        if (node == from) return;
        node != nullptr ? link_things(id_of_end(from), node->id()) : link_new_node(from, region, place);
    } else if (region == from) {
        return;
    } else if (region != nullptr) {
        link_things(id_of_end(from), region->id());
    } else if (node != nullptr) {
        Q_EMIT told(
            tr("A region is linked to a region: put %1 into one first").arg(QString::fromStdString(node->id())));
    } else {
        link_new_node(from, nullptr, place);
    }
}

/// By value: the items that have these names go with the edit.
void TopologyScene::link_things(std::string from, std::string to) {  // NOLINT(performance-unnecessary-value-param)
    bool added = false;
    document_.edit(tr("Draw link"), [&](Experiment& e) { added = add_link(e, from, to); });
    if (added) return selection_.select({.links = {LinkKey{from, to}}});
    Q_EMIT told(tr("%1 and %2 are linked already").arg(QString::fromStdString(from), QString::fromStdString(to)));
}

/// Dropped on emptiness a link makes what it leads to: from a node a node, in the region there if there is one; from a
/// region another region with a node.
void TopologyScene::link_new_node(QGraphicsItem* from, RegionItem* into, QPointF place) {
    const std::string source = id_of_end(from);
    const bool from_region = from->type() == region_item;
    const Point at{std::round(place.x() / grid) * grid, std::round(place.y() / grid) * grid};
    Selection added;
    QString made;
    document_.edit(tr("Draw link to a new node"), [&](Experiment& e) {
        keep_places(e);
        std::string region = into != nullptr ? into->id() : std::string{};
        if (from_region) region = add_region(e, at);
        const std::string node = add_node(e, at, region);
        const bool same_region = !from_region && into != nullptr && static_cast<NodeItem*>(from)->region == into;
        if (!same_region) add_link(e, source, from_region ? region : node);
        added.nodes.insert(node);
        made = from_region
                   ? tr("%1 with %2 added, linked").arg(QString::fromStdString(region), QString::fromStdString(node))
                   : tr("%1 added").arg(QString::fromStdString(node));
    });
    selection_.select(added);
    Q_EMIT told(made);
}

void TopologyScene::hover(QPointF place) {
    LinkItem* under = nullptr;
    RegionItem* folded = nullptr;
    NodeItem* node = nullptr;
    for (auto* item : items(place)) {
        if (item->type() == node_item) {
            node = static_cast<NodeItem*>(item);
            break;
        }
        if (item->type() == region_item && static_cast<RegionItem*>(item)->is_folded())
            folded = static_cast<RegionItem*>(item);
        if (item->type() != link_item) continue;
        under = static_cast<LinkItem*>(item);
        break;
    }
    set_hovered(under, folded, node);
}

void TopologyScene::set_hovered(LinkItem* under, RegionItem* folded, NodeItem* node) {
    if (std::exchange(hovered_node_, node) != node) place_far_names();
    if (folded != hovered_region_) {
        for (auto* region : {hovered_region_, folded})
            if (region != nullptr) region->hovered = region == folded, region->label->update();
        hovered_region_ = folded;
    }
    if (under == hovered_) return;
    for (auto* link : {hovered_, under})
        if (link != nullptr) link->hovered = link == under, link->update();
    hovered_ = under;
    show_link_words();
}

void TopologyScene::show_critical(CriticalThings critical) {
    if (critical == critical_) return;
    critical_ = std::move(critical);
    mark_critical();
    show_link_words();
    update();
}

void TopologyScene::mark_critical() {
    const NodeItem* marked = nullptr;
    const LinkItem* marked_link = nullptr;
    for (auto& [id, item] : nodes_) {
        item->critical_share = id == critical_.node ? critical_.node_share : 0;
        if (item->critical_share > 0) marked = item;
    }
    for (auto* link : links_) {
        link->critical = link->key() == critical_.link;
        link->critical_share = link->critical ? critical_.link_share : 0;
        if (link->critical) marked_link = link;
    }
    shares_->show_things(marked, marked_link);
    for (auto& [id, item] : regions_) item->settle_depth();
}

/// Of the one under the mouse, where no traffic is drawn whose lines say more, and on the canvas of those selected:
/// beside a run's map a panel tells more of them.
void TopologyScene::show_link_words() {
    std::vector<const LinkItem*> shown;
    const std::size_t selected = selection_.now().links.size();
    for (auto* link : links_) {
        link->settle_depth();
        const bool told = editable_ && link->isSelected() && selected <= most_link_words;
        if ((link == hovered_ && traffic_->is_empty()) || told) shown.push_back(link);
    }
    link_words_->show_links(std::move(shown));
}

}  // namespace skippipe
