// SPDX-License-Identifier: GPL-3.0-or-later
// Regions that are shown as one disc: by hand, or because their nodes would be dots.
#include <algorithm>

#include "views/topology/scene.h"

namespace skippipe {
namespace {
constexpr double far_zoom = 0.35;  ///< nodes and regions have no names below it, folded regions have
constexpr std::size_t least_folded_far = 2;
}  // namespace

void TopologyScene::toggle_folded(const std::set<std::string>& regions) {
    std::set<std::string> wanted = regions;
    if (wanted.empty())
        for (const auto& [id, item] : regions_) wanted.insert(id);
    const bool unfold = std::includes(folded_.begin(), folded_.end(), wanted.begin(), wanted.end());
    for (const auto& id : wanted) unfold ? static_cast<void>(folded_.erase(id)) : static_cast<void>(folded_.insert(id));
    show_folded();
}

bool TopologyScene::has_folded() const {
    return std::any_of(regions_.begin(), regions_.end(), [](const auto& region) { return region.second->is_folded(); });
}

void TopologyScene::follow_zoom(double zoom) {
    if (zoom == zoom_) return;
    zoom_ = zoom;
    show_folded();
}

void TopologyScene::show_folded() {
    const bool is_synced = std::exchange(syncing_, true);  // what is hidden stays selected
    bool changed = false;
    for (auto& [id, item] : regions_) {
        const bool is_far = zoom_ < far_zoom && item->nodes.size() >= least_folded_far;
        changed |= item->fold(!item->nodes.empty() && (is_far || folded_.contains(id)), zoom_);
    }
    syncing_ = is_synced;
    if (!changed) return;
    place_labels();
    way_->follow_nodes();
    reduction_->follow_nodes();
    link_words_->follow_links();
    place_traffic();
    show_selection();
}

}  // namespace skippipe
