// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/what_helps.h"

#include <algorithm>

#include <QObject>
#include <QStringList>

#include "core/planner/explain/explain.h"
#include "core/planner/timeline/evaluator.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr double no_change = 5e-7;  ///< of the iteration

QString change_words(double change) {
    return change < -no_change  ? QObject::tr("an iteration is %1 shorter").arg(percent(-change))
           : change > no_change ? QObject::tr("an iteration is %1 longer").arg(percent(change))
                                : QObject::tr("an iteration is no shorter");
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

}  // namespace

QString what_helps(const Problem& problem, const Plan& plan, const std::string& node) {
    const Timeline timeline = evaluate(problem, plan);
    const auto place = std::find(problem.node_ids.begin(), problem.node_ids.end(), node);
    if (!timeline.complete || place == problem.node_ids.end()) return QObject::tr("The plan does not come to its end");
    const NodeIndex index(static_cast<int>(place - problem.node_ids.begin()));
    QStringList lines;
    for (const auto kind : {Upgrade::Kind::node_speed, Upgrade::Kind::node_memory}) {
        const WhatIf what{.upgrade = {.kind = kind, .node = index, .lines = {}}, .name = node};
        const Timeline then = evaluate(upgraded(problem, what.upgrade), plan);
        if (then.complete)
            lines << QObject::tr("With %1 %2")
                         .arg(thing_words(what), change_words(then.iteration_s / timeline.iteration_s - 1));
    }
    const auto why = explain(problem, plan, timeline);
    const auto best =
        std::find_if(why.what_ifs.begin(), why.what_ifs.end(), [](const WhatIf& w) { return w.complete; });
    if (best != why.what_ifs.end() && best->change < -no_change)
        lines << QObject::tr("Most of all would help %1: %2").arg(thing_words(*best), change_words(best->change));
    return lines.join('\n');
}

}  // namespace skippipe
