// SPDX-License-Identifier: GPL-3.0-or-later
// Networks of a common kind: machines of several speeds and memories in regions far from each other.
#pragma once
#include <string>

#include "core/base/rng.h"
#include "core/planner/plan/problem.h"

namespace skippipe::examples {

struct RegionShape {
    int nodes = 60, stages = 6, microbatches = 180;
    bool shared_links = true;
    double gradient_bytes = 0;  ///< of each stage; where there are any, reductions are planned
};

struct RegionNetwork {
    Problem problem;
    std::vector<int> region;  ///< of each node
};

/// Regions of about 25 nodes, 2 ms and 500 MB/s apart within each on a line a pair, 10 to 120 ms and 50 to 300 MB/s
/// between two, on a line a pair of regions and direction; nodes of 4 to 12 ms a sample and block and M = 2 to 6; paths
/// of two thirds of the stages, 4 samples of 1 MB, four blocks a stage.
inline RegionNetwork region_network(std::uint64_t seed, const RegionShape& shape) {
    Rng rng(seed, 0x2E6);
    RegionNetwork network;
    Problem& problem = network.problem;
    const int regions = std::max(2, (shape.nodes + 12) / 25);
    problem.stages = shape.stages;
    problem.path_length = (2 * shape.stages + 1) / 3;
    problem.microbatches = shape.microbatches;
    problem.samples = 4;
    problem.blocks.assign(static_cast<std::size_t>(shape.stages), 4);
    problem.gradient_bytes.assign(static_cast<std::size_t>(shape.stages), shape.gradient_bytes);
    problem.plan_reductions = shape.gradient_bytes > 0;
    problem.forward_bytes = problem.backward_bytes = 4e6;
    problem.shared_links = shape.shared_links;
    problem.charge_all_reduce = false;
    for (int n = 0; n < shape.nodes; ++n) {
        problem.node_ids.push_back("n" + std::to_string(n));
        problem.seconds_per_sample_per_block.push_back(0.004 + 0.008 * rng.uniform());
        problem.memory.push_back(2 + static_cast<int>(rng.below(5)));
        network.region.push_back(n % regions);
    }
    rng.shuffle(network.region);
    const auto pair = [&](int from, int to) { return static_cast<std::size_t>(from * regions + to); };
    std::vector<double> apart_s(pair(regions, 0)), rate(apart_s.size());
    for (int a = 0; a < regions; ++a)
        for (int b = 0; b < a; ++b) {
            apart_s[pair(a, b)] = apart_s[pair(b, a)] = 0.01 + 0.11 * rng.uniform();
            rate[pair(a, b)] = rate[pair(b, a)] = 5e7 + 2.5e8 * rng.uniform();
        }
    for (int a = 0; a < regions; ++a)
        for (int b = 0; b < regions; ++b)
            problem.line_names.push_back("r" + std::to_string(a) + "->r" + std::to_string(b));
    std::vector<Hop> ways;
    for (int a = 0; a < regions; ++a)
        for (int b = 0; b < regions; ++b) {
            Hop& hop = ways.emplace_back();
            hop.latency_s = a == b ? 0.002 : apart_s[pair(a, b)];
            hop.bandwidth_bytes_per_s = a == b ? 5e8 : rate[pair(a, b)];
            hop.seconds_per_forward = problem.forward_bytes / hop.bandwidth_bytes_per_s;
            hop.seconds_per_backward = problem.backward_bytes / hop.bandwidth_bytes_per_s;
            hop.line = static_cast<int>(a == b ? problem.line_names.size() : pair(a, b));
            if (a != b) continue;
            std::vector<std::string> members;
            for (NodeIndex n = 0; n < problem.nodes(); ++n)
                if (network.region[at(n)] == a) members.push_back(problem.node_ids[n]);
            for (const auto& from : members)
                for (const auto& to : members)
                    if (from != to) problem.line_names.push_back(from + "->" + to);
        }
    problem.hops = Hops(network.region, std::move(ways));
    return network;
}

}  // namespace skippipe::examples
