// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/explain/explain_ways.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/base/index.h"

namespace skippipe {
namespace {

constexpr std::size_t most_others = 8;

void add_other(std::vector<MicrobatchIndex>& others, MicrobatchIndex microbatch) {
    if (others.size() < most_others && std::find(others.begin(), others.end(), microbatch) == others.end())
        others.push_back(microbatch);
}

}  // namespace

Ways::Ways(const Problem& problem, const Plan& plan, const Timeline& timeline)
    : problem_(problem),
      plan_(plan),
      length_(static_cast<int>(plan.paths.at(0).nodes.size())),
      index_(problem, timeline),
      operations_(plan.paths.size() * at(2 * length_ + 1)),
      transfers_(operations_.size()),
      weight_gradient_s_(plan.paths.size()),
      reduction_arrivals_(problem.node_ids.size()) {
    for (ReleaseIndex path = 0; path < count(); ++path) path_of_.emplace(plan.paths[at(path)].microbatch, path);
    if (problem.shared_links) on_line_.resize(problem.line_names.size());
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
    if (problem_.shared_links && is_on_line(span.kind))
        on_line_[at(line(span))].push_back(&span);  // a line sends in the order handed over, and so are the spans
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

const Span* Ways::previous_on_line(const Span& transfer) const {
    if (!problem_.shared_links) return nullptr;
    const auto& sent = on_line_[at(line(transfer))];
    auto here = std::lower_bound(sent.begin(), sent.end(), transfer.start_s,
                                 [](const Span* s, double t) { return s->start_s < t; });
    here = std::find(here, sent.end(), &transfer);
    return here == sent.begin() || here == sent.end() ? nullptr : *std::prev(here);
}

const Span* Ways::reduction_cause(NodeIndex node, double time_s) const {
    const auto& busy = index_.busy(node);
    if (!busy.empty() && busy.back()->end_s == time_s) return busy.back();
    for (const Span* arrival : reduction_arrivals_[node])
        if (arrival->end_s == time_s) return arrival;
    return nullptr;
}

double Ways::occupied_s(const Span& transfer) const {
    const Hop& hop = problem_.hop(transfer.node, transfer.to_node);
    if (transfer.kind == SpanKind::transfer_reduction) return transfer.bytes / hop.bandwidth_bytes_per_s;
    return (transfer.kind == SpanKind::transfer_forward ? hop.seconds_per_forward : hop.seconds_per_backward) *
           problem_.relative_size(transfer.microbatch);
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
            waits.push_back(
                {cause, operation_kind(operation.kind), operation.node, no_line, interval.start_s, interval.end_s, {}});
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
    if (!(transfer.start_s > transfer.ready_s)) return {};
    const auto [path, step] = place(transfer);
    Wait wait{WaitCause::link,
              operation_kind(operation(path, step).kind),
              transfer.node,
              line(transfer),
              transfer.ready_s,
              transfer.start_s,
              {}};
    std::vector<MicrobatchIndex> ahead;
    for (const Span* other = previous_on_line(transfer);
         other && other->start_s + occupied_s(*other) > transfer.ready_s; other = previous_on_line(*other))
        if (other->microbatch >= 0) ahead.push_back(other->microbatch);
    for (auto other = ahead.rbegin(); other != ahead.rend(); ++other) add_other(wait.others, *other);
    return {wait};
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
                const double occupied_s = ways.occupied_s(*transfer);
                wait(ways.line_waits(*transfer));
                costs.transfer_s += occupied_s;
                costs.latency_s += transfer->end_s - transfer->start_s - occupied_s;
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
