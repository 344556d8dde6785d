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
    if (problem.has_uplinks()) pass_uplinks(timeline);
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

std::vector<QueueStop> Ways::stops(const Span& transfer) const {
    if (const auto known = stops_.find(&transfer); known != stops_.end()) return known->second;
    return {{line(transfer), transfer.ready_s, transfer.start_s, transfer.start_s + occupied_s(transfer),
             previous_on_line(transfer)}};
}

/// Goes once more through all queues, in the order in which heads reach them: at uplinks and downlinks, of equal times,
/// in that of the spans, which is that of the hand-overs; at a line as the spans say.
void Ways::pass_uplinks(const Timeline& timeline) {
    const std::size_t nodes = problem_.node_ids.size(), uplinks = problem_.line_names.size() - 2 * nodes;
    struct Head {
        double at_s;
        const Span* transfer;
    };
    const auto pass = [&](std::vector<Head>& heads, int queue, double bytes_per_s) {
        const bool is_line = bytes_per_s == 0;  // when a line begins to serve what is in the span
        std::stable_sort(heads.begin(), heads.end(), [&](const Head& a, const Head& b) {
            return is_line && a.transfer->start_s != b.transfer->start_s ? a.transfer->start_s < b.transfer->start_s
                                                                         : a.at_s < b.at_s;
        });
        double free_s = 0;
        const Span* ahead = nullptr;
        for (const auto& [head_s, transfer] : heads) {
            const double begin_s = is_line ? transfer->start_s : std::max(head_s, free_s);
            free_s = begin_s + passed_s(*transfer, bytes_per_s);
            stops_[transfer].push_back({queue, head_s, begin_s, free_s, ahead});
            ahead = transfer;
        }
    };
    PerNode<std::vector<Head>> up(nodes), down(nodes);
    std::vector<std::vector<Head>> lines(uplinks);
    for (const auto& span : timeline.spans)
        if (is_on_line(span.kind) && std::isfinite(problem_.up_bytes_per_s[span.node]))
            up[span.node].push_back({span.ready_s, &span});
    for (std::size_t n = 0; n < nodes; ++n) pass(up[n], static_cast<int>(uplinks + n), problem_.up_bytes_per_s[n]);
    for (const auto& span : timeline.spans) {
        if (!is_on_line(span.kind)) continue;
        const auto& before = stops_[&span];
        lines[at(line(span))].push_back({before.empty() ? span.ready_s : before.back().begin_s, &span});
        if (std::isfinite(problem_.down_bytes_per_s[span.to_node]))
            down[span.to_node].push_back(
                {span.start_s + problem_.hop(span.node, span.to_node).latency_s + problem_.overhead_s, &span});
    }
    for (std::size_t l = 0; l < uplinks; ++l) pass(lines[l], static_cast<int>(l), 0);
    for (std::size_t n = 0; n < nodes; ++n)
        pass(down[n], static_cast<int>(uplinks + nodes + n), problem_.down_bytes_per_s[n]);
}

/// Seconds that a transfer occupies a queue of that rate; 0: its line.
double Ways::passed_s(const Span& transfer, double bytes_per_s) const {
    if (bytes_per_s == 0) return occupied_s(transfer);
    if (transfer.kind == SpanKind::transfer_reduction) return transfer.bytes / bytes_per_s;
    return (transfer.kind == SpanKind::transfer_forward ? problem_.forward_bytes : problem_.backward_bytes) /
           bytes_per_s * problem_.relative_size(transfer.microbatch);
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
                  {}};
        std::vector<MicrobatchIndex> ahead;
        for (const Span* other = stop.ahead; other != nullptr;) {
            const QueueStop before = at_queue(*other, stop.line);
            if (!(before.end_s > stop.head_s)) break;
            if (other->microbatch >= 0) ahead.push_back(other->microbatch);
            other = before.ahead;
        }
        for (auto other = ahead.rbegin(); other != ahead.rend(); ++other) add_other(wait.others, *other);
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
