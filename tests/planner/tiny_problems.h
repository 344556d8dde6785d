// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded random problems that are small enough to go through all of their plans.
#pragma once
#include <algorithm>
#include <string>

#include "core/base/rng.h"
#include "core/planner/plan/problem.h"

namespace skippipe::examples {

/// 3 to 5 nodes, 2 to 4 stages, 2 to 4 microbatches, M from 1 to 3; placement given, only sizes given, or all free;
/// links shared (by region) or not; equal or mixed speeds, memory and blocks; some without a line; all-reduce charged
/// or free.
inline Problem tiny_problem(std::uint64_t seed) {
    Rng rng(seed, 4711);
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    const auto real = [&](double low, double high) { return low + (high - low) * rng.uniform(); };
    const auto chance = [&](std::uint64_t one_in) { return rng.below(one_in) == 0; };
    Problem problem;
    const int n = between(3, 5);
    problem.stages = between(2, n == 5 ? 4 : 3);
    problem.path_length = problem.stages == 2 ? 2 : between(2, problem.stages);
    const bool mixed_speeds = chance(2), mixed_memory = chance(3), mixed_blocks = chance(3);
    const int memory = between(1, 3);
    for (int i = 0; i < n; ++i) {
        problem.node_ids.push_back("n" + std::to_string(i));
        problem.seconds_per_sample_per_block.push_back(mixed_speeds ? real(0.5, 2) : 1);
        problem.memory.push_back(mixed_memory ? between(1, 3) : memory);
    }
    for (int s = 0; s < problem.stages; ++s) problem.blocks.push_back(mixed_blocks ? between(1, 3) : 1);
    problem.backward_factor = chance(2) ? 1.5 : 2;
    problem.forward_bytes = problem.backward_bytes = chance(3) ? 0 : real(0.2, 2);
    for (int s = 0; s < problem.stages; ++s)
        problem.gradient_bytes.push_back(problem.blocks[static_cast<std::size_t>(s)] * real(0.1, 1));
    problem.step_seconds = chance(2) ? 0 : 0.3;
    problem.overhead_s = chance(2) ? 0 : 0.05;
    problem.shared_links = chance(2);
    problem.charge_all_reduce = chance(2);
    problem.balance_data_nodes = !chance(4);
    problem.split_backward = chance(8);
    problem.constraints.uniform_execution = !chance(5);
    problem.constraints.bounded_disorder = !chance(5);
    problem.constraints.max_swaps = between(0, 2);
    problem.microbatches = between(2, 4);
    const int regions = between(1, 3);
    std::vector<int> region(static_cast<std::size_t>(n));
    for (auto& r : region) r = between(0, regions - 1);
    std::vector<double> latency(static_cast<std::size_t>(regions * regions)), rate(latency.size());
    for (std::size_t k = 0; k < latency.size(); ++k) {
        latency[k] = real(0.1, 2);
        rate[k] = real(0.5, 4);
    }
    const double missing = chance(4) ? 0.1 : 0;
    std::vector<Hop> pairs;
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b) {
            const int from = region[static_cast<std::size_t>(a)], to = region[static_cast<std::size_t>(b)];
            const auto pair = static_cast<std::size_t>(from * regions + to);
            const bool near = from == to && regions > 1;
            const double rate_here = near ? 20 : rate[pair] * (problem.shared_links ? 1 : real(0.7, 1.4));
            const double latency_s = near ? 0.01 : latency[pair] * real(0.7, 1.4);
            Hop hop{latency_s, rate_here, problem.forward_bytes / rate_here, problem.backward_bytes / rate_here,
                    near ? regions * regions + a * n + b : static_cast<int>(pair)};
            if (a != b && rng.uniform() < missing) hop.line = no_line;
            pairs.push_back(hop);
        }
    problem.hops = std::move(pairs);
    for (int line = 0; line < regions * regions + n * n; ++line)
        problem.line_names.push_back("line " + std::to_string(line));
    const auto freedom = rng.below(3);
    if (freedom == 0) return problem;
    problem.stage_sizes.assign(static_cast<std::size_t>(problem.stages), 1);
    for (int left = n - problem.stages; left > 0; --left)
        if (!chance(4)) ++problem.stage_sizes[rng.below(problem.stage_sizes.size())];
    while (problem.balance_data_nodes && problem.microbatches % problem.stage_sizes[0] != 0) ++problem.microbatches;
    if (freedom == 1) return problem;
    NodeIndex node = 0;
    for (const int size : problem.stage_sizes) {
        auto& stage = problem.placement.emplace_back();
        for (int i = 0; i < size; ++i) stage.push_back(node++);
    }
    return problem;
}

/// A tiny problem whose blocks are to be planned (one to three more than there are stages), or whose microbatches
/// differ in size, or both. Some nodes have their M from bytes.
inline Problem uneven_tiny_problem(std::uint64_t seed) {
    Problem problem = tiny_problem(seed + 5000);
    Rng rng(seed, 4712);
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    const auto kind = seed % 3;
    const int data_nodes = problem.stage_sizes.empty() ? 1 : problem.stage_sizes[0];
    problem.microbatches = problem.balance_data_nodes ? data_nodes * std::max(1, 3 / data_nodes) : between(2, 3);
    if (kind != 0) {
        problem.samples = between(1, 2);
        problem.sizes = {static_cast<double>(between(1, 3))};
        problem.sizes.push_back(problem.sizes[0] + (problem.sizes[0] > 1 ? -1 : between(1, 2)));
        if (rng.below(2) == 0) problem.sizes.push_back(between(1, 3));
    }
    if (kind == 1) return problem;
    problem.plan_blocks = true;
    problem.blocks.assign(problem.blocks.size(), 1);
    for (int more = between(1, 3); more > 0; --more) ++problem.blocks[rng.below(problem.blocks.size())];
    problem.gradient_bytes_per_block = 0.25 * between(1, 4);
    problem.gradient_bytes_besides = rng.below(2) == 0 ? 0 : 0.5;
    problem.memory_bytes.assign(problem.node_ids.size(), 0);
    problem.stage_bytes = {1, 2, 1};
    if (rng.below(3) == 0)
        for (auto& bytes : problem.memory_bytes) bytes = rng.below(2) == 0 ? 0 : between(6, 12);
    problem.set_blocks(problem.blocks);
    // A document in which a node cannot hold one microbatch with the blocks to start from is refused.
    for (std::size_t n = 0; n < problem.memory.size(); ++n)
        while (problem.memory[n] < 1) {
            ++problem.memory_bytes[n];
            problem.set_blocks(problem.blocks);
        }
    return problem;
}

}  // namespace skippipe::examples
