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
    passing_.push_back({passage, payload, reduction, 0});
    if (record_ != nullptr) record_passage(passing_.back(), now_s);
    return static_cast<std::uint32_t>(passing_.size() - 1);
}

/// True where it was the last one: it is known when the transfer arrives. Else the head comes to the next one.
bool EventSimulator::enter_next_queue(std::uint32_t index, std::uint32_t number, double now_s) {
    auto& [passage, payload, reduction, span] = passing_[index];
    const double next_s = queues_.enter(passage, now_s, line_free_s_);
    if (next_s >= 0) {
        push_transit(make_key(next_s, number, index | head_bit));
    } else if (record_ != nullptr) {
        record_->spans[span].start_s = passage.start_s;
        record_->spans[span].end_s = passage.arrival_s;
    }
    return next_s < 0;
}

/// In its place among what is handed over.
void EventSimulator::record_passage(Passing& passing, double handed_s) {
    const Passage& passage = passing.passage;
    const bool reduction = passing.reduction,
               forwards = !reduction && comes_forward(packed_step(passing.payload), length_);
    passing.span = record_->spans.size();
    record_->spans.push_back({reduction  ? SpanKind::transfer_reduction
                              : forwards ? SpanKind::transfer_forward
                                         : SpanKind::transfer_backward,
                              passage.from, passage.to, flat_->stage_of[passage.to],
                              reduction ? MicrobatchIndex(-1) : flat_->microbatches[packed_index(passing.payload)],
                              handed_s, handed_s, handed_s, passage.bytes * passage.size});
}

}  // namespace skippipe
