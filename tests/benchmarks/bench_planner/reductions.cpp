// SPDX-License-Identifier: GPL-3.0-or-later
// What planning reductions gives against the charged ring.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/common/network.h"
#include "plugins/planners/common/reduction_starts.h"
#include "plugins/planners/joint/anneal/vary_reduction.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/timeline/flat_plan.h"
#include "core/planner/timeline/lone_reduction.h"
#include "tests/benchmarks/bench_planner/figures.h"
#include "tests/planner/random_problems.h"

namespace skippipe::bench {

namespace {

Problem planned(Problem problem) {
    problem.plan_reductions = true;
    problem.charge_all_reduce = false;
    return problem;
}

Plan joint_plan(const Problem& problem, const PlannerRegistry& registry, std::int64_t steps, std::uint64_t seed) {
    PlanRequest request;
    request.seed = seed;
    request.steps = steps;
    request.threads = 2;
    return registry.find("skippipe-joint")->plan(problem, request);
}

double iteration_s(const Problem& problem, const PlannerRegistry& registry, std::int64_t steps, std::uint64_t seed) {
    return evaluate(problem, joint_plan(problem, registry, steps, seed)).iteration_s;
}

/// A plan's paths with the charged ring, each ring in its best order.
double with_rings_s(const Problem& charged, Plan plan) {
    for (StageIndex s = 0; at(s) < plan.stages.size(); ++s) planners::best_ring(charged, plan.stages[s], s);
    return evaluate(charged, plan).iteration_s;
}

/// Of each node's last operation; 0 where none ran.
PerNode<double> end_of_nodes(const Timeline& timeline, int nodes) {
    PerNode<double> end_s(at(nodes), 0.0);
    for (const Span& span : timeline.spans)
        if (is_compute(span.kind)) end_s[span.node] = std::max(end_s[span.node], span.end_s);
    return end_s;
}

/// Of what all reductions take alone, how much is over when the microbatches are, and the most that could be.
void hidden(const Problem& problem, const Plan& plan, const std::string& name) {
    const auto timeline = evaluate(problem, plan);
    const auto flat = flatten(problem, plan);
    const auto end_s = end_of_nodes(timeline, problem.nodes());
    LoneReduction reduction(problem);
    const auto sums_s = [&](const PerNode<double>& parts_s) {
        return reduction.end_s(plan.stages, flat.reductions, parts_s);
    };
    const double alone_s = sums_s(PerNode<double>(problem.node_ids.size(), 0.0)), makespan_s = timeline.makespan_s;
    const auto tell = [&](const std::string& what, double sums_end_s) {
        const double shown_s = std::max(0.0, sums_end_s - makespan_s);
        print({what + ", " + name, "", 1 - shown_s / alone_s, "goal", 0.5, 1, "", 1});
    };
    tell("share of the reductions that is hidden under the microbatches", timeline.iteration_s - problem.step_seconds);
    tell("ceiling: had these pieces the lines to themselves, with these ends of the nodes", sums_s(end_s));
    tell("ceiling: were in addition all parts there from the beginning", alone_s);
    // Once a node is done its own part has still to go where all the others are; and none of a stage begins before the
    // first of its nodes is done.
    double least_end_s = 0;
    for (StageIndex s = 0; at(s) < plan.stages.size(); ++s) {
        const auto& nodes = plan.stages[s];
        const auto after_s = part_bounds_s(problem, nodes, s);
        double first_s = end_s[nodes.front()];
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            first_s = std::min(first_s, end_s[nodes[k]]);
            least_end_s = std::max(least_end_s, end_s[nodes[k]] + after_s[k]);
        }
        least_end_s = std::max(least_end_s, first_s + lone_reduction_bound_s(problem, nodes, s));
    }
    tell("ceiling, proved: of any pieces with these ends of the nodes", least_end_s);
    print({"what the reductions take alone, " + name, "s", alone_s, "microbatches", makespan_s, 1, "", 1});
}

/// Of home connections: 1.25 to 40 MB/s up, 6 to 190 MB/s down.
void add_uplinks(Problem& problem, Rng& rng) {
    for (int n = 0; n < problem.nodes(); ++n) {
        problem.up_bytes_per_s.push_back(1.25e6 * std::pow(10, 1.5 * rng.uniform()));
        problem.down_bytes_per_s.push_back(6e6 * std::pow(10, 1.5 * rng.uniform()));
    }
}

/// Random stages over the quick start's links, the best start and what changing its pieces makes of it.
void alone(const Problem& problem, bool uplinks) {
    constexpr int changes = 1000;
    std::vector<double> starts, ends;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Rng rng(seed);
        std::vector<NodeIndex> nodes(at(problem.nodes()));
        std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
        rng.shuffle(nodes);
        nodes.resize(3 + rng.below(10));
        Problem sized = problem;
        for (double& bytes : sized.gradient_bytes) bytes *= std::pow(200, rng.uniform());
        Rng homes(seed, 7);
        if (uplinks) add_uplinks(sized, homes);
        planners::ReductionChoice choice(sized);
        const double bound_s = lone_reduction_bound_s(sized, nodes, 1);
        Pieces best = choice.best(nodes, 1);
        double best_s = choice.lone_s(nodes, 1, best);
        starts.push_back(best_s / bound_s);
        for (int step = 0; step < changes; ++step) {
            Pieces other = best;
            if (!planners::joint::vary(other, static_cast<int>(nodes.size()), rng)) continue;
            const double other_s = choice.lone_s(nodes, 1, other);
            if (other_s > best_s) continue;
            best_s = other_s;
            best = std::move(other);
        }
        ends.push_back(best_s / bound_s);
    }
    for (auto* ratios : {&starts, &ends}) {
        std::sort(ratios->begin(), ratios->end());
        print({fmt::format("reduction alone, 200 random stages of 3 to 12 replicas{}, median, {}",
                           uplinks ? " with uplinks" : "",
                           ratios == &starts ? std::string("best start") : fmt::format("after {} changes", changes)),
               "x", (*ratios)[100], "proved bound; goal 1.3", 1, 1, "bound", 200});
    }
}

void first_plan(const Problem& problem, const PlannerRegistry& registry) {
    const double begin_s = wall_s();
    double first_s = 0;
    PlanRequest request;
    request.steps = 1000;
    request.progress = [&](const PlanProgress& progress) {
        if (first_s == 0 && progress.best_iteration_s > 0) first_s = wall_s() - begin_s;
    };
    registry.find("skippipe-joint")->plan(problem, request);
    print({"first plan with planned reductions, quick start", "s", first_s, "goal", 0.1, 1, "search", 1});
}

void random_networks(const PlannerRegistry& registry) {
    std::vector<double> ratios;
    for (std::uint64_t seed = 1; ratios.size() < 200; ++seed) {
        auto problem = examples::random_problem(seed);
        problem.charge_all_reduce = true;
        try {
            const double charged_s = iteration_s(problem, registry, 5'000, seed);
            ratios.push_back(iteration_s(planned(problem), registry, 5'000, seed) / charged_s);
        } catch (const InputError&) {
            continue;  // no plan
        }
    }
    std::sort(ratios.begin(), ratios.end());
    const auto longer = std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1 + 1e-9; });
    print({"iteration with planned reductions, random networks, median", "x", ratios[ratios.size() / 2], "charged", 1,
           2, "search", 200});
    print({"iteration with planned reductions, random networks, worst", "x", ratios.back(), "charged; goal 1", 1, 2,
           "search", 200});
    print({"random networks on which planned reductions are longer", "", static_cast<double>(longer), "goal", 0, 2,
           "search", 200});
}

}  // namespace

void reductions(const PlannerRegistry& registry) {
    const auto quick_start = make_problem(
        load_experiment(std::string(SKIPPIPE_SOURCE_DIR) + "/resources/experiments/quick-start.json").experiment);
    first_plan(planned(quick_start), registry);
    std::optional<Plan> own;  // of the quick start as it is
    for (const auto& [times, goal] : {std::pair{1.0, 0.74}, {20.0, 0.64}, {200.0, 0.57}}) {
        Problem problem = quick_start;
        problem.charge_all_reduce = true;
        problem.plan_reductions = false;
        for (double& bytes : problem.gradient_bytes) bytes *= times;
        const double begin_s = wall_s();
        const Plan charged = joint_plan(problem, registry, 0, 1);
        const double middle_s = wall_s();
        const Plan plan = joint_plan(planned(problem), registry, 0, 1);
        const double end_s = wall_s(), planned_s = evaluate(planned(problem), plan).iteration_s,
                     charged_s = evaluate(problem, charged).iteration_s;
        if (!own) own = charged;
        const auto tell = [&](const char* what, double against_s, const char* baseline) {
            print({fmt::format("{}, gradients x {:g}", what, times), "s", planned_s, baseline, against_s, 2, "search",
                   1});
        };
        tell("iteration with planned reductions, quick start", charged_s, "planned for the charged ring");
        tell("the same", with_rings_s(problem, *own), "charged ring on the quick start's own paths");
        tell("the same", with_rings_s(problem, plan), "charged ring on its own paths");
        tell("the same", goal * with_rings_s(problem, *own), "goal: that share of the ring on the quick start's paths");
        hidden(planned(problem), plan, fmt::format("gradients x {:g}", times));
        print({fmt::format("time of that search, gradients x {:g}", times), "s", end_s - middle_s, "charged",
               middle_s - begin_s, 2, "search", 1});
    }
    for (const bool uplinks : {false, true}) alone(planned(quick_start), uplinks);
    random_networks(registry);
}

}  // namespace skippipe::bench
