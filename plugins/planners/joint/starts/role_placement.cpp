// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/starts/role_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.h"

namespace skippipe::planners::joint {

namespace {

/// Of a node's time that visits can take up: they do not come evenly.
constexpr double busy_share = 0.85;

class Roles {
public:
    Roles(const Problem& problem, const Network& network, const std::vector<int>& groups,
          const std::vector<NodeIndex>& data_nodes, double waiting)
        : problem_(problem), waiting_(waiting), inner_(problem.stages - 1) {
        PerNode<bool> data(at(problem.nodes()), false);
        for (const NodeIndex node : data_nodes) data[node] = true;
        for (NodeIndex n = 0; n < problem.nodes(); ++n)
            if (!data[n]) nodes_.push_back(n);
        for (const NodeIndex n : nodes_) mean_work_s_ += work_s(n) / static_cast<double>(nodes_.size());
        hop_s_ = near_round_s(network, groups);
        sort_by_role(groups);
    }

    /// The nodes of each inner stage, if all are to serve their visits in `time_s`; empty where they cannot.
    std::vector<std::vector<NodeIndex>> within(double time_s) const {
        const double visits = static_cast<double>(problem_.microbatches) * (problem_.path_length - 1) / inner_;
        std::vector<std::vector<NodeIndex>> stages(at(inner_));
        std::size_t next = 0;
        double served = 0;
        for (int k = 0; k < inner_; ++k) {
            auto& stage = stages[at(k)];
            while (stage.empty() || served < visits) {
                if (next + at(inner_ - k - 1) >= nodes_.size()) return {};
                served += time_s * visits_per_s(nodes_[next], k);
                stage.push_back(nodes_[next++]);
            }
            served -= visits;
        }
        for (; next < nodes_.size(); ++next) stages.back().push_back(nodes_[next]);
        return stages;
    }
    const std::vector<NodeIndex>& nodes() const { return nodes_; }
    /// Time in which the slowest node alone could serve all.
    double longest_s() const {
        double least = std::numeric_limits<double>::infinity();
        for (const NodeIndex n : nodes_) least = std::min(least, visits_per_s(n, 0));
        return 2.0 * problem_.microbatches * problem_.path_length / least;
    }

private:
    double work_s(NodeIndex node) const {
        return problem_.forward_s(node, StageIndex(problem_.stages - 1)) * (1 + problem_.backward_factor);
    }
    /// How long a visit to inner stage number `k` holds a place there.
    double held_s(NodeIndex node, int k) const {
        const double after = (problem_.path_length - 1.0) * (inner_ - 1 - k) / inner_;
        return work_s(node) + waiting_ * (after * mean_work_s_ + (after + 1) * hop_s_);
    }
    double visits_per_s(NodeIndex node, int k) const {
        return 1 / std::max(work_s(node) / busy_share, held_s(node, k) / problem_.memory[node]);
    }

    /// There and back between nodes of a group; of any two neighbours in the list where groups have one each.
    static double near_round_s(const Network& network, const std::vector<int>& groups) {
        double least_s = std::numeric_limits<double>::infinity();
        for (std::size_t n = 1; n < groups.size(); ++n)
            if (groups[n] == groups[0]) least_s = std::min(least_s, network.round_s(NodeIndex(0), NodeIndex(n)));
        return least_s < unreachable_s ? least_s : 0;
    }

    /// First those that serve the first stage well compared with the last; the same share of each group everywhere.
    void sort_by_role(const std::vector<int>& groups) {
        PerNode<double> front(at(problem_.nodes()), 0), place(at(problem_.nodes()), 0);
        for (const NodeIndex n : nodes_) front[n] = visits_per_s(n, 0) / visits_per_s(n, inner_ - 1);
        std::stable_sort(nodes_.begin(), nodes_.end(), [&](NodeIndex a, NodeIndex b) { return front[a] > front[b]; });
        std::vector<double> members(groups.size(), 0), seen(groups.size(), 0);
        for (const NodeIndex n : nodes_) ++members[at(groups[at(n)])];
        for (const NodeIndex n : nodes_) {
            const auto group = at(groups[at(n)]);
            place[n] = (seen[group]++ + 0.5) / members[group];
        }
        std::stable_sort(nodes_.begin(), nodes_.end(), [&](NodeIndex a, NodeIndex b) { return place[a] < place[b]; });
    }

    const Problem& problem_;
    const double waiting_;
    const int inner_;  ///< stages besides the first
    double mean_work_s_ = 0, hop_s_ = 0;
    std::vector<NodeIndex> nodes_;
};

}  // namespace

Placement placement_by_roles(const Problem& problem, const Network& network, const std::vector<int>& groups,
                             const std::vector<NodeIndex>& data_nodes, double waiting) {
    const Roles roles(problem, network, groups, data_nodes, waiting);
    Placement placement{data_nodes};
    if (problem.stage_sizes.empty()) {
        double too_short_s = 0, long_enough_s = roles.longest_s();
        for (int k = 0; k < 40; ++k) {
            const double middle_s = 0.5 * (too_short_s + long_enough_s);
            (roles.within(middle_s).empty() ? too_short_s : long_enough_s) = middle_s;
        }
        for (auto& stage : roles.within(long_enough_s)) placement.push_back(std::move(stage));
    } else {
        auto next = roles.nodes().begin();
        for (StageIndex s = 1; s < problem.stages; ++s) {
            placement.emplace_back(next, next + problem.stage_sizes[s]);
            next += problem.stage_sizes[s];
        }
    }
    for (StageIndex s = 0; at(s) < placement.size(); ++s) order_ring(problem, placement[s], s);
    return placement;
}

}  // namespace skippipe::planners::joint
