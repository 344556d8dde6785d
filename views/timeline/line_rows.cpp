// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/line_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.h"

namespace skippipe {

LineRows line_rows(const TimelineData& data, const Problem& problem) {
    constexpr double ever = std::numeric_limits<double>::infinity();
    std::map<int, std::vector<std::pair<int, int>>> used;  // by line
    LineRows rows;
    data.visit_spans(-ever, ever, [&](int lane, const LaneSpan& span) {
        if (!is_on_line(span.kind) || span.to_node < 0 || span.to_node >= problem.nodes()) return;
        const std::pair ends{lane, static_cast<int>(span.to_node)};
        if (rows.ways.contains(ends)) return;
        const Hop hop = problem.hop(NodeIndex(ends.first), NodeIndex(ends.second));
        if (hop.line == no_line) return;
        rows.ways[ends] = {-1, hop.latency_s + problem.overhead_s};
        used[hop.line].push_back(ends);
    });
    for (const auto& [line, all] : used) {
        for (const auto& ends : all) rows.ways[ends].row = static_cast<int>(rows.names.size());
        std::string name = at(line) < problem.line_names.size() ? problem.line_names[at(line)] : "line";
        LinkKey ends{name, {}};
        if (const auto arrow = name.find("->"); arrow != std::string::npos) {
            ends = {name.substr(0, arrow), name.substr(arrow + 2)};
            name.replace(arrow, 2, " → ");
        }
        rows.ends.push_back(std::move(ends));
        rows.names.push_back(std::move(name));
    }
    return rows;
}

LineParts line_parts(const LaneSpan& transfer, double latency_s) {
    return {transfer.start_s - transfer.queue_s, transfer.start_s,
            std::max(transfer.start_s, transfer.end_s - latency_s), transfer.end_s};
}

TimelineData::Place transfer_on_line(const TimelineData& data, const LineRows& lines, int row, double time,
                                     double until) {
    TimelineData::Place on_wire, on_its_way;
    for (const auto& [ends, way] : lines.ways) {
        if (way.row != row) continue;
        data.visit_transfers(
            ends.first, time, std::max(until, std::nextafter(time, until + 1)), 0,
            [&, from = ends.first, to = ends.second, latency_s = way.latency_s](const LaneSpan& span) {
                if (span.to_node != to) return;
                const auto parts = line_parts(span, latency_s);
                if (parts.wire_s <= time && time < parts.latency_s)
                    on_wire = {from, &span};
                else if (parts.queue_s <= time && time < parts.arrival_s && on_its_way.span == nullptr)
                    on_its_way = {from, &span};
            },
            [](const Fold&) {});
    }
    return on_wire.span != nullptr ? on_wire : on_its_way;
}

}  // namespace skippipe
