// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/point_store.h"

#include <algorithm>
#include <utility>

namespace skippipe {

const SharedPoints& PointStore::points(const RunData& run, const std::string& name, WorkAxis x) {
    const auto [found, is_new] = points_.try_emplace({&run, name, x});
    if (is_new) found->second = curve_points(run, name, x);
    return found->second;
}

void PointStore::keep(std::vector<std::shared_ptr<const RunData>> runs) {
    const auto is_kept = [&](const RunData* run) {
        return std::any_of(runs.begin(), runs.end(), [run](const auto& kept) { return kept.get() == run; }) &&
               std::any_of(held_.begin(), held_.end(), [run](const auto& held) { return held.get() == run; });
    };
    std::map<const RunData*, bool> kept;
    std::erase_if(points_, [&](const auto& one) {
        const RunData* run = std::get<0>(one.first);
        const auto [known, is_new] = kept.try_emplace(run);
        if (is_new) known->second = is_kept(run);
        return !known->second;
    });
    held_ = std::move(runs);
}

}  // namespace skippipe
