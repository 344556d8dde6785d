// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/findings.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <QObject>
#include <QStringList>

#include "views/compare/differences.h"
#include "views/runs/same_work.h"
#include "views/theme/numbers.h"
#include "views/timeline/colours.h"

namespace skippipe {
namespace {

/// Seconds a node idles in an iteration, by cause: the mean over those that are used.
std::array<double, idle_causes> idle_seconds(const RunData& run) {
    auto seconds = run.idle_share;
    for (auto& one : seconds) one *= run.info.iteration_s.value_or(0);
    return seconds;
}

double sum_of(const std::array<double, idle_causes>& seconds) {
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// "2.62 s more waiting for a gradient, 1.70 s more filling or draining": what makes up most of the difference.
QString most_of(const std::array<double, idle_causes>& longer, double whole_s) {
    constexpr std::size_t most_named = 2;
    constexpr double least_share = 0.15;
    std::vector<std::pair<double, IdleCause>> causes;
    for (std::size_t cause = 0; cause < longer.size(); ++cause)
        if (longer[cause] >= least_share * whole_s) causes.emplace_back(longer[cause], static_cast<IdleCause>(cause));
    std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    QStringList words;
    for (std::size_t k = 0; k < std::min(most_named, causes.size()); ++k)
        words << QObject::tr("%1 more %2").arg(duration(causes[k].first), cause_in_sentence(causes[k].second));
    return words.join(QStringLiteral(", "));
}

}  // namespace

QString idle_finding(const std::vector<const RunData*>& runs) {
    constexpr double least_difference = 0.01;
    std::vector<const RunData*> explained;
    for (const auto* run : runs)
        if (run->explained_iterations > 0 && run->info.iteration_s) explained.push_back(run);
    // Of other models or data neither is better for idling less.
    if (explained.size() < 2 || !train_the_same(explained)) return {};
    const auto less = [](const RunData* a, const RunData* b) {
        return sum_of(idle_seconds(*a)) < sum_of(idle_seconds(*b));
    };
    const auto [least, most] = std::minmax_element(explained.begin(), explained.end(), less);
    const RunData &longest = **most, &other = *most == explained.front() ? **least : *explained.front();
    auto longer = idle_seconds(longest);
    const auto than = idle_seconds(other);
    std::transform(longer.begin(), longer.end(), than.begin(), longer.begin(), std::minus<>{});
    const double whole_s = sum_of(longer);
    if (whole_s < least_difference * *longest.info.iteration_s) return {};
    const QString why = most_of(longer, whole_s);
    return QObject::tr("Run %1's nodes idle %2 longer an iteration than run %3's%4")
        .arg(longest.info.id)
        .arg(duration(whole_s))
        .arg(other.info.id)
        .arg(why.isEmpty() ? QString{} : QStringLiteral(": ") + why);
}

QString plan_finding(RunId baseline, int baseline_nodes, const std::vector<ComparedPlan>& others) {
    if (others.empty()) return {};
    const auto kept_nodes = [&](const PlanComparison& plan) {
        return baseline_nodes - static_cast<int>(std::count_if(plan.nodes.begin(), plan.nodes.end(), [](const auto& n) {
                   return n.stage_a != NodeChange::not_there;
               }));
    };
    const auto nearest = std::max_element(others.begin(), others.end(), [&](const auto& a, const auto& b) {
        return std::pair(a.plan.same_paths, kept_nodes(a.plan)) < std::pair(b.plan.same_paths, kept_nodes(b.plan));
    });
    const PlanComparison& plan = nearest->plan;
    if (plan.same_paths == plan.microbatches_a && plan.same_orders && kept_nodes(plan) == baseline_nodes)
        return QObject::tr("Run %1 has run %2's plan").arg(nearest->run).arg(baseline);
    const QString kept = QObject::tr("%1 of %2 nodes serve the same stage, %3 of %4 microbatches go by the same nodes")
                             .arg(kept_nodes(plan))
                             .arg(baseline_nodes)
                             .arg(plan.same_paths)
                             .arg(plan.microbatches_a);
    if (others.size() > 1 && 2 * kept_nodes(plan) < baseline_nodes)
        return QObject::tr("The plans have little in common. Nearest to run %2's is run %1's: %3")
            .arg(nearest->run)
            .arg(baseline)
            .arg(kept);
    return (others.size() > 1 ? QObject::tr("Run %1's plan is nearest to run %2's: %3")
                              : QObject::tr("Of run %2's plan run %1 keeps: %3"))
        .arg(nearest->run)
        .arg(baseline)
        .arg(kept);
}

}  // namespace skippipe
