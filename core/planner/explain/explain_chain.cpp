// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <stdexcept>

#include "core/base/index.h"
#include "core/planner/explain/explain_ways.h"

namespace skippipe {
namespace {

using Kind = ChainPiece::Kind;
using Start = ChainPiece::Start;

/// Goes back from the end of the iteration; every piece ends where the one added before it starts.
class ChainWalk {
public:
    ChainWalk(const Ways& ways, const Plan& plan, const Timeline& timeline)
        : ways_(ways), plan_(plan), timeline_(timeline) {}

    std::vector<ChainPiece> walk() {
        const Span* cause = ways_.problem().plan_reductions ? add_last_step() : add_stage_end(last_stage());
        while (cause != nullptr) cause = is_compute(cause->kind) ? add_operation(*cause) : add_transfer(*cause);
        std::reverse(chain_.begin(), chain_.end());
        return std::move(chain_);
    }

private:
    void add(ChainPiece piece, double start_s, double end_s) {
        piece.start_s = start_s;
        piece.end_s = end_s;
        if (end_s > start_s) chain_.push_back(piece);
    }

    const Span& last_step() const {
        for (const auto& span : timeline_.spans)
            if (span.kind == SpanKind::step && span.end_s == timeline_.iteration_s) return span;
        throw std::logic_error("no stage steps at the end of the iteration");
    }
    StageIndex last_stage() const { return last_step().stage; }

    /// The step of the node that steps last, where reductions are planned; what brought the last sum.
    const Span* add_last_step() {
        const Span& step = last_step();
        add({.kind = Kind::step, .start = Start::before, .stage = step.stage}, step.start_s, step.end_s);
        return ways_.reduction_cause(step.node, step.start_s);
    }

    /// Step and all-reduce; the last operation on any of the stage's nodes.
    const Span* add_stage_end(StageIndex stage) {
        const auto [reduce_start_s, reduce_end_s] = ways_.index().all_reduce(stage);
        const auto [step_start_s, step_end_s] = ways_.index().step(stage);
        const int line = slowest_edge(ways_.problem(), plan_.stages[stage], stage);
        add({.kind = Kind::step, .start = Start::before, .stage = stage}, step_start_s, step_end_s);
        add({.kind = Kind::all_reduce, .start = Start::before, .line = line, .stage = stage}, reduce_start_s,
            reduce_end_s);
        for (const NodeIndex node : plan_.stages[stage]) {
            const auto& busy = ways_.index().busy(node);
            if (!busy.empty() && busy.back()->end_s == reduce_start_s) return busy.back();
        }
        throw std::logic_error("no operation of the last stage ends where it begins to all-reduce");
    }

    /// Adds it and what brought its input; returns what it waited for, null at the start of the iteration.
    const Span* add_operation(const Span& operation) {
        ChainPiece piece{.kind = Kind::compute,
                         .start = Start::input,
                         .operation = operation_kind(operation.kind),
                         .node = operation.node,
                         .microbatch = operation.microbatch};
        if (operation.start_s > operation.ready_s) {
            const Span* previous = ways_.previous_on_node(operation);
            if (!previous || previous->end_s != operation.start_s)
                throw std::logic_error("an operation began without an event");
            piece.start = ways_.node_waits(operation).back().cause == WaitCause::memory ? Start::memory : Start::node;
            add(piece, operation.start_s, operation.end_s);
            return previous;
        }
        const Span* transfer = ways_.transfer_to(operation);
        const Span* before = ways_.before(operation);
        if (!before) piece.start = Start::release;
        add(piece, operation.start_s, operation.end_s);
        return transfer ? transfer : before;
    }

    /// Adds its way through the queue that it left last, and what that served before it where it had to wait; then
    /// through the queues before. Returns what let the first of them be handed over. All of it is all-reduce where a
    /// planned reduction is what travels.
    const Span* add_transfer(const Span& arrived) {
        const Span* transfer = &arrived;
        auto stops = ways_.stops(*transfer);
        std::size_t at_stop = ways_.queues().left_last(*transfer, stops);
        const auto piece = [&](Kind kind, Start start) {
            const bool reduces = transfer->kind == SpanKind::transfer_reduction;
            return ChainPiece{.kind = reduces ? Kind::all_reduce : kind,
                              .start = start,
                              .node = transfer->node,
                              .line = stops[at_stop].line,
                              .microbatch = transfer->microbatch,
                              .stage = reduces ? transfer->stage : StageIndex(-1)};
        };
        // Where the line does not queue, what it occupies is only a share of the way; it is told first all the same.
        add(piece(Kind::latency, Start::before), stops[at_stop].end_s, transfer->end_s);
        double until_s = stops[at_stop].end_s;
        for (Kind kind = Kind::transfer;; kind = Kind::queue) {
            const QueueStop stop = stops[at_stop];
            const bool waited = stop.begin_s > stop.head_s;
            add(piece(kind, waited ? Start::line : Start::input), stop.begin_s, until_s);
            until_s = stop.begin_s;
            if (waited) {
                transfer = stop.ahead;
                if (transfer != nullptr) stops = ways_.stops(*transfer);
                at_stop = transfer != nullptr ? place_of(stops, stop.line) : 0;
                if (transfer == nullptr || stops[at_stop].end_s != stop.begin_s)
                    throw std::logic_error("a transfer waited for a line that was free");
            } else if (at_stop == 0) {
                return is_transfer(transfer->kind) ? &ways_.sender(*transfer)
                                                   : ways_.reduction_cause(transfer->node, transfer->ready_s);
            } else {
                --at_stop;  // its head came from there, at once or by the line's latency
                add(piece(Kind::latency, Start::before), stops[at_stop].begin_s, until_s);
                until_s = stops[at_stop].begin_s;
            }
        }
    }

    static std::size_t place_of(const std::vector<QueueStop>& stops, int line) {
        return static_cast<std::size_t>(
            std::find_if(stops.begin(), stops.end(), [&](const QueueStop& stop) { return stop.line == line; }) -
            stops.begin());
    }

    const Ways& ways_;
    const Plan& plan_;
    const Timeline& timeline_;
    std::vector<ChainPiece> chain_;
};

}  // namespace

int slowest_edge(const Problem& problem, const std::vector<NodeIndex>& ring, StageIndex stage) {
    const std::size_t r = ring.size();
    int line = no_line;
    double slowest_s = -1;
    for (std::size_t i = 0; problem.charge_all_reduce && r > 1 && i < r; ++i) {
        const double edge_s = ring_edge_seconds(problem, ring, i, stage);
        if (edge_s > slowest_s) {
            slowest_s = edge_s;
            line = problem.hop(ring[i], ring[(i + 1) % r]).line;
        }
    }
    return line;
}

std::vector<ChainPiece> critical_chain(const Ways& ways, const Plan& plan, const Timeline& timeline) {
    return ChainWalk(ways, plan, timeline).walk();
}

}  // namespace skippipe
