// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/link_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <QStringList>

#include "core/analysis/link_use.h"
#include "views/inspector/fact_rows.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr std::size_t most_pairs = 4, most_microbatches = 12;

/// "< 0.01 %" would begin a tag.
QString html_percent(double share) { return percent(share).toHtmlEscaped(); }

void add_transfers(LinkUse& use, const PlanOutcome& outcome) {
    for (const auto& span : outcome.timeline.spans)
        if (is_on_line(span.kind))
            use.add({span.kind, span.node, span.to_node, span.stage, span.microbatch, span.bytes,
                     span.start_s - span.ready_s},
                    outcome.problem);
}

/// Rings are charged: no transfer has what they send.
void add_rings(LinkUse& use, const PlanOutcome& outcome) {
    for (const auto& reduction : reductions_of(outcome.problem, outcome.plan))
        for (const auto& edge : reduction.edges)
            if (!reduction.planned && use.way_of(outcome.problem.hop(edge.from, edge.to).line) != nullptr)
                use.reductions[reduction.stage] += edge.bytes;
}

QString counted(int count, const QString& one, const QString& many) {
    return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : many);
}

QString way_words(const LineUse& way, const PlanOutcome& outcome) {
    QStringList sent;
    if (way.activations > 0) sent << counted(way.activations, QObject::tr("activation"), QObject::tr("activations"));
    if (way.gradients > 0) sent << counted(way.gradients, QObject::tr("gradient"), QObject::tr("gradients"));
    if (way.parts > 0) sent << counted(way.parts, QObject::tr("part of a sum"), QObject::tr("parts of sums"));
    if (sent.isEmpty()) return QObject::tr("nothing");
    // What belongs together is broken off by hand: the column is narrow.
    const QString line = QStringLiteral("<br>");
    QString words = quantity(way.bytes, "B");
    if (outcome.problem.shared_links)
        words += QObject::tr(", busy %1").arg(html_percent(way.busy_s / outcome.timeline.iteration_s));
    words += line + sent.join(QStringLiteral(", "));
    if (!outcome.problem.shared_links) return words;
    const auto& [waited_s, microbatch] = std::pair(way.longest.waited_s, static_cast<int>(way.longest.microbatch));
    if (waited_s < least_wait_s) return words + line + QObject::tr("nothing queues");
    words += line + QObject::tr("longest wait %1").arg(duration(waited_s));
    if (microbatch < 0) return words;
    return words + QObject::tr(" of %1").arg(fact_anchor(QStringLiteral("microbatch:%1").arg(microbatch),
                                                         QObject::tr("microbatch %1").arg(microbatch)));
}

/// Who sends to whom, the most first.
QString pairs_words(const LinkUse& use, const Problem& problem) {
    const auto pairs = use.busiest_pairs();
    QStringList words;
    for (const auto& [ends, count] : pairs) {
        if (static_cast<std::size_t>(words.size()) == most_pairs) break;
        const auto name = [&](NodeIndex node) {
            const QString id = QString::fromStdString(problem.node_ids[node]);
            return fact_anchor("node:" + id, id);
        };
        words << name(ends.first) + QStringLiteral(" → ") + name(ends.second) +
                     (count > 1 ? QStringLiteral(" %1×").arg(count) : QString{});
    }
    if (pairs.size() > most_pairs) words << QObject::tr("%1 more pairs").arg(pairs.size() - most_pairs);
    return words.join(QStringLiteral("<br>"));
}

QString microbatch_words(const std::set<int>& microbatches) {
    QStringList words;
    for (const int one : microbatches) {
        if (static_cast<std::size_t>(words.size()) == most_microbatches) break;
        words << fact_anchor(QStringLiteral("microbatch:%1").arg(one), QString::number(one));
    }
    if (microbatches.size() > most_microbatches)
        words << QObject::tr("%1 more").arg(microbatches.size() - most_microbatches);
    return words.join(QStringLiteral(", "));
}

QString reduction_words(const std::map<int, double>& bytes) {
    QStringList words;
    for (const auto& [stage, sent] : bytes)
        words << fact_anchor(QStringLiteral("stage:%1").arg(stage), QObject::tr("stage %1").arg(stage)) + ' ' +
                     quantity(sent, "B");
    return words.join(QStringLiteral(", "));
}

/// Its share of what the iteration's end waits for; empty where that is not known.
QString critical_share_words(const LinkUse& use, const PlannedLinks& planned) {
    if (!planned.why || !(planned.why->iteration_s > 0)) return {};
    const auto& shares = planned.why->links;
    const auto found = std::find_if(shares.begin(), shares.end(), [&](const LinkShare& share) {
        return std::any_of(use.ways.begin(), use.ways.end(), [&](const LineUse& way) {
            return std::find(share.lines.begin(), share.lines.end(), way.line) != share.lines.end();
        });
    });
    if (found == shares.end() || !(found->seconds() > 0)) return QObject::tr("not on it");
    const QString share = html_percent(found->seconds() / planned.why->iteration_s);
    return found == shares.begin() ? QObject::tr("%1 of it, the most of all links").arg(share)
                                   : QObject::tr("%1 of it").arg(share);
}

}  // namespace

QString link_ends(const Experiment& experiment, const Link& link) {
    const auto& regions = experiment.topology.regions;
    const auto end = [&](const std::string& id) {
        const bool is_region = std::any_of(regions.begin(), regions.end(), [&](const auto& r) { return r.id == id; });
        const QString name = QString::fromStdString(id);
        return fact_anchor((is_region ? "region:" : "node:") + name, name);
    };
    return (link.both_ways ? QObject::tr("%1 and %2, both ways") : QObject::tr("%1 to %2"))
        .arg(end(link.from), end(link.to));
}

QString link_facts(const Experiment& experiment, const Link& link, const PlannedLinks& planned) {
    if (!planned.plan) return quiet_words(QObject::tr("What the plan sends over it appears here"));
    const PlanOutcome& outcome = *planned.plan;
    LinkUse use(link, outcome.problem);
    add_transfers(use, outcome);
    add_rings(use, outcome);
    QString html = fact_table_begin() + fact_heading(QObject::tr("In one iteration of the plan"));
    if (use.pairs.empty() && use.reductions.empty())
        return fact_table_end(html + fact_row(QObject::tr("Sent"), QObject::tr("nothing goes over it")));
    for (const auto& way : use.ways)
        if (way.line != no_line)
            html += fact_row(QObject::tr("To %1").arg(QString::fromStdString(way.to)), way_words(way, outcome));
    const bool joins_regions = std::any_of(experiment.topology.regions.begin(), experiment.topology.regions.end(),
                                           [&](const Region& region) { return region.id == link.from; });
    if (joins_regions && !use.pairs.empty())
        html += fact_row(QObject::tr("Between"), pairs_words(use, outcome.problem));
    if (!use.reductions.empty()) html += fact_row(QObject::tr("Reductions"), reduction_words(use.reductions));
    if (const QString share = critical_share_words(use, planned); !share.isEmpty())
        html += fact_row(QObject::tr("Critical path"), share);
    if (!use.microbatches.empty()) html += fact_row(QObject::tr("Microbatches"), microbatch_words(use.microbatches));
    return fact_table_end(html);
}

}  // namespace skippipe
