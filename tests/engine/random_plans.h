// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded problems and plans of every shape, for tests that hold two executions against each other.
#pragma once
#include "core/base/rng.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_problems.h"

namespace skippipe::examples {

/// Stages of several nodes, uneven speeds, zero and equal latencies (many ties), shared or unlimited lines, split or
/// not. Paths visit random stages in random order; memory may be too small for them (then the plan is incomplete, for
/// both executions).
inline std::pair<Problem, Plan> random_plan(std::uint64_t seed) {
    Rng rng(seed);
    const auto pick = [&](int low, int high) {
        return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    const int stages = pick(1, 6), length = stages == 1 ? 1 : pick(2, stages), nodes = stages + pick(0, 8),
              microbatches = pick(1, 24);
    std::vector<std::string> ids;
    for (int n = 0; n < nodes; ++n) ids.push_back("n" + std::to_string(n));
    auto problem = toy(ids, stages, length, microbatches);
    const bool ties = rng.below(2) == 0;
    for (auto& s : problem.seconds_per_sample_per_block) s = ties ? 1 : 0.5 + rng.uniform();
    for (auto& m : problem.memory) m = pick(1, 4);
    for (auto& hop : problem.hops) {
        hop.latency_s = ties ? pick(0, 2) * 0.5 : rng.uniform();
        hop.seconds_per_forward = ties ? pick(0, 2) : rng.uniform();
        hop.seconds_per_backward = ties ? pick(0, 2) : rng.uniform();
        hop.bandwidth_bytes_per_s = 1 + rng.uniform();
        hop.line = pick(0, nodes);
    }
    problem.line_names.resize(static_cast<std::size_t>(nodes * nodes));
    problem.shared_links = rng.below(2) == 0;
    problem.charge_all_reduce = rng.below(2) == 0;
    problem.step_seconds = 0.25;
    problem.gradient_bytes.assign(static_cast<std::size_t>(stages), 5);
    problem.forward_bytes = 3;
    problem.backward_bytes = 2;
    problem.balance_data_nodes = false;
    problem.constraints = {.uniform_execution = false, .bounded_disorder = false};

    Plan plan{.planner = "random",
              .split_backward = rng.below(3) == 0,
              .stages = PerStage<std::vector<NodeIndex>>(static_cast<std::size_t>(stages)),
              .blocks = problem.blocks};
    for (NodeIndex n = 0; n < nodes; ++n)
        plan.stages[static_cast<std::size_t>(n < stages ? int{n} : pick(0, stages - 1))].push_back(n);
    std::vector<int> others;
    for (int s = 1; s < stages; ++s) others.push_back(s);
    for (MicrobatchIndex m = 0; m < microbatches; ++m) {
        Path path{m, {}};
        const auto visit = [&](int stage) {
            const auto& nodes_of = plan.stages[static_cast<std::size_t>(stage)];
            path.nodes.push_back(nodes_of[rng.below(nodes_of.size())]);
        };
        visit(0);
        rng.shuffle(others);
        for (int hop = 1; hop < length; ++hop) visit(others[static_cast<std::size_t>(hop - 1)]);
        plan.paths.push_back(path);
    }
    rng.shuffle(plan.paths);
    return {problem, plan};
}

/// The same with microbatches of several sizes, planned blocks, or both (seed mod 3).
inline std::pair<Problem, Plan> uneven_plan(std::uint64_t seed) {
    auto [problem, plan] = random_plan(seed);
    Rng rng(seed, 6);
    for (int& blocks : problem.blocks) blocks += static_cast<int>(rng.below(3));
    plan.blocks = problem.blocks;
    problem = uneven(std::move(problem), seed);
    if (problem.plan_blocks) plan.blocks = divided_blocks(problem, rng);
    return {problem, plan};
}

}  // namespace skippipe::examples
