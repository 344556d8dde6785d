// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/network_moment.h"

#include <algorithm>
#include <map>

namespace skippipe {
namespace {

/// How much of a span lies in the stretch, 0 to 1.
double part_within(const LaneSpan& span, double begin_s, double end_s) {
    const double length = span.end_s - span.start_s;
    const double inside = std::min(span.end_s, end_s) - std::max(span.start_s, begin_s);
    return length > 0 ? std::clamp(inside / length, 0.0, 1.0) : 0;
}

}  // namespace

Traffic traffic_loads(const TimelineData& data, double begin_s, double end_s) {
    Traffic traffic;
    const double stretch_s = std::max(end_s - begin_s, 1e-12);
    std::map<std::pair<int, int>, LineTraffic> lines;
    for (int lane = 0; lane < static_cast<int>(data.lanes().size()); ++lane) {
        traffic.names.push_back(data.lanes()[static_cast<std::size_t>(lane)].name);
        double busy_s = 0;
        data.visit_work(
            lane, begin_s, end_s, 0,
            [&](const LaneSpan& span) {
                busy_s += std::max(0.0, std::min(span.end_s, end_s) - std::max(span.start_s, begin_s));
            },
            [](const Fold&) {});
        traffic.busy.push_back(busy_s / stretch_s);
        data.visit_transfers(
            lane, begin_s, end_s, 0,
            [&](const LaneSpan& span) {
                auto& line = lines[{lane, span.to_node}];
                line.from = lane;
                line.to = span.to_node;
                line.bytes_per_s += static_cast<double>(span.bytes) * part_within(span, begin_s, end_s) / stretch_s;
                line.queue_s = std::max(line.queue_s, static_cast<double>(span.queue_s));
            },
            [](const Fold&) {});
    }
    for (const auto& [ends, line] : lines)
        if (line.bytes_per_s > 0) traffic.lines.push_back(line);
    return traffic;
}

Traffic at_moment(const TimelineData& data, double at_s, Traffic traffic) {
    traffic.at_s = at_s;
    for (int lane = 0; lane < static_cast<int>(data.lanes().size()); ++lane) {
        const auto* work = data.work_at(lane, at_s);
        traffic.work.push_back(work == nullptr ? std::nullopt : std::optional(WorkNow{work->kind, work->microbatch}));
        data.visit_transfers(
            lane, at_s, at_s, 0,
            [&](const LaneSpan& span) {
                if (span.start_s <= at_s && at_s < span.end_s)
                    traffic.parcels.push_back({lane, span.to_node, span.microbatch, span.kind,
                                               (at_s - span.start_s) / (span.end_s - span.start_s)});
            },
            [](const Fold&) {});
    }
    return traffic;
}

Traffic traffic_at(const TimelineData& data, double at_s, double begin_s, double end_s) {
    return at_moment(data, at_s, traffic_loads(data, begin_s, end_s));
}

}  // namespace skippipe
