// SPDX-License-Identifier: GPL-3.0-or-later
// Moves that change when a node runs an operation, and nothing else.
#include <algorithm>

#include "core/base/index.h"
#include "plugins/planners/joint/orders/order_moves.h"

namespace skippipe::planners::joint::order_moves {

namespace {

/// How far an operation is moved at most in one step.
constexpr int widest_shift = 6;

/// One position, or, as often, up to so many.
int distance(Rng& rng) { return pick(rng, 2) == 0 ? 1 : 1 + pick(rng, widest_shift); }

bool propose_shift(OrderState& state, Rng& rng) {
    const auto& visits = state.schedule().nodes;
    const NodeIndex node = visits[pick<std::size_t>(rng, visits.size())];  // as often as it is visited
    const int from = pick(rng, state.order(node).size()), far = distance(rng);
    return state.shift(node, from, from + (pick(rng, 2) == 0 ? far : -far));
}

/// A data node: any, or, as often, the one that ends last.
NodeIndex ending_node(const OrderState& state, Rng& rng) {
    const auto& data_nodes = state.ring(0);
    const auto end_s = [&](NodeIndex node) {
        const auto& order = state.order(node);
        return order.empty() ? 0.0 : state.start_s(order.back()) + state.duration_s(node, order.back());
    };
    NodeIndex node = data_nodes[pick<std::size_t>(rng, data_nodes.size())];
    if (pick(rng, 2) == 0)
        for (const NodeIndex other : data_nodes)
            if (end_s(other) > end_s(node)) node = other;
    return node;
}

struct Position {
    NodeIndex node = -1;
    int index = 0;
};

/// Where the input of an operation was computed; none where it is there from the start.
Position input_of(const OrderState& state, std::uint32_t operation) {
    const int step = packed_step(operation) & ~weight_gradient_bit;
    const ReleaseIndex i = packed_index(operation);
    if (step == 0) return {};
    const NodeIndex node = step_node(state.schedule().path(i), state.length(), step - 1);
    const auto& order = state.order(node);
    return {node, static_cast<int>(std::find(order.begin(), order.end(), pack(i, step - 1)) - order.begin())};
}

/// One of the operations that a data node's end waits for and that themselves wait for their node, not for their input:
/// back along what each started after, each as likely.
Position waiting_operation(const OrderState& state, Rng& rng) {
    Position chosen, here{ending_node(state, rng), 0};
    here.index = static_cast<int>(state.order(here.node).size()) - 1;
    for (int seen = 0; here.node >= 0 && here.index >= 0;) {
        const auto& order = state.order(here.node);
        const auto operation = order[at(here.index)];
        const bool after_node = here.index > 0 && state.start_s(order[at(here.index - 1)]) +
                                                          state.duration_s(here.node, order[at(here.index - 1)]) ==
                                                      state.start_s(operation);
        if (after_node) {
            if (pick(rng, ++seen) == 0) chosen = here;
            --here.index;
        } else {
            here = input_of(state, operation);
        }
    }
    return chosen;
}

/// Such an operation goes before the one that it waits for; or that one after it.
bool propose_critical(OrderState& state, Rng& rng) {
    const auto [node, index] = waiting_operation(state, rng);
    if (node < 0) return false;
    const int far = distance(rng);
    return pick(rng, 2) == 0 ? state.shift(node, index, index - far) : state.shift(node, index - 1, index - 1 + far);
}

int always(const OrderState&) { return 5; }

}  // namespace

constinit const OrderMove shift{"shift", always, propose_shift};
constinit const OrderMove shift_critical{"shift critical", always, propose_critical};

}  // namespace skippipe::planners::joint::order_moves
