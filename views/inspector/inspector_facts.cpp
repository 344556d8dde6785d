// SPDX-License-Identifier: GPL-3.0-or-later
// What the plan makes of the selected stage and microbatch.
#include <algorithm>
#include <cmath>

#include "core/base/format.h"
#include "core/experiment/model_size.h"
#include "views/inspector/inspector.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/find.h"

namespace skippipe {
namespace {

constexpr const char* settings_link = "experiment:";

/// A plan is one iteration: which one, goes without saying.
void leave_out_iteration(Details& details) {
    std::erase_if(details.rows, [](const Detail& row) { return row.link == DetailLink::iteration; });
}

IterationTime whole_of(const PlannedIteration& plan) {
    return {.iteration = 0, .end_s = plan.iteration_s, .length_s = plan.iteration_s};
}

QString range_words(double least, double most) {
    return least == most ? quantity(most, "B") : QObject::tr("%1 to %2").arg(quantity(least, "B"), quantity(most, "B"));
}

/// Parameters and memory of a stage that these nodes serve.
std::vector<Detail> size_rows(const Experiment& e, const std::map<std::string, ServedStage>& served, int stage) {
    double least = 0, most = 0;
    std::optional<ServedStage> found;
    for (const auto& node : e.topology.nodes) {
        const auto serves = served.find(node.id);
        if (serves == served.end() || serves->second.stage != stage) continue;
        const double bytes = memory_need(e, node, serves->second).total();
        least = found ? std::min(least, bytes) : bytes;
        most = std::max(most, bytes);
        found = serves->second;
    }
    if (!found) return {};
    const double count = stage_parameters(e.model, found->blocks, stage == 0);
    if (!std::isfinite(count)) return {};  // where costs alone are given, the model may be none
    const QString parameters = QString::fromStdString(format_si(count, ""));
    return {{QObject::tr("Parameters"), found->blocks == 1
                                            ? QObject::tr("%1 in 1 block").arg(parameters)
                                            : QObject::tr("%1 in %2 blocks").arg(parameters).arg(found->blocks)},
            {QObject::tr("Memory"), QObject::tr("%1 a node").arg(range_words(least, most))}};
}

Detail reduction_row(const StageReduction& reduction, const std::vector<std::string>& ids) {
    const QString name = QObject::tr("Reduction");
    if (reduction.edges.empty()) return {name, QObject::tr("no gradient crosses the network")};
    const auto& slowest = reduction.edges[reduction.slowest];
    const auto id = [&](NodeIndex node) { return QString::fromStdString(ids.at(at(node))); };
    return {name,
            (reduction.planned ? QObject::tr("transfers of the plan; slowest edge %1 to %2, %3")
                               : QObject::tr("a ring in the order of the stage; slowest edge %1 to %2, %3"))
                .arg(id(slowest.from), id(slowest.to), duration(slowest.seconds)),
            DetailLink::node};
}

}  // namespace

Details planned_stage_details(int stage, const Experiment& experiment, const PlannedIteration& plan,
                              const std::map<std::string, ServedStage>& served) {
    Details details = stage_details(stage, whole_of(plan), *plan.lanes);
    leave_out_iteration(details);
    auto& rows = details.rows;
    const auto sizes = size_rows(experiment, served, stage);
    rows.insert(rows.empty() ? rows.end() : rows.begin() + 1, sizes.begin(), sizes.end());
    if (stage >= 0 && at(stage) < plan.reductions.size())
        rows.push_back(reduction_row(plan.reductions[at(stage)], plan.node_ids));
    return details;
}

Details planned_microbatch_details(int microbatch, const PlannedIteration& plan) {
    Details details = microbatch_details(microbatch, whole_of(plan), *plan.lanes);
    leave_out_iteration(details);
    return details;
}

QString awaited_words(const PlannedIteration& plan, const std::string& node) {
    if (plan.lanes == nullptr) return {};
    const auto& lanes = plan.lanes->lanes();
    const auto own = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& lane) { return lane.name == node; });
    if (own == lanes.end()) return {};
    QStringList names;
    for (const int lane : with_awaited(*plan.lanes, {static_cast<int>(own - lanes.begin())}, 0, plan.iteration_s,
                                       least_told_wait * plan.iteration_s))
        if (const auto& one = lanes[static_cast<std::size_t>(lane)]; one.name != node)
            names << QString::fromStdString(one.name);
    return names.isEmpty() ? QString{} : QObject::tr("%1, bright in the plan").arg(names.join(", "));
}

void Inspector::show_iteration(PlannedIteration iteration) {
    iteration_ = std::move(iteration);
    Q_EMIT iteration_shown();
}

/// Rich text below what is there, whose links select what they name.
QLabel* Inspector::facts_label(const QString& name, const QString& title) {
    auto* facts = words_label({}, "");
    facts->setObjectName(name);
    facts->setAccessibleName(title);
    facts->setTextFormat(Qt::RichText);
    facts->setTextInteractionFlags(Qt::TextBrowserInteraction);
    connect(facts, &QLabel::linkActivated, this, &Inspector::follow_fact, Qt::QueuedConnection);
    column_->addWidget(facts);
    return facts;
}

void Inspector::show_links(PlannedLinks links) {
    if (links == links_) return;
    links_ = std::move(links);
    Q_EMIT links_shown();
}

void Inspector::show_facts(const Selection& selected) {
    const auto add = [this](const QString& title, const QString& name, auto details) {
        column_->addWidget(words_label(title, "heading"));
        auto* facts = facts_label(name, title);
        const auto say = [this, facts, details] {
            facts->setEnabled(!iteration_.is_outdated);
            if (iteration_.lanes == nullptr) return facts->setText(tr("What the plan makes of it appears here"));
            Details now = details();
            now.title.clear();  // the heading has it
            facts->setText(in_rows(now, *iteration_.lanes));
        };
        connect(this, &Inspector::iteration_shown, facts, say);
        connect(&document_, &Document::changed, facts, say);  // sizes change without a new plan
        say();
    };
    if (selected.stage)
        add(tr("Stage %1").arg(*selected.stage), "stage_facts", [this, stage = *selected.stage] {
            // What is wrong has no size.
            const auto served = has_errors(document_.faults()) ? std::map<std::string, ServedStage>{} : stages_;
            return planned_stage_details(stage, document_.experiment(), iteration_, served);
        });
    if (selected.microbatch)
        add(tr("Microbatch %1").arg(*selected.microbatch), "microbatch_facts",
            [this, microbatch = *selected.microbatch] { return planned_microbatch_details(microbatch, iteration_); });
}

/// Back to what is shown where nothing is selected.
void Inspector::add_way_to_settings() {
    auto* back = words_label(QStringLiteral("<a href=\"%1\" style=\"color:%2\">%3</a>")
                                 .arg(settings_link, theme().accent.name(), tr("Settings of the experiment")),
                             "");
    back->setObjectName("to_settings");
    back->setTextInteractionFlags(Qt::TextBrowserInteraction);
    connect(back, &QLabel::linkActivated, this, &Inspector::follow_fact, Qt::QueuedConnection);
    column_->addWidget(back);
}

/// What was named is selected, and shown here.
void Inspector::follow_fact(const QString& link) {
    const QString kind = link.section(':', 0, 0), of = link.section(':', 1);
    Selection wanted;
    if (kind == QStringLiteral("node")) wanted.nodes = {of.toStdString()};
    if (kind == QStringLiteral("region")) wanted.regions = {of.toStdString()};
    if (kind == QStringLiteral("microbatch")) wanted.microbatch = of.toInt();
    const auto& links = document_.experiment().topology.links;
    if (const auto number = of.toULongLong(); kind == QStringLiteral("link") && number < links.size())
        wanted.links = {{links[number].from, links[number].to}};
    if (kind == QStringLiteral("stage")) wanted.stage = of.toInt();
    selection_.select(wanted);
}

}  // namespace skippipe
