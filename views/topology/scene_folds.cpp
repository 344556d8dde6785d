// SPDX-License-Identifier: GPL-3.0-or-later
// Regions that are shown as one disc: by hand, or because their nodes would be dots.
#include <algorithm>
#include <cmath>

#include "views/topology/item_marks.h"
#include "views/topology/layouts.h"
#include "views/topology/scene.h"

namespace skippipe {
namespace {
/// Below a zoom, regions of so many nodes fold.
struct Far {
    double zoom;
    std::size_t least_nodes;
};
constexpr Far to_edit{0.35, 1};   // where nodes and regions have no names, folded regions have
constexpr Far to_watch{0.22, 3};  // a small picture, of what each node does: where that has nine pixels

/// The radius of a folded region that has room: of many nodes a little larger.
double folded_px(std::size_t nodes) {
    constexpr double few = 3, doublings = 4.4, largest = 1.4;  // those of 64 nodes are as large as any
    const double more = std::log2(std::max(few, static_cast<double>(nodes)) / few) / doublings;
    return most_folded_px * (1 + (largest - 1) * std::min(1.0, more));
}
}  // namespace

void TopologyScene::toggle_folded(const std::set<std::string>& regions) {
    std::set<std::string> wanted = regions;
    if (wanted.empty())
        for (const auto& [id, item] : regions_) wanted.insert(id);
    const bool unfold = std::includes(folded_.begin(), folded_.end(), wanted.begin(), wanted.end());
    for (const auto& id : wanted) unfold ? static_cast<void>(folded_.erase(id)) : static_cast<void>(folded_.insert(id));
    show_folded();
}

void TopologyScene::follow_zoom(double zoom) {
    if (zoom == zoom_) return;
    const double before = text_scale(zoom_);
    zoom_ = zoom;
    traffic_->set_zoom(zoom);
    shares_->set_zoom(zoom);
    link_words_->set_zoom(zoom);
    show_folded();
    if (text_scale(zoom) != before) place_labels();
    place_far_names();
}

void TopologyScene::show_folded() {
    const bool is_synced = std::exchange(syncing_, true);  // what is hidden stays selected
    bool changed = false;
    const Far& far = editable_ ? to_edit : to_watch;
    const auto is_folded = [&](const std::string& id, const RegionItem& item) {
        const bool is_far = zoom_ < far.zoom && item.nodes.size() >= far.least_nodes;
        return !item.nodes.empty() && (is_far || folded_.contains(id));
    };
    std::vector<Point> discs;
    for (const auto& [id, item] : regions_)
        if (is_folded(id, *item)) discs.push_back({item->x(), item->y()});
    const auto gaps = nearest_distances(discs);
    auto gap = gaps.begin();
    for (auto& [id, item] : regions_) {
        const bool folds = is_folded(id, *item);
        // Those that are near each other are as small as leaves them apart.
        const double half_px = folds ? *gap++ * zoom_ / 2 - 1 : most_folded_px;
        changed |= item->fold(folds, zoom_, std::clamp(half_px, least_folded_px, folded_px(item->nodes.size())));
    }
    syncing_ = is_synced;
    if (!changed) return;
    place_labels();
    way_->follow_nodes();
    reduction_->follow_nodes();
    link_words_->follow_links();
    shares_->follow();
    place_traffic();
    show_selection();
}

}  // namespace skippipe
