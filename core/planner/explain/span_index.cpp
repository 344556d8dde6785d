// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/explain/span_index.h"

#include <algorithm>
#include <cmath>

namespace skippipe {
namespace {

bool usable(const Span& span, int nodes) {
    return span.node >= 0 && span.node < nodes && std::isfinite(span.ready_s) && std::isfinite(span.start_s) &&
           std::isfinite(span.end_s) && span.start_s >= 0 && span.end_s >= span.start_s;
}

/// The last of `spans` (sorted by end) that ended no later than this; null where there is none.
const Span* last_ended(const std::vector<const Span*>* spans, double time_s) {
    if (!spans) return nullptr;
    const auto after =
        std::upper_bound(spans->begin(), spans->end(), time_s, [](double t, const Span* s) { return t < s->end_s; });
    return after == spans->begin() ? nullptr : *std::prev(after);
}

template <class Map, class Key>
auto* found(const Map& map, const Key& key) {
    const auto entry = map.find(key);
    return entry == map.end() ? nullptr : &entry->second;
}

}  // namespace

SpanIndex::SpanIndex(const Problem& problem, const Timeline& timeline)
    : planned_(problem.plan_reductions),
      busy_(problem.node_ids.size()),
      reduction_arrivals_(problem.node_ids.size()),
      holdings_(problem.node_ids.size()),
      memory_(problem.memory) {
    memory_.resize(problem.node_ids.size(), unlimited_memory);
    if (std::isfinite(timeline.iteration_s)) end_s_ = std::max(0.0, timeline.iteration_s);
    for (const auto& span : timeline.spans)
        if (usable(span, problem.nodes())) add(span);
    const auto by_start = [](const Span* a, const Span* b) {
        return std::pair{a->start_s, a->end_s} < std::pair{b->start_s, b->end_s};
    };
    const auto by_end = [](const Span* a, const Span* b) { return a->end_s < b->end_s; };
    for (auto& spans : busy_) std::stable_sort(spans.begin(), spans.end(), by_start);
    for (auto& spans : reduction_arrivals_) std::stable_sort(spans.begin(), spans.end(), by_end);
    for (auto& [key, spans] : operations_) std::stable_sort(spans.begin(), spans.end(), by_end);
    for (auto& [key, spans] : arrivals_) std::stable_sort(spans.begin(), spans.end(), by_end);
    hold();
}

void SpanIndex::add(const Span& span) {
    end_s_ = std::max(end_s_, span.end_s);
    if (is_compute(span.kind)) {
        busy_[span.node].push_back(&span);
        operations_[{span.microbatch, span.node}].push_back(&span);
    } else if (is_transfer(span.kind)) {
        arrivals_[{span.microbatch, span.to_node}].push_back(&span);
    } else if (span.kind == SpanKind::transfer_reduction) {
        reduction_arrivals_[span.to_node].push_back(&span);
    } else if (span.kind == SpanKind::all_reduce) {
        widen(all_reduce_, span);
    } else if (span.kind == SpanKind::step) {
        widen(step_, span);
    }
}

/// From the start of a microbatch's F to the end of its last operation on the node (B, or W where split); for ever
/// where that never came.
void SpanIndex::hold() {
    for (const auto& [key, spans] : operations_) {
        auto& held = holdings_[key.second];
        const auto first =
            std::find_if(spans.begin(), spans.end(), [](const Span* s) { return s->kind == SpanKind::forward; });
        if (first == spans.end()) continue;
        held.from.push_back((*first)->start_s);
        const auto release = spans.back()->kind;
        if (release == SpanKind::backward || release == SpanKind::weight_gradient)
            held.to.push_back(spans.back()->end_s);
    }
    for (auto& held : holdings_) {
        std::sort(held.from.begin(), held.from.end());
        std::sort(held.to.begin(), held.to.end());
    }
}

InputSource SpanIndex::input_source(const Span& operation) const {
    const Span* transfer = last_ended(found(arrivals_, Key{operation.microbatch, operation.node}), operation.ready_s);
    const Span* here = last_ended(found(operations_, Key{operation.microbatch, operation.node}), operation.ready_s);
    if (here == &operation) here = nullptr;
    if (here && (!transfer || here->end_s > transfer->end_s)) return {nullptr, here};
    if (!transfer) return {};
    return {transfer, last_ended(found(operations_, Key{operation.microbatch, transfer->node}), transfer->ready_s)};
}

std::vector<WaitInterval> SpanIndex::wait_intervals(const Span& operation) const {
    std::vector<WaitInterval> intervals;
    double at_s = operation.ready_s;
    const auto until = [&](double time_s, const Span* running) {
        const double to_s = std::min(time_s, operation.start_s);
        if (!(to_s > at_s)) return;
        intervals.push_back({at_s, to_s, running});
        at_s = to_s;
    };
    const auto& spans = busy(operation.node);
    auto span =
        std::upper_bound(spans.begin(), spans.end(), at_s, [](double t, const Span* s) { return t < s->end_s; });
    for (; span != spans.end() && (*span)->start_s < operation.start_s; ++span) {
        until((*span)->start_s, nullptr);
        until((*span)->end_s, *span);
    }
    until(operation.start_s, nullptr);
    return intervals;
}

bool SpanIndex::memory_is_full(NodeIndex node, double time_s) const {
    const int limit = memory_[node];
    const auto& held = holdings_[node];
    const auto begun = std::upper_bound(held.from.begin(), held.from.end(), time_s) - held.from.begin();
    const auto ended = std::upper_bound(held.to.begin(), held.to.end(), time_s) - held.to.begin();
    return limit != unlimited_memory && begun - ended >= limit;
}

void SpanIndex::widen(Ranges& ranges, const Span& span) const {
    const auto [entry, fresh] = ranges.try_emplace(key(span.stage, span.node), span.start_s, span.end_s);
    if (fresh) return;
    entry->second.first = std::min(entry->second.first, span.start_s);
    entry->second.second = std::max(entry->second.second, span.end_s);
}

std::pair<double, double> SpanIndex::range(const Ranges& ranges, StageIndex stage, NodeIndex node) const {
    const auto* one = found(ranges, key(stage, node));
    return one ? *one : std::pair{0.0, 0.0};
}

}  // namespace skippipe
