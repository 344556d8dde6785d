// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/link_details.h"

#include <algorithm>
#include <map>

#include "views/theme/numbers.h"
#include "views/topology/link_words.h"

namespace skippipe {
namespace {

using Ends = std::pair<int, int>;  ///< lanes

/// What one of the link's lines carried.
struct OneWay {
    int transfers = 0;
    double bytes = 0, busy_s = 0;
    double waited_s = 0;  ///< the longest wait for it
    Ends waits{-1, -1};   ///< whose it was
    int microbatch = -1;  ///< and of what; -1: of a reduction
};

QString name_of(int lane, const TimelineData& data) {
    return QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name);
}

QString way_words(const OneWay& way, const Problem& problem, double length_s) {
    if (way.transfers == 0) return QObject::tr("nothing");
    const QString count =
        way.transfers == 1 ? QObject::tr("1 transfer") : QObject::tr("%1 transfers").arg(way.transfers);
    const QString sent = QObject::tr("%1, %2").arg(count, quantity(way.bytes, "B"));
    return problem.shared_links && length_s > 0 ? QObject::tr("%1, busy %2").arg(sent, percent(way.busy_s / length_s))
                                                : sent;
}

QString wait_words(const OneWay& way, const TimelineData& data) {
    const QString what =
        way.microbatch < 0 ? QObject::tr("a part of a gradient") : QObject::tr("microbatch %1").arg(way.microbatch);
    return QObject::tr("longest wait %1: %2, %3 → %4")
        .arg(duration(way.waited_s), what, name_of(way.waits.first, data), name_of(way.waits.second, data));
}

/// "n4 → n8 5×", the most first.
QString pairs_words(const std::map<Ends, int>& pairs, const TimelineData& data) {
    constexpr std::size_t most_named = 6;
    std::vector<std::pair<Ends, int>> most(pairs.begin(), pairs.end());
    std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    QStringList words;
    for (std::size_t k = 0; k < std::min(most_named, most.size()); ++k)
        words << QObject::tr("%1 → %2 %3×")
                     .arg(name_of(most[k].first.first, data), name_of(most[k].first.second, data))
                     .arg(most[k].second);
    if (most.size() > most_named) words << QObject::tr("%1 more pairs").arg(most.size() - most_named);
    return words.join(QStringLiteral(", "));
}

}  // namespace

Details link_details(const Link& link, const Problem& problem, const IterationTime& one, const TimelineData& data) {
    Details details{.title = link_name(link), .rows = {iteration_row(one.iteration)}};
    details.rows.push_back({QObject::tr("Line"), link_words(link)});
    std::vector<std::pair<std::string, std::string>> ways{{link.from, link.to}};
    if (link.both_ways) ways.emplace_back(link.to, link.from);
    std::map<Ends, int> pairs;
    for (const auto& [from, to] : ways) {
        OneWay way;
        const auto& names = problem.line_names;
        const auto line = std::find(names.begin(), names.end(), from + "->" + to) - names.begin();
        data.visit_spans(one.begin_s(), one.end_s, [&](int lane, const LaneSpan& span) {
            if (!is_on_line(span.kind) || span.iteration != one.iteration || span.to_node < 0 ||
                span.to_node >= problem.nodes())
                return;
            const Hop hop = problem.hop(NodeIndex(lane), NodeIndex(span.to_node));
            if (hop.line != line) return;
            ++way.transfers;
            way.bytes += span.bytes;
            way.busy_s += span.bytes / hop.bandwidth_bytes_per_s;
            ++pairs[{lane, span.to_node}];
            if (span.queue_s <= way.waited_s) return;
            way.waited_s = span.queue_s;
            way.microbatch = span.microbatch;
            way.waits = {lane, span.to_node};
        });
        details.rows.push_back(
            {QObject::tr("To %1").arg(QString::fromStdString(to)), way_words(way, problem, one.length_s)});
        if (way.waited_s > 0) details.rows.push_back({QString(QChar(0x00A0)), wait_words(way, data), DetailLink::node});
    }
    if (!pairs.empty()) details.rows.push_back({QObject::tr("Between"), pairs_words(pairs, data), DetailLink::node});
    return details;
}

}  // namespace skippipe
