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

void LoneReduction::hand_over(NodeIndex from, NodeIndex to, double bytes, std::uint32_t slot, double now_s) {
    const std::uint32_t number = number_++;
    if (!problem_.has_uplinks()) {
        const Transfer transfer = carry(problem_, problem_.hop(from, to), bytes, now_s, line_free_s_);
        return push({transfer.arrival_s, number, slot, What::arrives});
    }
    passing_.push_back({passage_of(problem_, from, to, bytes), slot});
    enter_next_queue(static_cast<std::uint32_t>(passing_.size() - 1), number, now_s);
}

void LoneReduction::enter_next_queue(std::uint32_t index, std::uint32_t number, double now_s) {
    auto& [passage, slot] = passing_[index];
    const double next_s = queues_.enter(passage, now_s, line_free_s_);
    if (next_s >= 0)
        push({next_s, number, index, What::head});
    else
        push({passage.arrival_s, number, slot, What::arrives});
}

double LoneReduction::end_s(const PerStage<std::vector<NodeIndex>>& stages, const PerStage<Pieces>& pieces,
                            const PerNode<double>& own_s) {
    machine_.prepare(problem_, stages, pieces);
    if (problem_.shared_links) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    if (problem_.has_uplinks()) queues_.clear();
    passing_.clear();
    events_.clear();
    number_ = 0;
    for (const auto& stage : stages) {
        const bool visited =
            std::any_of(stage.begin(), stage.end(), [&](const NodeIndex node) { return own_s[node] >= 0; });
        for (const NodeIndex node : stage)
            if (visited)
                push({std::max(0.0, own_s[node]), number_++, static_cast<std::uint32_t>(at(node)), What::own_part});
    }
    double last_s = 0, now_s = 0;
    const auto whole = [&](NodeIndex) { last_s = now_s; };
    const auto send = [&](NodeIndex from, NodeIndex to, StageIndex, double bytes, std::uint32_t slot) {
        hand_over(from, to, bytes, slot, now_s);
    };
    while (!events_.empty()) {
        std::pop_heap(events_.begin(), events_.end(), std::greater<>{});
        const Event event = events_.back();
        events_.pop_back();
        now_s = event.time_s;
        if (event.what == What::own_part)
            machine_.own_part(NodeIndex(event.slot), send, whole);
        else if (event.what == What::arrives)
            machine_.arrived(event.slot, send, whole);
        else
            enter_next_queue(event.slot, event.number, now_s);
    }
    return last_s;
}

}  // namespace skippipe
