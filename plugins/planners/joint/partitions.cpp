// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/partitions.h"

#include <algorithm>
#include <numeric>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/planner/plan/part.h"
#include "plugins/planners/common/part_plan.h"

namespace skippipe::planners::joint {

namespace {

/// Exchanges tried between two partitions, a node.
constexpr int exchanges_a_node = 300;

/// How many partitions: the most that leave each a whole number of data nodes, microbatches and visits, and about as
/// many nodes of every stage.
int partition_count(const Problem& problem, const PerStage<int>& sizes, int least_operations) {
    const int fewest = *std::min_element(sizes.begin(), sizes.end());
    int best = 1;
    for (int count = 2; count <= fewest; ++count) {
        if (sizes[0] % count != 0 || problem.microbatches % count != 0) continue;
        const int own = problem.microbatches / count;
        if (own * (2 * problem.path_length + 1) < least_operations) break;
        if (std::any_of(sizes.begin(), sizes.end(), [&](int size) { return size % count != 0 && size / count < 4; }))
            continue;
        if (problem.stages > 1 && own * (problem.path_length - 1) % (problem.stages - 1) != 0) continue;
        best = count;
    }
    return best;
}

class NodeClustering {
public:
    NodeClustering(const Problem& problem, const Network& network, std::vector<int> room)
        : network_(network),
          partition_of_(at(problem.nodes()), -1),
          members_(room.size()),
          left_s_(partition_of_.size(), 0) {
        for (NodeIndex n = 0; n < problem.nodes(); ++n)
            for (NodeIndex other = 0; other < problem.nodes(); ++other) left_s_[n] += both_s(n, other);
        for (std::size_t partition = 0; partition < room.size(); ++partition)
            for (int left = room[partition]; left > 0; --left)
                add(left == room[partition] ? remotest() : nearest(partition), partition);
    }

    /// Exchanges nodes of two partitions where both come nearer to their neighbours.
    std::vector<std::vector<NodeIndex>> improved(Rng rng) {
        const auto nodes =
            std::accumulate(members_.begin(), members_.end(), std::size_t{0},
                            [](std::size_t sum, const auto& partition) { return sum + partition.size(); });
        for (std::size_t k = 0; k < nodes * exchanges_a_node; ++k) {
            const auto a = rng.below(members_.size()), b = rng.below(members_.size());
            NodeIndex &u = members_[a][rng.below(members_[a].size())], &v = members_[b][rng.below(members_[b].size())];
            if (a == b) continue;
            const double before_s = far_s(u, a) + far_s(v, b), after_s = far_s(u, b) + far_s(v, a) - 2 * both_s(u, v);
            if (after_s < before_s) std::swap(u, v);
        }
        return members_;
    }

private:
    double both_s(NodeIndex u, NodeIndex v) const { return network_.round_s(u, v) + network_.round_s(v, u); }
    double far_s(NodeIndex node, std::size_t partition) const {
        return std::accumulate(members_[partition].begin(), members_[partition].end(), 0.0,
                               [&](double sum_s, NodeIndex other) { return sum_s + both_s(node, other); });
    }
    void add(NodeIndex node, std::size_t partition) {
        partition_of_[node] = static_cast<int>(partition);
        members_[partition].push_back(node);
        for (NodeIndex n = 0; at(n) < left_s_.size(); ++n) left_s_[n] -= both_s(n, node);
    }
    /// Of the nodes left, the one that is farthest from the others.
    NodeIndex remotest() const {
        NodeIndex found = -1;
        for (NodeIndex n = 0; at(n) < partition_of_.size(); ++n)
            if (partition_of_[n] < 0 && (found < 0 || left_s_[n] > left_s_[found])) found = n;
        return found;
    }
    NodeIndex nearest(std::size_t partition) const {
        NodeIndex found = -1;
        double least_s = 0;
        for (NodeIndex n = 0; at(n) < partition_of_.size(); ++n) {
            if (partition_of_[n] >= 0) continue;
            const double seconds = far_s(n, partition);
            if (found >= 0 && seconds >= least_s) continue;
            least_s = seconds;
            found = n;
        }
        return found;
    }

    const Network& network_;
    PerNode<int> partition_of_;
    std::vector<std::vector<NodeIndex>> members_;
    PerNode<double> left_s_;  ///< of each node to all that are left, there and back
};

Problem part_of(const Problem& problem, const std::vector<NodeIndex>& nodes, const PerStage<int>& sizes,
                int partitions) {
    Problem part = with_nodes(problem, nodes);
    part.microbatches = problem.microbatches / partitions;
    part.stage_sizes = sizes;
    part.charge_all_reduce = part.plan_reductions = false;  // stages reach beyond the partition
    return part;
}

}  // namespace

std::vector<Partition> make_partitions(const Problem& problem, const Network& network, const PerStage<int>& sizes,
                                       int least_operations, std::uint64_t seed) {
    if (!problem.placement.empty() || problem.plan_blocks || problem.sizes.size() > 1 || !problem.balance_data_nodes)
        return {};
    const int count = partition_count(problem, sizes, least_operations);
    if (count < 2) return {};
    std::vector<PerStage<int>> own(at(count), PerStage<int>(sizes.size()));
    std::vector<int> room(at(count), 0);
    int turn = 0;  // what is left over of a stage goes to the partitions in turn
    for (StageIndex s = 0; at(s) < sizes.size(); ++s) {
        for (int k = 0; k < count; ++k) own[at(k)][s] = sizes[s] / count;
        for (int left = sizes[s] % count; left > 0; --left) ++own[at(turn++ % count)][s];
        for (int k = 0; k < count; ++k) room[at(k)] += own[at(k)][s];
    }
    std::vector<Partition> partitions;
    const auto members = NodeClustering(problem, network, room).improved(Rng(seed, 0xCE11));
    for (int k = 0; k < count; ++k)
        partitions.push_back({members[at(k)], part_of(problem, members[at(k)], own[at(k)], count)});
    return partitions;
}

PlanCandidate merge_partitions(const Problem& problem, const std::vector<Partition>& partitions,
                               const std::vector<PlanCandidate>& candidates) {
    PlanCandidate whole = make_candidate(problem, Placement(at(problem.stages)), problem.path_length);
    whole.schedule.split_backward = problem.split_backward;
    whole.schedule.order.resize(at(problem.nodes()));
    int first = 0;
    for (std::size_t k = 0; k < partitions.size(); ++k) {
        const auto& [nodes, part] = partitions[k];
        const PlanCandidate& candidate = candidates[k];
        for (StageIndex s = 0; at(s) < candidate.stages.size(); ++s)
            for (const NodeIndex node : candidate.stages[s]) {
                whole.stages[s].push_back(nodes[at(node)]);
                whole.schedule.stage_of[nodes[at(node)]] = s;
            }
        take_over(
            candidate.schedule, nodes, [first](ReleaseIndex i) { return ReleaseIndex(first + i); }, whole.schedule);
        first += candidate.schedule.count();
    }
    for (StageIndex s = 0; at(s) < whole.stages.size(); ++s) order_ring(problem, whole.stages[s], s);
    choose_reductions(problem, whole);
    return whole;
}

}  // namespace skippipe::planners::joint
