// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/what_helps.h"

#include <algorithm>

#include <QObject>
#include <QStringList>

#include "core/analysis/reductions.h"
#include "core/planner/explain/node_what_ifs.h"
#include "core/planner/timeline/evaluator.h"
#include "views/theme/numbers.h"
#include "views/timeline/reduction_key.h"

namespace skippipe {
namespace {

constexpr double no_change = 5e-7;  ///< of the iteration

QString change_words(double change) {
    return change < -no_change  ? QObject::tr("%1 shorter").arg(percent(-change))
           : change > no_change ? QObject::tr("%1 longer").arg(percent(change))
                                : QObject::tr("no shorter");
}

QString thing_words(const WhatIf& what) {
    const QString name =
        QString::fromStdString(what.name).replace("<->", QString::fromUtf8("↔")).replace("->", QString::fromUtf8("→"));
    switch (what.upgrade.kind) {
        case Upgrade::Kind::node_speed: return QObject::tr("%1 twice as fast").arg(name);
        case Upgrade::Kind::node_memory: return QObject::tr("one microbatch more in memory of %1").arg(name);
        case Upgrade::Kind::link: return QObject::tr("%1 twice as fast").arg(name);
        case Upgrade::Kind::link_latency: return QObject::tr("half the latency of %1").arg(name);
        case Upgrade::Kind::link_bandwidth: return QObject::tr("twice the bandwidth of %1").arg(name);
    }
    return name;
}

/// What other ways to sum gradients would take, where the iteration ends with them; none where it does not, or none
/// helps.
QStringList sums_words(const Problem& problem, const Plan& plan, const Timeline& timeline, const Explanation& why,
                       WireType wire) {
    QStringList lines;
    const double share = why.all_reduce_s / timeline.iteration_s;
    if (share < worth_saying) return lines;
    lines << QObject::tr("Sums of gradients alone take %1 of the iteration").arg(percent(share));
    for (const auto& other : other_reductions(problem, plan, timeline, wire))
        if (other.complete && other.rule != AllReduceRule::free && other.change < -worth_saying)
            lines << QObject::tr("%1: %2").arg(reduction_words(other), change_words(other.change));
    return lines;
}

}  // namespace

QStringList what_helps(const Problem& problem, const Plan& plan, const std::string& node, WireType wire) {
    const Timeline timeline = evaluate(problem, plan);
    if (!timeline.complete) return {QObject::tr("The plan does not come to its end")};
    QStringList lines;
    const auto place = std::find(problem.node_ids.begin(), problem.node_ids.end(), node);
    if (place != problem.node_ids.end())
        for (const auto& what :
             node_what_ifs(problem, plan, timeline, NodeIndex(static_cast<int>(place - problem.node_ids.begin()))))
            if (what.complete) lines << QObject::tr("%1: %2").arg(thing_words(what), change_words(what.change));
    const auto why = explain(problem, plan, timeline);
    const auto best =
        std::find_if(why.what_ifs.begin(), why.what_ifs.end(), [](const WhatIf& w) { return w.complete; });
    if (best != why.what_ifs.end() && best->change < -worth_saying)
        lines << QObject::tr("Most of all %1: %2").arg(thing_words(*best), change_words(best->change));
    else
        lines << QObject::tr(
                     "No node or link alone, twice as fast, gives even %1: what it waits for is spread over many")
                     .arg(percent(worth_saying));
    return lines << sums_words(problem, plan, timeline, why, wire);
}

}  // namespace skippipe
