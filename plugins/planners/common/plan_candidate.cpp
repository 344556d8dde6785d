// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/plan_candidate.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/planner/plan/paths.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Operation operation_of(const FlatPlan& schedule, std::uint32_t packed) {
    const int step = packed_step(packed), plain = step & ~weight_gradient_bit;
    const OpKind backward = schedule.split_backward ? OpKind::I : OpKind::B;
    const OpKind kind = (step & weight_gradient_bit) != 0 ? OpKind::W
                        : plain < schedule.length         ? OpKind::F
                        : plain == schedule.length        ? OpKind::L
                                                          : backward;
    return {kind, schedule.microbatches[at(packed_index(packed))]};
}

/// Greedy ring for many nodes: always on to the nearest one left.
void nearest_neighbours(const Problem& problem, std::vector<int>& ring) {
    const auto cost_s = [&](int a, int b) {
        return problem.reachable(a, b) ? problem.hop(a, b).latency_s + 1 / problem.hop(a, b).bandwidth_bytes_per_s
                                       : unreachable_s;
    };
    for (std::size_t i = 1; i + 1 < ring.size(); ++i) {
        const auto next =
            std::min_element(ring.begin() + static_cast<std::ptrdiff_t>(i), ring.end(),
                             [&](int a, int b) { return cost_s(ring[i - 1], a) < cost_s(ring[i - 1], b); });
        std::iter_swap(ring.begin() + static_cast<std::ptrdiff_t>(i), next);
    }
}

}  // namespace

bool operator==(const PlanCandidate& a, const PlanCandidate& b) {
    return a.stages == b.stages && a.blocks == b.blocks && a.schedule.length == b.schedule.length &&
           a.schedule.split_backward == b.schedule.split_backward &&
           a.schedule.microbatches == b.schedule.microbatches && a.schedule.nodes == b.schedule.nodes &&
           a.schedule.stage_of == b.schedule.stage_of && a.schedule.order == b.schedule.order;
}

Network::Network(const Problem& problem) : nodes_(at(problem.nodes())) {
    round_s_.resize(nodes_ * nodes_);
    const auto one_way = [&](int from, int to, bool forward) {
        const Hop& hop = problem.hop(from, to);
        if (hop.line == no_line) return unreachable_s;
        return arrival_seconds(0, hop.latency_s, problem.overhead_s,
                               forward ? hop.seconds_per_forward : hop.seconds_per_backward);
    };
    for (int a = 0; a < problem.nodes(); ++a)
        for (int b = 0; b < problem.nodes(); ++b)
            round_s_[at(a) * nodes_ + at(b)] = a == b ? 0 : one_way(a, b, true) + one_way(b, a, false);
}

void check_solvable(const Problem& problem) {
    for (int n = 0; n < problem.nodes(); ++n)
        if (problem.memory[at(n)] < 1)
            throw InputError(
                fmt::format("/topology/nodes/{}", n),
                fmt::format("node {} holds {} microbatches", problem.node_ids[at(n)], problem.memory[at(n)]),
                "a node must hold at least one while it works on it (TC1)",
                "Give it more memory, make stages or microbatches smaller, or set \"memory\" to \"ignore\"");
}

std::vector<int> stage_sizes(const Problem& problem) {
    return problem.stage_sizes.empty() ? problem.default_stage_sizes() : problem.stage_sizes;
}

std::vector<int> sizes_of(const Placement& placement) {
    std::vector<int> sizes;
    for (const auto& stage : placement) sizes.push_back(static_cast<int>(stage.size()));
    return sizes;
}

void order_ring(const Problem& problem, std::vector<int>& ring, int stage) {
    if (!problem.charge_all_reduce || ring.size() < 3) return;
    const auto cost_s = [&](const std::vector<int>& order) {
        double missing_s = 0;
        for (std::size_t i = 0; i < order.size(); ++i)
            if (!problem.reachable(order[i], order[(i + 1) % order.size()])) missing_s += unreachable_s;
        return missing_s > 0 ? missing_s : all_reduce_seconds(problem, order, stage);
    };
    if (ring.size() > 7) {
        auto greedy = ring;
        nearest_neighbours(problem, greedy);
        if (cost_s(greedy) < cost_s(ring)) ring = greedy;
        return;
    }
    auto order = ring;
    std::sort(order.begin() + 1, order.end());  // a ring has no beginning
    double best_s = cost_s(ring);
    do {
        const double seconds = cost_s(order);
        if (seconds < best_s) {
            best_s = seconds;
            ring = order;
        }
    } while (std::next_permutation(order.begin() + 1, order.end()));
}

namespace {

/// Groups of nodes that messages can get about in, there and back; a path never leaves one.
std::vector<std::vector<int>> islands(const Problem& problem) {
    std::vector<std::vector<int>> found;
    std::vector<bool> seen(at(problem.nodes()), false);
    for (int first = 0; first < problem.nodes(); ++first) {
        if (seen[at(first)]) continue;
        std::vector<int> island{first};
        seen[at(first)] = true;
        for (std::size_t k = 0; k < island.size(); ++k)
            for (int b = 0; b < problem.nodes(); ++b)
                if (!seen[at(b)] && problem.reachable(island[k], b) && problem.reachable(b, island[k])) {
                    seen[at(b)] = true;
                    island.push_back(b);
                }
        std::sort(island.begin(), island.end());
        found.push_back(std::move(island));
    }
    return found;
}

/// "; the nodes fall into 2 groups without a link, both ways, between them: a, b | c, d"; empty where they do not.
std::string islands_text(const Problem& problem) {
    const auto groups = islands(problem);
    if (groups.size() < 2) return {};
    std::string text =
        fmt::format("; the nodes fall into {} groups without a link, both ways, between them: ", groups.size());
    for (std::size_t g = 0; g < groups.size() && g < 4; ++g) {
        if (g > 0) text += " | ";
        for (std::size_t k = 0; k < groups[g].size() && k < 4; ++k)
            text += (k > 0 ? ", " : "") + problem.node_ids[at(groups[g][k])];
        if (groups[g].size() > 4) text += fmt::format(" and {} more", groups[g].size() - 4);
    }
    return groups.size() > 4 ? text + " | ..." : text;
}

}  // namespace

void check_reach(const Problem& problem, const PlanCandidate& candidate) {
    const auto need = [&](int from, int to) {
        if (from == to || problem.reachable(from, to)) return;
        throw InputError("/topology/links",
                         fmt::format("no line from {} to {}", problem.node_ids[at(from)], problem.node_ids[at(to)]),
                         "no paths were found that avoid this pair; messages go along one link, there and back" +
                             islands_text(problem),
                         "Draw a link between them (both ways), or change placement or stage sizes");
    };
    std::vector<bool> visited(candidate.stages.size(), false);
    for (int i = 0; i < candidate.schedule.count(); ++i) {
        const int* path = candidate.schedule.path(i);
        for (int hop = 0; hop < candidate.schedule.length; ++hop) {
            need(path[hop], path[(hop + 1) % candidate.schedule.length]);
            need(path[(hop + 1) % candidate.schedule.length], path[hop]);
            visited[at(candidate.schedule.stage_of[at(path[hop])])] = true;
        }
    }
    if (!problem.charge_all_reduce) return;
    for (std::size_t s = 0; s < candidate.stages.size(); ++s)
        for (std::size_t i = 0; visited[s] && i < candidate.stages[s].size(); ++i)
            need(candidate.stages[s][i], candidate.stages[s][(i + 1) % candidate.stages[s].size()]);
}

PlanCandidate make_candidate(const Problem& problem, const Placement& stages, int length) {
    PlanCandidate candidate{stages, {}, problem.blocks};
    auto& schedule = candidate.schedule;
    schedule.length = length;
    schedule.split_backward = problem.split_backward;
    schedule.stage_of.assign(at(problem.nodes()), -1);
    for (std::size_t s = 0; s < stages.size(); ++s)
        for (const int node : stages[s]) schedule.stage_of[at(node)] = static_cast<int>(s);
    for (int m = 0; m < problem.microbatches; ++m) schedule.microbatches.push_back(m);
    schedule.nodes.assign(at(problem.microbatches) * at(length), -1);
    return candidate;
}

PlanCandidate candidate_of(const Problem& problem, const Plan& plan) {
    return {plan.stages, flatten(problem, plan), plan.blocks};
}

Plan make_plan(const Problem& problem, const PlanCandidate& candidate, const std::string& planner,
               const PlanRequest& request, std::int64_t steps, std::string note) {
    Plan plan;
    plan.planner = planner;
    plan.seed = request.seed;
    plan.steps = steps;
    plan.experiment_hash = problem.experiment_hash;
    plan.split_backward = candidate.schedule.split_backward;
    plan.stages = candidate.stages;
    plan.blocks = candidate.blocks;
    for (int i = 0; i < candidate.schedule.count(); ++i) {
        const int* path = candidate.schedule.path(i);
        plan.paths.push_back(
            {candidate.schedule.microbatches[at(i)], std::vector<int>(path, path + candidate.schedule.length)});
    }
    for (const auto& node : candidate.schedule.order) {
        auto& order = plan.order.emplace_back();
        for (const auto packed : node) order.push_back(operation_of(candidate.schedule, packed));
    }
    plan.note = std::move(note);
    return plan;
}

bool fits_stages(const Problem& problem, const FlatPlan& schedule, int index) {
    const int* path = schedule.path(index);
    const auto stage = [&](int hop) { return schedule.stage_of[at(path[hop])]; };
    PathProgress progress;
    std::uint64_t seen = 0;  // the stages, modulo 64
    for (int hop = 1; hop < schedule.length; ++hop) {
        const auto bit = std::uint64_t{1} << (stage(hop) % 64);
        for (int before = 1; (seen & bit) != 0 && before < hop; ++before)
            if (stage(before) == stage(hop)) return false;
        seen |= bit;
        if (!advance(problem.constraints, progress, stage(hop))) return false;
    }
    return true;
}

bool has_lines(const Problem& problem, const FlatPlan& schedule, int index) {
    const int* path = schedule.path(index);
    for (int hop = 0; schedule.length > 1 && hop < schedule.length; ++hop) {
        const int next = path[(hop + 1) % schedule.length];
        if (!problem.reachable(path[hop], next) || !problem.reachable(next, path[hop])) return false;
    }
    return true;
}

bool fits_everywhere(const Problem& problem, const PlanCandidate& candidate) {
    for (int i = 0; i < candidate.schedule.count(); ++i)
        if (!fits_stages(problem, candidate.schedule, i) || !has_lines(problem, candidate.schedule, i)) return false;
    return has_ring_lines(problem, candidate);
}

bool has_ring_lines(const Problem& problem, const PlanCandidate& candidate) {
    if (!problem.charge_all_reduce) return true;
    for (const auto& ring : candidate.stages)
        for (std::size_t k = 0; ring.size() > 1 && k < ring.size(); ++k)
            if (!problem.reachable(ring[k], ring[(k + 1) % ring.size()])) return false;
    return true;
}

double mean_end_s(const std::vector<int>& data_nodes, const std::vector<double>& node_end_s) {
    double sum_s = 0;
    for (const int node : data_nodes) sum_s += std::max(0.0, node_end_s[at(node)]);
    return sum_s / static_cast<double>(data_nodes.size());
}

double iteration_s(const Problem& problem, const PlanCandidate& candidate) {
    return Simulator(PlannedProblem(problem, candidate.blocks).get())
        .times(candidate.schedule, candidate.stages)
        .iteration_s;
}

double evaluated_s(const Problem& problem, const PlanCandidate& candidate) {
    return evaluate(problem, make_plan(problem, candidate, {}, {}, 0, {})).iteration_s;
}

}  // namespace skippipe
