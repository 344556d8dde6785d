// SPDX-License-Identifier: GPL-3.0-or-later
// What is minimised for plans that stay short when nodes and links vary.
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

/// Networks drawn around a problem for a search, all computed at once, a lane each: how many times longer nodes and
/// lines take there.
struct Scenarios {
    static constexpr int lanes = 32;
    struct alignas(64) Lanes {
        double of[lanes];
    };
    PerNode<Lanes> node;
    std::vector<Lanes> line;
};

/// Never the networks that plans are judged by (`distribution`).
Scenarios draw_scenarios(const Problem& problem, const Jitter& jitter, std::uint64_t seed);

/// Stands for the 95th percentile while searching: the mean of the longer half of the iterations over the drawn
/// networks. A higher percentile of so few would be the luck of one or two networks, and the plan would be fitted to
/// those (found by trial). Every node works in the order that it had on the network as drawn, made binding: what
/// dispatch does in one drawn network says little about the next, while with a binding order times are sums and maxima
/// of what varies. Lines are taken to serve in that order too.
class TailCost {
public:
    /// Keeps references.
    TailCost(const Problem& problem, const Scenarios& scenarios) : problem_(problem), scenarios_(scenarios) {}

    struct Value {
        double iteration_s = 0;  ///< mean of the longer half
        double mean_end_s = 0;   ///< of the data nodes' last operations, over all drawn networks
    };
    /// `end_s` [release index x (2p+1) + step]: end of each operation on the network as drawn
    /// (Simulator::operation_ends).
    Value operator()(const PlanCandidate& candidate, const std::vector<double>& end_s);

private:
    using Lanes = Scenarios::Lanes;
    struct Moment {
        double end_s;
        ReleaseIndex index;
        int step;
    };
    void sort_operations(const FlatPlan& schedule, const std::vector<double>& end_s);
    void run(const FlatPlan& schedule);
    void set_forwards(const FlatPlan& schedule);
    void hand_over(const Hop& hop, double seconds, double size, const Lanes& end, Lanes& arrival);
    void add_all_reduce(const std::vector<NodeIndex>& ring, StageIndex stage, Lanes& end) const;

    const Problem& problem_;
    const Scenarios& scenarios_;
    std::vector<Moment> moments_;  ///< operations by their end
    PerNode<Lanes> node_free_;
    PerRelease<Lanes> arrival_;                ///< of its next operation
    PerNode<Lanes> forward_;                   ///< seconds of a forward
    std::vector<Lanes> line_free_;             ///< [line], shared lines only
    std::vector<std::uint32_t> line_used_in_;  ///< [line] evaluation that used it last: before, it was free
    std::uint32_t evaluation_ = 0;
};

}  // namespace skippipe::planners::joint
