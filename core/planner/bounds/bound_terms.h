// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/infinite.h"
#include "core/planner/bounds/approaches.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/bounds/places_bound.h"
#include "core/planner/bounds/totals.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::bounds {

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// Seconds that summing gradients takes at least, and what proves it, for people; empty: it is not said.
struct Spread {
    double seconds = 0;
    std::string which = {};
};

/// What a node can send, or receive: the shortest latency, with the overhead, and the bandwidth of its k + 1 fastest
/// lines together.
struct Sending {
    double latency_s = infinite;
    std::vector<double> bandwidth_bytes_per_s;
    /// Of sending, of few nodes: latencies to all others over any of them, the nearest first; else empty.
    std::vector<double> away_s = {};

    /// So many bytes take no less, over at most so many lines; infinite where there is none.
    double least_s(double bytes, std::size_t lines = static_cast<std::size_t>(-1)) const {
        if (bandwidth_bytes_per_s.empty()) return infinite;
        return latency_s + bytes / bandwidth_bytes_per_s[std::min(bandwidth_bytes_per_s.size(), lines) - 1];
    }
};
/// Of each node, to all others; and from them.
PerNode<Sending> sendings(const Problem& problem);
PerNode<Sending> receivings(const Problem& problem);

/// Shared figures of all bounds; where placement is free, whatever it could be at best.
class Bounds {
public:
    Bounds(const Problem& problem, int length, const Totals& totals);

    /// No number of data nodes makes a plan shorter. `effort` > 0: with the bounds that take up to effort x 0.2 s, for
    /// those numbers that the others leave open.
    LowerBound best(double effort) const;

private:
    static constexpr std::size_t most_sizes = 16;

    /// What bounds a data node: the paths of its microbatches alone, or how many of them it holds at a time.
    enum class By { path, memory };
    struct Edge {
        double latency_s, bandwidth_bytes_per_s;  ///< latency with the overhead
    };

    Bounds with_data_nodes(int count) const;

    /// `sum`: what proves the time of the planned reduction that is part of it.
    static void raise(LowerBound& bound, double seconds, const char* which, const std::string& sum = {},
                      NodeIndex node = -1) {
        if (!(seconds > bound.seconds && seconds < infinite)) return;
        bound = {seconds, which, node};
        if (!sum.empty()) bound.which.append("; then the gradients: ").append(sum);
    }

    /// Of so many data nodes, before the step; what costs little to compute.
    LowerBound quick() const;

    /// Seen together with what the nodes can serve, wherever they stand.
    LowerBound with_places(LowerBound bound) const;
    LowerBound sharpened(LowerBound bound, double effort) const;

    double arrival_s(const Hop& hop, double transfer_s) const {
        return arrival_seconds(0, hop.latency_s, problem_.overhead_s, transfer_s);
    }
    double sample_block_s(NodeIndex node) const {
        return problem_.samples * problem_.seconds_per_sample_per_block[node];
    }

    std::vector<NodeIndex> candidates(StageIndex stage) const;
    /// Nodes of the stage, or -1 where that is free.
    int size(StageIndex stage) const;

    /// All work at the speed of all nodes together.
    double all_work_s() const;

    /// Blocks of a microbatch's path besides stage 0, at least.
    double fewest_others() const;

    /// The work that no data node does, at the speed of all nodes that may be left for it: the fastest.
    double others_work_s() const;

    /// Before the first operation of any other stage than 0, and after its last one.
    std::pair<double, double> around_s() const;

    /// The spare blocks all on the stage that is passed over most often: none is visited as often as stage 0.
    double spare_work() const;

    /// The same of one microbatch that visits every stage, seconds on the fastest node.
    double spare_way_s() const;

    int fewest_visits(StageIndex stage) const;

    /// Work of a stage, then the shortest tail: of stage 0, and where that takes longer, its planned reduction, which
    /// is named.
    Spread stage_work(StageIndex stage) const;

    /// The all-reduce of a stage of r nodes takes no less. Where the ring is free: each of its nodes sends to another
    /// one, so that its slowest edge is at least the r-th of all candidates' fastest edges.
    Spread shortest_reduce(StageIndex stage, int r) const;

    /// The same where reductions are planned: from the end of any of its nodes' last operation on (reduction_ways.h).
    Spread shortest_reduction(StageIndex stage, int r) const;
    /// Where placement is free: to so many others.
    Spread shortest_anywhere(double bytes, std::size_t others) const;

    /// Of each node, those that are the fastest for some number of bytes: by latency, each with more bandwidth than the
    /// one before.
    PerNode<std::vector<Edge>> best_edges() const;

    /// For each possible data node the shortest time of a microbatch from the start of its first F until its memory is
    /// free.
    std::vector<double> loops_s() const;

    std::vector<double> data_node_bounds_s(By by) const;

    /// The data node with the greatest bound, which is that of stage 0; -1 where it is not known which nodes are data
    /// nodes, or how many microbatches each of them starts.
    NodeIndex slowest_data_node(By by) const;

    /// Of each data node, where placement is given, until all have the sum with its part.
    std::vector<double> data_node_ends_s(By by) const;

    /// No data node is done, and no part of stage 0's gradient there, before the first of them; then the reduction
    /// takes at least what it takes alone. Of a given placement with planned reductions; else 0.
    double reduction_after_first_s(By by) const;

    /// Whatever nodes stage 0 gets, its worst one is at least the r-th best. Where they need not share evenly, one of
    /// them has at least its share, and may be the best.
    double data_nodes_s(By by) const;

    /// Where microbatches differ in size: how long each holds a place on a data node at least, for its own shortest
    /// path.
    void hold();

    /// The data nodes have no more places than the largest ones. And the largest microbatch is on its way at least that
    /// long.
    double holding_s() const;

    /// How many data nodes there may be.
    std::vector<int> sizes_of_stage_0() const;

    double shared_s(double from_s, double effort) const;

    StageNeeds stage_needs() const;

    /// What the nodes can serve, each of one stage (places_bound.h).
    double places_s(double from_s) const;

    const Problem& problem_;
    int length_;
    const Totals& totals_;
    double shortest_forward_s_ = infinite, shortest_backward_s_ = infinite, work_factor_ = 1, way_factor_ = 1;
    int fewest_blocks_ = 0;
    std::vector<double> loops_s_;
    double all_holds_s_ = 0, longest_hold_s_ = 0;
    /// Where an all-reduce takes time and placement is free.
    std::shared_ptr<const PerNode<std::vector<Edge>>> edges_;
    /// Where reductions are planned and placement is free: of each node, to and from all others.
    std::shared_ptr<const PerNode<Sending>> sendings_, receivings_;
    std::shared_ptr<const Approaches> ways_;  ///< of paths of more than one node
    int data_nodes_ = -1;                     ///< as many are assumed
    Spread reduce_;                           ///< of stage 0 with them, at least
    /// Where reductions are planned and placement is given: of each data node, and of all where all parts are there.
    std::vector<Spread> spreads_;
    double lone_s_ = 0;
};

}  // namespace skippipe::bounds
