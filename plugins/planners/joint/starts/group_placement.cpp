// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/starts/group_placement.h"

#include <algorithm>
#include <numeric>

#include "core/base/index.h"
#include "plugins/planners/common/placement.h"

namespace skippipe::planners::joint {

namespace {

/// Groups stand apart where one more centre brings all nodes so many times nearer to theirs.
constexpr double apart = 1.5;
constexpr double least_radius_s = 1e-9;
/// Nodes of a group, at least, on average.
constexpr int least_members = 4;

/// So many things divided in proportion to `shares`, by largest remainders.
std::vector<int> divided(int count, const std::vector<int>& shares) {
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<int> parts;
    std::vector<std::pair<double, std::size_t>> left;
    for (std::size_t k = 0; k < shares.size(); ++k) {
        const double exact = count * shares[k] / all;
        parts.push_back(static_cast<int>(exact));
        left.emplace_back(parts.back() - exact, k);
    }
    std::sort(left.begin(), left.end());
    int missing = count - std::accumulate(parts.begin(), parts.end(), 0);
    for (std::size_t k = 0; missing > 0; ++k, --missing) ++parts[left[k % left.size()].second];
    return parts;
}

/// The nodes in the order in which they are to be dealt out: group after group, the most memory first.
std::vector<NodeIndex> by_group_and_memory(const Problem& problem, const std::vector<int>& groups) {
    std::vector<NodeIndex> nodes(at(problem.nodes()));
    std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
    std::stable_sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
        if (groups[at(a)] != groups[at(b)]) return groups[at(a)] < groups[at(b)];
        if (problem.memory[a] != problem.memory[b]) return problem.memory[a] > problem.memory[b];
        return problem.seconds_per_sample_per_block[a] < problem.seconds_per_sample_per_block[b];
    });
    return nodes;
}

}  // namespace

std::vector<int> near_groups(const Problem& problem, const Network& network) {
    const int nodes = problem.nodes();
    const auto apart_s = [&](NodeIndex a, NodeIndex b) { return network.round_s(a, b) + network.round_s(b, a); };
    std::vector<int> nearest(at(nodes), 0), best = nearest;
    PerNode<double> way_s;
    for (NodeIndex n = 0; n < nodes; ++n) way_s.push_back(apart_s(NodeIndex(0), n));
    for (int count = 1; count * least_members < nodes; ++count) {
        const auto farthest = std::max_element(way_s.begin(), way_s.end());
        const double before_s = std::max(*farthest, least_radius_s);
        const NodeIndex centre(farthest - way_s.begin());
        for (NodeIndex n = 0; n < nodes; ++n)
            if (const double seconds = apart_s(centre, n); seconds < way_s[n]) {
                way_s[n] = seconds;
                nearest[at(n)] = count;
            }
        const double after_s = std::max(*std::max_element(way_s.begin(), way_s.end()), least_radius_s);
        if (before_s / after_s > apart) best = nearest;
    }
    return best;
}

std::vector<NodeIndex> data_nodes_in_groups(const Problem& problem, const std::vector<int>& groups, int count,
                                            DataNodes which) {
    std::vector<int> members(at(*std::max_element(groups.begin(), groups.end()) + 1), 0);
    for (const int group : groups) ++members[at(group)];
    auto room = divided(count, members);
    auto sorted = by_group_and_memory(problem, groups);
    if (which == DataNodes::anywhere) {
        room.assign(members.size(), count);
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](NodeIndex a, NodeIndex b) { return problem.memory[a] > problem.memory[b]; });
    }
    std::vector<NodeIndex> taken;
    for (const NodeIndex node : sorted)
        if (static_cast<int>(taken.size()) < count && room[at(groups[at(node)])]-- > 0) taken.push_back(node);
    return taken;
}

Placement placement_in_groups(const Problem& problem, const std::vector<int>& groups, const PerStage<int>& sizes,
                              DataNodes data_nodes) {
    Placement placement(sizes.size());
    placement[0] = data_nodes_in_groups(problem, groups, sizes[0], data_nodes);
    PerNode<bool> taken(at(problem.nodes()), false);
    for (const NodeIndex node : placement[0]) taken[node] = true;
    PerStage<double> memory(sizes.size(), 0);
    for (const NodeIndex node : by_group_and_memory(problem, groups)) {
        if (taken[node]) continue;
        // The stage that is furthest behind its size; of several the one that has least memory.
        StageIndex next = -1;
        const auto behind = [&](StageIndex s) {
            return static_cast<double>(placement[s].size()) / static_cast<double>(sizes[s]);
        };
        for (StageIndex s = 1; at(s) < sizes.size(); ++s) {
            if (static_cast<int>(placement[s].size()) >= sizes[s]) continue;
            if (next < 0 || behind(s) < behind(next) || (behind(s) == behind(next) && memory[s] < memory[next]))
                next = s;
        }
        if (next < 0) break;
        placement[next].push_back(node);
        memory[next] += std::min(problem.memory[node], problem.microbatches);
    }
    for (StageIndex s = 0; at(s) < placement.size(); ++s) order_ring(problem, placement[s], s);
    return placement;
}

Placement placement_by_groups(const Problem& problem, const std::vector<int>& groups, const PerStage<int>& sizes) {
    return placement_in_order(by_group_and_memory(problem, groups), sizes);
}

}  // namespace skippipe::planners::joint
