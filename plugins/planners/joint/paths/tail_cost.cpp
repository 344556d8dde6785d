// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/paths/tail_cost.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::planners::joint {

namespace {

constexpr std::uint64_t scenario_stream = 0x726F'6275'7374;

constexpr int lanes = Scenarios::lanes;
constexpr int tail = lanes / 2;

}  // namespace

Scenarios draw_scenarios(const Problem& problem, const Jitter& jitter, std::uint64_t seed) {
    Scenarios scenarios;
    scenarios.node.resize(at(problem.nodes()));
    scenarios.line.resize(problem.line_names.size());
    Rng rng(seed, scenario_stream);
    Factors factors;
    for (int k = 0; k < lanes; ++k) {
        draw_factors(problem, jitter, rng, factors);
        for (NodeIndex n = 0; n < problem.nodes(); ++n) scenarios.node[n].of[k] = factors.node[n];
        for (std::size_t l = 0; l < factors.line.size(); ++l) scenarios.line[l].of[k] = factors.line[l];
    }
    return scenarios;
}

/// By their ends: every operation after those it waits for, and transfers as lines are handed them.
void TailCost::sort_operations(const FlatPlan& schedule, const std::vector<double>& end_s) {
    const int steps = 2 * schedule.length + 1;
    moments_.resize(end_s.size());
    std::size_t slot = 0;
    for (ReleaseIndex i = 0; i < schedule.count(); ++i)
        for (int step = 0; step < steps; ++step, ++slot) moments_[slot] = {end_s[slot], i, step};
    std::sort(moments_.begin(), moments_.end(), [](const Moment& a, const Moment& b) { return a.end_s < b.end_s; });
}

/// `seconds`: that the message occupies the line, of a microbatch of Problem::samples on the network as drawn.
void TailCost::hand_over(const Hop& hop, double seconds, double size, const Lanes& end, Lanes& arrival) {
    const double overhead_s = problem_.overhead_s, latency_s = hop.latency_s;
    const Lanes& factor = scenarios_.line[at(hop.line)];
    if (!problem_.shared_links) {
        for (int k = 0; k < lanes; ++k)
            arrival.of[k] =
                arrival_seconds(end.of[k], latency_s * factor.of[k], overhead_s, seconds * factor.of[k] * size);
        return;
    }
    Lanes& free = line_free_[at(hop.line)];
    if (line_used_in_[at(hop.line)] != evaluation_) free = Lanes{};
    line_used_in_[at(hop.line)] = evaluation_;
    for (int k = 0; k < lanes; ++k) {
        take_line(end.of[k], seconds * factor.of[k] * size, free.of[k]);
        arrival.of[k] = shared_arrival_seconds(free.of[k], latency_s * factor.of[k], overhead_s);
    }
}

/// A forward of each node on each network.
void TailCost::set_forwards(const FlatPlan& schedule) {
    forward_.resize(at(problem_.nodes()));
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        const StageIndex stage = schedule.stage_of[n];
        if (stage < 0) continue;
        const double work = problem_.samples * problem_.blocks[stage];
        for (int k = 0; k < lanes; ++k)
            forward_[n].of[k] = work * (problem_.seconds_per_sample_per_block[n] * scenarios_.node[n].of[k]);
    }
}

void TailCost::run(const FlatPlan& schedule) {
    const int length = schedule.length;
    const double of_forward[] = {1, problem_.loss_factor, problem_.backward_factor};
    for (const Moment& moment : moments_) {
        const NodeIndex* path = schedule.path(moment.index);
        const int step = moment.step;
        const NodeIndex node = step_node(path, length, step);
        const double size = problem_.relative_size(schedule.microbatches[moment.index]);
        const double times_forward = of_forward[kind_of_step(step, length)];
        Lanes &free = node_free_[node], &arrival = arrival_[moment.index];
        const Lanes& forward = forward_[node];
        for (int k = 0; k < lanes; ++k)
            free.of[k] =
                (arrival.of[k] > free.of[k] ? arrival.of[k] : free.of[k]) + times_forward * forward.of[k] * size;
        if (step == 2 * length) continue;
        const Hop& hop = problem_.hop(node, step_node(path, length, step + 1));
        hand_over(hop, transfer_seconds(hop, step + 1, length), size, free, arrival);
    }
}

void TailCost::add_all_reduce(const std::vector<NodeIndex>& ring, StageIndex stage, Lanes& end) const {
    const auto r = static_cast<double>(ring.size());
    if (!problem_.charge_all_reduce || ring.size() <= 1) return;
    Lanes slowest{};
    for (std::size_t i = 0; i < ring.size(); ++i) {
        const Hop& hop = problem_.hop(ring[i], ring[(i + 1) % ring.size()]);
        const double bytes = problem_.gradient_bytes[stage] / r;
        const Lanes& factor = scenarios_.line[at(hop.line)];
        for (int k = 0; k < lanes; ++k)
            slowest.of[k] = std::max(slowest.of[k], hop.latency_s * factor.of[k] + problem_.overhead_s +
                                                        bytes / (hop.bandwidth_bytes_per_s / factor.of[k]));
    }
    for (int k = 0; k < lanes; ++k) end.of[k] += 2 * (r - 1) * slowest.of[k];
}

TailCost::Value TailCost::operator()(const PlanCandidate& candidate, const std::vector<double>& end_s) {
    const FlatPlan& schedule = candidate.schedule;
    sort_operations(schedule, end_s);
    node_free_.assign(at(problem_.nodes()), Lanes{});
    arrival_.assign(at(schedule.count()), Lanes{});
    line_free_.resize(problem_.shared_links ? scenarios_.line.size() : 0);
    line_used_in_.resize(line_free_.size());
    ++evaluation_;
    set_forwards(schedule);
    run(schedule);
    Lanes iteration{};
    Value value;
    for (StageIndex s = 0; s < problem_.stages; ++s) {
        Lanes end{};
        for (const NodeIndex node : candidate.stages[s])
            for (int k = 0; k < lanes; ++k) end.of[k] = std::max(end.of[k], node_free_[node].of[k]);
        if (end.of[0] == 0) continue;  // not visited
        add_all_reduce(candidate.stages[s], s, end);
        for (int k = 0; k < lanes; ++k) iteration.of[k] = std::max(iteration.of[k], end.of[k] + problem_.step_seconds);
    }
    for (const NodeIndex node : candidate.stages[0])
        value.mean_end_s += std::accumulate(node_free_[node].of, node_free_[node].of + lanes, 0.0);
    value.mean_end_s /= lanes * static_cast<double>(candidate.stages[0].size());
    std::nth_element(iteration.of, iteration.of + tail, iteration.of + lanes, std::greater<>());
    value.iteration_s = std::accumulate(iteration.of, iteration.of + tail, 0.0) / tail;
    return value;
}

}  // namespace skippipe::planners::joint
