// SPDX-License-Identifier: GPL-3.0-or-later
// What the quick simulations of simulator_bare.h begin with, and which of two events at one instant comes first.
#include <algorithm>

#include "core/planner/timeline/simulator_bare.h"

namespace skippipe {

using namespace bare;

void Simulator::prepare_bare_slots(int count, int length) {
    if (count == slots_count_ && length == slots_length_) return;
    slots_count_ = count;
    slots_length_ = length;
    slot_place_.clear();
    for (int i = 0; i < count; ++i)
        for (int step = 0; step <= 2 * length; ++step) {
            const int place = i * length + (step < length ? step : step == length ? 0 : 2 * length - step);
            const int kind = (step >= length ? 1 : 0) + (step > length ? 1 : 0) + (step == 2 * length ? 1 : 0);
            slot_place_.push_back(static_cast<std::uint32_t>(place) << 2 | static_cast<std::uint32_t>(kind));
        }
    bare_items_.resize(at(count) * at(length) * 3 + at(count) + nodes_.size() * 5);
    bare_records_.resize(slot_place_.size());
    bare_gates_.assign(at(count) + 1, 0.0);
    bare_gates_.front() = never_s;
}

void Simulator::prepare_bare_hops() {
    bare_nodes_.resize(nodes_.size());
    shortest_way_out_s_.assign(nodes_.size(), std::numeric_limits<double>::infinity());
    const auto several = contended_lines(problem_);
    shortest_hop_s_ = std::numeric_limits<double>::infinity();
    const double smallest = problem_.smallest_size();
    for (int a = 0; a < problem_.nodes(); ++a)
        for (int b = 0; b < problem_.nodes(); ++b) {
            const Hop& hop = problem_.hop(a, b);
            if (a == b || hop.line == no_line) continue;
            shortest_way_out_s_[at(a)] = std::min(
                shortest_way_out_s_[at(a)], hop.latency_s + problem_.overhead_s + hop.seconds_per_backward * smallest);
        }
    for (int a = 0; a < problem_.nodes(); ++a)
        for (int b = 0; b < problem_.nodes(); ++b) {
            const Hop& hop = problem_.hop(a, b);
            const bool waits = problem_.shared_links && hop.line != no_line && several[at(hop.line)];
            bare_hops_.push_back({hop.latency_s,
                                  {hop.seconds_per_forward, hop.seconds_per_backward},
                                  static_cast<std::uint32_t>(hop.line),
                                  waits});
            lines_wait_ = lines_wait_ || waits;
            if (waits)
                shortest_hop_s_ = std::min(shortest_hop_s_,
                                           hop.latency_s + problem_.overhead_s +
                                               std::min(hop.seconds_per_forward, hop.seconds_per_backward) * smallest);
        }
    due_s_.assign((nodes_.size() + 1) / 2 * 2, never_s);
    ahead_s_.assign(due_s_.size(), never_s);
}

void Simulator::prepare_bare(const FlatPlan& flat) {
    length_ = flat.length;
    if (bare_hops_.empty()) prepare_bare_hops();
    prepare_bare_slots(flat.count(), flat.length);
    if (sized_) {
        slot_size_.clear();
        for (const double size : size_) slot_size_.insert(slot_size_.end(), at(2 * length_ + 1), size);
    }
    if (problem_.shared_links) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    int* visits = visits_.data();
    std::fill(visits_.begin(), visits_.end(), 0);
    for (const int node : flat.nodes) ++visits[node];
    prepare_bare_nodes();
    operations_left_ = flat.count() * (2 * length_ + 1);
}

void Simulator::prepare_bare_nodes() {
    const FlatPlan& flat = *flat_;
    const double smallest = sized_ ? problem_.smallest_size() : 1;
    double last_backward_s = never_s;
    shortest_operation_s_ = never_s;
    BareItem* item = bare_items_.data();
    std::vector<double> load(sized_ ? nodes_.size() : 0, 0);
    for (int i = 0; sized_ && i < flat.count(); ++i)
        for (int hop = 0; hop < length_; ++hop) load[at(flat.path(i)[hop])] += size_[at(i)];
    // A queue lies between a guard earlier than all and one later than all.
    const auto queue = [&](BareNode& node, int which, int size) {
        item[0].arrival_s = 0;
        item[1].arrival_s = never_s;
        node.head[which] = node.tail[which] = item + 1;
        item += size + 2;
    };
    for (int n = 0; n < problem_.nodes(); ++n) {
        auto& node = bare_nodes_[at(n)];
        const int visits = visits_[at(n)], stage = flat.stage_of[at(n)];
        queue(node, 0, visits);
        queue(node, 1, (stage == 0 ? 2 : 1) * visits);
        node.head[2] = item;
        item += (stage == 0 ? visits : 0) + 1;
        item[-1].arrival_s = never_s;
        node.gate[0] = &bare_gates_[at(std::clamp(problem_.memory[at(n)], 0, visits))];
        node.gate[1] = &open_;
        node.free_s = node.left_s = 0;
        node.pending = 0;
        node.last = -1;
        node.hops = &bare_hops_[at(n) * nodes_.size()];
        ahead_s_[at(n)] = never_s;
        if (stage < 0) continue;
        const double forward_s = problem_.forward_s(n, stage), backward_s = problem_.backward_factor * forward_s,
                     loss_s = problem_.loss_factor * forward_s;
        node.duration_s[0] = forward_s;
        node.duration_s[1] = loss_s;
        node.duration_s[2] = node.duration_s[3] = backward_s;
        node.left_s = (sized_ ? load[at(n)] : visits) * (forward_s + backward_s + (stage == 0 ? loss_s : 0));
        const double shortest_s = least(least(forward_s, backward_s), stage == 0 ? loss_s : forward_s) * smallest;
        ahead_s_[at(n)] = shortest_s + shortest_way_out_s_[at(n)];
        shortest_operation_s_ = least(shortest_operation_s_, shortest_s);
        if (stage == 0) last_backward_s = least(last_backward_s, backward_s * smallest);
    }
    for (int n = 0; n < problem_.nodes(); ++n)
        if (flat.stage_of[at(n)] > 0) bare_nodes_[at(n)].left_s += shortest_way_out_s_[at(n)] + last_backward_s;
    const auto steps = static_cast<std::uint32_t>(2 * length_ + 1);
    for (int i = flat.count() - 1; i >= 0; --i) {
        auto& own = visits_[at(flat.path(i)[0])];
        bare_nodes_[at(flat.path(i)[0])].head[2][--own] = {0, static_cast<std::uint32_t>(i) * steps << 2};
    }
}

/// Whether an operation started when its input arrived, rather than when the operation before it ended.
bool Simulator::starts_by_arrival(int slot) const {
    const auto& record = bare_records_[at(slot)];
    return record.previous < 0 || record.woken || record.start_s > bare_records_[at(record.previous)].end_s;
}

/// Whether one event comes before another at the same instant: the one that was created by the earlier event. An `end`
/// is created when its operation is dispatched, by the event that let it start; an `arrive` when its operation's
/// predecessor ends; one event creates its `arrive` first. The arrivals of the start precede all, in release order.
bool Simulator::precedes(BareEvent x, BareEvent y) const {
    const int steps = 2 * length_ + 1;
    const auto initial = [&](BareEvent event) { return event.arrives && event.slot % steps == 0; };
    const auto creator = [&](BareEvent event) {
        if (event.arrives) return BareEvent{false, event.slot - 1};
        const bool arrived = starts_by_arrival(event.slot);
        return BareEvent{arrived, arrived ? event.slot : bare_records_[at(event.slot)].previous};
    };
    const auto created_s = [&](BareEvent event) {
        return event.arrives ? bare_records_[at(event.slot - 1)].end_s : bare_records_[at(event.slot)].start_s;
    };
    while (true) {
        if (initial(x) || initial(y)) return initial(x) && (!initial(y) || x.slot < y.slot);
        if (const double x_s = created_s(x), y_s = created_s(y); x_s != y_s) return x_s < y_s;
        const BareEvent x_from = creator(x), y_from = creator(y);
        if (x_from == y_from) return x.arrives && !y.arrives;
        x = x_from;
        y = y_from;
    }
}

Simulator::Outcome Simulator::finish_bare(int left, double cutoff_s) {
    double makespan_s = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        last_end_[n] = bare_nodes_[n].last < 0 ? -1 : bare_nodes_[n].free_s;
        makespan_s = most(makespan_s, last_end_[n]);
    }
    return left == 0 && makespan_s < cutoff_s ? Outcome::done : Outcome::cut;
}

Simulator::Outcome Simulator::run_bare(double cutoff_s) {
    if (problem_.shared_links && lines_wait_) {
        if (problem_.nodes() > most_in_turn) return Outcome::too_fine;
        const auto run = [&]<bool Sized>() {
            const int groups = (problem_.nodes() + 3) / 4;
            if (groups <= 4) return run_in_turn<Sized, 4>(cutoff_s);
            if (groups <= 5) return run_in_turn<Sized, 5>(cutoff_s);
            return groups <= 8 ? run_in_turn<Sized, 8>(cutoff_s) : run_in_turn<Sized, 0>(cutoff_s);
        };
        return sized_ ? run.template operator()<true>() : run.template operator()<false>();
    }
    if (sized_) return problem_.shared_links ? run_windows<true, true>(cutoff_s) : run_windows<false, true>(cutoff_s);
    return problem_.shared_links ? run_windows<true, false>(cutoff_s) : run_windows<false, false>(cutoff_s);
}

}  // namespace skippipe
