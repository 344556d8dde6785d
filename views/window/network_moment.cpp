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
    std::map<std::pair<int, int>, double> until_s;  ///< what is counted of the line's time
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
                // Transfers come by their start, and may overlap: time counts once.
                auto& counted_s = until_s.try_emplace({lane, span.to_node}, begin_s).first->second;
                const double to_s = std::min(span.end_s, end_s);
                line.busy += std::max(0.0, to_s - std::max(span.start_s, counted_s)) / stretch_s;
                counted_s = std::max(counted_s, to_s);
                line.queue_s = std::max(line.queue_s, static_cast<double>(span.queue_s));
            },
            [](const Fold&) {});
    }
    for (const auto& [ends, line] : lines)
        if (line.bytes_per_s > 0) traffic.lines.push_back(line);
    return traffic;
}

Traffic mean_until(const TimelineData& data, double at_s, Traffic traffic) {
    traffic.at_s = at_s;
    traffic.is_mean = true;
    traffic.work.resize(data.lanes().size());
    for (int lane = 0; lane < static_cast<int>(data.lanes().size()); ++lane)
        traffic.down += data.outage_at(lane, at_s).has_value();
    return traffic;
}

Traffic at_moment(const TimelineData& data, double at_s, Traffic traffic) {
    traffic.at_s = at_s;
    traffic.down = 0;
    for (int lane = 0; lane < static_cast<int>(data.lanes().size()); ++lane) {
        const auto* work = data.work_at(lane, at_s);
        traffic.work.push_back(work == nullptr ? std::nullopt : std::optional(WorkNow{work->kind, work->microbatch}));
        traffic.down += data.outage_at(lane, at_s).has_value();
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

std::set<LinkKey> cut_links(const std::vector<Failure>& failures, double at_s) {
    std::set<LinkKey> cut;
    for (const auto& one : failures) {
        const auto arrow = one.target.find("->");
        if (one.kind != FailureKind::link_cut || !one.at_s || arrow == std::string::npos || at_s < *one.at_s) continue;
        if (one.rejoin_after_s && at_s >= *one.at_s + *one.rejoin_after_s) continue;
        cut.insert({one.target.substr(0, arrow), one.target.substr(arrow + 2)});
    }
    return cut;
}

std::vector<Loss> losses_at(const TimelineData& data, double at_s) {
    std::vector<Loss> now;
    for (const auto& loss : data.losses()) {
        double until_s = std::max(loss.end_s, loss.begin_s + loss.recovery_s.value_or(0));
        if (const auto* one = iteration_at(data.iterations(), loss.begin_s); one != nullptr)
            until_s = std::max(until_s, one->end_s);
        if (loss.begin_s <= at_s && at_s <= until_s) now.push_back(loss);
    }
    return now;
}

Traffic traffic_at(const TimelineData& data, double at_s, double begin_s, double end_s) {
    return at_moment(data, at_s, traffic_loads(data, begin_s, end_s));
}

}  // namespace skippipe
