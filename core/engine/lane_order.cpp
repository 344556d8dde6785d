// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/lane_order.h"

#include <algorithm>

#include "core/base/index.h"

namespace skippipe {

std::vector<LaneStep> lane_order(const RankSchedule& schedule) {
    std::vector<LaneStep> sums, steps;
    for (std::size_t i = 0; schedule.pieces.empty() && i < schedule.reduce_order.size(); ++i) {
        const int stage = schedule.reduce_order[i];
        if (schedule.ranks_of_stage(stage).size() < 2) continue;
        const auto after = schedule.reduce_after.empty() ? schedule.transfers.size() : schedule.reduce_after[i];
        sums.push_back({after, stage});
    }
    std::size_t next = 0;
    for (std::size_t transfer = 0; transfer <= schedule.transfers.size(); ++transfer) {
        for (; next < sums.size() && sums[next].transfer <= transfer; ++next) steps.push_back(sums[next]);
        if (transfer < schedule.transfers.size()) steps.push_back({transfer, -1});
    }
    steps.insert(steps.end(), sums.begin() + static_cast<std::ptrdiff_t>(next), sums.end());
    return steps;
}

std::vector<LaneStep> lane_of(const RankSchedule& schedule, int rank) {
    auto steps = lane_order(schedule);
    std::erase_if(steps, [&](const LaneStep& step) {
        if (!step.is_sum()) {
            const auto& transfer = schedule.transfers[step.transfer];
            return schedule.rank_of[at(transfer.from_node)] != rank && schedule.rank_of[at(transfer.to_node)] != rank;
        }
        const auto hosts = schedule.ranks_of_stage(step.stage);
        return !std::binary_search(hosts.begin(), hosts.end(), rank);
    });
    return steps;
}

}  // namespace skippipe
