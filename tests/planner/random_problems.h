// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded random problems of every kind that planners have to cope with.
#pragma once
#include <algorithm>
#include <string>

#include "core/base/rng.h"
#include "core/planner/plan/problem.h"

namespace skippipe::examples {

struct RandomRules {
    int most_nodes = 24, most_stages = 6;
    double missing_lines = 0;  ///< share of the pairs without a line
};

/// 4 to 24 nodes in up to 5 regions, 2 to 6 stages; shared or unlimited links, equal or mixed speeds, M from 1 to 4,
/// swaps or none.
inline Problem random_problem(std::uint64_t seed, const RandomRules& rules = {}) {
    Rng rng(seed, 77);
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    const auto real = [&](double low, double high) { return low + (high - low) * rng.uniform(); };
    Problem problem;
    const int n = between(4, rules.most_nodes);
    problem.stages = between(2, std::min(rules.most_stages, n / 2));
    problem.path_length = between(2, problem.stages);
    const bool mixed_speeds = rng.below(2) == 0, mixed_memory = rng.below(3) == 0;
    const double speed = real(0.02, 0.1);
    const int memory = rng.below(8) == 0 ? unlimited_memory : between(1, 4);
    for (int i = 0; i < n; ++i) {
        problem.node_ids.push_back("n" + std::to_string(i));
        problem.seconds_per_sample_per_block.push_back(mixed_speeds ? speed * real(0.5, 3) : speed);
        problem.memory.push_back(mixed_memory ? between(1, 4) : memory);
    }
    problem.samples = between(1, 8);
    for (int s = 0; s < problem.stages; ++s) problem.blocks.push_back(rng.below(3) == 0 ? between(1, 4) : 2);
    problem.forward_bytes = problem.backward_bytes = real(0, 3e7);
    for (int s = 0; s < problem.stages; ++s)
        problem.gradient_bytes.push_back(problem.blocks[static_cast<std::size_t>(s)] * 1e7);
    problem.step_seconds = rng.below(2) == 0 ? 0 : 0.3;
    problem.overhead_s = rng.below(2) == 0 ? 0 : 0.05;
    problem.shared_links = rng.below(2) == 0;
    problem.charge_all_reduce = rng.below(2) == 0;
    problem.balance_data_nodes = rng.below(4) != 0;
    problem.split_backward = rng.below(5) == 0;
    problem.constraints.max_swaps = between(0, 2);
    problem.constraints.max_passed_over =
        std::max(3, problem.stages - problem.path_length);  // else the last stages are out of reach
    problem.constraints.uniform_execution = rng.below(5) != 0;
    problem.constraints.bounded_disorder = rng.below(5) != 0;
    problem.microbatches = between(1, 20);
    const int regions = between(1, 5);
    std::vector<int> region(static_cast<std::size_t>(n));
    for (auto& r : region) r = between(0, regions - 1);
    std::vector<double> latency(static_cast<std::size_t>(regions * regions)), bandwidth(latency.size());
    for (std::size_t k = 0; k < latency.size(); ++k) {
        latency[k] = real(0.005, 0.3);
        bandwidth[k] = real(5e6, 3e8);
    }
    std::vector<Hop> pairs;
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b) {
            const int from = region[static_cast<std::size_t>(a)], to = region[static_cast<std::size_t>(b)];
            const auto pair = static_cast<std::size_t>(from * regions + to);
            const bool near = from == to;
            const double rate = near ? 2e9 : bandwidth[pair];
            Hop hop{near ? 0.001 : latency[pair], rate, problem.forward_bytes / rate, problem.backward_bytes / rate,
                    near ? regions * regions + a * n + b : static_cast<int>(pair)};
            if (a != b && rng.uniform() < rules.missing_lines) hop.line = no_line;
            pairs.push_back(hop);
        }
    problem.hops = std::move(pairs);
    for (int line = 0; line < regions * regions + n * n; ++line)
        problem.line_names.push_back("line " + std::to_string(line));
    if (rng.below(4) == 0) {  // sizes given, and some of them even the places
        problem.stage_sizes.assign(static_cast<std::size_t>(problem.stages), 1);
        for (int left = n - problem.stages; left > 0; --left)
            if (rng.below(6) != 0) ++problem.stage_sizes[rng.below(problem.stage_sizes.size())];
        if (problem.balance_data_nodes) problem.microbatches *= problem.stage_sizes[0];
    }
    return problem;
}

/// 80 nodes in 8 regions, near ones in each and far ones between; stages [20, 12, 12, 12, 12, 12], paths of 4, 240
/// microbatches, M = 3, unlimited lines.
inline Problem many_regions(std::uint64_t seed) {
    Rng rng(seed, 79);
    Problem problem;
    constexpr int nodes = 80, regions = 8;
    problem.stages = 6;
    problem.path_length = 4;
    problem.microbatches = 240;
    problem.samples = 8;
    problem.seconds_per_sample_per_block.assign(nodes, 0.055);
    problem.blocks.assign(6, 4);
    problem.memory.assign(nodes, 3);
    problem.gradient_bytes.assign(6, 0);
    problem.shared_links = problem.charge_all_reduce = false;
    problem.stage_sizes = {20, 12, 12, 12, 12, 12};
    double apart_s[regions * regions] = {};
    for (double& seconds : apart_s) seconds = 0.5 + 3 * rng.uniform();
    std::vector<int> region;
    for (int n = 0; n < nodes; ++n) region.push_back(static_cast<int>(rng.below(regions)));
    std::vector<Hop> pairs;
    for (int a = 0; a < nodes; ++a) {
        problem.node_ids.push_back("n" + std::to_string(a));
        for (int b = 0; b < nodes; ++b) {
            const int from = region[static_cast<std::size_t>(a)], to = region[static_cast<std::size_t>(b)];
            pairs.push_back({from == to ? 0.3 : apart_s[from * regions + to], 1e300, 0, 0, a * nodes + b});
            problem.line_names.push_back("line " + std::to_string(a * nodes + b));
        }
    }
    problem.hops = std::move(pairs);
    return problem;
}

/// As many blocks over as many stages, at least one each.
inline PerStage<int> divided_blocks(const Problem& problem, Rng& rng) {
    PerStage<int> blocks(problem.blocks.size(), 1);
    int spare = -static_cast<int>(blocks.size());
    for (const int each : problem.blocks) spare += each;
    for (; spare > 0; --spare) ++blocks[rng.below(blocks.size())];
    return blocks;
}

/// The problem with its blocks to be planned, or with microbatches of several sizes, or both (seed mod 3).
inline Problem uneven(Problem problem, std::uint64_t seed) {
    Rng rng(seed, 78);
    if (seed % 3 != 0)
        for (auto left = 1 + rng.below(4); left > 0; --left)
            problem.sizes.push_back(static_cast<double>(1 + rng.below(8)));
    if (seed % 3 == 1) return problem;
    problem.plan_blocks = true;
    problem.gradient_bytes_per_block = 1e7;
    problem.gradient_bytes_besides = rng.below(2) == 0 ? 0 : 2e7;
    problem.stage_bytes = {16, 8, 4};
    problem.memory_bytes.assign(problem.node_ids.size(), 0);
    if (rng.below(3) == 0)
        for (auto& bytes : problem.memory_bytes)
            bytes = rng.below(2) == 0 ? 0 : 200 + static_cast<double>(rng.below(100));
    problem.set_blocks(problem.blocks);
    return problem;
}

}  // namespace skippipe::examples
