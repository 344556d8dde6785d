// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/link_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <QStringList>

#include "views/inspector/fact_rows.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr std::size_t most_pairs = 4, most_microbatches = 12;

/// What goes over one of the link's lines.
struct OneWay {
    std::string to;
    int line = no_line;
    int activations = 0, gradients = 0, parts = 0;
    double bytes = 0, busy_s = 0, wait_s = 0;
    MicrobatchIndex waits = -1;  ///< the longest; of a reduction: none
};

struct LinkUse {
    std::vector<OneWay> ways;
    std::map<std::pair<NodeIndex, NodeIndex>, int> pairs;  ///< transfers from one node to another
    std::set<int> microbatches;
    std::map<int, double> reductions;  ///< bytes by stage
};

LinkUse lines_of(const Link& link, const Problem& problem) {
    LinkUse use;
    const auto add = [&](const std::string& from, const std::string& to) {
        const auto& names = problem.line_names;
        const auto found = std::find(names.begin(), names.end(), from + "->" + to);
        if (found != names.end()) use.ways.push_back({.to = to, .line = static_cast<int>(found - names.begin())});
    };
    add(link.from, link.to);
    if (link.both_ways) add(link.to, link.from);
    return use;
}

OneWay* way_of(LinkUse& use, int line) {
    const auto found = std::find_if(use.ways.begin(), use.ways.end(), [&](const OneWay& w) { return w.line == line; });
    return line == no_line || found == use.ways.end() ? nullptr : &*found;
}

void add_transfers(LinkUse& use, const PlanOutcome& outcome) {
    for (const auto& span : outcome.timeline.spans) {
        if (!is_on_line(span.kind)) continue;
        const Hop hop = outcome.problem.hop(span.node, span.to_node);
        OneWay* way = way_of(use, hop.line);
        if (way == nullptr) continue;
        ++(span.kind == SpanKind::transfer_forward    ? way->activations
           : span.kind == SpanKind::transfer_backward ? way->gradients
                                                      : way->parts);
        way->bytes += span.bytes;
        way->busy_s += span.bytes / hop.bandwidth_bytes_per_s;
        if (const double waited = span.start_s - span.ready_s; waited > way->wait_s)
            way->wait_s = waited, way->waits = span.microbatch;
        ++use.pairs[{span.node, span.to_node}];
        if (span.microbatch >= 0) use.microbatches.insert(span.microbatch);
        if (span.kind == SpanKind::transfer_reduction) use.reductions[span.stage] += span.bytes;
    }
}

/// Rings are charged: no transfer has what they send.
void add_rings(LinkUse& use, const PlanOutcome& outcome) {
    for (const auto& reduction : reductions_of(outcome.problem, outcome.plan))
        for (const auto& edge : reduction.edges)
            if (!reduction.planned && way_of(use, outcome.problem.hop(edge.from, edge.to).line) != nullptr)
                use.reductions[reduction.stage] += edge.bytes;
}

QString counted(int count, const QString& one, const QString& many) {
    return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : many);
}

QString way_words(const OneWay& way, const PlanOutcome& outcome) {
    QStringList sent;
    if (way.activations > 0) sent << counted(way.activations, QObject::tr("activation"), QObject::tr("activations"));
    if (way.gradients > 0) sent << counted(way.gradients, QObject::tr("gradient"), QObject::tr("gradients"));
    if (way.parts > 0) sent << counted(way.parts, QObject::tr("part of a sum"), QObject::tr("parts of sums"));
    if (sent.isEmpty()) return QObject::tr("nothing");
    // What belongs together is broken off by hand: the column is narrow.
    const QString line = QStringLiteral("<br>");
    QString words = quantity(way.bytes, "B");
    if (outcome.problem.shared_links)
        words += QObject::tr(", busy %1").arg(percent(way.busy_s / outcome.timeline.iteration_s));
    words += line + sent.join(QStringLiteral(", "));
    if (!outcome.problem.shared_links) return words;
    if (way.wait_s <= 0) return words + line + QObject::tr("nothing queues");
    words += line + QObject::tr("longest wait %1").arg(duration(way.wait_s));
    if (way.waits < 0) return words;
    return words +
           QObject::tr(" of %1").arg(fact_anchor(QStringLiteral("microbatch:%1").arg(static_cast<int>(way.waits)),
                                                 QObject::tr("microbatch %1").arg(static_cast<int>(way.waits))));
}

/// Who sends to whom, the most first.
QString pairs_words(const LinkUse& use, const Problem& problem) {
    std::vector<std::pair<std::pair<NodeIndex, NodeIndex>, int>> pairs(use.pairs.begin(), use.pairs.end());
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
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
        return std::any_of(use.ways.begin(), use.ways.end(), [&](const OneWay& way) {
            return std::find(share.lines.begin(), share.lines.end(), way.line) != share.lines.end();
        });
    });
    if (found == shares.end() || !(found->seconds() > 0)) return QObject::tr("not on it");
    const QString share = percent(found->seconds() / planned.why->iteration_s);
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
    LinkUse use = lines_of(link, outcome.problem);
    add_transfers(use, outcome);
    add_rings(use, outcome);
    QString html = fact_table_begin() + fact_heading(QObject::tr("In one iteration of the plan"));
    if (use.pairs.empty() && use.reductions.empty())
        return fact_table_end(html + fact_row(QObject::tr("Sent"), QObject::tr("nothing goes over it")));
    for (const auto& way : use.ways)
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
