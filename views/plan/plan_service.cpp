// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/plan_service.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/experiment/io.h"
#include "core/experiment/regions.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "views/document/document.h"

namespace skippipe {
namespace {
constexpr int delay_ms = 15;
/// A first answer is searched for so long, by the clock, where the search itself takes more steps than these.
constexpr double quick_seconds = 0.03;
constexpr std::int64_t quick_steps = 1'000;
/// From the plan before the edit, where that is better than what was found without it.
constexpr std::int64_t steps_on = 2'000;
constexpr int progress_steps = 20;
}  // namespace

Experiment plan_key(const Experiment& e) {
    Experiment key = planning_part(e);
    key.pipeline.planner = e.pipeline.planner;
    key.pipeline.plan_steps = e.pipeline.plan_steps;
    key.seed = e.seed;
    return key;
}

PlanRequest request_for(const Experiment& experiment) {
    PlanRequest request;
    request.seed = experiment.seed;
    request.steps = experiment.pipeline.plan_steps;
    request.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
    return request;
}

std::shared_ptr<const TimelineData> lanes_of(const Problem& problem, const Plan& plan, const Timeline& timeline,
                                             const IdleReport& idle) {
    auto lanes = std::make_shared<TimelineData>();
    lanes->set_lanes(problem.node_ids);
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)  // of who executes nothing, too
        for (const NodeIndex node : plan.stages[stage])
            lanes->set_stage(static_cast<int>(node), static_cast<int>(stage));
    lanes->name_time("One iteration");
    lanes->set_reductions(planned_reductions(problem, plan));
    for (std::size_t i = 0; i < timeline.spans.size(); ++i)
        lanes->add(timeline.spans[i], 0, 0, static_cast<std::int64_t>(i));
    for (const auto& gap : idle.gaps) lanes->add(gap, 0);
    lanes->finish();
    return lanes;
}

namespace {

/// What `plan` is worth for `problem`.
std::shared_ptr<PlanOutcome> outcome_of(Problem problem, Plan plan, Bounding bounding) {
    auto outcome = std::make_shared<PlanOutcome>();
    outcome->problem = std::move(problem);
    outcome->plan = std::move(plan);
    outcome->timeline = evaluate(outcome->problem, outcome->plan);
    outcome->idle = explain_idle(outcome->problem, outcome->plan, outcome->timeline);
    outcome->score = score(outcome->problem, outcome->plan, bounding);
    outcome->lanes = lanes_of(outcome->problem, outcome->plan, outcome->timeline, outcome->idle);
    outcome->has_plan = true;
    return outcome;
}

/// The two nodes of "a and b are not linked"; nothing where a fault says something else.
std::optional<std::pair<std::string, std::string>> unlinked_nodes(const std::string& what, const Topology& topology) {
    static const std::string between = " and ", end = " are not linked";
    const auto is_node = [&](std::string_view id) {
        return std::any_of(topology.nodes.begin(), topology.nodes.end(),
                           [&](const Node& node) { return node.id == id; });
    };
    if (!what.ends_with(end)) return {};
    const std::string both = what.substr(0, what.size() - end.size());
    // A name may have an "and" of its own.
    for (auto at = both.find(between); at != std::string::npos; at = both.find(between, at + 1)) {
        std::pair nodes{both.substr(0, at), both.substr(at + between.size())};
        if (is_node(nodes.first) && is_node(nodes.second)) return nodes;
    }
    return {};
}

/// Who has drawn regions thinks of them, not of the two nodes that a planner came to. A pair within regions that are
/// linked is told as it is: to link regions that it does not stand in would not help it.
void say_regions(Faults& faults, const Topology& topology) {
    for (auto& fault : faults) {
        if (fault.pointer != "/topology/links") continue;
        const auto nodes = unlinked_nodes(fault.what, topology);
        const auto apart = nodes ? unlinked_regions_of(topology, nodes->first, nodes->second) : std::nullopt;
        if (!apart) continue;
        fault.what = apart->first + " and " + apart->second + " are not linked";
        fault.remedy = "Draw a link between them";
    }
}

}  // namespace

std::shared_ptr<PlanOutcome> make_plan(const Experiment& experiment, const Planner& planner, PlanRequest request,
                                       Bounding bounding) {
    Faults faults;
    try {
        auto problem = make_problem(experiment);
        auto plan = planner.plan(problem, request);
        if (request.stop.stop_requested()) return std::make_shared<PlanOutcome>();
        if (!check_structure(problem, plan).empty())
            throw InputError("/pipeline/planner", planner.name() + " found no plan that can be executed", "",
                             "Choose another planner");
        return outcome_of(std::move(problem), std::move(plan), bounding);
    } catch (const InputError& error) {
        faults = error.faults();
        say_regions(faults, experiment.topology);
    } catch (const std::exception& error) {
        faults = {Fault{"/pipeline/planner", error.what(), "there is no plan to show", "Choose another planner"}};
    }
    auto none = std::make_shared<PlanOutcome>();
    none->faults = std::move(faults);
    return none;
}

std::shared_ptr<PlanOutcome> settled_plan(const Experiment& experiment, const Planner& planner, PlanRequest request,
                                          const PlanOutcome* kept, Bounding bounding) {
    auto best = make_plan(experiment, planner, request, bounding);
    if (kept == nullptr || !best->has_plan || kept->score.iteration_seconds >= best->score.iteration_seconds)
        return best;
    request.steps = request.steps > 0 ? std::min(request.steps, steps_on) : steps_on;
    request.warm_start = &kept->plan;
    return make_plan(experiment, planner, request, bounding);
}

std::optional<Plan> renumbered(const Plan& plan, const std::vector<std::string>& before,
                               const std::vector<std::string>& now) {
    if (before == now) return plan;
    std::unordered_map<std::string_view, int> places;
    for (std::size_t i = 0; i < now.size(); ++i) places.emplace(now[i], static_cast<int>(i));
    const std::set<std::string_view> known(before.begin(), before.end());
    std::vector<int> to(before.size(), -1);
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (const auto place = places.find(before[i]); place != places.end())
            to[i] = place->second;
        else if (before.size() == now.size() && !known.contains(now[i]))
            to[i] = static_cast<int>(i);  // it has another name
    }
    bool is_whole = true;
    const auto follow = [&](NodeIndex& node) {
        const int place = at(node) < to.size() ? to[at(node)] : -1;
        is_whole = is_whole && place >= 0;
        node = NodeIndex(place);
    };
    Plan moved = plan;
    for (auto& stage : moved.stages)
        for (auto& node : stage) follow(node);
    for (auto& path : moved.paths)
        for (auto& node : path.nodes) follow(node);
    if (!is_whole) return std::nullopt;
    if (!plan.order.empty()) {
        moved.order.assign(now.size(), std::vector<Operation>{});
        for (std::size_t i = 0; i < plan.order.size(); ++i)
            if (i < to.size() && to[i] >= 0) moved.order[static_cast<std::size_t>(to[i])] = plan.order[i];
    }
    return moved;
}

std::shared_ptr<PlanOutcome> carry_over(const Experiment& experiment, const PlanOutcome& before,
                                        const Planner& planner) try {
    auto problem = make_problem(experiment);
    if (!before.has_plan || before.plan.planner != planner.name()) return nullptr;
    auto plan = renumbered(before.plan, before.problem.node_ids, problem.node_ids);
    if (!plan || !check_structure(problem, *plan).empty()) return nullptr;
    // A full pipeline meets every skip ratio's rules, but a planner that skips would find none of it.
    const bool is_as_long = planner.full_pipeline() || before.problem.path_length == problem.path_length ||
                            static_cast<int>(plan->paths.front().nodes.size()) == problem.path_length;
    if (!is_as_long) return nullptr;
    auto outcome = outcome_of(std::move(problem), std::move(*plan), Bounding::left_out);
    return check_plan(outcome->problem, outcome->plan, outcome->timeline).empty() ? outcome : nullptr;
} catch (const std::exception&) {
    return nullptr;  // planning says what is wrong
}

std::shared_ptr<const Explanation> explain_outcome(const PlanOutcome& outcome, std::stop_token stop) {
    if (!outcome.has_plan || !outcome.timeline.complete) return nullptr;
    auto why = std::make_shared<Explanation>(explain(outcome.problem, outcome.plan, outcome.timeline, {.stop = stop}));
    return stop.stop_requested() ? nullptr : why;
}

PlanService::PlanService(Document& document, const PlannerRegistry& planners, QObject* parent)
    : QObject(parent), document_(document), planners_(planners) {
    pool_.setMaxThreadCount(1);
    delay_.setSingleShot(true);
    delay_.setInterval(delay_ms);
    connect(&delay_, &QTimer::timeout, this, &PlanService::start);
    connect(&document, &Document::changed, this, &PlanService::schedule);
    connect(&document, &Document::faults_changed, this, &PlanService::schedule);
    connect(&document, &Document::replaced, this, [this] {
        // What another document took says nothing about this one.
        compare_ = !busy_;
        previous_s_ = 0;
        Q_EMIT busy_changed();
    });
    schedule();
}

PlanService::~PlanService() {
    stop_.request_stop();
    pool_.waitForDone();
}

void PlanService::schedule() {
    Experiment key = plan_key(document_.experiment());
    // A file's faults may go, or come with another document, where the experiment stays the same.
    Faults refused = has_errors(document_.faults()) ? document_.faults() : Faults{};
    if (key_ == key && refused_ == refused) return;
    key_ = std::move(key);
    refused_ = std::move(refused);
    stop_.request_stop();
    ++serial_;
    progress_ = 0;
    delay_.start();
    if (!busy_) {
        busy_ = true;
        Q_EMIT busy_changed();
    }
}

void PlanService::start() {
    const Experiment experiment = document_.experiment();
    const int serial = serial_;
    if (outcome_ && outcome_->has_plan && outcome_->refined) {
        std::vector<std::string> ids;
        for (const auto& node : experiment.topology.nodes) ids.push_back(node.id);
        // Without nodes that it used it cannot be gone on from: how long it took says nothing about the edit alone.
        const bool holds = renumbered(outcome_->plan, outcome_->problem.node_ids, ids).has_value();
        previous_s_ = compare_ && holds ? outcome_->score.iteration_seconds : 0;
    }
    const auto before = std::exchange(compare_, true) ? outcome_ : nullptr;
    const Planner* planner = planners_.find(experiment.pipeline.planner);
    if (planner == nullptr || has_errors(document_.faults())) {
        auto none = std::make_shared<PlanOutcome>();
        none->faults = document_.faults();
        if (planner == nullptr)
            none->faults.push_back({"/pipeline/planner", "There is no planner \"" + experiment.pipeline.planner + "\"",
                                    "nothing can be planned", "Choose one of the list"});
        deliver(std::move(none), serial, true);
        return;
    }
    stop_ = std::stop_source{};
    progress_ = 0;
    PlanRequest request = request_for(experiment);
    request.stop = stop_.get_token();
    pool_.start([this, experiment, serial, planner, request, before = planner->goes_on() ? before : nullptr] {
        const auto best = search(experiment, *planner, request, before, serial);
        if (!best) return;
        QMetaObject::invokeMethod(
            this, [this, best, serial] { deliver(best, serial, true); }, Qt::QueuedConnection);
        // Worked out once the plan is on its way to the screen.
        QMetaObject::invokeMethod(
            this, [this, why = explain_outcome(*best, request.stop), serial] { deliver(why, serial); },
            Qt::QueuedConnection);
    });
}

/// Null where it was cancelled. First answers are handed over on the way: the plan before the edit where it still
/// holds, else what a short search finds; the last one builds on neither.
std::shared_ptr<const PlanOutcome> PlanService::search(const Experiment& experiment, const Planner& planner,
                                                       PlanRequest request,
                                                       const std::shared_ptr<const PlanOutcome>& before, int serial) {
    const auto hand_over = [&](std::shared_ptr<const PlanOutcome> first) {
        QMetaObject::invokeMethod(
            this, [this, first = std::move(first), serial] { deliver(first, serial, false); }, Qt::QueuedConnection);
    };
    if (request.stop.stop_requested()) return nullptr;
    const auto kept = before ? carry_over(experiment, *before, planner) : nullptr;
    const std::int64_t steps = request.steps;
    if (kept) {
        hand_over(kept);
    } else if (steps == 0 || steps > quick_steps) {
        PlanRequest soon = request;
        soon.steps = 0;
        soon.seconds = quick_seconds;
        const auto quick = make_plan(experiment, planner, soon, Bounding::left_out);
        if (request.stop.stop_requested()) return nullptr;
        if (quick->has_plan) hand_over(quick);
    }
    // Planners tell as often as they like, from any of their threads: a step of five percent is one event.
    request.progress = [this, serial, told = std::make_shared<std::atomic<int>>(0)](const PlanProgress& progress) {
        const int step = static_cast<int>(progress.fraction * progress_steps);
        int last = told->load();
        while (step > last && !told->compare_exchange_weak(last, step)) {}
        if (step <= last) return;
        QMetaObject::invokeMethod(
            this,
            [this, serial, fraction = progress.fraction] {
                if (serial == serial_ && fraction > progress_) progress_ = fraction, Q_EMIT busy_changed();
            },
            Qt::QueuedConnection);
    };
    auto best = settled_plan(experiment, planner, request, kept.get());
    if (request.stop.stop_requested()) return nullptr;
    best->refined = true;
    if (best->has_plan && best->timeline.complete && experiment.topology.hop_matrix_s.empty())
        best->other_reductions = other_reductions(
            best->problem, best->plan, best->timeline,
            experiment.costs.gradient_bytes.empty() ? std::optional(experiment.training.gradient_wire) : std::nullopt);
    return best;
}

void PlanService::deliver(std::shared_ptr<const PlanOutcome> outcome, int serial, bool last) {
    if (serial != serial_) return;
    outcome_ = std::move(outcome);
    outcome_serial_ = serial;
    if (last) busy_ = false;
    explanation_ = nullptr;
    Q_EMIT planned();
    Q_EMIT busy_changed();
    Q_EMIT explained();
}

void PlanService::deliver(std::shared_ptr<const Explanation> explanation, int serial) {
    if (serial != serial_ || !explanation) return;
    explanation_ = std::move(explanation);
    Q_EMIT explained();
}

}  // namespace skippipe
