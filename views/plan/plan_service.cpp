// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/plan_service.h"

#include "core/experiment/io.h"
#include "core/planner/evaluator.h"
#include "core/planner/validator.h"
#include "views/document/document.h"

namespace skippipe {
namespace {
constexpr int delay_ms = 300;
constexpr double quick_s = 0.4, refined_s = 4;
}  // namespace

std::shared_ptr<const TimelineData> lanes_of(const Problem& problem, const Timeline& timeline, const IdleReport& idle) {
    auto lanes = std::make_shared<TimelineData>();
    lanes->set_lanes(problem.node_ids);
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) lanes->add(timeline.spans[i], 0, 0, static_cast<std::int64_t>(i));
    for (const auto& gap : idle.gaps) lanes->add(gap, 0);
    lanes->finish();
    return lanes;
}

std::shared_ptr<PlanOutcome> make_plan(const Experiment& experiment, const Planner& planner, PlanRequest request) {
    auto outcome = std::make_shared<PlanOutcome>();
    try {
        outcome->problem = make_problem(experiment);
        outcome->plan = planner.plan(outcome->problem, request);
        if (!check_structure(outcome->problem, outcome->plan).empty())
            throw InputError("/pipeline/planner", planner.name() + " found no plan that can be executed", "", "Choose another planner");
        outcome->timeline = evaluate(outcome->problem, outcome->plan);
        outcome->idle = explain_idle(outcome->problem, outcome->plan, outcome->timeline);
        outcome->score = score(outcome->problem, outcome->plan);
        outcome->lanes = lanes_of(outcome->problem, outcome->timeline, outcome->idle);
        outcome->has_plan = true;
    } catch (const InputError& error) {
        outcome->faults = error.faults();
    } catch (const std::exception& error) {
        outcome->faults = {Fault{"/pipeline/planner", error.what(), "there is no plan to show", "Choose another planner"}};
    }
    return outcome;
}

PlanService::PlanService(Document& document, const PlannerRegistry& planners, QObject* parent)
    : QObject(parent), document_(document), planners_(planners) {
    pool_.setMaxThreadCount(1);
    delay_.setSingleShot(true);
    delay_.setInterval(delay_ms);
    connect(&delay_, &QTimer::timeout, this, &PlanService::start);
    connect(&document, &Document::changed, this, &PlanService::schedule);
    connect(&document, &Document::replaced, this, [this] { previous_s_ = 0; });
    schedule();
}

PlanService::~PlanService() {
    stop_.request_stop();
    pool_.waitForDone();
}

void PlanService::schedule() {
    std::string hash = experiment_hash(document_.experiment());
    if (hash == hash_) return;
    hash_ = std::move(hash);
    stop_.request_stop();
    ++serial_;
    delay_.start();
    if (!busy_) {
        busy_ = true;
        Q_EMIT busy_changed();
    }
}

void PlanService::start() {
    const Experiment experiment = document_.experiment();
    const int serial = serial_;
    if (outcome_ && outcome_->has_plan) previous_s_ = outcome_->score.iteration_seconds;
    const Planner* planner = planners_.find(experiment.pipeline.planner);
    if (planner == nullptr || has_errors(document_.faults())) {
        auto none = std::make_shared<PlanOutcome>();
        none->faults = document_.faults();
        if (planner == nullptr)
            none->faults.push_back({"/pipeline/planner", "There is no planner \"" + experiment.pipeline.planner + "\"", "nothing can be planned",
                                    "Choose one of the list"});
        deliver(std::move(none), serial, true);
        return;
    }
    stop_ = std::stop_source{};
    progress_ = 0;
    pool_.start([this, experiment, serial, planner, stop = stop_.get_token()] {
        const auto hand_over = [&](std::shared_ptr<const PlanOutcome> outcome, bool last) {
            QMetaObject::invokeMethod(this, [this, outcome = std::move(outcome), serial, last] { deliver(outcome, serial, last); }, Qt::QueuedConnection);
        };
        PlanRequest request;
        request.seed = experiment.seed;
        request.seconds = quick_s;
        request.stop = stop;
        const auto quick = make_plan(experiment, *planner, request);
        if (stop.stop_requested()) return;
        hand_over(quick, !quick->has_plan);
        if (!quick->has_plan) return;
        request.seconds = refined_s;
        request.warm_start = &quick->plan;
        request.progress = [this, serial](const PlanProgress& progress) {
            QMetaObject::invokeMethod(this, [this, serial, fraction = progress.fraction] {
                if (serial == serial_ && fraction - progress_ >= 0.05) progress_ = fraction, Q_EMIT busy_changed();
            }, Qt::QueuedConnection);
        };
        auto refined = make_plan(experiment, *planner, request);
        if (stop.stop_requested()) return;
        const bool better = refined->has_plan && refined->score.iteration_seconds <= quick->score.iteration_seconds;
        if (!better) refined = std::make_shared<PlanOutcome>(*quick);
        refined->refined = true;
        hand_over(refined, true);
    });
}

void PlanService::deliver(std::shared_ptr<const PlanOutcome> outcome, int serial, bool last) {
    if (serial != serial_) return;
    outcome_ = std::move(outcome);
    if (last) busy_ = false;
    Q_EMIT planned();
    Q_EMIT busy_changed();
}

}  // namespace skippipe
