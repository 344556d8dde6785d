// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/lanes.h"

#include <algorithm>
#include <limits>

namespace skippipe {
namespace {

constexpr double clean = std::numeric_limits<double>::infinity();

const auto starts_before = [](const auto& a, const auto& b) { return a.start_s < b.start_s; };

/// Sorts from the first element that may have moved; returns its index.
template <class Item>
std::size_t sort_from(std::vector<Item>& items, double earliest) {
    const auto ordered_end = std::is_sorted_until(items.begin(), items.end(), starts_before);
    auto first = std::lower_bound(items.begin(), ordered_end, earliest,
                                  [](const Item& item, double t) { return item.start_s < t; });
    std::stable_sort(first, items.end(), starts_before);
    return static_cast<std::size_t>(first - items.begin());
}

bool is_forward(SpanKind kind) { return kind == SpanKind::forward || kind == SpanKind::loss; }

}  // namespace

std::pair<double, double> Lane::worked_before(std::size_t count) const {
    std::size_t k = std::min(count / sum_step, worked.empty() ? 0 : worked.size() - 1);
    double all = worked.empty() ? 0 : worked[k], forwards = worked.empty() ? 0 : forward[k];
    for (std::size_t i = k * sum_step; i < count; ++i) {
        const double seconds = work[i].end_s - work[i].start_s;
        all += seconds;
        if (is_forward(work[i].kind)) forwards += seconds;
    }
    return {all, forwards};
}

std::size_t Lane::first_reaching(double time) const {
    const auto block = std::upper_bound(reach.begin(), reach.end(), time) - reach.begin();
    std::size_t i = std::min(static_cast<std::size_t>(block) * sum_step, transfers.size());
    while (i < transfers.size() && transfers[i].end_s <= time) ++i;
    return i;
}

double Lane::reach_of(std::size_t index) const {
    const std::size_t block = index / sum_step;
    double latest = block > 0 ? reach[block - 1] : 0;
    for (std::size_t i = block * sum_step; i <= index; ++i) latest = std::max(latest, transfers[i].end_s);
    return latest;
}

void TimelineData::set_lanes(std::vector<std::string> names) {
    lanes_.clear();
    for (auto& name : names) lanes_.emplace_back().name = std::move(name);
    extent_s_ = 0;
    count_ = 0;
    dirty_work_.assign(lanes_.size(), clean);
    dirty_transfers_.assign(lanes_.size(), clean);
    dirty_gaps_.assign(lanes_.size(), clean);
    dirty_down_.assign(lanes_.size(), clean);
}

void TimelineData::add(const Span& span, int iteration, double offset_s, std::int64_t row) {
    if (span.node < 0 || static_cast<std::size_t>(span.node) >= lanes_.size()) return;
    const auto index = static_cast<std::size_t>(span.node);
    LaneSpan item{.start_s = offset_s + span.start_s, .end_s = offset_s + span.end_s};
    item.row = row;
    item.microbatch = span.microbatch;
    item.iteration = iteration;
    item.bytes = static_cast<float>(span.bytes);
    item.queue_s = static_cast<float>(span.start_s - span.ready_s);
    item.to_node = static_cast<std::int16_t>(span.to_node);
    item.stage = static_cast<std::int16_t>(span.stage);
    item.kind = span.kind;
    start_s_ = std::min(start_s_, item.start_s);
    extent_s_ = std::max(extent_s_, item.end_s);
    least_row_ = std::min(least_row_, row);
    most_row_ = std::max(most_row_, row);
    if (is_compute(span.kind)) {
        lanes_[index].work.push_back(item);
        dirty_work_[index] = std::min(dirty_work_[index], item.start_s);
        if (lanes_[index].stage < 0) lanes_[index].stage = span.stage;
        ++count_;
    } else if (is_on_line(span.kind)) {
        lanes_[index].transfers.push_back(item);
        dirty_transfers_[index] = std::min(dirty_transfers_[index], item.start_s);
        ++count_;
    } else if (span.kind == SpanKind::down) {
        lanes_[index].down.push_back({item.start_s, item.end_s, iteration, span.start_s <= 0});
        dirty_down_[index] = std::min(dirty_down_[index], item.start_s);
    }
}

void TimelineData::add(const IdleGap& gap, double offset_s) {
    if (gap.node < 0 || static_cast<std::size_t>(gap.node) >= lanes_.size() || gap.end_s <= gap.start_s) return;
    const auto index = static_cast<std::size_t>(gap.node);
    lanes_[index].gaps.push_back(
        {offset_s + gap.start_s, offset_s + gap.end_s, gap.microbatch, gap.other, gap.cause, gap.line});
    dirty_gaps_[index] = std::min(dirty_gaps_[index], offset_s + gap.start_s);
    start_s_ = std::min(start_s_, offset_s + gap.start_s);
    extent_s_ = std::max(extent_s_, offset_s + gap.end_s);
}

void TimelineData::set_parts(std::vector<std::shared_ptr<const TimelineData>> parts) {
    parts_ = std::move(parts);
    for (const auto& part : parts_) {
        extent_s_ = std::max(extent_s_, part->extent_s_);
        count_ += part->count_;
    }
}

void TimelineData::finish() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        if (dirty_work_[i] != clean) {
            std::size_t n = sort_from(lane.work, dirty_work_[i]);
            std::size_t k = n / sum_step;
            lane.worked.resize(k + 1, 0);
            lane.forward.resize(k + 1, 0);
            for (; (k + 1) * sum_step <= lane.work.size(); ++k) {
                const auto [all, forward] = lane.worked_before((k + 1) * sum_step);
                lane.worked.push_back(all);
                lane.forward.push_back(forward);
            }
            lane.worked.shrink_to_fit();
            lane.forward.shrink_to_fit();
        }
        if (dirty_transfers_[i] != clean) {
            std::size_t n = sort_from(lane.transfers, dirty_transfers_[i]);
            lane.reach.resize(n / sum_step);
            while (lane.reach.size() * sum_step < lane.transfers.size()) {
                const std::size_t last = std::min((lane.reach.size() + 1) * sum_step, lane.transfers.size()) - 1;
                lane.reach.push_back(lane.reach_of(last));
            }
            lane.reach.shrink_to_fit();
        }
        if (dirty_gaps_[i] != clean) sort_from(lane.gaps, dirty_gaps_[i]);
        if (dirty_down_[i] != clean) sort_from(lane.down, dirty_down_[i]);
    }
    std::fill(dirty_work_.begin(), dirty_work_.end(), clean);
    std::fill(dirty_transfers_.begin(), dirty_transfers_.end(), clean);
    std::fill(dirty_gaps_.begin(), dirty_gaps_.end(), clean);
    std::fill(dirty_down_.begin(), dirty_down_.end(), clean);
}

namespace {

void visit_work_of(const Lane& lane, double begin, double end, double least_s,
                   const std::function<void(const LaneSpan&)>& exact, const std::function<void(const Fold&)>& folded) {
    const auto& work = lane.work;
    auto it =
        std::lower_bound(work.begin(), work.end(), begin, [](const LaneSpan& s, double t) { return s.end_s <= t; });
    while (it != work.end() && it->start_s < end) {
        if (it->end_s - it->start_s >= least_s) {
            exact(*it++);
            continue;
        }
        // Everything that begins in these pixels; a long span among them stands on its own.
        const auto stop = std::lower_bound(it, work.end(), it->start_s + least_s,
                                           [](const LaneSpan& s, double t) { return s.start_s < t; });
        auto last = stop - 1;
        if (last != it && last->end_s - last->start_s >= least_s) --last;
        const auto i = static_cast<std::size_t>(it - work.begin()),
                   j = static_cast<std::size_t>(last - work.begin()) + 1;
        Fold fold{it->start_s, last->end_s, j - i, 0, *it};
        const auto [before, forward_before] = lane.worked_before(i);
        const auto [after, forward_after] = lane.worked_before(j);
        const double worked = after - before;
        fold.busy = fold.end_s > fold.start_s ? worked / (fold.end_s - fold.start_s) : 1;
        fold.dominant.kind = forward_after - forward_before >= worked / 2 ? SpanKind::forward : SpanKind::backward;
        folded(fold);
        it = last + 1;
    }
}

void visit_transfers_of(const Lane& lane, double begin, double end, double least_s,
                        const std::function<void(const LaneSpan&)>& exact,
                        const std::function<void(const Fold&)>& folded) {
    const auto& transfers = lane.transfers;
    auto it = transfers.begin() + static_cast<std::ptrdiff_t>(lane.first_reaching(begin));
    while (it != transfers.end() && it->start_s < end) {
        if (it->end_s - it->start_s >= least_s) {
            if (it->end_s > begin) exact(*it);
            ++it;
            continue;
        }
        const auto stop = std::lower_bound(it, transfers.end(), it->start_s + least_s,
                                           [](const LaneSpan& s, double t) { return s.start_s < t; });
        const auto i = static_cast<std::size_t>(stop - transfers.begin()) - 1;
        folded({it->start_s, std::min(lane.reach_of(i), it->start_s + 2 * least_s), static_cast<std::size_t>(stop - it),
                1, *it});
        it = stop;
    }
}

void visit_gaps_of(const Lane& lane, double begin, double end, double least_s,
                   const std::function<void(const LaneGap&)>& exact) {
    const auto& gaps = lane.gaps;
    auto it =
        std::lower_bound(gaps.begin(), gaps.end(), begin, [](const LaneGap& g, double t) { return g.end_s <= t; });
    while (it != gaps.end() && it->start_s < end) {
        if (it->end_s - it->start_s >= least_s) {
            exact(*it++);
            continue;
        }
        // Short ones that begin in the same pixels are jumped over; gaps do not overlap, so only the last of them can
        // be long.
        const auto stop = std::lower_bound(it + 1, gaps.end(), it->start_s + least_s,
                                           [](const LaneGap& g, double t) { return g.start_s < t; });
        const auto last = stop - 1;
        it = last != it && last->end_s - last->start_s >= least_s ? last : stop;
    }
}

}  // namespace

void TimelineData::visit_work(int lane, double begin, double end, double least_s,
                              const std::function<void(const LaneSpan&)>& exact,
                              const std::function<void(const Fold&)>& folded) const {
    each_part(begin, end, [&](const TimelineData& part) {
        visit_work_of(part.lanes_[static_cast<std::size_t>(lane)], begin, end, least_s, exact, folded);
    });
}

void TimelineData::visit_transfers(int lane, double begin, double end, double least_s,
                                   const std::function<void(const LaneSpan&)>& exact,
                                   const std::function<void(const Fold&)>& folded) const {
    each_part(begin, end, [&](const TimelineData& part) {
        visit_transfers_of(part.lanes_[static_cast<std::size_t>(lane)], begin, end, least_s, exact, folded);
    });
}

void TimelineData::visit_gaps(int lane, double begin, double end, double least_s,
                              const std::function<void(const LaneGap&)>& exact) const {
    each_part(begin, end, [&](const TimelineData& part) {
        visit_gaps_of(part.lanes_[static_cast<std::size_t>(lane)], begin, end, least_s, exact);
    });
}

void TimelineData::visit_outages(int lane, double begin, double end,
                                 const std::function<void(const Outage&)>& visit) const {
    std::optional<Outage> outage;
    each_part(begin, end, [&](const TimelineData& part) {
        const auto& down = part.lanes_[static_cast<std::size_t>(lane)].down;
        auto it =
            std::lower_bound(down.begin(), down.end(), begin, [](const LaneDown& d, double t) { return d.end_s <= t; });
        for (; it != down.end() && it->start_s < end; ++it) {
            // Between two iterations nobody works, so that one outage has no holes there.
            if (outage && it->from_start && it->iteration == outage->last_iteration + 1) {
                outage->end_s = it->end_s;
                outage->last_iteration = it->iteration;
                continue;
            }
            if (outage) visit(*outage);
            outage = Outage{it->start_s, it->end_s, it->iteration, it->iteration, it->from_start};
        }
    });
    if (outage) visit(*outage);
}

}  // namespace skippipe
