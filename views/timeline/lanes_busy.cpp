// SPDX-License-Identifier: GPL-3.0-or-later
// How busy lanes were over time, from the running sums that folding uses.
#include <algorithm>
#include <cmath>

#include "core/base/index.h"
#include "views/timeline/lanes.h"

namespace skippipe {
namespace {

/// Seconds of work of a lane before that time.
double worked_before(const Lane& lane, double time) {
    if (lane.work.empty()) return 0;
    const auto next = std::upper_bound(lane.work.begin(), lane.work.end(), time,
                                       [](double t, const LaneSpan& span) { return t < span.start_s; });
    if (next == lane.work.begin()) return 0;
    const auto last = static_cast<std::size_t>(next - lane.work.begin()) - 1;
    return lane.worked_before(last).first + std::min(time, lane.work[last].end_s) - lane.work[last].start_s;
}

}  // namespace

std::vector<float> TimelineData::busy_profile(const std::vector<int>& lanes, double begin, double end,
                                              std::size_t stretches) const {
    std::vector<double> seconds(stretches, 0);
    const double step = (end - begin) / static_cast<double>(std::max<std::size_t>(stretches, 1));
    if (!(step > 0) || lanes.empty()) return std::vector<float>(stretches, 0);
    const auto stretch_at = [&](double time) {
        return static_cast<std::size_t>(std::clamp((time - begin) / step, 0.0, static_cast<double>(stretches)));
    };
    each_part(begin, end, [&](const TimelineData& part) {
        const std::size_t first = stretch_at(part.start_s_), last = std::min(stretches, stretch_at(part.extent_s_) + 1);
        for (const int lane : lanes) {
            const Lane& one = part.lanes_[at(lane)];
            double before = worked_before(one, begin + static_cast<double>(first) * step);
            for (std::size_t k = first; k < last; ++k) {
                const double after = worked_before(one, begin + static_cast<double>(k + 1) * step);
                seconds[k] += after - before;
                before = after;
            }
        }
    });
    std::vector<float> busy(stretches, 0);
    for (std::size_t k = 0; k < stretches; ++k)
        busy[k] = static_cast<float>(std::clamp(seconds[k] / (step * static_cast<double>(lanes.size())), 0.0, 1.0));
    return busy;
}

void TimelineData::visit_lanes(double begin, double end, const std::vector<int>& lanes,
                               const std::function<void(const Lane&)>& visit) const {
    each_part(begin, end, [&](const TimelineData& part) {
        for (const int lane : lanes) visit(part.lanes_[at(lane)]);
    });
}

void TimelineData::visit_spans(double begin, double end,
                               const std::function<void(int lane, const LaneSpan&)>& visit) const {
    each_part(begin, end, [&](const TimelineData& part) {
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
            for (const auto* spans : {&part.lanes_[lane].work, &part.lanes_[lane].transfers})
                for (const auto& span : *spans) visit(static_cast<int>(lane), span);
    });
}

}  // namespace skippipe
