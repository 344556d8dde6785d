// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/link_details.h"

#include <algorithm>

#include "core/analysis/link_use.h"
#include "views/theme/numbers.h"
#include "views/topology/link_words.h"

namespace skippipe {
namespace {

QString name_of(int lane, const TimelineData& data) {
    return QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name);
}

QString way_words(const LineUse& way, const Problem& problem, double length_s) {
    if (way.transfers() == 0) return QObject::tr("nothing");
    const QString count =
        way.transfers() == 1 ? QObject::tr("1 transfer") : QObject::tr("%1 transfers").arg(way.transfers());
    const QString sent = QObject::tr("%1, %2").arg(count, quantity(way.bytes, "B"));
    return problem.shared_links && length_s > 0 ? QObject::tr("%1, busy %2").arg(sent, percent(way.busy_s / length_s))
                                                : sent;
}

QString wait_words(const LinkTransfer& one, const TimelineData& data) {
    const QString what = one.microbatch < 0 ? QObject::tr("a part of a gradient")
                                            : QObject::tr("microbatch %1").arg(static_cast<int>(one.microbatch));
    return QObject::tr("longest wait %1: %2, %3 → %4")
        .arg(duration(one.waited_s), what, name_of(one.from, data), name_of(one.to, data));
}

/// "n4 → n8 5×", the most first.
QString pairs_words(const LinkUse& use, const TimelineData& data) {
    constexpr std::size_t most_named = 6;
    const auto most = use.busiest_pairs();
    QStringList words;
    for (std::size_t k = 0; k < std::min(most_named, most.size()); ++k)
        words << QObject::tr("%1 → %2 %3×")
                     .arg(name_of(most[k].first.first, data), name_of(most[k].first.second, data))
                     .arg(most[k].second);
    if (most.size() > most_named) words << QObject::tr("%1 more pairs").arg(most.size() - most_named);
    return words.join(QStringLiteral(", "));
}

}  // namespace

std::vector<std::pair<int, int>> ways_over(const std::set<LinkKey>& links, const Topology& topology,
                                           const Problem& problem) {
    std::set<int> lines;
    for (const auto& link : topology.links)
        if (links.contains({link.from, link.to}))
            for (const auto& way : LinkUse(link, problem).ways)
                if (way.line != no_line) lines.insert(way.line);
    std::vector<std::pair<int, int>> ways;
    if (lines.empty()) return ways;
    for (int from = 0; from < problem.nodes(); ++from)
        for (int to = 0; to < problem.nodes(); ++to)
            if (from != to && lines.contains(problem.hop(NodeIndex(from), NodeIndex(to)).line))
                ways.emplace_back(from, to);
    return ways;
}

Details link_details(const Link& link, const Problem& problem, const IterationTime& one, const TimelineData& data) {
    Details details{.title = link_name(link), .rows = {iteration_row(one.iteration)}};
    details.rows.push_back({QObject::tr("Line"), link_words(link)});
    LinkUse use(link, problem);
    data.visit_spans(one.begin_s(), one.end_s, [&](int lane, const LaneSpan& span) {
        if (!is_on_line(span.kind) || span.iteration != one.iteration || span.to_node < 0 ||
            span.to_node >= problem.nodes())
            return;
        use.add({span.kind, NodeIndex(lane), NodeIndex(span.to_node), StageIndex(span.stage),
                 MicrobatchIndex(span.microbatch), span.bytes, span.queue_s},
                problem);
    });
    for (const auto& way : use.ways) {
        details.rows.push_back(
            {QObject::tr("To %1").arg(QString::fromStdString(way.to)), way_words(way, problem, one.length_s)});
        if (way.longest.waited_s >= least_wait_s)
            details.rows.push_back({QString(QChar(0x00A0)), wait_words(way.longest, data), DetailLink::node});
    }
    if (!use.pairs.empty()) details.rows.push_back({QObject::tr("Between"), pairs_words(use, data), DetailLink::node});
    return details;
}

}  // namespace skippipe
