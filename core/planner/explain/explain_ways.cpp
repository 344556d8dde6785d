// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/explain/explain_ways.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/base/index.h"

namespace skippipe {
namespace {

constexpr std::size_t most_others = 8;

template <class Other>
void add_other(std::vector<Other>& others, const Other& one) {
    if (others.size() < most_others && std::find(others.begin(), others.end(), one) == others.end())
        others.push_back(one);
}

}  // namespace

Ways::Ways(const Problem& problem, const Plan& plan, const Timeline& timeline)
    : problem_(problem),
      plan_(plan),
      length_(static_cast<int>(plan.paths.at(0).nodes.size())),
      index_(problem, timeline),
      queues_(problem, timeline),
      operations_(plan.paths.size() * at(2 * length_ + 1)),
      transfers_(operations_.size()),
      weight_gradient_s_(plan.paths.size()),
      reduction_arrivals_(problem.node_ids.size()) {
    for (ReleaseIndex path = 0; path < count(); ++path) path_of_.emplace(plan.paths[at(path)].microbatch, path);
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind) || is_on_line(span.kind)) add(span);
    if (std::find(operations_.begin(), operations_.end(), nullptr) != operations_.end())
        throw std::logic_error("the timeline lacks operations of the plan");
}

Ways::Place Ways::place(const Span& span) const {
    const auto path = path_of_.find(span.microbatch);
    if (path == path_of_.end()) throw std::logic_error("the timeline names a microbatch that the plan has not");
    const auto& nodes = plan_.paths[at(path->second)].nodes;
    const int hop = static_cast<int>(
        std::find(nodes.begin(), nodes.end(), is_transfer(span.kind) ? span.to_node : span.node) - nodes.begin());
    if (hop == length_) throw std::logic_error("the timeline names a node that is not on the microbatch's path");
    const int back = hop == 0 ? 2 * length_ : 2 * length_ - hop;
    switch (span.kind) {
        case SpanKind::forward: return {path->second, hop};
        case SpanKind::loss: return {path->second, length_};
        case SpanKind::transfer_forward: return {path->second, hop == 0 ? length_ : hop};
        default: return {path->second, back};
    }
}

void Ways::add(const Span& span) {
    if (span.kind == SpanKind::transfer_reduction) return reduction_arrivals_[span.to_node].push_back(&span);
    const auto [path, step] = place(span);
    if (span.kind == SpanKind::weight_gradient) {
        weight_gradient_s_[path] += span.end_s - span.start_s;
    } else if (is_compute(span.kind)) {
        operations_[slot(path, step)] = &span;
    } else {
        transfers_[slot(path, step)] = &span;
    }
}

const Span* Ways::before(const Span& operation) const {
    const auto [path, step] = place(operation);
    if (operation.kind == SpanKind::weight_gradient) return operations_[slot(path, step)];
    return step == 0 ? nullptr : operations_[slot(path, step - 1)];
}

const Span* Ways::transfer_to(const Span& operation) const {
    if (operation.kind == SpanKind::weight_gradient) return nullptr;
    const auto [path, step] = place(operation);
    return transfers_[slot(path, step)];
}

const Span& Ways::sender(const Span& transfer) const {
    const auto [path, step] = place(transfer);
    return *operations_[slot(path, step - 1)];
}

const Span* Ways::previous_on_node(const Span& operation) const {
    const auto& busy = index_.busy(operation.node);
    auto here = std::lower_bound(busy.begin(), busy.end(), operation.start_s,
                                 [](const Span* s, double t) { return s->start_s < t; });
    here = std::find(here, busy.end(), &operation);
    return here == busy.begin() || here == busy.end() ? nullptr : *std::prev(here);
}

const Span* Ways::reduction_cause(NodeIndex node, double time_s) const {
    const auto& busy = index_.busy(node);
    if (!busy.empty() && busy.back()->end_s == time_s) return busy.back();
    for (const Span* arrival : reduction_arrivals_[node])
        if (arrival->end_s == time_s) return arrival;
    return nullptr;
}

WaitCause Ways::cause_of(const Span& operation, const WaitInterval& interval) const {
    const bool forward = operation.kind == SpanKind::forward;
    if (!interval.running) {
        const bool full =
            forward && index_.memory_is_full(operation.node, std::midpoint(interval.start_s, interval.end_s));
        return full ? WaitCause::memory : WaitCause::order;
    }
    // Where the node was dispatched while this one stood there: was there no room, or did the other go first?
    const bool passed_over =
        operation.ready_s <= interval.running->start_s && interval.running->kind != SpanKind::forward;
    return forward && passed_over && index_.memory_is_full(operation.node, interval.running->start_s)
               ? WaitCause::memory
               : WaitCause::collision;
}

std::vector<Wait> Ways::node_waits(const Span& operation) const {
    std::vector<Wait> waits;
    for (const auto& interval : index_.wait_intervals(operation)) {
        const WaitCause cause = cause_of(operation, interval);
        if (waits.empty() || waits.back().cause != cause)
            waits.push_back({cause,
                             operation_kind(operation.kind),
                             operation.node,
                             no_line,
                             interval.start_s,
                             interval.end_s,
                             {},
                             {}});
        waits.back().end_s = interval.end_s;
        if (cause == WaitCause::collision) add_other(waits.back().others, interval.running->microbatch);
    }
    const auto& busy = index_.busy(operation.node);
    for (auto& wait : waits) {
        if (wait.cause != WaitCause::memory && wait.cause != WaitCause::order) continue;
        const auto next = std::lower_bound(busy.begin(), busy.end(), wait.end_s,
                                           [](const Span* s, double t) { return s->start_s < t; });
        if (wait.cause == WaitCause::order && next != busy.end()) add_other(wait.others, (*next)->microbatch);
        if (wait.cause == WaitCause::memory && next != busy.begin())
            add_other(wait.others, (*std::prev(next))->microbatch);
    }
    return waits;
}

std::vector<Wait> Ways::line_waits(const Span& transfer) const {
    std::vector<Wait> waits;
    const auto [path, step] = place(transfer);
    for (const auto& stop : stops(transfer)) {
        if (!(stop.begin_s > stop.head_s)) continue;
        Wait wait{WaitCause::link,
                  operation_kind(operation(path, step).kind),
                  transfer.node,
                  stop.line,
                  stop.head_s,
                  stop.begin_s,
                  {},
                  {}};
        std::vector<const Span*> ahead;
        for (const Span* other = stop.ahead; other != nullptr;) {
            const QueueStop before = at_queue(*other, stop.line);
            if (!(before.end_s > stop.head_s)) break;
            ahead.push_back(other);
            other = before.ahead;
        }
        for (auto other = ahead.rbegin(); other != ahead.rend(); ++other) {
            if (is_transfer((*other)->kind))
                add_other(wait.others, (*other)->microbatch);
            else
                add_other(wait.reductions, ReductionAhead{(*other)->stage, (*other)->node});
        }
        waits.push_back(std::move(wait));
    }
    return waits;
}

QueueStop Ways::at_queue(const Span& transfer, int line) const {
    for (const auto& stop : stops(transfer))
        if (stop.line == line) return stop;
    throw std::logic_error("a transfer waited for one that does not pass its queue");
}

std::vector<MicrobatchCosts> microbatch_costs(const Ways& ways, const Plan& plan) {
    std::vector<MicrobatchCosts> all;
    all.reserve(plan.paths.size());
    for (ReleaseIndex path = 0; path < ways.count(); ++path) {
        auto& costs = all.emplace_back();
        costs.microbatch = plan.paths[at(path)].microbatch;
        const auto wait = [&](std::vector<Wait> waits) {
            for (auto& one : waits) {
                costs.waits_s[static_cast<std::size_t>(one.cause)] += one.seconds();
                costs.waits.push_back(std::move(one));
            }
        };
        for (int step = 0; step < ways.steps(); ++step) {
            if (const Span* transfer = ways.transfer(path, step)) {
                const auto waits = ways.line_waits(*transfer);
                double occupied_s = ways.occupied_s(*transfer),
                       latency_s = transfer->end_s - transfer->start_s - occupied_s;
                if (ways.stops(*transfer).size() > 1) {  // whichever of its queues served it longest
                    latency_s = ways.latency_s(*transfer);
                    occupied_s = transfer->end_s - transfer->ready_s - latency_s;
                    for (const Wait& one : waits) occupied_s -= one.seconds();
                }
                costs.transfer_s += occupied_s;
                costs.latency_s += latency_s;
                wait(waits);
            }
            const Span& operation = ways.operation(path, step);
            wait(ways.node_waits(operation));
            (operation.kind == SpanKind::loss ? costs.loss_s : costs.compute_s) += operation.end_s - operation.start_s;
            costs.end_s = operation.end_s;
        }
        costs.weight_gradient_s = ways.weight_gradient_s(path);
    }
    return all;
}

}  // namespace skippipe
