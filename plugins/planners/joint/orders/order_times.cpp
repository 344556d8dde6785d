// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/orders/order_times.h"

#include <algorithm>
#include <bit>

#include "core/base/index.h"
#include "core/base/infinite.h"

namespace skippipe::planners::joint {

namespace {
/// After so many accepted changes, a part of the operations, ranks are too far from the order of starts.
constexpr int operations_a_sort = 8;
}  // namespace

OrderTimes::OrderTimes(const Problem& problem, const PlanCandidate& candidate)
    : problem_(problem),
      length_(candidate.schedule.length),
      steps_(2 * length_ + 1),
      operations_(candidate.schedule.count() * (steps_ + (candidate.schedule.split_backward ? length_ : 0))),
      simulator_(problem) {
    const auto count = at(candidate.schedule.count());
    start_s_.assign(count * at(steps_) * 2, 0.0);
    trial_s_ = start_s_;
    after_s_.assign(count * at(steps_), 0.0);
    row_duration_s_ = after_s_;
    transfers_.resize(after_s_.size());
    position_.resize(start_s_.size());
    rank_.resize(start_s_.size());
    duration_s_.assign(at(problem.nodes()) * 4, 0.0);
    node_end_s_.resize(at(problem.nodes()));
    size_.resize(count);
    set_stages(candidate);
}

void OrderTimes::set_stages(const PlanCandidate& candidate) {
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) set_node(candidate, n);
    set_rings(candidate);
    for (ReleaseIndex i = 0; i < candidate.schedule.count(); ++i) set_path(candidate, i);
}

void OrderTimes::follow(const PlanCandidate& candidate, const OrderChange& change) {
    if (change.blocks) return set_stages(candidate);
    for (const NodeIndex node : change.nodes) set_node(candidate, node);
    if (!change.nodes.empty()) set_rings(candidate);
    for (const ReleaseIndex index : change.paths) set_path(candidate, index);
}

void OrderTimes::set_node(const PlanCandidate& candidate, NodeIndex node) {
    const StageIndex stage = candidate.schedule.stage_of[node];
    if (stage < 0) return;
    const auto seconds = operation_seconds(problem_, node, stage, backward_of(candidate.schedule.split_backward));
    for (int kind = 0; kind < 3; ++kind) duration_s_[at(node) * 4 + at(kind)] = seconds[kind];
}

void OrderTimes::set_rings(const PlanCandidate& candidate) {
    reduce_s_.clear();
    for (StageIndex s = 0; s < problem_.stages; ++s)
        reduce_s_.push_back(all_reduce_seconds(problem_, candidate.stages[s], s));
}

void OrderTimes::set_path(const PlanCandidate& candidate, ReleaseIndex index) {
    const double size = size_[index] = problem_.relative_size(candidate.schedule.microbatches[index]);
    const NodeIndex* path = candidate.schedule.path(index);
    const std::size_t first = at(index) * at(steps_);
    for (int step = 0; step < steps_; ++step) {
        const NodeIndex to = step_node(path, length_, step), from = step > 0 ? step_node(path, length_, step - 1) : to;
        row_duration_s_[first + at(step)] = duration_s(to, pack(index, step));
        Transfer& transfer = transfers_[first + at(step)] = {};
        if (from == to) continue;
        const Hop& hop = problem_.hop(from, to);
        transfer = {hop.latency_s, problem_.overhead_s, transfer_seconds(hop, step, length_) * size};
    }
    double* after_s = &after_s_[first];
    after_s[steps_ - 1] = candidate.schedule.split_backward ? row_duration_s_[first + at(steps_) - 1] : 0;
    for (int step = steps_ - 2; step >= 0; --step) {
        const Transfer& transfer = transfers_[first + at(step) + 1];
        after_s[step] = (transfer.latency_s + transfer.overhead_s + transfer.transfer_s +
                         row_duration_s_[first + at(step) + 1] + after_s[step + 1]) *
                        (1 - 1e-12);  // sums differ in their last bits
    }
}

inline void OrderTimes::mark(std::uint32_t operation) {
    const auto rank = static_cast<std::size_t>(rank_[slot(operation)]);
    marked_[rank / 64] |= std::uint64_t{1} << (rank % 64);
    word_ = std::min(word_, rank / 64);
}

void OrderTimes::set_positions(const PlanCandidate& candidate, NodeIndex node) {
    const auto& order = candidate.schedule.order[node];
    for (std::size_t k = 0; k < order.size(); ++k) position_[slot(order[k])] = static_cast<int>(k);
}

/// Marks what runs after something else than before, and the changed paths; positions become those of the changed
/// orders.
void OrderTimes::mark_change(const PlanCandidate& candidate, const OrderChange& change) {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    for (std::size_t c = 0; c < change.orders.size(); ++c) {
        const auto& before = change.journal->order_before(c);
        const auto& order = candidate.schedule.order[change.orders[c]];
        for (std::size_t k = 0; k < order.size(); ++k) {
            if (k < before.size() && before[k] == order[k] && (k == 0 || before[k - 1] == order[k - 1])) continue;
            const auto position = static_cast<std::size_t>(position_[slot(order[k])]);
            const bool here = position < before.size() && before[position] == order[k];
            const auto predecessor = here && position > 0 ? before[position - 1] : none;
            if (!here || predecessor != (k > 0 ? order[k - 1] : none)) mark(order[k]);
        }
    }
    for (const NodeIndex node : change.orders) set_positions(candidate, node);
    for (const ReleaseIndex i : change.paths)
        for (int step = 0; step < steps_; ++step) mark(pack(i, step));
}

/// Computes what is marked, and what that reaches, mostly from early to late. Orders that wait for each other only ever
/// get later.
bool OrderTimes::work_off(const PlanCandidate& candidate, double cutoff_s) {
    for (int left = 4 * operations_; word_ < marked_.size();) {
        auto& word = marked_[word_];
        if (word == 0) {
            ++word_;
            continue;
        }
        if (--left < 0) return false;
        const auto operation = ranked_[word_ * 64 + static_cast<std::size_t>(std::countr_zero(word))];
        word &= word - 1;
        const ReleaseIndex i = packed_index(operation);
        const int step = packed_step(operation) & ~weight_gradient_bit;
        const bool weight = (packed_step(operation) & weight_gradient_bit) != 0;
        const auto here = slot(operation), in_row = row(operation);
        const auto& order = candidate.schedule.order[step_node(candidate.schedule.path(i), length_, step)];
        const int position = position_[here];
        double start_s = position > 0 ? end_s(order[at(position) - 1]) : 0;
        if (!weight && step > 0) {
            const Transfer& transfer = transfers_[in_row];
            start_s = std::max(start_s, arrival_seconds(start_s_[here - 2] + row_duration_s_[in_row - 1],
                                                        transfer.latency_s, transfer.overhead_s, transfer.transfer_s));
        }
        if (start_s == start_s_[here]) continue;
        undo_.push_back({here, start_s_[here]});
        start_s_[here] = start_s;
        if (!weight && !(start_s + row_duration_s_[in_row] + after_s_[in_row] < cutoff_s)) return false;
        if (at(position) + 1 < order.size()) mark(order[at(position) + 1]);
        if (!weight && step + 1 < steps_) mark(pack(i, step + 1));
    }
    return true;
}

bool OrderTimes::spread(const PlanCandidate& candidate, double cutoff_s, const OrderChange& change) {
    undo_.clear();
    word_ = marked_.size();
    mark_change(candidate, change);
    if (work_off(candidate, cutoff_s)) return true;
    std::fill(marked_.begin(), marked_.end(), 0);
    return false;
}

/// When the last stage has stepped.
double OrderTimes::last_s(const PlanCandidate& candidate) {
    double last_s = 0;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        const auto& order = candidate.schedule.order[n];
        node_end_s_[n] = order.empty() ? -1 : whole_ ? simulator_.node_end_s()[n] : end_s(order.back());
        if (!order.empty())
            last_s =
                std::max(last_s, node_end_s_[n] + reduce_s_[candidate.schedule.stage_of[n]] + problem_.step_seconds);
    }
    return last_s;
}

double OrderTimes::iteration_s(const PlanCandidate& candidate, double cutoff_s, const OrderChange& change) {
    whole_ = change.reaches_all() || problem_.shared_links;
    if (!(whole_ ? simulator_.follow_orders(candidate.schedule, cutoff_s, after_s_.data(), trial_s_.data())
                 : spread(candidate, cutoff_s, change)))
        return infinite;
    const double seconds = last_s(candidate);
    return seconds < cutoff_s ? seconds : infinite;
}

void OrderTimes::sort(const PlanCandidate& candidate) {
    accepted_ = 0;
    ranked_.clear();
    for (const auto& order : candidate.schedule.order) ranked_.insert(ranked_.end(), order.begin(), order.end());
    std::sort(ranked_.begin(), ranked_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return start_s(a) != start_s(b) ? start_s(a) < start_s(b) : a < b;
    });
    for (std::size_t k = 0; k < ranked_.size(); ++k) rank_[slot(ranked_[k])] = static_cast<int>(k);
    marked_.assign(ranked_.size() / 64 + 1, 0);
}

void OrderTimes::accept(const PlanCandidate& candidate) {
    if (whole_) {
        start_s_ = trial_s_;
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) set_positions(candidate, n);
    }
    if (problem_.shared_links) return;
    if (whole_ || ++accepted_ * operations_a_sort > operations_) sort(candidate);
}

void OrderTimes::reject(const PlanCandidate& candidate, const OrderChange& change) {
    if (whole_) return;
    for (std::size_t k = undo_.size(); k-- > 0;) start_s_[undo_[k].slot] = undo_[k].start_s;
    for (const NodeIndex node : change.orders) set_positions(candidate, node);
}

bool OrderTimes::are_those_of(const PlanCandidate& candidate) const {
    OrderTimes fresh(problem_, candidate);
    OrderChange everything;
    everything.blocks = true;
    fresh.iteration_s(candidate, infinite, everything);
    fresh.accept(candidate);
    for (const auto& order : candidate.schedule.order)
        for (std::size_t k = 0; k < order.size(); ++k)
            if (start_s(order[k]) != fresh.start_s(order[k]) || position_[slot(order[k])] != static_cast<int>(k))
                return false;
    return transfers_ == fresh.transfers_ && row_duration_s_ == fresh.row_duration_s_ && after_s_ == fresh.after_s_ &&
           reduce_s_ == fresh.reduce_s_ && size_ == fresh.size_;
}

}  // namespace skippipe::planners::joint
