// SPDX-License-Identifier: GPL-3.0-or-later
// Networks in regions: what anyone would try first by hand, and what skippipe-joint finds.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/paths.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"
#include "tests/benchmarks/bench_planner/figures.h"
#include "tests/benchmarks/bench_planner/place_shares.h"
#include "tests/planner/region_networks.h"

namespace skippipe::bench {

using namespace planners;

namespace {

/// Of four blocks 512 wide, as their messages of 512 positions are.
constexpr double gradient_bytes = 5e7;

/// Each region some of every stage, the nodes with the most memory the data nodes.
Placement placed_by_hand(const examples::RegionNetwork& network) {
    const Problem& problem = network.problem;
    const auto sizes = problem.default_stage_sizes();
    PerNode<NodeIndex> nodes;
    for (NodeIndex n = 0; n < problem.nodes(); ++n) nodes.push_back(n);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](NodeIndex a, NodeIndex b) { return problem.memory[a] > problem.memory[b]; });
    const int regions = *std::max_element(network.region.begin(), network.region.end()) + 1;
    std::vector<int> data_nodes(at(regions), 0);
    Placement stages(sizes.size());
    PerNode<NodeIndex> others;
    for (const NodeIndex node : nodes) {
        auto& own = data_nodes[at(network.region[at(node)])];
        const bool fits = static_cast<int>(stages[0].size()) < sizes[0] && own * regions < sizes[0];
        fits ? (++own, stages[0].push_back(node)) : others.push_back(node);
    }
    std::stable_sort(others.begin(), others.end(),
                     [&](NodeIndex a, NodeIndex b) { return network.region[at(a)] < network.region[at(b)]; });
    for (std::size_t k = 0; k < others.size(); ++k) stages[1 + k % (sizes.size() - 1)].push_back(others[k]);
    return stages;
}

/// Each microbatch goes, stage by stage, to the node with the least (visits + 1) / M, plus a weight times the latency
/// from its last node and to its data node.
PlanCandidate greedy_paths(const Problem& problem, const Placement& stages, PlanCandidate candidate, double from_weight,
                           double home_weight) {
    const auto sequences = balanced_sequences(problem, problem.path_length);
    PerNode<int> visits(at(problem.nodes()), 0);
    for (ReleaseIndex i = 0; i < problem.microbatches; ++i) {
        NodeIndex* path = candidate.schedule.path(i);
        path[0] = stages[0][at(i) % stages[0].size()];
        for (int hop = 1; hop < problem.path_length; ++hop) {
            double least = std::numeric_limits<double>::infinity();
            for (const NodeIndex node : stages[sequences[at(i)][at(hop)]]) {
                const double cost = static_cast<double>(visits[node] + 1) / problem.memory[node] +
                                    from_weight * problem.hop(path[hop - 1], node).latency_s +
                                    home_weight * problem.hop(node, path[0]).latency_s;
                if (!(cost < least)) continue;
                least = cost;
                path[hop] = node;
            }
            ++visits[path[hop]];
        }
    }
    return candidate;
}

/// The best of 20 weights; where reductions are planned each stage has its shortest start.
double by_hand_s(const Problem& problem, const Placement& stages) {
    const auto placed = make_candidate(problem, stages, problem.path_length);
    double least_s = std::numeric_limits<double>::infinity();
    for (const double from : {0.0, 3.0, 10.0, 30.0, 100.0})
        for (const double home : {0.0, 3.0, 10.0, 30.0})
            least_s = std::min(least_s, iteration_s(problem, greedy_paths(problem, stages, placed, from, home)));
    return least_s;
}

/// What the places of a plan are taken by, and when they are free.
void print_places(const Problem& problem, const Plan& plan, const Timeline& timeline, const std::string& name) {
    const auto shares = place_shares(problem, plan, timeline);
    const std::pair<const char*, double> all[] = {{"held, moving on", shares.moving},
                                                  {"held, waiting to begin an F", shares.for_forward},
                                                  {"held, waiting to begin an L or B", shares.for_other_work},
                                                  {"held, waiting for a line", shares.for_line},
                                                  {"free, not yet full", shares.filling},
                                                  {"free, full before and after", shares.between},
                                                  {"free, full no more", shares.draining}};
    for (const auto& [what, share] : all) print({fmt::format("places {}, {}", what, name), "%", 100 * share});
}

/// The search after so many seconds; returns its iteration.
double joint(const Planner& planner, const Problem& problem, double seconds, const std::string& name, double by_hand) {
    double first_s = 0, first_iteration_s = 0;
    const double begin_s = wall_s();
    PlanRequest request;
    request.seconds = seconds;
    request.threads = 2;
    request.progress = [&](const PlanProgress& progress) {
        if (first_s > 0 || progress.best_iteration_s <= 0) return;
        first_s = wall_s() - begin_s;
        first_iteration_s = progress.best_iteration_s;
    };
    const auto plan = planner.plan(problem, request);
    print({"first plan, " + name, "s", first_s, "", 0, 2, "search", 1});
    print({"iteration by the first plan, " + name, "s", first_iteration_s, "by hand", by_hand, 2, "search", 1});
    const auto timeline = evaluate(problem, plan);
    print({fmt::format("iteration after {:g} s, {}", seconds, name), "s", timeline.iteration_s, "by hand", by_hand, 2,
           "search", 1});
    print_places(problem, plan, timeline, name);
    return timeline.iteration_s;
}

/// The published method in so many seconds; infinite where it finds none.
double published_s(const PlannerRegistry& registry, const Problem& problem, double seconds, const std::string& name,
                   double by_hand) {
    PlanRequest request;
    request.seconds = seconds;
    try {
        const double found_s = evaluate(problem, registry.find("skippipe")->plan(problem, request)).iteration_s;
        print({fmt::format("iteration after {:g} s of skippipe, {}", seconds, name), "s", found_s, "by hand", by_hand,
               1, "search", 1});
        return found_s;
    } catch (const InputError&) {
        return std::numeric_limits<double>::infinity();
    }
}

void print_ratios(std::vector<double> ratios, const std::string& name) {
    if (ratios.empty()) return;
    std::sort(ratios.begin(), ratios.end());
    for (const bool worst : {false, true})
        print({fmt::format("iteration over the best of those compared with, {}, {}", name, worst ? "worst" : "median"),
               "x", worst ? ratios.back() : ratios[ratios.size() / 2], worst ? "goal" : "goal of the median",
               worst ? 1 : 0.85, 2, "search", static_cast<int>(ratios.size())});
}

}  // namespace

void regions(const PlannerRegistry& registry, const RegionRuns& runs) {
    const auto& planner = *registry.find("skippipe-joint");
    for (const examples::RegionShape shape : {examples::RegionShape{24, 4, 48},
                                              {60, 6, 180},
                                              {100, 8, 400},
                                              {200, 10, 1000},
                                              {400, 10, 2000},
                                              {1000, 10, 5000}}) {
        std::vector<double> ratios;
        for (std::uint64_t seed = runs.first_seed; seed < runs.first_seed + runs.seeds; ++seed) {
            if (shape.nodes < runs.fewest_nodes || shape.nodes > runs.most_nodes) continue;
            auto network = examples::region_network(seed, {shape.nodes, shape.stages, shape.microbatches,
                                                           runs.shared_links, runs.reductions ? gradient_bytes : 0});
            Problem& problem = network.problem;
            const auto stages = placed_by_hand(network);
            const double by_hand = by_hand_s(problem, stages);
            const auto name =
                fmt::format("{} nodes in regions, {} stages, {} microbatches, {} lines{}, seed {}", shape.nodes,
                            shape.stages, shape.microbatches, runs.shared_links ? "shared" : "unlimited",
                            runs.reductions ? ", planned reductions" : "", seed);
            if (runs.bounds)
                print({"bound, " + name, "s", lower_bound(problem, problem.path_length).seconds, "by hand", by_hand, 1,
                       "bound", 1});
            const double own_s = joint(planner, problem, runs.seconds, name, by_hand);
            double least_s = by_hand;
            if (runs.skippipe) least_s = std::min(least_s, published_s(registry, problem, runs.seconds, name, by_hand));
            if (runs.placed) {
                problem.placement = stages;
                least_s = std::min(least_s, joint(planner, problem, runs.seconds, name + ", placed by hand", by_hand));
            }
            ratios.push_back(own_s / least_s);
        }
        print_ratios(ratios, fmt::format("{} nodes in regions", shape.nodes));
    }
}

}  // namespace skippipe::bench
