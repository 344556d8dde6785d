// SPDX-License-Identifier: GPL-3.0-or-later
// A plan's timeline seen along the paths: for the files of the explanation alone.
#pragma once
#include <unordered_map>
#include <vector>

#include "core/planner/explain/explain.h"
#include "core/planner/explain/queue_stops.h"
#include "core/planner/explain/span_index.h"

namespace skippipe {

/// Spans by microbatch and step: 0..p-1 forward, p loss, p+1..2p backward (I where split). Keeps pointers into the
/// timeline.
class Ways {
public:
    Ways(const Problem& problem, const Plan& plan, const Timeline& timeline);

    int steps() const { return 2 * length_ + 1; }
    int count() const { return static_cast<int>(plan_.paths.size()); }
    const Problem& problem() const { return problem_; }
    const SpanIndex& index() const { return index_; }

    /// `path`: index of the microbatch in plan.paths.
    const Span& operation(ReleaseIndex path, int step) const { return *operations_[slot(path, step)]; }
    /// The transfer that brings a step its input; null where it is there.
    const Span* transfer(ReleaseIndex path, int step) const { return transfers_[slot(path, step)]; }
    /// Seconds of W over the microbatch's path.
    double weight_gradient_s(ReleaseIndex path) const { return weight_gradient_s_[path]; }

    /// The operation whose end made this one's input: the step before; the I of a W; null for a first F.
    const Span* before(const Span& operation) const;
    const Span* transfer_to(const Span& operation) const;
    /// The operation that handed a transfer over.
    const Span& sender(const Span& transfer) const;
    /// The operation that its node ran last before this one; null where it is the first.
    const Span* previous_on_node(const Span& operation) const;
    /// The transfer that the line sent last before this one (`links: shared`); null where there is none.
    const Span* previous_on_line(const Span& transfer) const { return queues_.previous_on_line(transfer); }
    int line(const Span& transfer) const { return queues_.line(transfer); }
    const QueueStops& queues() const { return queues_; }
    /// Where reductions are planned, what let a node hand on its part or a sum, or have all sums, just then: its last
    /// operation, or a transfer that arrived; null at the start of the iteration.
    const Span* reduction_cause(NodeIndex node, double time_s) const;
    /// Seconds that the transfer occupies its line.
    double occupied_s(const Span& transfer) const { return queues_.occupied_s(transfer); }
    /// Its queues, one after the other.
    std::vector<QueueStop> stops(const Span& transfer) const { return queues_.of(transfer); }
    /// That one of them.
    QueueStop at_queue(const Span& transfer, int line) const;
    /// Latency and overhead.
    double latency_s(const Span& transfer) const { return queues_.latency_s(transfer); }

    /// Between arrival and start of an operation, by cause.
    std::vector<Wait> node_waits(const Span& operation) const;
    /// At the queues that it passes, one after the other: without uplinks and downlinks at most one, for the line.
    std::vector<Wait> line_waits(const Span& transfer) const;

private:
    struct Place {
        ReleaseIndex path = -1;
        int step = -1;
    };
    std::size_t slot(ReleaseIndex path, int step) const { return at(path) * at(steps()) + at(step); }
    Place place(const Span& span) const;
    void add(const Span& span);
    WaitCause cause_of(const Span& operation, const WaitInterval& interval) const;

    const Problem& problem_;
    const Plan& plan_;
    int length_;
    SpanIndex index_;
    QueueStops queues_;
    std::unordered_map<MicrobatchIndex, ReleaseIndex> path_of_;
    std::vector<const Span*> operations_, transfers_;  ///< [path x steps]
    PerRelease<double> weight_gradient_s_;
    PerNode<std::vector<const Span*>> reduction_arrivals_;  ///< transfers of planned reductions, by receiver
};

std::vector<MicrobatchCosts> microbatch_costs(const Ways& ways, const Plan& plan);

/// From 0 to the end of the iteration.
std::vector<ChainPiece> critical_chain(const Ways& ways, const Plan& plan, const Timeline& timeline);

/// The line of the ring's slowest edge, no_line where nothing is charged.
int slowest_edge(const Problem& problem, const std::vector<NodeIndex>& ring, StageIndex stage);

}  // namespace skippipe
