// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of 12 to 30 nodes into which a plan was planted that no other beats.
#pragma once
#include <algorithm>
#include <string>

#include "core/base/rng.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe::examples {

struct Planted {
    Problem problem;
    Plan plan;  ///< as short as a microbatch's shortest way and its data node's work let any plan be
};

/// Rooms far from each other, each with as many near nodes as a path has, and some slow nodes besides: the planted plan
/// keeps every microbatch in its room, whose nodes serve as many of the stages as a path visits, so that all rooms
/// together use every stage as CC2 says. Placement is free, and so is how many nodes a stage has where each data node
/// starts one microbatch (where it starts more, other numbers of data nodes might be better); nodes stand in random
/// order. Whoever uses it proves by lower_bound that the plan is the shortest.
inline Planted planted_problem(std::uint64_t seed) {
    Rng rng(seed, 0x914);
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    int rooms = 0, length = 0, stages = 0;
    do {
        rooms = between(3, 6);
        length = between(3, 5);
        stages = length + between(0, 2);
    } while (rooms * length < 12 || rooms * length > 28 || rooms * (length - 1) % (stages - 1) != 0);
    const int slow = between(0, std::min(4, 30 - rooms * length)), each = between(1, 3);
    std::vector<int> room;
    for (int n = 0; n < rooms * length; ++n) room.push_back(n / length);
    std::vector<int> numbers;
    for (int n = 0; n < rooms * length + slow; ++n) numbers.push_back(n);
    for (int n = 0; n < slow; ++n) room.push_back(between(0, rooms - 1));
    rng.shuffle(numbers);

    Planted planted;
    Problem& problem = planted.problem;
    const std::size_t nodes = numbers.size();
    problem.stages = stages;
    problem.path_length = length;
    problem.microbatches = rooms * each;
    problem.blocks.assign(at(stages), 1);
    problem.gradient_bytes.assign(at(stages), 0);
    problem.charge_all_reduce = false;
    problem.shared_links = rng.below(2) == 0;
    problem.node_ids.resize(nodes);
    problem.seconds_per_sample_per_block.assign(nodes, 1);
    problem.memory.assign(nodes, 0);
    // No B comes back to the last node of a path before it has run all of its F, each 1 s: none waits.
    const double near_s = std::max(0.0, 0.5 * (each - 1 - 0.25)) + 0.05 + 0.3 * rng.uniform();
    std::vector<Hop> pairs(nodes * nodes);
    std::vector<double> apart_s(at(rooms) * at(rooms));
    for (double& seconds : apart_s) seconds = near_s + 0.3 + 2 * rng.uniform();
    for (std::size_t a = 0; a < nodes; ++a) {
        const NodeIndex node(numbers[a]);
        problem.node_ids[node] = "n" + std::to_string(int{node});
        problem.memory[node] = each + between(0, 1);
        if (a >= at(rooms * length)) problem.seconds_per_sample_per_block[node] = 1.5 + rng.uniform();
        for (std::size_t b = 0; b < nodes; ++b) {
            Hop& hop = pairs[at(numbers[a]) * nodes + at(numbers[b])];
            hop.latency_s = room[a] == room[b] ? near_s : apart_s[at(room[a]) * at(rooms) + at(room[b])];
            hop.line = static_cast<int>(at(numbers[a]) * nodes + at(numbers[b]));
        }
    }
    for (std::size_t k = 0; k < nodes * nodes; ++k) problem.line_names.push_back("line " + std::to_string(k));
    problem.hops = Hops(std::move(pairs));

    Plan& plan = planted.plan;
    plan.planner = "planted";
    plan.blocks = problem.blocks;
    plan.stages.resize(at(stages));
    std::vector<std::vector<NodeIndex>> ways;
    for (int r = 0; r < rooms; ++r) {
        std::vector<int> visited;
        for (int k = 0; k < length - 1; ++k) visited.push_back(1 + (r * (length - 1) + k) % (stages - 1));
        std::sort(visited.begin(), visited.end());
        auto& way = ways.emplace_back();
        for (int k = 0; k < length; ++k) {
            way.push_back(NodeIndex(numbers[at(r * length + k)]));
            plan.stages[StageIndex(k == 0 ? 0 : visited[at(k - 1)])].push_back(way.back());
        }
    }
    for (int m = 0; m < problem.microbatches; ++m) plan.paths.push_back({MicrobatchIndex(m), ways[at(m % rooms)]});
    if (each > 1)
        for (const auto& stage : plan.stages) problem.stage_sizes.push_back(static_cast<int>(stage.size()));
    return planted;
}

}  // namespace skippipe::examples
