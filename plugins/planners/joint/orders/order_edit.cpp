// SPDX-License-Identifier: GPL-3.0-or-later
// What moves do to the order of a node.
#include <algorithm>

#include "core/base/index.h"
#include "plugins/planners/joint/orders/order_state.h"

namespace skippipe::planners::joint {

namespace {

/// What takes and what frees memory for a microbatch (TC1): +1 where a forward starts, -1 where it leaves the node.
int memory_taken(const FlatPlan& schedule, std::uint32_t operation) {
    const int step = packed_step(operation);
    if (step < schedule.length) return 1;
    const bool weight = (step & weight_gradient_bit) != 0;
    return step > schedule.length && weight == schedule.split_backward ? -1 : 0;
}

/// Order of one microbatch's operations on one node: F, L, B or I, W.
int rank(const FlatPlan& schedule, std::uint32_t operation) {
    const int step = packed_step(operation);
    if ((step & weight_gradient_bit) != 0) return 3;
    return step < schedule.length ? 0 : step == schedule.length ? 1 : 2;
}

void rotate(std::vector<std::uint32_t>& order, int from, int to) {
    const auto begin = order.begin();
    if (from < to)
        std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
        std::rotate(begin + to, begin + from, begin + from + 1);
}

}  // namespace

/// The node's order, to be changed.
std::vector<std::uint32_t>& OrderState::edit(NodeIndex node) {
    auto& order = candidate_.schedule.order[node];
    if (journal_.keep(order)) change_.orders.push_back(node);
    return order;
}

/// Within [first, last] of a node's order: each microbatch's operations.
bool OrderState::in_sequence(NodeIndex node, int first, int last) const {
    const auto& operations = order(node);
    for (int a = first; a <= last; ++a)
        for (int b = a + 1; b <= last; ++b)
            if (packed_index(operations[at(a)]) == packed_index(operations[at(b)]) &&
                rank(schedule(), operations[at(a)]) > rank(schedule(), operations[at(b)]))
                return false;
    return true;
}

bool OrderState::holds(NodeIndex node, int last) const {
    const auto& operations = order(node);
    const int memory = problem().memory[node];
    int held = 0;
    for (int k = 0; k <= last; ++k) {
        held += memory_taken(schedule(), operations[at(k)]);
        if (held > memory) return false;
    }
    return true;
}

bool OrderState::shift(NodeIndex node, int from, int to) {
    to = std::clamp(to, 0, static_cast<int>(order(node).size()) - 1);
    if (from == to) return false;
    rotate(edit(node), from, to);
    return in_sequence(node, std::min(from, to), std::max(from, to)) && holds(node, std::max(from, to));
}

void OrderState::take_out(ReleaseIndex index, int hop) {
    auto& order = edit(node(index, hop));
    const auto mine = [&](std::uint32_t operation) { return packed_index(operation) == index; };
    const auto first = std::find_if(order.begin(), order.end(), mine);
    order.erase(std::remove_if(first, order.end(), mine), order.end());
}

bool OrderState::put_in(ReleaseIndex index, int hop, double shift_s) {
    const NodeIndex there = node(index, hop);
    const int back = 2 * length() - hop;
    auto& order = edit(there);
    std::size_t least = 0;
    const auto insert = [&](std::uint32_t operation) {
        const double starts_s = start_s(operation) + shift_s;
        while (least < order.size() && start_s(order[least]) <= starts_s) ++least;
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(least++), operation);
    };
    insert(pack(index, hop));
    if (hop == 0) insert(pack(index, length()));
    insert(pack(index, back));
    if (schedule().split_backward) insert(pack(index, back | weight_gradient_bit));
    return holds(there);
}

void OrderState::hand_on(NodeIndex node, ReleaseIndex from_index, int from_hop, ReleaseIndex to_index, int to_hop) {
    for (auto& operation : edit(node)) {
        if (packed_index(operation) != from_index) continue;
        const int step = packed_step(operation), bare = step & ~weight_gradient_bit;
        const int other = bare == from_hop ? to_hop : bare == length() ? length() : 2 * length() - to_hop;
        operation = pack(to_index, other | (step & weight_gradient_bit));
    }
}

}  // namespace skippipe::planners::joint
