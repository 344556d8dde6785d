// SPDX-License-Identifier: GPL-3.0-or-later
// Where names stand: of regions, and of nodes in a picture that is too small for all of them.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "views/theme/theme.h"
#include "views/topology/item_marks.h"
#include "views/topology/scene.h"

namespace skippipe {
namespace {

constexpr double least_named_zoom = 0.12;  // where nodes are five pixels
constexpr std::size_t most_named = 100;
constexpr double most_hidden = 0.1;  // of what a folded region's name covers, as a share of it
constexpr double name_edge = 1;      // pixels between a name and what it must not touch

/// How much of a box an area covers.
double covered_by(const RegionItem& region, const QRectF& box) {
    if (!region.sceneBoundingRect().intersects(box)) return 0;
    constexpr int across = 8, down = 4;
    int covered = 0;
    for (int x = 0; x <= across; ++x)
        for (int y = 0; y <= down; ++y)
            covered += region.covers({box.x() + box.width() * x / across, box.y() + box.height() * y / down}) ? 1 : 0;
    return area_of(box) * covered / ((across + 1) * (down + 1));
}

}  // namespace

/// A region's name stands where it covers the least of other regions, of their nodes and of all names.
void TopologyScene::place_labels() {
    struct Taken {
        QRectF box;
        const RegionItem* of;
    };
    std::vector<Taken> taken;
    for (const auto& [id, item] : nodes_) {
        if (!item->isVisible()) continue;
        taken.push_back({item->shape().boundingRect().translated(item->pos()), item->region});
        taken.push_back({item->name_box(zoom_), item->region});
    }
    const auto covered = [&](const RegionItem& region) {
        const QRectF box = region.label->words_and_handle_box(zoom_);
        double area = 0;
        for (const auto& other : taken)
            if (other.of != &region) area += area_of(other.box & box);
        for (const auto& [id, other] : regions_)
            if (other != &region) area += covered_by(*other, box);
        return area;
    };
    constexpr std::pair<bool, int> places[] = {{false, 0}, {true, 0}, {false, -1}, {false, 1}, {true, -1}, {true, 1}};
    for (auto& [id, region] : regions_) {
        double least = std::numeric_limits<double>::infinity();
        std::pair<bool, int> best;
        for (const auto& place : places) {
            region->label->set_place(place.first, place.second);
            const double area = covered(*region);
            if (area < least) least = area, best = place;
            if (area == 0) break;
        }
        region->label->set_place(best.first, best.second);
        const QRectF box = region->label->words_and_handle_box(zoom_);
        region->label->set_has_room(least <= most_hidden * area_of(box), least > 0);
        if (region->label->is_shown()) taken.push_back({box, region});
    }
}

/// Whoever looks wants to know its name: of what is selected, lost or under the mouse.
bool TopologyScene::is_asked_for(const NodeItem& node) const {
    return node.isSelected() || node.down || &node == hovered_node_;
}

namespace {

double overlap(const std::vector<QRectF>& taken, const QRectF& box) {
    double area = 0;
    for (const auto& other : taken) area += area_of(other & box);
    return area;
}

/// The first of these boxes that touches nothing; where all do, the least covered one if `anyway`, else none.
std::optional<std::size_t> free_box(const std::vector<QRectF>& taken, const std::vector<QRectF>& boxes, double edge,
                                    bool anyway) {
    std::optional<std::size_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const double covered = overlap(taken, boxes[i].adjusted(-edge, 0, edge, 0));
        if (covered == 0) return i;
        if (anyway && covered < least) best = i, least = covered;
    }
    return best;
}

}  // namespace

/// First whoever is asked for, whatever it covers; then regions, which say where all others are; then nodes.
void TopologyScene::place_far_names() {
    if (editable_) return;  // folded regions have names there
    const bool is_small = zoom_ >= least_named_zoom && zoom_ < least_name_zoom;
    std::vector<QRectF> taken;
    std::vector<NodeItem*> asked, others;
    for (auto& [id, item] : nodes_) {
        item->set_far_name({}, zoom_);
        const QPointF at = item->seen_at();
        const double reach = node_radius + (far_ring - name_edge) / zoom_;  // names beside it touch its ring
        taken.emplace_back(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach);
        if (!is_small || !item->isVisible()) continue;
        if (is_asked_for(*item) && asked.size() < most_named)
            asked.push_back(item);
        else if (nodes_.size() <= most_named)
            others.push_back(item);
    }
    const auto name = [&](NodeItem& item, bool anyway) {
        constexpr FarName sides[] = {FarName::below, FarName::above, FarName::right, FarName::left};
        std::vector<QRectF> boxes;
        boxes.reserve(std::size(sides));
        for (const auto side : sides) boxes.push_back(item.far_name_box(side, zoom_).translated(item.pos()));
        const auto free = free_box(taken, boxes, name_edge / zoom_, anyway);
        if (!free) return;
        item.set_far_name(sides[*free], zoom_);
        taken.push_back(boxes[*free]);
    };
    for (auto* item : asked) name(*item, true);
    place_far_regions(taken);
    for (auto* item : others) name(*item, false);
}

/// Above their area or below it, into its margin, or beside it.
void TopologyScene::place_far_regions(std::vector<QRectF>& taken) {
    const bool is_small = zoom_ >= least_named_zoom && zoom_ < least_name_zoom;
    for (auto& [id, item] : regions_) {
        item->label->set_far_box({});
        if (!is_small || item->is_folded() || item->nodes.empty() || regions_.size() > most_named) continue;
        const QSizeF size = item->label->far_size(zoom_);
        const QRectF area = item->sceneBoundingRect();
        const double into = std::min(size.height(), region_margin - node_radius) / 2,
                     left = area.center().x() - size.width() / 2, middle = area.center().y() - size.height() / 2;
        const auto box = [&](double x, double y) { return QRectF({x, y}, size); };
        const std::vector<QRectF> boxes{box(left, area.top() - size.height() + into), box(left, area.bottom() - into),
                                        box(area.right(), middle), box(area.left() - size.width(), middle)};
        const auto free = free_box(taken, boxes, name_edge / zoom_, false);
        if (!free) continue;
        item->label->set_far_box(boxes[*free]);
        taken.push_back(boxes[*free]);
    }
}

}  // namespace skippipe
