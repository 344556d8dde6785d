// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/planner/plan/plan.h"

namespace skippipe {

enum class SpanKind : std::uint8_t {
    forward,
    loss,
    backward,
    input_gradient,
    weight_gradient,  // busy
    transfer_forward,
    transfer_backward,
    all_reduce,
    step,
    down,               // the node was not there
    transfer_reduction  // of a part or sum of a gradient, where reductions are planned
};
inline constexpr SpanKind last_span_kind = SpanKind::transfer_reduction;

std::string_view to_string(SpanKind kind);
inline bool is_compute(SpanKind kind) { return kind <= SpanKind::weight_gradient; }
/// What an operation's span shows.
OpKind operation_kind(SpanKind compute);
/// Of a microbatch.
inline bool is_transfer(SpanKind kind) {
    return kind == SpanKind::transfer_forward || kind == SpanKind::transfer_backward;
}
/// Whatever goes over a line.
inline bool is_on_line(SpanKind kind) { return is_transfer(kind) || kind == SpanKind::transfer_reduction; }

/// Something that took network time, seconds from the iteration's start.
/// Compute: ready_s = arrival of its input, start_s..end_s = on the node.
/// Transfer: ready_s = handed over, start_s = the line begins to send, end_s = arrival.
/// All-reduce and step: of `stage` on `node`; a planned all-reduce from the node's own part being there until it has
/// the sum, which transfers bring. Down: start_s..end_s, a node of `stage` that was lost.
struct Span {
    SpanKind kind = SpanKind::forward;
    NodeIndex node = -1;
    NodeIndex to_node = -1;  ///< transfers only
    StageIndex stage = -1;
    MicrobatchIndex microbatch = -1;
    double ready_s = 0, start_s = 0, end_s = 0;
    double bytes = 0;  ///< transfers, charged all-reduce
    bool operator==(const Span&) const = default;
};

/// What executing a plan gives: from the evaluator or from the engine, the same.
struct Timeline {
    std::vector<Span> spans;           ///< in the order they ended being created; not sorted
    double makespan_s = 0;             ///< end of the last operation
    double iteration_s = 0;            ///< when the last stage has stepped
    double busy_s = 0;                 ///< compute, over all nodes
    double bytes = 0;                  ///< transfers and charged all-reduces
    int used_nodes = 0;                ///< named in `stages`
    bool complete = true;              ///< every operation ran
    std::vector<std::string> blocked;  ///< if not: which node waits for what

    /// 1 - busy / (used nodes x iteration_s).
    double idle_fraction() const {
        return iteration_s > 0 && used_nodes > 0 ? 1 - busy_s / (used_nodes * iteration_s) : 0;
    }
};

/// Charged all-reduce and optimizer step of each stage after its last operation; adds their spans, iteration_s and
/// bytes. `last_end_s`: end of the stage's last operation, negative where no microbatch visited it.
void finish_iteration(const Problem& problem, const Plan& plan, const PerStage<double>& last_end_s, Timeline& timeline);

/// Of a timeline that has the spans of planned reductions: iteration_s, bytes and used nodes.
void finish_planned_iteration(const Plan& plan, Timeline& timeline);

/// The totals of a timeline that has spans alone, as gathered from many places or read from a record: iteration_s (no
/// shorter than it says already), makespan_s, busy_s, bytes and used_nodes.
void add_totals(const Plan& plan, Timeline& timeline);

/// 2 (r-1) x the slowest edge of the ring in the order of `stages` (latency + overhead + (bytes / r) / bandwidth); 0
/// for r = 1 or where all-reduce is free.
double all_reduce_seconds(const Problem& problem, const std::vector<NodeIndex>& ring, StageIndex stage);

/// One of its rounds over the edge from ring[edge] to the next: latency + overhead + (bytes / r) / bandwidth.
double ring_edge_seconds(const Problem& problem, const std::vector<NodeIndex>& ring, std::size_t edge,
                         StageIndex stage);

}  // namespace skippipe
