// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/bound_orders.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

void BoundOrders::prepare(const FlatPlan& flat, const PerRelease<double>& relative_sizes, LinkRule lines) {
    flat_ = &flat;
    sizes_ = &relative_sizes;
    sized_ = !relative_sizes.empty();
    length_ = flat.length;
    split_ = flat.split_backward;
    queue_ = lines == LinkRule::shared;
    if (queue_) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    nodes_.resize(problem_.node_ids.size());
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        const auto& order = flat.order[n];
        const StageIndex stage = flat.stage_of[n];
        const auto seconds =
            stage < 0 ? OperationSeconds{} : operation_seconds(problem_, n, stage, backward_of(split_));
        nodes_[n] = {order.data(),
                     order.data() + order.size(),
                     0,
                     {seconds.forward_s, seconds.loss_s, seconds.backward_s},
                     problem_.memory[n]};
    }
    microbatches_.resize(at(flat.count()));
    for (ReleaseIndex i = 0; i < flat.count(); ++i) microbatches_[i] = {0, flat.path(i), 0};
    operations_left_ = flat.count() * (2 * length_ + 1 + (split_ ? length_ : 0));
}

/// Hands a microbatch's next step over at `now_s`. Returns its node.
NodeIndex BoundOrders::hand_over(NodeIndex from, Microbatch& microbatch, double size, double now_s) {
    const int step = ++microbatch.step;
    const NodeIndex to = step_node(microbatch.nodes, length_, step);
    if (to == step_node(microbatch.nodes, length_, step - 1)) {
        microbatch.arrival_s = now_s;
        return to;
    }
    const Hop hop = problem_.hop(from, to);
    double transfer_s = transfer_seconds(hop, step, length_);
    if (sized_) transfer_s *= size;
    if (queue_) {
        double& line_free_s = line_free_s_[at(hop.line)];
        take_line(now_s, transfer_s, line_free_s);
        microbatch.arrival_s = shared_arrival_seconds(line_free_s, hop.latency_s, problem_.overhead_s);
    } else {
        microbatch.arrival_s = arrival_seconds(now_s, hop.latency_s, problem_.overhead_s, transfer_s);
    }
    return to;
}

/// Runs a node's order as far as its inputs are there; false once the cut-off is sure to be reached.
template <bool Noted>
bool BoundOrders::run_node(NodeIndex n, double cutoff_s, const double* after_s, double* start_s) {
    Node& node = nodes_[n];
    const int last_step = 2 * length_;
    for (; node.next != node.end; ++node.next) {
        const ReleaseIndex i = packed_index(*node.next);
        const int step = packed_step(*node.next) & ~weight_gradient_bit;
        const bool weight = (packed_step(*node.next) & weight_gradient_bit) != 0,
                   forward = step<length_, backward = step> length_;
        Microbatch& microbatch = microbatches_[i];
        if (weight ? microbatch.step <= step : microbatch.step != step) return true;
        if (forward && node.room <= 0) return true;  // for good: what would make room comes later in this very order
        const std::size_t row = at(i) * at(last_step + 1) + at(step);
        const double arrived_s = microbatch.arrival_s, size = sized_ ? (*sizes_)[i] : 1;
        const double begin_s = weight ? node.free_s : node.free_s < arrived_s ? arrived_s : node.free_s;
        double duration_s = node.duration_s[forward ? 0 : backward ? 2 : 1];
        if (sized_) duration_s *= size;
        node.free_s = begin_s + duration_s;
        node.room += forward ? -1 : backward && weight == split_ ? 1 : 0;
        --operations_left_;
        if constexpr (Noted) start_s[row * 2 + (weight ? 1 : 0)] = begin_s;
        if (weight) continue;
        if (!((Noted ? node.free_s + after_s[row] : node.free_s) < cutoff_s)) return false;
        if (step == last_step) {
            ++microbatch.step;
            continue;
        }
        const NodeIndex to = hand_over(n, microbatch, size, node.free_s);
        const Node& there = nodes_[to];
        if (to != n && there.next != there.end && *there.next == pack(i, step + 1)) ready_.push_back(to);
    }
    return true;
}

template <bool Noted>
bool BoundOrders::run_all(double cutoff_s, const double* after_s, double* start_s, PerNode<double>& node_end_s) {
    ready_.clear();
    for (NodeIndex n(problem_.nodes() - 1); n >= 0; --n)
        if (!flat_->order[n].empty()) ready_.push_back(n);
    bool in_time = true;
    while (in_time && !ready_.empty()) {
        const NodeIndex n = ready_.back();
        ready_.pop_back();
        in_time = run_node<Noted>(n, cutoff_s, after_s, start_s);
    }
    node_end_s.resize(nodes_.size());
    for (NodeIndex n = 0; n < problem_.nodes(); ++n)
        node_end_s[n] = nodes_[n].next == flat_->order[n].data() ? -1 : nodes_[n].free_s;
    return in_time && operations_left_ == 0;
}

bool BoundOrders::run(const FlatPlan& flat, const PerRelease<double>& relative_sizes, LinkRule lines, double cutoff_s,
                      PerNode<double>& node_end_s) {
    prepare(flat, relative_sizes, lines);
    return run_all<false>(cutoff_s, nullptr, nullptr, node_end_s);
}

bool BoundOrders::follow(const FlatPlan& flat, const PerRelease<double>& relative_sizes, LinkRule lines,
                         double cutoff_s, const double* after_s, double* start_s, PerNode<double>& node_end_s) {
    prepare(flat, relative_sizes, lines);
    return run_all<true>(cutoff_s, after_s, start_s, node_end_s);
}

}  // namespace skippipe
