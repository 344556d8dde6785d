// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Where an operation's input came from.
struct InputSource {
    const Span* transfer =
        nullptr;  ///< that brought it; null: it was there (first forward, loss and weight gradient on the same node)
    const Span* before = nullptr;  ///< the operation of the microbatch that handed it over; null: none
};

/// A stretch of an operation's wait for its node: input there, not yet started.
struct WaitInterval {
    double start_s = 0, end_s = 0;
    const Span* running = nullptr;  ///< what the node did meanwhile; null: it was free
};

/// One iteration's spans, ordered for questions about causes. Built from the spans alone, so that rerouted microbatches
/// are understood too; spans of unknown nodes and with times that are no numbers are left out. Keeps pointers into the
/// timeline.
class SpanIndex {
public:
    SpanIndex(const Problem& problem, const Timeline& timeline);

    /// Compute spans of a node by start.
    const std::vector<const Span*>& busy(NodeIndex node) const { return busy_[node]; }
    /// Transfers of planned reductions to a node by arrival.
    const std::vector<const Span*>& reduction_arrivals(NodeIndex node) const { return reduction_arrivals_[node]; }
    /// Of the last operation of a node that has any.
    double work_end_s(NodeIndex node) const { return busy_[node].back()->end_s; }
    InputSource input_source(const Span& operation) const;
    /// From its ready_s to its start_s, tiled, in order of time; one stretch for each thing the node did or did not do.
    std::vector<WaitInterval> wait_intervals(const Span& operation) const;
    /// True where the node holds as many microbatches as it may (TC1), seconds from the iteration's start.
    bool memory_is_full(NodeIndex node, double time_s) const;
    /// Start and end over the stage's nodes, or where reductions are planned of that one node; both 0 where there is
    /// none.
    std::pair<double, double> all_reduce(StageIndex stage, NodeIndex node = -1) const {
        return range(all_reduce_, stage, node);
    }
    std::pair<double, double> step(StageIndex stage, NodeIndex node = -1) const { return range(step_, stage, node); }
    /// End of the iteration: as the timeline says, but no earlier than the last span.
    double end_s() const { return end_s_; }

private:
    using Ranges = std::map<std::pair<StageIndex, NodeIndex>, std::pair<double, double>>;
    using Key = std::pair<MicrobatchIndex, NodeIndex>;
    struct Holding {
        std::vector<double> from, to;  ///< sorted each on its own: held = those begun minus those ended
    };

    /// One for all nodes of a stage, unless reductions are planned.
    std::pair<StageIndex, NodeIndex> key(StageIndex stage, NodeIndex node) const {
        return {stage, planned_ ? node : NodeIndex(-1)};
    }
    std::pair<double, double> range(const Ranges& ranges, StageIndex stage, NodeIndex node) const;
    void widen(Ranges& ranges, const Span& span) const;
    void add(const Span& span);
    void hold();

    bool planned_;  ///< reductions are
    PerNode<std::vector<const Span*>> busy_, reduction_arrivals_;
    std::map<Key, std::vector<const Span*>> operations_, arrivals_;  ///< by start, by arrival
    PerNode<Holding> holdings_;
    PerNode<int> memory_;
    Ranges all_reduce_, step_;
    double end_s_ = 0;
};

}  // namespace skippipe
