// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/lone_reduction.h"

#include <algorithm>
#include <functional>

#include "core/planner/timeline/rules.h"

namespace skippipe {

void LoneReduction::push(Event event) {
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end(), std::greater<>{});
}

double LoneReduction::end_s(const PerStage<std::vector<NodeIndex>>& stages, const PerStage<Pieces>& pieces,
                            const PerNode<double>& own_s) {
    machine_.prepare(problem_, stages, pieces);
    if (problem_.shared_links) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    events_.clear();
    number_ = 0;
    for (const auto& stage : stages) {
        const bool visited =
            std::any_of(stage.begin(), stage.end(), [&](const NodeIndex node) { return own_s[node] >= 0; });
        for (const NodeIndex node : stage)
            if (visited) push({std::max(0.0, own_s[node]), number_++, static_cast<std::uint32_t>(at(node)), true});
    }
    double last_s = 0, now_s = 0;
    const auto whole = [&](NodeIndex) { last_s = now_s; };
    const auto send = [&](NodeIndex from, NodeIndex to, StageIndex, double bytes, std::uint32_t slot) {
        const Transfer transfer = carry(problem_, problem_.hop(from, to), bytes, now_s, line_free_s_);
        push({transfer.arrival_s, number_++, slot, false});
    };
    while (!events_.empty()) {
        std::pop_heap(events_.begin(), events_.end(), std::greater<>{});
        const Event event = events_.back();
        events_.pop_back();
        now_s = event.time_s;
        if (event.own)
            machine_.own_part(NodeIndex(event.slot), send, whole);
        else
            machine_.arrived(event.slot, send, whole);
    }
    return last_s;
}

}  // namespace skippipe
