// SPDX-License-Identifier: GPL-3.0-or-later
// The quick simulation of bound orders, where no transfer waits for another node's: what waits for what is known
// beforehand, so that there are no events; each node runs its order as far as its inputs are there, and the next node
// goes on from there.
#include <algorithm>

#include "core/planner/timeline/simulator_bare.h"

namespace skippipe {

using namespace bare;

bool Simulator::orders_decide() {
    if (!apart_) apart_ = has_dedicated_lines(problem_);
    return *apart_;
}

void Simulator::prepare_ordered() {
    const FlatPlan& flat = *flat_;
    length_ = flat.length;
    split_ = flat.split_backward;
    queue_ = problem_.shared_links && orders_decide();
    if (queue_) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    ordered_nodes_.resize(nodes_.size());
    for (int n = 0; n < problem_.nodes(); ++n) {
        auto& node = ordered_nodes_[at(n)];
        const auto& order = flat.order[at(n)];
        const int stage = flat.stage_of[at(n)];
        const double forward_s = stage < 0 ? 0 : problem_.forward_s(n, stage),
                     backward_s = problem_.backward_factor * forward_s;
        node = {order.data(),
                order.data() + order.size(),
                &problem_.hops[at(n) * nodes_.size()],
                0,
                {forward_s, problem_.loss_factor * forward_s, split_ ? backward_s / 2 : backward_s},
                problem_.memory[at(n)]};
    }
    ordered_paths_.resize(at(flat.count()));
    for (int i = 0; i < flat.count(); ++i) ordered_paths_[at(i)] = {0, flat.path(i), 0};
    operations_left_ = flat.count() * (2 * length_ + 1 + (split_ ? length_ : 0));
}

/// Hands a microbatch's next step over at `now_s`. Returns its node.
int Simulator::hand_over_ordered(const OrderedNode& node, OrderedPath& path, double size, double now_s) {
    const int step = ++path.step, to = step_node(path.nodes, length_, step);
    if (to == step_node(path.nodes, length_, step - 1)) {
        path.arrival_s = now_s;
        return to;
    }
    const Hop& hop = node.hops[at(to)];
    double transfer_s = step <= length_ ? hop.seconds_per_forward : hop.seconds_per_backward;
    if (sized_) transfer_s *= size;
    if (queue_) {
        double& free_s = line_free_s_[at(hop.line)];
        free_s = most(now_s, free_s) + transfer_s;
        path.arrival_s = free_s + hop.latency_s + problem_.overhead_s;
    } else {
        path.arrival_s = now_s + hop.latency_s + problem_.overhead_s + transfer_s;
    }
    return to;
}

/// Runs a node's order as far as its inputs are there; false once the cut-off is sure to be reached.
template <bool Noted>
bool Simulator::run_ordered_node(int n, double cutoff_s, const double* after_s, double* start_s) {
    OrderedNode& node = ordered_nodes_[at(n)];
    const int last_step = 2 * length_;
    for (; node.next != node.end; ++node.next) {
        const int i = packed_index(*node.next), step = packed_step(*node.next) & ~weight_gradient_bit;
        const bool weight = (packed_step(*node.next) & weight_gradient_bit) != 0,
                   forward = step<length_, backward = step> length_;
        OrderedPath& path = ordered_paths_[at(i)];
        if (weight ? path.step <= step : path.step != step) return true;
        if (forward && node.room <= 0) return true;  // for good: what would make room comes later in this very order
        const std::size_t row = at(i) * at(last_step + 1) + at(step);
        const double begin_s = weight ? node.free_s : most(node.free_s, path.arrival_s),
                     size = sized_ ? size_[at(i)] : 1;
        double duration_s = node.duration_s[forward ? 0 : backward ? 2 : 1];
        if (sized_) duration_s *= size;
        node.free_s = begin_s + duration_s;
        node.room += forward ? -1 : backward && weight == split_ ? 1 : 0;
        --operations_left_;
        if constexpr (Noted) start_s[row * 2 + (weight ? 1 : 0)] = begin_s;
        if (weight) continue;
        if (!((Noted ? node.free_s + after_s[row] : node.free_s) < cutoff_s)) return false;
        if (step == last_step) {
            ++path.step;
            continue;
        }
        const int to = hand_over_ordered(node, path, size, node.free_s);
        const OrderedNode& there = ordered_nodes_[at(to)];
        if (to != n && there.next != there.end && *there.next == pack(i, step + 1)) ordered_ready_.push_back(to);
    }
    return true;
}

template <bool Noted>
bool Simulator::run_ordered(double cutoff_s, const double* after_s, double* start_s) {
    prepare_ordered();
    ordered_ready_.clear();
    for (int n = problem_.nodes() - 1; n >= 0; --n)
        if (!flat_->order[at(n)].empty()) ordered_ready_.push_back(n);
    bool in_time = true;
    while (in_time && !ordered_ready_.empty()) {
        const int n = ordered_ready_.back();
        ordered_ready_.pop_back();
        in_time = run_ordered_node<Noted>(n, cutoff_s, after_s, start_s);
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n)
        last_end_[n] = ordered_nodes_[n].next == flat_->order[n].data() ? -1 : ordered_nodes_[n].free_s;
    return in_time && operations_left_ == 0;
}

bool Simulator::follow_orders(const FlatPlan& flat, double cutoff_s, const double* after_s, double* start_s) {
    bare_done_ = false;
    flat_ = &flat;
    prepare_sizes();
    return run_ordered<true>(cutoff_s, after_s, start_s);
}

bool Simulator::simulate_ordered(double cutoff_s) {
    const bool complete = run_ordered<false>(cutoff_s, nullptr, nullptr);
    set_stage_ends();
    return complete && makespan_ < cutoff_s;
}

}  // namespace skippipe
