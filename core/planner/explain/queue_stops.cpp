// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/explain/queue_stops.h"

#include <algorithm>
#include <cmath>

#include "core/base/index.h"

namespace skippipe {

QueueStops::QueueStops(const Problem& problem, const Timeline& timeline) : problem_(problem) {
    if (problem.shared_links) on_line_.resize(problem.line_names.size());
    for (const auto& span : timeline.spans)
        if (is_on_line(span.kind) && usable(span)) transfers_.push_back(&span);
    // A line sends in the order handed over, and so are the spans.
    for (const Span* span : transfers_)
        if (problem.shared_links) on_line_[at(line(*span))].push_back(span);
    if (problem.has_uplinks()) pass_uplinks();
}

bool QueueStops::usable(const Span& span) const {
    const auto known = [&](NodeIndex node) { return node >= 0 && node < problem_.nodes(); };
    return known(span.node) && known(span.to_node) && line(span) != no_line && std::isfinite(span.ready_s) &&
           std::isfinite(span.start_s) && std::isfinite(span.end_s);
}

const Span* QueueStops::previous_on_line(const Span& transfer) const {
    if (!problem_.shared_links) return nullptr;
    const auto& sent = on_line_[at(line(transfer))];
    auto here = std::lower_bound(sent.begin(), sent.end(), transfer.start_s,
                                 [](const Span* s, double t) { return s->start_s < t; });
    here = std::find(here, sent.end(), &transfer);
    return here == sent.begin() || here == sent.end() ? nullptr : *std::prev(here);
}

double QueueStops::occupied_s(const Span& transfer) const {
    if (transfer.kind == SpanKind::transfer_reduction) return transfer.bytes / hop(transfer).bandwidth_bytes_per_s;
    return (transfer.kind == SpanKind::transfer_forward ? hop(transfer).seconds_per_forward
                                                        : hop(transfer).seconds_per_backward) *
           problem_.relative_size(transfer.microbatch);
}

std::vector<QueueStop> QueueStops::of(const Span& transfer) const {
    if (const auto known = stops_.find(&transfer); known != stops_.end()) return known->second;
    if (!usable(transfer)) return {};
    return {{line(transfer), transfer.ready_s, transfer.start_s, transfer.start_s + occupied_s(transfer),
             previous_on_line(transfer)}};
}

std::size_t QueueStops::left_last(const Span& transfer, const std::vector<QueueStop>& stops) const {
    std::size_t last = 0;
    double last_s = -1;
    for (std::size_t k = 0; k < stops.size(); ++k) {
        const bool arrives = k > 0 && stops[k - 1].line == line(transfer);  // at the receiver's downlink
        const double there_s = stops[k].end_s + (arrives ? 0 : latency_s(transfer));
        if (there_s < last_s) continue;
        last_s = there_s;
        last = k;
    }
    return last;
}

/// Goes once more through all queues, in the order in which heads reach them: at uplinks and downlinks, of equal times,
/// in that of the spans, which is that of the hand-overs; at a line as the spans say.
void QueueStops::pass_uplinks() {
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
    for (const Span* span : transfers_)
        if (std::isfinite(problem_.up_bytes_per_s[span->node])) up[span->node].push_back({span->ready_s, span});
    for (std::size_t n = 0; n < nodes; ++n) pass(up[n], static_cast<int>(uplinks + n), problem_.up_bytes_per_s[n]);
    for (const Span* span : transfers_) {
        const auto& before = stops_[span];
        lines[at(line(*span))].push_back({before.empty() ? span->ready_s : before.back().begin_s, span});
        if (std::isfinite(problem_.down_bytes_per_s[span->to_node]))
            down[span->to_node].push_back({span->start_s + hop(*span).latency_s + problem_.overhead_s, span});
    }
    for (std::size_t l = 0; l < uplinks; ++l) pass(lines[l], static_cast<int>(l), 0);
    for (std::size_t n = 0; n < nodes; ++n)
        pass(down[n], static_cast<int>(uplinks + nodes + n), problem_.down_bytes_per_s[n]);
}

/// Seconds that a transfer occupies a queue of that rate; 0: its line.
double QueueStops::passed_s(const Span& transfer, double bytes_per_s) const {
    if (bytes_per_s == 0) return occupied_s(transfer);
    if (transfer.kind == SpanKind::transfer_reduction) return transfer.bytes / bytes_per_s;
    return (transfer.kind == SpanKind::transfer_forward ? problem_.forward_bytes : problem_.backward_bytes) /
           bytes_per_s * problem_.relative_size(transfer.microbatch);
}

}  // namespace skippipe
