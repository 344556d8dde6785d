// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/region_facts.h"

#include <algorithm>
#include <vector>

#include <QStringList>

#include "views/inspector/fact_rows.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

QString nodes_words(const Experiment& e, const std::string& region, const std::map<std::string, ServedStage>& served) {
    QStringList nodes;
    for (const auto& node : e.topology.nodes) {
        if (node.region != region) continue;
        const QString id = QString::fromStdString(node.id), named = fact_anchor("node:" + id, id);
        const auto serves = served.find(node.id);
        nodes << (serves == served.end() ? named
                                         : named + unbroken(QObject::tr(" at stage %1").arg(serves->second.stage)));
    }
    return nodes.isEmpty() ? QObject::tr("none yet") : nodes.join(", ");
}

/// The numbers of the links that begin or end at the region.
std::vector<std::size_t> links_of(const Topology& topology, const std::string& region) {
    std::vector<std::size_t> found;
    found.reserve(topology.links.size());
    for (std::size_t i = 0; i < topology.links.size(); ++i)
        if (topology.links[i].from == region || topology.links[i].to == region) found.push_back(i);
    std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
        return topology.links[a].latency_s < topology.links[b].latency_s;
    });
    return found;
}

QString link_row(std::size_t number, const Link& link, const std::string& region) {
    const bool leaves = link.from == region;
    const QString other = QString::fromStdString(leaves ? link.to : link.from);
    const QString words = link.both_ways ? other : (leaves ? QObject::tr("to %1") : QObject::tr("from %1")).arg(other);
    return QStringLiteral(
               "<tr><td style=\"padding:2px 0\">%1</td><td align=\"right\" style=\"padding:2px 0\">%2</td>"
               "<td align=\"right\" style=\"padding:2px 0\">%3</td></tr>")
        .arg(fact_anchor(QStringLiteral("link:%1").arg(number), words), duration(link.latency_s),
             quantity(8 * link.bandwidth_bytes_per_s, "bit/s"));
}

}  // namespace

QString region_facts(const Experiment& experiment, const std::string& region,
                     const std::map<std::string, ServedStage>& served) {
    const auto& t = experiment.topology;
    QString html = fact_table_begin() + fact_row(QObject::tr("Nodes"), nodes_words(experiment, region, served));
    if (t.hop_matrix_s.empty())
        html += fact_row(QObject::tr("Inside"),
                         QObject::tr("%1, %2").arg(duration(t.within_region.latency_s),
                                                   quantity(8 * t.within_region.bandwidth_bytes_per_s, "bit/s")));
    html = fact_table_end(html);
    const auto links = links_of(t, region);
    if (links.empty()) return html;
    html += fact_table_begin() + QStringLiteral("<tr><td colspan=\"3\" style=\"padding:2px 0\">%1</td></tr>")
                                     .arg(quiet_words(QObject::tr("Linked to, the nearest first")));
    for (const auto number : links) html += link_row(number, t.links[number], region);
    return fact_table_end(html);
}

}  // namespace skippipe
