// SPDX-License-Identifier: GPL-3.0-or-later
// What a simulation records: spans, and what is blocked.
#include <string>

#include "core/base/index.h"
#include "core/planner/timeline/event_simulator.h"

namespace skippipe {

void EventSimulator::record_operation(NodeIndex node, double now_s) {
    const auto& state = nodes_[node];
    const int step = packed_step(state.running);
    const ReleaseIndex index = packed_index(state.running);
    const bool weight = (step & weight_gradient_bit) != 0;
    const auto kind = weight            ? SpanKind::weight_gradient
                      : step < length_  ? SpanKind::forward
                      : step == length_ ? SpanKind::loss
                      : split_          ? SpanKind::input_gradient
                                        : SpanKind::backward;
    record_->spans.push_back(
        {kind, node, -1, flat_->stage_of[node], flat_->microbatches[index], state.ready_s, state.started_s, now_s, 0});
    record_->busy_s += now_s - state.started_s;
}

std::string EventSimulator::name_of(std::uint32_t operation) const {
    const int step = packed_step(operation);
    const char* kind = step < length_                      ? "F"
                       : step == length_                   ? "L"
                       : (step & weight_gradient_bit) != 0 ? "W"
                       : split_                            ? "I"
                                                           : "B";
    return kind + std::to_string(flat_->microbatches[packed_index(operation)]);
}

void EventSimulator::describe_blocked(Timeline& timeline) const {
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        const auto& state = nodes_[n];
        const std::string held = " waits for memory: it holds " + std::to_string(state.held) + " of " +
                                 std::to_string(state.memory) + " microbatches (TC1)";
        std::string waits;
        if (!flat_->order.empty()) {
            const auto& order = flat_->order[n];
            if (at(state.order_next) >= order.size()) continue;
            const auto operation = order[at(state.order_next)];
            waits = "its order puts " + name_of(operation) + " next, which" +
                    (order_keys_[slot(operation)] != never ? held : " never receives its input");
        } else if (items_[at(state.forward.head)] != never) {
            waits = name_of(payload_of(items_[at(state.forward.head)])) + held;
        } else if (state.own_next < state.own_end) {
            waits = name_of(pack(own_[at(state.own_next)], 0)) + held;
        } else {
            continue;
        }
        timeline.blocked.push_back(problem_.node_ids[n] + ": " + waits);
    }
}

}  // namespace skippipe
