// SPDX-License-Identifier: GPL-3.0-or-later
// Transfers of a simulation that pass uplinks and downlinks, queue after queue.
#include <algorithm>
#include <functional>

#include "core/base/index.h"
#include "core/planner/timeline/event_simulator.h"

namespace skippipe {

void EventSimulator::push_transit(EventKey key) {
    transit_events_.push_back(key);
    std::push_heap(transit_events_.begin(), transit_events_.end(), std::greater<>{});
}

std::uint32_t EventSimulator::begin_passage(const Passage& passage, std::uint32_t payload, bool reduction,
                                            double now_s) {
    passing_.push_back({passage, payload, reduction, now_s});
    return static_cast<std::uint32_t>(passing_.size() - 1);
}

/// True where it was the last one: it is known when the transfer arrives. Else the head comes to the next one.
bool EventSimulator::enter_next_queue(std::uint32_t index, std::uint32_t number, double now_s) {
    const double next_s = queues_.enter(passing_[index].passage, now_s, line_free_s_);
    if (next_s >= 0)
        push_transit(make_key(next_s, number, index | head_bit));
    else if (record_ != nullptr)
        record_passage(index);
    return next_s < 0;
}

void EventSimulator::record_passage(std::uint32_t index) {
    const auto& [passage, payload, reduction, handed_s] = passing_[index];
    const bool forwards = !reduction && comes_forward(packed_step(payload), length_);
    record_->spans.push_back({reduction  ? SpanKind::transfer_reduction
                              : forwards ? SpanKind::transfer_forward
                                         : SpanKind::transfer_backward,
                              passage.from, passage.to, flat_->stage_of[passage.to],
                              reduction ? MicrobatchIndex(-1) : flat_->microbatches[packed_index(payload)], handed_s,
                              passage.start_s, passage.arrival_s, passage.bytes * passage.size});
}

}  // namespace skippipe
