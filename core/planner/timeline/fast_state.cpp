// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/fast_state.h"

#include <algorithm>

namespace skippipe::fast {

FastState::FastState(const Problem& of)
    : problem(of), nodes(at(of.nodes())), line_free_s(of.line_names.size()), visits_(at(of.nodes())) {
    ahead_s.assign((nodes.size() + 1) / 2 * 2, never_s);
    prepare_hops();
}

void FastState::prepare_slots(int count, int length) {
    if (count == slots_count_ && length == slots_length_) return;
    slots_count_ = count;
    slots_length_ = length;
    places.clear();
    for (int i = 0; i < count; ++i)
        for (int step = 0; step <= 2 * length; ++step) {
            const int place = i * length + (step < length ? step : step == length ? 0 : 2 * length - step);
            const int kind = (step >= length ? 1 : 0) + (step > length ? 1 : 0) + (step == 2 * length ? 1 : 0);
            places.push_back(static_cast<std::uint32_t>(place) << 2 | static_cast<std::uint32_t>(kind));
        }
    items_.resize(at(count) * at(length) * 3 + at(count) + nodes.size() * 5);
    records.resize(places.size());
    gates_.assign(at(count) + 1, 0.0);
    gates_.front() = never_s;
}

void FastState::prepare_hops() {
    shortest_way_out_s_.assign(nodes.size(), std::numeric_limits<double>::infinity());
    const auto several = contended_lines(problem);
    shortest_hop_s = std::numeric_limits<double>::infinity();
    const double smallest = problem.smallest_size();
    const auto idle_way_s = [&](const Hop& hop, double transfer_s) {
        return arrival_seconds(0, hop.latency_s, problem.overhead_s, transfer_s * smallest);
    };
    const Hops& all = problem.hops;
    std::vector<double> way_out_s(at(all.groups()), never_s);
    for (int a = 0; a < all.groups(); ++a)
        for (int b = 0; b < all.groups(); ++b) {
            const Hop& hop = all.between(a, b);
            const bool pairs = all.has_pairs(a, b), there = (a != b || pairs) && hop.line != no_line,
                       waits = problem.shared_links && !pairs && hop.line != no_line && several[at(hop.line)];
            hops.push_back({hop.latency_s,
                            {hop.seconds_per_forward, hop.seconds_per_backward},
                            static_cast<std::uint32_t>(hop.line),
                            waits,
                            pairs});
            lines_wait = lines_wait || waits;
            const double seconds = idle_way_s(hop, std::min(hop.seconds_per_forward, hop.seconds_per_backward));
            if (there) way_out_s[at(a)] = std::min(way_out_s[at(a)], seconds);
            if (waits) shortest_hop_s = std::min(shortest_hop_s, seconds);
        }
    for (NodeIndex n = 0; n < problem.nodes(); ++n) {
        const int group = all.group_of(n), place = all.place_of(n);
        shortest_way_out_s_[n] = way_out_s[at(group)];
        pair_lines.push_back(
            {static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(place),
             static_cast<std::uint32_t>(all.between(group, group).line + place * (all.members(group) - 1))});
    }
}

void FastState::prepare(const FlatPlan& plan, const PerRelease<double>& relative_sizes) {
    flat = &plan;
    length_ = plan.length;
    sized_ = !relative_sizes.empty();
    prepare_slots(plan.count(), plan.length);
    slot_sizes.clear();
    for (const double size : relative_sizes) slot_sizes.insert(slot_sizes.end(), at(2 * length_ + 1), size);
    if (problem.shared_links) std::fill(line_free_s.begin(), line_free_s.end(), 0.0);
    std::fill(visits_.begin(), visits_.end(), 0);
    for (const NodeIndex node : plan.nodes) ++visits_[node];
    prepare_nodes(relative_sizes);
    operations_ = plan.count() * (2 * length_ + 1);
}

void FastState::prepare_nodes(const PerRelease<double>& relative_sizes) {
    const FlatPlan& plan = *flat;
    const double smallest = sized_ ? problem.smallest_size() : 1;
    double last_backward_s = never_s;
    shortest_operation_s = never_s;
    Item* item = items_.data();
    PerNode<double> load(sized_ ? nodes.size() : 0, 0);
    for (ReleaseIndex i = 0; sized_ && i < plan.count(); ++i)
        for (int hop = 0; hop < length_; ++hop) load[plan.path(i)[hop]] += relative_sizes[i];
    // A queue lies between a guard earlier than all and one later than all.
    const auto queue = [&](Node& node, int which, int size) {
        item[0].arrival_s = 0;
        item[1].arrival_s = never_s;
        node.head[which] = node.tail[which] = item + 1;
        item += size + 2;
    };
    for (NodeIndex n = 0; n < problem.nodes(); ++n) {
        auto& node = nodes[n];
        const int visits = visits_[n];
        const StageIndex stage = plan.stage_of[n];
        queue(node, 0, visits);
        queue(node, 1, (stage == 0 ? 2 : 1) * visits);
        node.head[2] = item;
        item += (stage == 0 ? visits : 0) + 1;
        item[-1].arrival_s = never_s;
        node.gate[0] = &gates_[at(std::clamp(problem.memory[n], 0, visits))];
        node.gate[1] = &open_;
        node.free_s = node.left_s = 0;
        node.pending = 0;
        node.last = -1;
        node.hops = &hops[at(problem.hops.group_of(n) * problem.hops.groups())];
        ahead_s[at(n)] = never_s;
        if (stage < 0) continue;
        const auto [forward_s, loss_s, backward_s] = operation_seconds(problem, n, stage, Backward::whole);
        node.duration_s[0] = forward_s;
        node.duration_s[1] = loss_s;
        node.duration_s[2] = node.duration_s[3] = backward_s;
        node.left_s = (sized_ ? load[n] : visits) * (forward_s + backward_s + (stage == 0 ? loss_s : 0));
        const double shortest_s = least(least(forward_s, backward_s), stage == 0 ? loss_s : forward_s) * smallest;
        ahead_s[at(n)] = shortest_s + shortest_way_out_s_[n];
        shortest_operation_s = least(shortest_operation_s, shortest_s);
        if (stage == 0) last_backward_s = least(last_backward_s, backward_s * smallest);
    }
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        if (plan.stage_of[n] > 0) nodes[n].left_s += shortest_way_out_s_[n] + last_backward_s;
    const auto steps = static_cast<std::uint32_t>(2 * length_ + 1);
    for (ReleaseIndex i(plan.count() - 1); i >= 0; --i) {
        auto& own = visits_[plan.path(i)[0]];
        nodes[plan.path(i)[0]].head[2][--own] = {0, static_cast<std::uint32_t>(i) * steps << 2};
    }
}

/// Whether an operation started when its input arrived, rather than when the operation before it ended.
bool FastState::starts_by_arrival(int slot) const {
    const auto& record = records[at(slot)];
    return record.previous < 0 || record.woken || record.start_s > records[at(record.previous)].end_s;
}

bool FastState::precedes(Event x, Event y) const {
    const int steps = 2 * length_ + 1;
    const auto initial = [&](Event event) { return event.arrives && event.slot % steps == 0; };
    const auto creator = [&](Event event) {
        if (event.arrives) return Event{false, event.slot - 1};
        const bool arrived = starts_by_arrival(event.slot);
        return Event{arrived, arrived ? event.slot : records[at(event.slot)].previous};
    };
    const auto created_s = [&](Event event) {
        return event.arrives ? records[at(event.slot - 1)].end_s : records[at(event.slot)].start_s;
    };
    while (true) {
        if (initial(x) || initial(y)) return initial(x) && (!initial(y) || x.slot < y.slot);
        if (const double x_s = created_s(x), y_s = created_s(y); x_s != y_s) return x_s < y_s;
        const Event x_from = creator(x), y_from = creator(y);
        if (x_from == y_from) return x.arrives && !y.arrives;
        x = x_from;
        y = y_from;
    }
}

FastOutcome FastState::finish(int left, double cutoff_s, PerNode<double>& node_end_s) const {
    double makespan_s = 0;
    node_end_s.resize(nodes.size());
    for (NodeIndex n = 0; n < problem.nodes(); ++n) {
        node_end_s[n] = nodes[n].last < 0 ? -1 : nodes[n].free_s;
        makespan_s = most(makespan_s, node_end_s[n]);
    }
    return left == 0 && makespan_s < cutoff_s ? FastOutcome::done : FastOutcome::cut;
}

}  // namespace skippipe::fast
