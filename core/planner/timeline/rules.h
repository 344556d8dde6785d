// SPDX-License-Identifier: GPL-3.0-or-later
// What operations and transfers take (docs/semantics.md), in the order of additions that counts to the last bit: every
// simulation of the planner's side adds like this.
#pragma once
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe {

/// Seconds of a node's operations, of a microbatch of Problem::samples; times its relative size for another.
struct OperationSeconds {
    double forward_s = 0, loss_s = 0;
    double backward_s = 0;  ///< of B, or of I and of W each where it is split

    /// By the kind's index: 0 forward, 1 loss, 2 backward.
    double operator[](int kind) const { return kind == 0 ? forward_s : kind == 1 ? loss_s : backward_s; }
};

/// B as one operation, or as I and W.
enum class Backward { whole, split };
constexpr Backward backward_of(bool split) { return split ? Backward::split : Backward::whole; }

inline OperationSeconds operation_seconds(const Problem& problem, NodeIndex node, StageIndex stage, Backward backward) {
    const double forward_s = problem.forward_s(node, stage), backward_s = problem.backward_factor * forward_s;
    return {forward_s, problem.loss_factor * forward_s, backward == Backward::split ? backward_s / 2 : backward_s};
}

/// Kind of a step of a path of so many nodes (step_node), W of a step as that step: 0 forward, 1 loss, 2 backward.
constexpr int kind_of_step(int step, int length) { return (step >= length ? 1 : 0) + (step > length ? 1 : 0); }

/// Whether what a step waits for comes as a forward message.
constexpr bool comes_forward(int step, int length) { return step <= length; }

/// Seconds that the message to a step occupies a line, of a microbatch of Problem::samples.
inline double transfer_seconds(const Hop& hop, int step, int length) {
    return comes_forward(step, length) ? hop.seconds_per_forward : hop.seconds_per_backward;
}

/// When a message arrives that was handed over at `handed_s`, where lines are unlimited.
constexpr double arrival_seconds(double handed_s, double latency_s, double overhead_s, double transfer_s) {
    return handed_s + latency_s + overhead_s + transfer_s;
}

/// Where they are shared: takes the line as soon as it is free, until `line_free_s` as it is then. Returns when it
/// takes it.
constexpr double take_line(double handed_s, double transfer_s, double& line_free_s) {
    const double start_s = handed_s > line_free_s ? handed_s : line_free_s;
    line_free_s = start_s + transfer_s;
    return start_s;
}

/// When a message arrives that has left a shared line.
constexpr double shared_arrival_seconds(double line_free_s, double latency_s, double overhead_s) {
    return line_free_s + latency_s + overhead_s;
}

/// When a line begins to carry something, and when that arrives.
struct Transfer {
    double start_s = 0, arrival_s = 0;
};

/// Of a part or sum of a gradient that is handed over at `now_s`. `line_free_s`: of every line, where they are shared.
inline Transfer carry(const Problem& problem, const Hop& hop, double bytes, double now_s,
                      std::vector<double>& line_free_s) {
    const double transfer_s = bytes / hop.bandwidth_bytes_per_s;
    if (!problem.shared_links) return {now_s, arrival_seconds(now_s, hop.latency_s, problem.overhead_s, transfer_s)};
    double& free_s = line_free_s[static_cast<std::size_t>(hop.line)];
    const double start_s = take_line(now_s, transfer_s, free_s);
    return {start_s, shared_arrival_seconds(free_s, hop.latency_s, problem.overhead_s)};
}

}  // namespace skippipe
