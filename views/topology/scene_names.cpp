// SPDX-License-Identifier: GPL-3.0-or-later
// Where names stand: of regions, and of nodes in a picture that is too small for all of them.
#include <algorithm>
#include <limits>
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

void TopologyScene::place_far_names() {
    if (editable_) return;  // folded regions have names there
    const bool has_names = zoom_ >= least_named_zoom && zoom_ < least_name_zoom && nodes_.size() <= most_named;
    std::vector<QRectF> taken;
    std::vector<NodeItem*> waiting;
    for (auto& [id, item] : nodes_) {
        item->set_far_name({}, zoom_);
        const QPointF at = item->seen_at();
        const double reach = node_radius + far_ring / zoom_;
        taken.emplace_back(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach);
        if (has_names && item->isVisible()) waiting.push_back(item);
    }
    std::stable_partition(waiting.begin(), waiting.end(), [](const NodeItem* one) { return one->isSelected(); });
    const double edge = name_edge / zoom_;
    for (auto* item : waiting)
        for (const auto side : {FarName::below, FarName::above, FarName::right, FarName::left}) {
            const QRectF box = item->far_name_box(side, zoom_).translated(item->pos());
            const QRectF kept = box.adjusted(-edge, 0, edge, 0);
            if (std::any_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(kept); }))
                continue;
            taken.push_back(box);
            item->set_far_name(side, zoom_);
            break;
        }
}

}  // namespace skippipe
