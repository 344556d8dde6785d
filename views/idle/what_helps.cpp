// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/what_helps.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <QObject>
#include <QStringList>

#include "core/analysis/reductions.h"
#include "core/planner/explain/node_what_ifs.h"
#include "core/planner/explain/shared_work.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"
#include "views/timeline/reduction_key.h"

namespace skippipe {
namespace {

constexpr double no_change = 5e-7;  ///< of the iteration

QString change_words(double change) {
    return change < -no_change  ? QObject::tr("%1 shorter").arg(percent(-change))
           : change > no_change ? QObject::tr("%1 longer").arg(percent(change))
                                : QObject::tr("no shorter");
}

QString thing_words(const WhatIf& what) { return QString::fromStdString(what.words()); }

/// "2 microbatches of n4 through n3".
QString shared_words(const Problem& problem, const SharedWork& shared) {
    const auto name = [&](NodeIndex of) { return QString::fromStdString(problem.node_ids[of]); };
    const auto count = std::ssize(shared.microbatches);
    const QString how_many = count == 1 ? QObject::tr("one microbatch") : QObject::tr("%1 microbatches").arg(count);
    return QObject::tr("%1 of %2 through %3").arg(how_many, name(shared.from), name(shared.to));
}

/// A change that was tried, and what it does to an iteration.
struct Tried {
    QString what;
    double change = 0;  ///< as a share of it
    QString then;       ///< what limits it after that, where it gained far less than the critical path has of it
};

/// The node or link that holds most of the critical path, by its name.
std::pair<double, std::string> most_critical(const Problem& problem, const Explanation& why) {
    std::pair<double, std::string> most;
    if (!why.nodes.empty()) most = {why.nodes[0].seconds, problem.node_ids[why.nodes[0].node]};
    if (!why.links.empty()) most = std::max(most, {why.links[0].seconds(), why.links[0].name});
    return most;
}

/// ", then n15 limits it": of a change that saves less than half of what the path through its thing promised.
QString then_words(const Problem& problem, const Plan& plan, const Timeline& timeline, const Explanation& why,
                   const WhatIf& what) {
    const auto named = [&](const std::string& name) {
        double seconds = 0;
        for (const auto& one : why.nodes)
            if (problem.node_ids[one.node] == name) seconds = one.seconds;
        for (const auto& one : why.links)
            if (one.name == name) seconds = one.seconds();
        return seconds;
    };
    constexpr double promised = 0.5, kept = 0.5;  // twice as fast: half the time
    if (-what.change_s >= kept * promised * named(what.name)) return {};
    const Problem changed = upgraded(problem, what.upgrade);
    const bool bound = what.order_kept && plan.order.empty();
    const Plan kept_plan = bound ? with_executed_order(plan, problem, timeline) : plan;
    const Timeline then = evaluate(changed, kept_plan);
    if (!then.complete) return {};
    const auto [seconds, name] =
        most_critical(problem, explain(changed, kept_plan, then, {.nodes = 0, .links = 0, .stop = {}}));
    return name.empty() || name == what.name ? QString{}
                                             : QObject::tr(", then %1 limits it").arg(QString::fromStdString(name));
}

std::optional<NodeIndex> find_node(const Problem& problem, const std::string& id) {
    const auto place = std::find(problem.node_ids.begin(), problem.node_ids.end(), id);
    if (place == problem.node_ids.end()) return std::nullopt;
    return NodeIndex(static_cast<int>(place - problem.node_ids.begin()));
}

bool is_line(const Problem& problem, const std::string& name) {
    return std::find(problem.line_names.begin(), problem.line_names.end(), name) != problem.line_names.end();
}

/// What the critical path has of the link that the line of that name is one direction of; null: nothing.
const LinkShare* share_of_line(const Problem& problem, const Explanation& why, const std::string& name) {
    const auto is_named = [&](int line) { return problem.line_names[at(line)] == name; };
    const auto found = std::find_if(why.links.begin(), why.links.end(), [&](const LinkShare& one) {
        return std::any_of(one.lines.begin(), one.lines.end(), is_named);
    });
    return found == why.links.end() ? nullptr : &*found;
}

/// Not where it is lost, or left out.
bool serves(const Plan& plan, NodeIndex node, int nodes) { return stage_of_nodes(plan, nodes)[node] >= 0; }

/// Of the node or link, of what all ask, and of other ways to sum gradients.
std::vector<Tried> tried(const Problem& problem, const Plan& plan, const Timeline& timeline, const Explanation& why,
                         const std::string& thing, WireType wire) {
    std::vector<Tried> all;
    const auto* link = share_of_line(problem, why, thing);
    if (const auto place = find_node(problem, thing); place && serves(plan, *place, problem.nodes()))
        for (const auto& what : node_what_ifs(problem, plan, timeline, *place))
            if (what.complete)
                all.push_back(
                    {thing_words(what), what.change,
                     what.change < -worth_saying ? then_words(problem, plan, timeline, why, what) : QString{}});
    if (const auto place = find_node(problem, thing))
        if (const auto shared = shared_work(problem, plan, timeline, *place))
            all.push_back({shared_words(problem, *shared), shared->change, {}});
    for (const auto& what : why.what_ifs) {
        const auto is_known = [&](const Tried& one) { return one.what == thing_words(what); };
        const bool is_asked = link != nullptr && what.upgrade.lines == link->lines, helps = what.change < -worth_saying;
        if (what.complete && (helps || is_asked) && std::none_of(all.begin(), all.end(), is_known))
            all.push_back(
                {thing_words(what), what.change, helps ? then_words(problem, plan, timeline, why, what) : QString{}});
    }
    for (const auto& other : other_reductions(problem, plan, timeline, wire))
        if (other.complete && other.rule != AllReduceRule::free && other.change < -worth_saying)
            all.push_back({reduction_words(other), other.change, {}});
    std::stable_sort(all.begin(), all.end(), [](const Tried& a, const Tried& b) { return a.change < b.change; });
    return all;
}

/// What would help the most of what hardly helps, but for what is told: "n9 twice as fast (0.62 %)".
QStringList small_gains(const Explanation& why, const QStringList& told) {
    constexpr qsizetype most = 3;
    constexpr double least_named = 1e-3;  // less is no gain that anybody would measure
    std::vector<WhatIf> helps;
    std::copy_if(why.what_ifs.begin(), why.what_ifs.end(), std::back_inserter(helps),
                 [](const WhatIf& what) { return what.complete && what.change < -least_named; });
    std::stable_sort(helps.begin(), helps.end(), [](const auto& a, const auto& b) { return a.change < b.change; });
    QStringList words;
    for (std::size_t i = 0; i < helps.size() && words.size() < most; ++i)
        if (!told.contains(thing_words(helps[i])))
            words << QObject::tr("%1 (%2)").arg(thing_words(helps[i]), percent(-helps[i].change));
    return words;
}

/// ": n3 is not on the critical path"; where much of the path is one node's, which nothing shortens, why that is.
QString nothing_because(const Problem& problem, const Explanation& why, const std::string& thing) {
    if (is_line(problem, thing) && share_of_line(problem, why, thing) == nullptr)
        return QObject::tr(": this link is not on the critical path");
    const auto place = find_node(problem, thing);
    if (place && std::none_of(why.nodes.begin(), why.nodes.end(),
                              [&](const NodeShare& one) { return one.node == *place && one.seconds > 0; }))
        return QObject::tr(": %1 is not on the critical path").arg(QString::fromStdString(thing));
    // Twice as fast it would save half of its share, were it the only one.
    const bool others_limit = most_critical(problem, why).first > 2 * 2 * worth_saying * why.iteration_s;
    return others_limit ? QObject::tr(": others are as critical") : QString{};
}

/// The node and the link that hold most of it, and what the one that is asked for does.
QString limit_words(const Problem& problem, const Explanation& why, const std::string& thing) {
    const auto share = [&](const std::string& name, double seconds) {
        return QObject::tr("%1 %2").arg(QString::fromStdString(name), percent(seconds / why.iteration_s));
    };
    std::vector<std::pair<double, std::string>> most;
    if (!why.nodes.empty()) most.emplace_back(why.nodes[0].seconds, problem.node_ids[why.nodes[0].node]);
    if (!why.links.empty()) most.emplace_back(why.links[0].seconds(), why.links[0].name);
    std::sort(most.begin(), most.end(), std::greater<>());
    QStringList words;
    for (const auto& [seconds, name] : most)
        if (seconds > worth_saying * why.iteration_s) words << share(name, seconds);
    if (words.isEmpty()) return {};
    QString all = QObject::tr("%1 of the critical path").arg(words.join(", "));
    if (is_line(problem, thing)) {
        const auto* link = share_of_line(problem, why, thing);
        if (link != nullptr && link == why.links.data()) return all;
        return all + QStringLiteral("; ") +
               (link != nullptr ? share(link->name, link->seconds()) : QObject::tr("this link none of it"));
    }
    const auto place = find_node(problem, thing);
    if (!place || (!why.nodes.empty() && why.nodes[0].node == *place)) return all;
    const auto own =
        std::find_if(why.nodes.begin(), why.nodes.end(), [&](const NodeShare& one) { return one.node == *place; });
    return all + QStringLiteral("; ") +
           (own != why.nodes.end() && own->seconds > 0
                ? share(thing, own->seconds)
                : QObject::tr("%1 none of it").arg(QString::fromStdString(thing)));
}

}  // namespace

Help what_helps(const Problem& problem, const Plan& plan, const std::string& thing, WireType wire) {
    constexpr qsizetype most = 5;
    const Timeline timeline = evaluate(problem, plan);
    if (!timeline.complete) return {.limit = {}, .changes = {QObject::tr("The plan does not come to its end")}};
    // Of a link that is asked for, what it would be when faster, whatever its place among the critical ones.
    const ExplainOptions usual, all_links{.links = static_cast<int>(problem.line_names.size())};
    const auto why = explain(problem, plan, timeline, is_line(problem, thing) ? all_links : usual);
    Help help{.limit = limit_words(problem, why, thing)};
    if (why.placed.seconds > 0)
        help.bound = QObject::tr("%1 with these stages; the plan takes %2 more")
                         .arg(duration(why.placed.seconds), at_most_percent(why.placed_gap()));
    QStringList without;
    for (const auto& [what, change, then] : tried(problem, plan, timeline, why, thing, wire)) {
        const QString line = QObject::tr("%1: %2%3").arg(what, change_words(change), then);
        if (change < -worth_saying && help.changes.size() < most)
            help.changes << line;
        else if (change > worth_saying)
            help.longer << line;
        else if (change >= -worth_saying)
            without << what;
    }
    const QStringList small = help.changes.isEmpty() ? small_gains(why, without) : QStringList{};
    without = small + without;
    const bool any_single = std::any_of(why.what_ifs.begin(), why.what_ifs.end(), [](const WhatIf& what) {
        return what.complete && what.change < -worth_saying;
    });
    if (!any_single)
        without << (small.isEmpty() ? QObject::tr("any one node or link faster")
                                    : QObject::tr("any other node or link faster"));
    if (help.changes.isEmpty())
        help.changes << QObject::tr("Nothing alone%1").arg(nothing_because(problem, why, thing));
    if (!without.isEmpty())
        help.hardly = QObject::tr("%1: less than %2\u2009% each").arg(without.join("; ")).arg(100 * worth_saying);
    return help;
}

}  // namespace skippipe
