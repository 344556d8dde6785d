// SPDX-License-Identifier: GPL-3.0-or-later
// Finding spans: at a place, by row, the next along the lane or along a microbatch's way; sums over an area.
#include <algorithm>
#include <functional>
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
    const LaneSpan* found = nullptr;
    each_part(time, time, [&](const TimelineData& part) {
        if (found == nullptr) found = item_at(part.lanes_[static_cast<std::size_t>(lane)].work, time);
    });
    return found;
}

const LaneGap* TimelineData::gap_at(int lane, double time) const {
    if (lane < 0 || static_cast<std::size_t>(lane) >= lanes_.size()) return nullptr;
    const LaneGap* found = nullptr;
    each_part(time, time, [&](const TimelineData& part) {
        if (found == nullptr) found = item_at(part.lanes_[static_cast<std::size_t>(lane)].gaps, time);
    });
    return found;
}

std::optional<Outage> TimelineData::outage_at(int lane, double time) const {
    std::optional<Outage> found;
    if (lane < 0 || static_cast<std::size_t>(lane) >= lanes_.size()) return found;
    constexpr double ever = std::numeric_limits<double>::infinity();
    visit_outages(lane, -ever, ever, [&](const Outage& outage) {
        if (outage.start_s <= time && time < outage.end_s) found = outage;
    });
    return found;
}

const Loss* TimelineData::loss_of(const Outage& outage) const {
    // Nodes that are lost within one detection are one loss; those of an iteration that was begun again are down from
    // its new start.
    const double at_s = outage.start_s + 1e-9 * std::max(1.0, outage.start_s);
    const Loss* found = nullptr;
    for (const auto& loss : losses_)
        if (loss.iteration == outage.first_iteration && loss.begin_s <= at_s) found = &loss;
    return found;
}

const Refetch* TimelineData::refetch_of(const Outage& outage) const {
    const auto found = std::find_if(refetches_.begin(), refetches_.end(), [&](const Refetch& refetch) {
        return refetch.iteration == outage.last_iteration + 1;
    });
    return found == refetches_.end() || outage.end_s >= extent_s_ ? nullptr : &*found;
}

const LostTime* TimelineData::lost_at(double time) const {
    for (const auto& lost : lost_times_)
        if (lost.begin_s <= time && time < lost.end_s) return &lost;
    return nullptr;
}

const LaneSpan* TimelineData::transfer_at(int lane, double time, SpanKind preferred) const {
    if (lane < 0 || static_cast<std::size_t>(lane) >= lanes_.size()) return nullptr;
    const LaneSpan* best = nullptr;
    each_part(time, time, [&](const TimelineData& part) {
        const Lane& l = part.lanes_[static_cast<std::size_t>(lane)];
        const auto first = static_cast<std::ptrdiff_t>(l.first_reaching(time));
        for (auto i = static_cast<std::size_t>(first); i < l.transfers.size() && l.transfers[i].start_s <= time; ++i)
            if (l.transfers[i].end_s > time &&
                (best == nullptr || l.transfers[i].kind == preferred || best->kind != preferred))
                best = &l.transfers[i];
    });
    return best;
}

AreaStatistics TimelineData::statistics(int first_lane, int last_lane, double begin, double end) const {
    std::vector<int> lanes;
    for (int n = std::max(first_lane, 0); n <= last_lane && static_cast<std::size_t>(n) < lanes_.size(); ++n)
        lanes.push_back(n);
    return statistics(lanes, begin, end);
}

AreaStatistics TimelineData::statistics(const std::vector<int>& lanes, double begin, double end) const {
    AreaStatistics sum;
    sum.seconds = static_cast<double>(lanes.size()) * (end - begin);
    each_part(begin, end, [&](const TimelineData& part) {
        for (const int n : lanes) {
            const Lane& lane = part.lanes_[static_cast<std::size_t>(n)];
            for (const auto& span : lane.work)
                if (const double s = overlap(span.start_s, span.end_s, begin, end); s > 0) sum.busy_s += s, ++sum.spans;
            for (const auto& gap : lane.gaps)
                sum.idle_s[static_cast<std::size_t>(gap.cause)] += overlap(gap.start_s, gap.end_s, begin, end);
            for (const auto& span : lane.transfers)
                if (overlap(span.start_s, span.end_s, begin, end) > 0) sum.bytes += span.bytes, ++sum.transfers;
        }
    });
    return sum;
}

int TimelineData::stage_at(int lane, double time) const {
    const auto place = static_cast<std::size_t>(lane);
    const auto after = std::upper_bound(later_plans_.begin(), later_plans_.end(), time,
                                        [](double at, const PlanInForce& plan) { return at < plan.from_s; });
    return after == later_plans_.begin() ? lanes_[place].stage : std::prev(after)->stages[place];
}

int TimelineData::last_stage_at(int lane, double time) const {
    const auto place = static_cast<std::size_t>(lane);
    const auto last = std::find_if(later_plans_.rbegin(), later_plans_.rend(), [&](const PlanInForce& plan) {
        return plan.from_s <= time && plan.stages[place] >= 0;
    });
    return last == later_plans_.rend() ? lanes_[place].stage : last->stages[place];
}

std::size_t TimelineData::work_count(int lane) const {
    std::size_t count = lanes_[static_cast<std::size_t>(lane)].work.size();
    for (const auto& part : parts_) count += part->lanes_[static_cast<std::size_t>(lane)].work.size();
    return count;
}

const LaneSpan& TimelineData::work(int lane, std::size_t index) const {
    for (const auto& part : parts_) {
        const auto& some = part->lanes_[static_cast<std::size_t>(lane)].work;
        if (index < some.size()) return some[index];
        index -= some.size();
    }
    return lanes_[static_cast<std::size_t>(lane)].work[index];
}

TimelineData::Place TimelineData::find_here(std::int64_t row) const {
    if (row < least_row_ || row > most_row_) return {};
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        for (const auto* spans : {&lanes_[lane].work, &lanes_[lane].transfers})
            for (const auto& span : *spans)
                if (span.row == row) return {static_cast<int>(lane), &span};
    return {};
}

TimelineData::Place TimelineData::find(std::int64_t row) const {
    Place found = find_here(row);
    for (auto part = parts_.rbegin(); part != parts_.rend() && found.span == nullptr; ++part)
        found = (*part)->find_here(row);
    return found;
}

TimelineData::Place TimelineData::neighbour_in_lane(const Place& from, int step) const {
    if (from.span == nullptr) return {};
    std::vector<const TimelineData*> all;
    for (const auto& part : parts_) all.push_back(part.get());
    all.push_back(this);
    const auto list = [&](const TimelineData& part) -> const std::vector<LaneSpan>& {
        const Lane& lane = part.lanes_[static_cast<std::size_t>(from.lane)];
        return is_compute(from.span->kind) ? lane.work : lane.transfers;
    };
    const auto is_in = [&](const TimelineData* part) {
        const auto& spans = list(*part);
        return std::less_equal<>{}(spans.data(), from.span) && std::less<>{}(from.span, spans.data() + spans.size());
    };
    auto part = std::find_if(all.begin(), all.end(), is_in);
    if (part == all.end()) return {};
    const std::ptrdiff_t next = from.span - list(**part).data() + step;
    if (next >= 0 && next < static_cast<std::ptrdiff_t>(list(**part).size()))
        return {from.lane, &list(**part)[static_cast<std::size_t>(next)]};
    // Over the end of a part into the next that has something.
    while (part != (step > 0 ? all.end() - 1 : all.begin())) {
        part += step;
        if (const auto& spans = list(**part); !spans.empty())
            return {from.lane, step > 0 ? &spans.front() : &spans.back()};
    }
    return {};
}

TimelineData::Place TimelineData::neighbour_hop(const Place& from, int step) const {
    if (from.span == nullptr || from.span->microbatch < 0) return {};
    const auto key = [](const LaneSpan& s) { return std::make_tuple(s.start_s, s.end_s, s.row); };
    const auto here = key(*from.span);
    Place best;
    const auto look = [&](const TimelineData& part) {
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
            for (const auto* spans : {&part.lanes_[lane].work, &part.lanes_[lane].transfers})
                for (const auto& span : *spans) {
                    if (span.microbatch != from.span->microbatch || span.iteration != from.span->iteration) continue;
                    const auto there = key(span);
                    const bool ahead = step > 0 ? there > here : there < here;
                    const bool nearer =
                        best.span == nullptr || (step > 0 ? there < key(*best.span) : there > key(*best.span));
                    if (ahead && nearer) best = {static_cast<int>(lane), &span};
                }
    };
    // Iterations do not overlap: its own lies in the part it stands in.
    each_part(from.span->start_s, std::max(from.span->end_s, from.span->start_s), look);
    return best;
}

const TimelineData* planned_at(const PlannedIterations& planned, int iteration) {
    const auto after = planned.upper_bound(iteration);
    return after == planned.begin() ? nullptr : std::prev(after)->second.get();
}

}  // namespace skippipe
