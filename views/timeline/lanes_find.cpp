// SPDX-License-Identifier: GPL-3.0-or-later
// Finding spans: at a place, by row, the next along the lane or along a microbatch's way; sums over an area.
#include <algorithm>
#include <tuple>

#include "views/timeline/lanes.h"

namespace skippipe {
namespace {

double overlap(double a0, double a1, double b0, double b1) {
    return std::max(0.0, std::min(a1, b1) - std::max(a0, b0));
}

template <class Item>
const Item* item_at(const std::vector<Item>& items, double time) {
    const auto it =
        std::upper_bound(items.begin(), items.end(), time, [](double t, const Item& item) { return t < item.end_s; });
    return it != items.end() && it->start_s <= time ? &*it : nullptr;
}

}  // namespace

const LaneSpan* TimelineData::work_at(int lane, double time) const {
    if (lane < 0 || static_cast<std::size_t>(lane) >= lanes_.size()) return nullptr;
    return item_at(lanes_[static_cast<std::size_t>(lane)].work, time);
}

const LaneGap* TimelineData::gap_at(int lane, double time) const {
    if (lane < 0 || static_cast<std::size_t>(lane) >= lanes_.size()) return nullptr;
    return item_at(lanes_[static_cast<std::size_t>(lane)].gaps, time);
}

const LaneSpan* TimelineData::transfer_at(int lane, double time) const {
    if (lane < 0 || static_cast<std::size_t>(lane) >= lanes_.size()) return nullptr;
    const Lane& l = lanes_[static_cast<std::size_t>(lane)];
    const auto first = std::upper_bound(l.reach.begin(), l.reach.end(), time) - l.reach.begin();
    const LaneSpan* best = nullptr;
    for (auto i = static_cast<std::size_t>(first); i < l.transfers.size() && l.transfers[i].start_s <= time; ++i)
        if (l.transfers[i].end_s > time) best = &l.transfers[i];
    return best;
}

AreaStatistics TimelineData::statistics(int first_lane, int last_lane, double begin, double end) const {
    AreaStatistics sum;
    first_lane = std::max(first_lane, 0);
    last_lane = std::min(last_lane, static_cast<int>(lanes_.size()) - 1);
    for (int n = first_lane; n <= last_lane; ++n) {
        const Lane& lane = lanes_[static_cast<std::size_t>(n)];
        sum.seconds += end - begin;
        for (const auto& span : lane.work)
            if (const double s = overlap(span.start_s, span.end_s, begin, end); s > 0) sum.busy_s += s, ++sum.spans;
        for (const auto& gap : lane.gaps)
            sum.idle_s[static_cast<std::size_t>(gap.cause)] += overlap(gap.start_s, gap.end_s, begin, end);
        for (const auto& span : lane.transfers) sum.transfers += overlap(span.start_s, span.end_s, begin, end) > 0;
    }
    return sum;
}

TimelineData::Place TimelineData::find(std::int64_t row) const {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        for (const auto* spans : {&lanes_[lane].work, &lanes_[lane].transfers})
            for (const auto& span : *spans)
                if (span.row == row) return {static_cast<int>(lane), &span};
    return {};
}

TimelineData::Place TimelineData::neighbour_in_lane(const Place& from, int step) const {
    if (from.span == nullptr) return {};
    const Lane& lane = lanes_[static_cast<std::size_t>(from.lane)];
    const auto& spans = is_compute(from.span->kind) ? lane.work : lane.transfers;
    const std::ptrdiff_t next = from.span - spans.data() + step;
    if (next < 0 || next >= static_cast<std::ptrdiff_t>(spans.size())) return {};
    return {from.lane, &spans[static_cast<std::size_t>(next)]};
}

TimelineData::Place TimelineData::neighbour_hop(const Place& from, int step) const {
    if (from.span == nullptr || from.span->microbatch < 0) return {};
    const auto key = [](const LaneSpan& s) { return std::make_tuple(s.start_s, s.end_s, s.row); };
    const auto here = key(*from.span);
    Place best;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        for (const auto* spans : {&lanes_[lane].work, &lanes_[lane].transfers})
            for (const auto& span : *spans) {
                if (span.microbatch != from.span->microbatch || span.iteration != from.span->iteration) continue;
                const auto there = key(span);
                const bool ahead = step > 0 ? there > here : there < here;
                const bool nearer =
                    best.span == nullptr || (step > 0 ? there < key(*best.span) : there > key(*best.span));
                if (ahead && nearer) best = {static_cast<int>(lane), &span};
            }
    return best;
}

}  // namespace skippipe
