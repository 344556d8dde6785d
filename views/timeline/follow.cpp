// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/follow.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace skippipe {
namespace {

using Place = TimelineData::Place;

/// Times of a run far from its start are rounded, and queues kept as floats.
double rounding(double time_s, double queue_s = 0) { return 1e-9 * std::max(1.0, std::abs(time_s)) + 1e-6 * queue_s; }

bool is_forwards(SpanKind kind) { return kind == SpanKind::forward || kind == SpanKind::loss; }

/// The span in the iteration of `like` that ends last, no later than `until_s`, among those that fit.
template <class Fits>
Place latest(const TimelineData& data, const LaneSpan& like, double until_s, double room_s, const Fits& fits) {
    Place found;
    data.visit_spans(like.start_s, like.end_s, [&](int lane, const LaneSpan& span) {
        if (span.iteration != like.iteration || span.row == like.row || span.end_s > until_s + room_s) return;
        if (fits(lane, span) && (found.span == nullptr || span.end_s > found.span->end_s)) found = {lane, &span};
    });
    return found;
}

/// The transfer that brought the input of work.
Place input_of(const TimelineData& data, const Place& work) {
    const LaneSpan& one = *work.span;
    if (one.kind == SpanKind::weight_gradient) return {};
    const SpanKind kind = is_forwards(one.kind) ? SpanKind::transfer_forward : SpanKind::transfer_backward;
    return latest(data, one, one.start_s, rounding(one.start_s), [&](int, const LaneSpan& span) {
        return span.kind == kind && span.to_node == work.lane && span.microbatch == one.microbatch;
    });
}

/// The work that handed a transfer over; of a reduction what its sender had last.
Place source_of(const TimelineData& data, const Place& transfer) {
    const LaneSpan& one = *transfer.span;
    const double ready_s = one.start_s - one.queue_s;
    const bool reduces = one.kind == SpanKind::transfer_reduction;
    return latest(data, one, ready_s, rounding(ready_s, one.queue_s), [&](int lane, const LaneSpan& span) {
        if (reduces && span.kind == SpanKind::transfer_reduction)
            return span.to_node == transfer.lane && span.stage == one.stage;
        return is_compute(span.kind) && lane == transfer.lane && (reduces || span.microbatch == one.microbatch);
    });
}

}  // namespace

Place waited_for(const TimelineData& data, const Place& place) {
    if (place.span == nullptr) return {};
    if (is_on_line(place.span->kind)) return source_of(data, place);
    if (const Place input = input_of(data, place); input.span != nullptr) return input;
    return latest(data, *place.span, place.span->start_s, rounding(place.span->start_s),
                  [&](int lane, const LaneSpan& span) {
                      return is_compute(span.kind) && lane == place.lane && span.microbatch == place.span->microbatch;
                  });
}

Place ended_by(const TimelineData& data, int lane, const LaneGap& gap) {
    Place found;
    data.visit_spans(gap.start_s, gap.end_s + rounding(gap.end_s), [&](int where, const LaneSpan& span) {
        if (where == lane && is_compute(span.kind) && span.start_s >= gap.end_s - rounding(gap.end_s) &&
            (found.span == nullptr || span.start_s < found.span->start_s))
            found = {where, &span};
    });
    return found;
}

/// The work of another replica that the wait ended with.
Place last_work(const TimelineData& data, const LaneGap& gap) {
    Place found;
    data.visit_spans(gap.start_s, gap.end_s, [&](int where, const LaneSpan& span) {
        if (where == gap.other && is_compute(span.kind) && span.end_s <= gap.end_s + rounding(gap.end_s) &&
            (found.span == nullptr || span.end_s > found.span->end_s))
            found = {where, &span};
    });
    return found;
}

Place waited_for(const TimelineData& data, int lane, const LaneGap& gap) {
    if (gap.cause == IdleCause::all_reduce) {
        Place found;
        data.visit_spans(gap.start_s, gap.end_s, [&](int from, const LaneSpan& span) {
            if (span.kind == SpanKind::transfer_reduction && span.to_node == lane &&
                span.end_s <= gap.end_s + rounding(gap.end_s) &&
                (found.span == nullptr || span.end_s > found.span->end_s))
                found = {from, &span};
        });
        return found;
    }
    if (gap.cause == IdleCause::replica) return last_work(data, gap);
    if (gap.cause == IdleCause::optimizer || gap.cause == IdleCause::node_down || gap.cause == IdleCause::unused)
        return {};
    // A piece of a longer wait ends where the next piece begins: the work that ended all of it.
    LaneGap whole = gap;
    while (const LaneGap* next = data.gap_at(lane, whole.end_s)) {
        if (next->start_s > whole.end_s + rounding(whole.end_s) || next->end_s <= whole.end_s) break;
        whole.end_s = next->end_s;
    }
    const Place work = ended_by(data, lane, whole);
    if (work.span == nullptr || work.span->start_s > whole.end_s + rounding(whole.end_s)) return {};
    const Place input = input_of(data, work);
    if (input.span == nullptr) return waited_for(data, work);
    const bool upstream = gap.other >= 0 && gap.cause != IdleCause::link && gap.cause != IdleCause::fill_drain;
    if (!upstream) return input;
    const Place source = source_of(data, input);
    return source.span != nullptr ? source : input;
}

namespace {

/// Visited are the iterations that the stretch is in.
std::vector<Place> way_within(const TimelineData& data, int microbatch, int iteration, double begin_s, double end_s) {
    std::vector<Place> way;
    data.visit_spans(begin_s, end_s, [&](int lane, const LaneSpan& span) {
        if (span.microbatch == microbatch && span.iteration == iteration) way.push_back({lane, &span});
    });
    std::sort(way.begin(), way.end(), [](const Place& a, const Place& b) {
        return std::tie(a.span->start_s, a.span->end_s, a.span->row) <
               std::tie(b.span->start_s, b.span->end_s, b.span->row);
    });
    return way;
}

}  // namespace

std::vector<Place> way_of(const TimelineData& data, const Place& place) {
    if (place.span == nullptr || place.span->microbatch < 0) return {};
    const LaneSpan& span = *place.span;
    return way_within(data, span.microbatch, span.iteration, span.start_s, span.end_s);
}

std::vector<Place> way_of(const TimelineData& data, int microbatch, const IterationTime& one) {
    return way_within(data, microbatch, one.iteration, one.begin_s(), one.end_s);
}

MemoryHolders memory_holders(const TimelineData& data, int lane, const LaneGap& gap) {
    struct Held {
        double from_s = 0, to_s = 0;
        bool ends = false;
    };
    const Place after = ended_by(data, lane, gap);
    if (after.span == nullptr) return {};
    std::map<int, Held> held;
    data.visit_spans(gap.start_s, gap.end_s, [&](int where, const LaneSpan& span) {
        if (where != lane || span.iteration != after.span->iteration || !is_compute(span.kind)) return;
        auto& one = held.try_emplace(span.microbatch, Held{span.start_s, span.end_s, false}).first->second;
        if (span.kind == SpanKind::forward) one.from_s = span.start_s;
        if (span.kind == SpanKind::forward || span.kind == SpanKind::loss) return;
        one.to_s = one.ends ? std::max(one.to_s, span.end_s) : span.end_s;
        one.ends = true;
    });
    MemoryHolders holders;
    std::vector<std::pair<double, int>> came;
    double first_s = std::numeric_limits<double>::infinity();
    for (const auto& [microbatch, one] : held) {
        if (one.from_s >= gap.end_s || (one.ends && one.to_s <= gap.start_s + rounding(gap.start_s))) continue;
        came.emplace_back(one.from_s, microbatch);
        if (one.ends && one.to_s < first_s) first_s = one.to_s, holders.freed_by = microbatch;
    }
    std::sort(came.begin(), came.end());
    for (const auto& [_, microbatch] : came) holders.microbatches.push_back(microbatch);
    return holders;
}

}  // namespace skippipe
