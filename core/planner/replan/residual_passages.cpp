// SPDX-License-Identifier: GPL-3.0-or-later
// Transfers of a rest that pass uplinks and downlinks.
#include <algorithm>
#include <functional>

#include "core/base/index.h"
#include "core/planner/replan/residual_simulator.h"

namespace skippipe {

void ResidualSimulator::begin_passage(const Passage& passage, int id, std::uint32_t slot, double now_s) {
    passing_.push_back({passage, id, slot, timeline_ == nullptr ? 0 : timeline_->spans.size()});
    if (timeline_ != nullptr) {
        const bool part = id == part_id;
        const auto kind = part                                           ? SpanKind::transfer_reduction
                          : comes_forward(step_of(id), residual_.length) ? SpanKind::transfer_forward
                                                                         : SpanKind::transfer_backward;
        timeline_->spans.push_back({kind, passage.from, passage.to, plan_->stage_of[passage.to],
                                    part ? MicrobatchIndex(-1) : residual_.microbatches[index_of(id)], now_s, now_s,
                                    now_s, passage.bytes * passage.size});
    }
    enter_next_queue(static_cast<std::uint32_t>(passing_.size() - 1), number_++, now_s);
}

void ResidualSimulator::enter_next_queue(std::uint32_t passing, std::uint32_t number, double now_s) {
    auto& [passage, id, slot, span] = passing_[passing];
    if (const double next_s = queues_.enter(passage, now_s, line_free_); next_s >= 0)
        return push({next_s, number, passage.to, head_id, true, passing});
    if (timeline_ != nullptr) {
        timeline_->spans[span].start_s = passage.start_s;
        timeline_->spans[span].end_s = passage.arrival_s;
    }
    push({passage.arrival_s, number, passage.to, id, true, slot});
}

/// When what is on its way through queues arrives if nothing else is handed over. `line_free_s`: of all queues, then.
std::vector<std::pair<std::uint32_t, OpenOperation>> ResidualSimulator::arrivals_of_heads(
    std::vector<double>& line_free_s) const {
    std::vector<Event> heads;
    for (const auto& event : events_)
        if (event.id == head_id) heads.push_back(event);
    std::make_heap(heads.begin(), heads.end(), std::greater<>{});
    auto queues = queues_;
    auto passing = passing_;
    std::vector<std::pair<std::uint32_t, OpenOperation>> arrivals;
    while (!heads.empty()) {
        std::pop_heap(heads.begin(), heads.end(), std::greater<>{});
        auto& head = heads.back();
        auto& [passage, id, slot, span] = passing[head.slot];
        const double next_s = queues.enter(passage, head.time_s, line_free_s);
        if (next_s >= 0) {
            head.time_s = next_s;
            std::push_heap(heads.begin(), heads.end(), std::greater<>{});
            continue;
        }
        if (id >= 0) arrivals.emplace_back(head.number, open_of(id, passage.arrival_s));
        heads.pop_back();
    }
    queues.save(line_free_s);
    return arrivals;
}

}  // namespace skippipe
