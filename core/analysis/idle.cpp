// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/idle.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "core/planner/explain/queue_stops.h"
#include "core/planner/explain/span_index.h"

namespace skippipe {
namespace {

constexpr std::array<std::string_view, idle_causes> names{"fill-drain", "activation", "gradient",  "link",
                                                          "memory",     "collision",  "order",     "replica",
                                                          "all-reduce", "optimizer",  "node-down", "unused"};
constexpr std::array<std::string_view, idle_causes> sentences{"filling or draining",
                                                              "waiting for an activation",
                                                              "waiting for a gradient",
                                                              "waiting for the link",
                                                              "waiting for memory (TC1)",
                                                              "collision upstream (TC2)",
                                                              "waiting its turn",
                                                              "waiting for a replica's work",
                                                              "waiting for the all-reduce",
                                                              "stepping the optimizer",
                                                              "node down",
                                                              "not used by the plan"};

/// Cuts one idle stretch of one node into gaps, from left to right; every call goes on where the last one ended, so
/// they tile it exactly.
class Cutter {
public:
    Cutter(std::vector<IdleGap>& gaps, NodeIndex node, double start_s, double end_s)
        : gaps_(gaps), node_(node), at_(start_s), end_(end_s) {}

    void until(double time_s, IdleCause cause, MicrobatchIndex microbatch = -1, NodeIndex other = -1,
               int line = no_line) {
        const double to = std::min(time_s, end_);
        if (!(to > at_)) return;
        IdleGap* last = gaps_.empty() ? nullptr : &gaps_.back();
        if (last && last->node == node_ && last->end_s == at_ && last->cause == cause &&
            last->microbatch == microbatch && last->other == other && last->line == line)
            last->end_s = to;
        else
            gaps_.push_back({node_, cause, at_, to, microbatch, other, line});
        at_ = to;
    }
    double at() const { return at_; }
    double end() const { return end_; }

private:
    std::vector<IdleGap>& gaps_;
    NodeIndex node_;
    double at_, end_;
};

/// Arrived and not run although the node was free: TC1 or the order.
IdleCause held_by(const SpanIndex& index, const Span& operation, double time_s) {
    const bool blocked = operation.kind == SpanKind::forward && index.memory_is_full(operation.node, time_s);
    return blocked ? IdleCause::memory : IdleCause::order;
}

/// The earliest arrived of a node's operations that are still to run.
struct Arrived {
    double ready_s = std::numeric_limits<double>::infinity();
    MicrobatchIndex microbatch = -1;
    void add(const Span& span) {
        if (span.ready_s < ready_s) *this = {span.ready_s, span.microbatch};
    }
};
struct Waiting {
    Arrived forward, other;
};

/// For every operation of a node: what is still to run when it starts, itself included.
std::vector<Waiting> waiting_before(const std::vector<const Span*>& busy) {
    std::vector<Waiting> waiting(busy.size());
    Waiting now;
    for (std::size_t i = busy.size(); i-- > 0;) {
        (busy[i]->kind == SpanKind::forward ? now.forward : now.other).add(*busy[i]);
        waiting[i] = now;
    }
    return waiting;
}

/// The microbatch stood at its previous node from `before.ready_s` to `before.start_s`: busy there, or held.
void cut_upstream_wait(const SpanIndex& index, const Span& before, MicrobatchIndex microbatch, Cutter& cut) {
    for (const auto& interval : index.wait_intervals(before)) {
        if (!(interval.end_s > cut.at())) continue;
        const IdleCause cause =
            interval.running
                ? IdleCause::collision
                : held_by(index, before, std::midpoint(std::max(cut.at(), interval.start_s), interval.end_s));
        cut.until(interval.end_s, cause, microbatch, before.node);
    }
}

/// Idle before the node's first operation.
void cut_head(const SpanIndex& index, const Span& next, Cutter& cut) {
    const auto source = index.input_source(next);
    if (source.transfer) {
        cut.until(source.transfer->ready_s, IdleCause::fill_drain, next.microbatch, source.transfer->node);
        cut.until(cut.end(), IdleCause::link, next.microbatch, source.transfer->node);
    } else {
        cut.until(cut.end(), IdleCause::fill_drain, next.microbatch);
    }
}

/// Idle between two operations; `next` ended it.
void cut_between(const SpanIndex& index, const Span& next, Cutter& cut) {
    const bool activation = next.kind == SpanKind::forward || next.kind == SpanKind::loss;
    const IdleCause input = activation ? IdleCause::activation : IdleCause::gradient;
    const auto source = index.input_source(next);
    const NodeIndex from = source.transfer ? source.transfer->node : NodeIndex(-1);
    if (source.before) {
        cut.until(source.before->ready_s, input, next.microbatch, from);
        cut_upstream_wait(index, *source.before, next.microbatch, cut);
        cut.until(source.before->end_s, input, next.microbatch, from);
    }
    if (source.transfer) {
        cut.until(source.transfer->ready_s, input, next.microbatch, from);
        cut.until(next.ready_s, IdleCause::link, next.microbatch, from);
    }
    cut.until(cut.end(), input, next.microbatch, from);
}

/// The end of a gap, in which something stood here ready: memory from where TC1 blocks it, else the order.
void cut_held(bool full, const Waiting& waiting, Cutter& cut) {
    Arrived blocked, ordered = waiting.other;
    if (full)
        blocked = waiting.forward;
    else if (waiting.forward.ready_s < ordered.ready_s)
        ordered = waiting.forward;
    cut.until(blocked.ready_s, IdleCause::order, ordered.microbatch);
    cut.until(cut.end(), IdleCause::memory, blocked.microbatch);
}

/// From `at_s` to the start of `next` the node did nothing: first the way of its input, then what held what had
/// arrived.
void cut_gap(const SpanIndex& index, const Span& next, bool first, double at_s, const Waiting& waiting,
             std::vector<IdleGap>& gaps) {
    if (!(next.start_s > at_s)) return;
    const double held_s = std::clamp(std::min(waiting.forward.ready_s, waiting.other.ready_s), at_s, next.start_s);
    Cutter way{gaps, next.node, at_s, held_s};
    first ? cut_head(index, next, way) : cut_between(index, next, way);
    Cutter held{gaps, next.node, held_s, next.start_s};
    cut_held(index.memory_is_full(next.node, std::midpoint(at_s, next.start_s)), waiting, held);
}

/// The queue that a transfer left last; no_line where that is not known.
int last_queue(const QueueStops& queues, const Span& transfer) {
    const auto stops = queues.of(transfer);
    return stops.empty() ? no_line : stops[queues.left_last(transfer, stops)].line;
}

/// Of a stage's nodes the one that works the longest; -1: none works.
NodeIndex last_to_work(const SpanIndex& index, const std::vector<NodeIndex>& nodes) {
    NodeIndex last = -1;
    for (const NodeIndex node : nodes)
        if (!index.busy(node).empty() && (last < 0 || index.work_end_s(node) > index.work_end_s(last))) last = node;
    return last;
}

/// Idle after the last operation, or all along: drain (or `unused`), the last replica's work, all-reduce, step, and the
/// barrier. `queues`, `last`: of planned reductions.
void cut_tail(const SpanIndex& index, const QueueStops* queues, NodeIndex last, NodeIndex node, StageIndex stage,
              IdleCause otherwise, Cutter& cut) {
    const auto [reduce_start, reduce_end] = index.all_reduce(stage, node);
    const auto [step_start, step_end] = index.step(stage, node);
    if (last >= 0) cut.until(std::min(index.work_end_s(last), reduce_end), IdleCause::replica, -1, last);
    cut.until(reduce_start, otherwise);
    for (const Span* arrival : index.reduction_arrivals(node))
        if (arrival->stage == stage && arrival->end_s <= reduce_end)
            cut.until(arrival->end_s, IdleCause::all_reduce, -1, arrival->node,
                      queues == nullptr ? no_line : last_queue(*queues, *arrival));
    cut.until(reduce_end, IdleCause::all_reduce);
    cut.until(step_start, otherwise);
    cut.until(step_end, IdleCause::optimizer);
    cut.until(cut.end(), otherwise);
}

void explain_node(const SpanIndex& index, const QueueStops* queues, NodeIndex last, NodeIndex node, StageIndex stage,
                  IdleReport& report) {
    const auto& busy = index.busy(node);
    const auto waiting = waiting_before(busy);
    double at = 0;
    for (std::size_t i = 0; i < busy.size(); ++i) {
        cut_gap(index, *busy[i], i == 0, at, waiting[i], report.gaps);
        report.node_busy_s[static_cast<std::size_t>(node)] +=
            std::max(0.0, busy[i]->end_s - std::max(busy[i]->start_s, at));
        at = std::max(at, busy[i]->end_s);
    }
    Cutter tail{report.gaps, node, at, index.end_s()};
    cut_tail(index, queues, last, node, stage, busy.empty() ? IdleCause::unused : IdleCause::fill_drain, tail);
}

/// What lies within the time that a node was down has that for its cause.
void cut_out_down(const Timeline& timeline, const PerNode<StageIndex>& stages, std::vector<IdleGap>& gaps) {
    for (const auto& down : timeline.spans) {
        if (down.kind != SpanKind::down) continue;
        std::vector<IdleGap> cut;
        for (const auto& gap : gaps) {
            const double from_s = std::max(gap.start_s, down.start_s), to_s = std::min(gap.end_s, down.end_s);
            if (gap.node != down.node || !(to_s > from_s)) {
                cut.push_back(gap);
                continue;
            }
            auto before = gap, after = gap;
            before.end_s = from_s;
            after.start_s = to_s;
            if (before.end_s > before.start_s) cut.push_back(before);
            cut.push_back({gap.node, IdleCause::node_down, from_s, to_s});
            if (after.end_s > after.start_s) cut.push_back(after);
        }
        if (stages[static_cast<std::size_t>(down.node)] < 0)
            cut.push_back({down.node, IdleCause::node_down, down.start_s, down.end_s});
        gaps = std::move(cut);
    }
}

}  // namespace

std::string_view to_string(IdleCause cause) {
    const auto index = static_cast<std::size_t>(cause);
    return index < names.size() ? names[index] : "?";
}

std::string_view describe(IdleCause cause) {
    const auto index = static_cast<std::size_t>(cause);
    return index < sentences.size() ? sentences[index] : "?";
}

IdleReport explain_idle(const Problem& problem, const Plan& plan, const Timeline& timeline) {
    const PlannedProblem planned(problem, plan.blocks);
    const SpanIndex index{planned.get(), timeline};
    std::optional<QueueStops> queues;
    if (problem.plan_reductions) queues.emplace(planned.get(), timeline);
    IdleReport report;
    report.node_seconds.resize(problem.node_ids.size());
    report.node_busy_s.resize(problem.node_ids.size());
    const auto stages = stage_of_nodes(plan, problem.nodes());
    PerStage<NodeIndex> last(plan.stages.size(), NodeIndex(-1));
    for (std::size_t s = 0; queues && s < plan.stages.size(); ++s) last[s] = last_to_work(index, plan.stages[s]);
    int used = 0;
    for (NodeIndex node = 0; node < problem.nodes(); ++node) {
        const StageIndex stage = stages[node];
        if (stage < 0) continue;
        ++used;
        explain_node(index, queues ? &*queues : nullptr, last[static_cast<std::size_t>(stage)], node, stage, report);
    }
    std::vector<char> left_out(problem.node_ids.size(), 0);
    for (const auto& span : timeline.spans)
        if (span.kind == SpanKind::down && stages[static_cast<std::size_t>(span.node)] < 0)
            used += std::exchange(left_out[static_cast<std::size_t>(span.node)], 1) == 0 ? 1 : 0;
    cut_out_down(timeline, stages, report.gaps);
    for (const auto& gap : report.gaps)
        report.node_seconds[static_cast<std::size_t>(gap.node)][static_cast<std::size_t>(gap.cause)] +=
            gap.end_s - gap.start_s;
    const double whole = used * index.end_s();
    if (!(whole > 0)) return report;
    for (std::size_t cause = 0; cause < idle_causes; ++cause) {
        double seconds = 0;
        for (const auto& node : report.node_seconds) seconds += node[cause];
        report.share[cause] = seconds / whole;
    }
    return report;
}

}  // namespace skippipe
