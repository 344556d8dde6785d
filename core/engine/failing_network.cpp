// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/failing_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {

namespace {

constexpr int most_attempts = 100;    ///< of one iteration
constexpr int most_setbacks = 1'000;  ///< before training gets further than ever

std::unique_ptr<RecoveryController> controller_of(RecoveryPolicy policy, std::int64_t operations) {
    if (policy == RecoveryPolicy::restart) return std::make_unique<RestartController>();
    return std::make_unique<ReplanController>(policy, operations);
}

}  // namespace

FailingNetwork::FailingNetwork(const Experiment& experiment, const Problem& problem, const Plan& base,
                               ComputeBackend& compute, RankTransport& transport, TrainingListener* listener,
                               const TrainingStart& start)
    : experiment_(experiment),
      problem_(problem),
      compute_(compute),
      transport_(transport),
      listener_(listener),
      survival_(experiment, problem, base, start.planner, start.position.members, start.replanning_operations),
      told_speeds_(survival_.speeds()),
      controller_(controller_of(experiment.recovery.policy, start.replanning_operations)),
      execution_(std::make_unique<PlanExecution>(experiment, problem, one_rank_schedule(problem.nodes(), base), compute,
                                                 transport)) {
    for (const auto& absent : start.position.members.absent)
        if (survival_.stage_of(absent.node) >= 0) compute_.lose(absent.node);
}

/// Only what some failure may go back to is worth its memory.
bool FailingNetwork::remembers() const {
    const auto& recovery = experiment_.recovery;
    return recovery.policy == RecoveryPolicy::restart || recovery.rebuild != StageRebuild::disk ||
           std::any_of(experiment_.failures.begin(), experiment_.failures.end(),
                       [](const Failure& one) { return one.kind == FailureKind::coordinator_loss; });
}

void FailingNetwork::commit(const TrainingPosition& position) {
    const int every = experiment_.training.checkpoint_every;
    if (!remembers()) return;
    if (remembered_ && (every == 0 || position.iterations_done % every != 0 ||
                        position.iterations_done == remembered_->position.iterations_done))
        return;
    remembered_.emplace(Remembered{.position = position, .stages = {}, .residuals = compute_.residuals()});
    for (const auto& ring : survival_.base().stages) remembered_->stages.push_back(compute_.state(ring.front()));
}

std::optional<RankIteration> FailingNetwork::run(int iteration, double& network_s) {
    for (int attempt = 1;; ++attempt) {
        take_stock(iteration, network_s);
        compute_.begin_iteration(iteration);
        auto events = survival_.events(iteration, network_s);
        const auto ended = survival_.coordinator_lost(iteration, network_s);
        auto ran = run_once(iteration, network_s, events);
        const bool went_on = ran.abandoned.empty();
        const double lasted_s =
            went_on ? ran.timeline.iteration_s : std::max(ran.recoveries.back().detected_s, ran.timeline.makespan_s);
        if (ended && ended->at_s < lasted_s) {
            survival_.note(ended->failure, iteration);
            return go_back(iteration, network_s + ended->at_s, ended->restore_s, "the coordinator was lost");
        }
        if (went_on) {
            survival_.reduced(ran.sums);
            return ran;
        }
        if (attempt == most_attempts) throw InputError(ran.abandoned);
        network_s += lasted_s;
        if (ran.recoveries.back().stands_still()) {
            survival_.bind_order();
            continue;
        }
        if (experiment_.recovery.policy == RecoveryPolicy::restart)
            return go_back(iteration, network_s, experiment_.recovery.restore_s, "nodes were lost");
    }
}

RankIteration FailingNetwork::run_once(int iteration, double network_s, std::vector<FailureEvent>& events) {
    auto disturbances = survival_.variation();
    const auto lasting = disturbances.size();
    for (const auto& event : events) disturbances.push_back(event.disturbance);
    auto ran = execution_->run(iteration, disturbances, *controller_);
    ran.disturbances -= std::min(lasting, ran.disturbances);
    survival_.happened(iteration, events, ran.disturbances);
    double changed_s = 0;
    for (std::size_t k = 0; k < ran.disturbances; ++k)
        if (!events[k].disturbance.loses()) changed_s = std::max(changed_s, events[k].disturbance.at_s);
    tell_speeds(iteration, network_s + changed_s);
    survival_.lose_spares(iteration, network_s, ran.timeline.iteration_s);
    if (listener_)
        for (const auto& report : ran.recoveries) listener_->recovered(iteration, network_s, report);
    std::map<int, double> since_s;
    for (std::size_t k = 0; k < ran.disturbances; ++k)
        if (const auto& [at_s, change, known_s, seed, lives_on] = events[k].disturbance;
            change.kind == NetworkChange::Kind::node_down)
            since_s.emplace(change.node, at_s);
    if (ran.abandoned.empty()) survival_.add_down(since_s, ran.timeline.iteration_s, ran.timeline.spans);
    return ran;
}

void FailingNetwork::lose(int iteration, const TrainingCommand::Loss& loss, double& network_s) {
    if (survival_.down(loss.node)) return;
    survival_.lose(loss.node, network_s + loss.back_after_s);
    if (survival_.stage_of(loss.node) < 0) return;  // nobody misses it
    compute_.lose(loss.node);
    const double known_s = detected_s(experiment_.recovery, network_s);
    if (listener_)
        listener_->recovered(iteration, network_s, {.nodes = {loss.node}, .detected_s = known_s - network_s});
    network_s = std::max(network_s, known_s);
}

std::nullopt_t FailingNetwork::go_back(int iteration, double from_s, double restore_s, std::string why) {
    if (iteration > furthest_) setbacks_ = 0;
    furthest_ = std::max(furthest_, iteration);
    if (++setbacks_ > most_setbacks)
        throw InputError("/failures", fmt::format("training does not get beyond iteration {}", furthest_),
                         fmt::format("{} times it went back to a checkpoint before: {}", most_setbacks, why),
                         "Lower the rate or the probability of these failures, or let checkpoints be more frequent");
    auto& back = remembered_.value();
    for (std::size_t stage = 0; stage < back.stages.size(); ++stage)
        for (const NodeIndex node : survival_.base().stages[stage])
            if (!back.stages[stage].weights.empty()) compute_.set_state(node, back.stages[stage]);
    compute_.set_residuals(back.residuals);
    const double lost_s = from_s + restore_s - std::exchange(back.position.network_s, from_s + restore_s);
    setback_ = {back.position, iteration - back.position.iterations_done, lost_s, std::move(why)};
    return std::nullopt;
}

/// Between iterations: who is back gets the weights of now, and the plan is one for those who are there.
void FailingNetwork::take_stock(int iteration, double& network_s) {
    for (;;) {
        const RejoinReport rejoin = bring_back(survival_.bring_back(network_s));
        if (!rejoin.nodes.empty() && listener_) listener_->rejoined(iteration, network_s, rejoin);
        network_s += rejoin.refetching_s;
        tell_speeds(iteration, network_s);
        try {
            const auto& plan = survival_.plan(network_s);
            network_s = std::max(network_s, survival_.take_wait_s());
            const bool is_another = plan != schedule().plan;
            if (is_another || survival_.network_changed()) network_s += change_plan(plan);
            auto why = survival_.take_reason();
            if (why.empty() && is_another) why = who_is_left();
            if (!why.empty() && listener_) listener_->plan_switched(iteration, plan, why);
            return;
        } catch (const InputError&) {
            const double back_s = survival_.next_back_s(network_s);
            if (!std::isfinite(back_s)) throw;
            network_s = back_s;
        }
    }
}

void FailingNetwork::tell_speeds(int iteration, double at_s) {
    auto speeds = survival_.speeds();
    if (speeds == told_speeds_) return;
    told_speeds_ = std::move(speeds);
    if (listener_) listener_->speeds_changed(iteration, at_s, told_speeds_);
}

/// Why a plan that nobody made anew is another one than before.
std::string FailingNetwork::who_is_left() const {
    std::vector<int> lost;
    for (int node = 0; node < problem_.nodes(); ++node)
        if (survival_.down(node)) lost.push_back(node);
    if (!lost.empty()) return "for the nodes that are left, without " + names_of(lost, problem_);
    return told_speeds_.empty() ? "all nodes are there" : "for nodes and links that are slower than drawn";
}

/// They fetch side by side.
RejoinReport FailingNetwork::bring_back(std::vector<int> nodes) {
    RejoinReport report{nodes};
    auto& waiting = nodes;
    while (!waiting.empty()) {
        const int node = waiting.back(), sibling = survival_.sibling(node, waiting);
        waiting.pop_back();
        if (sibling >= 0) compute_.rejoin(node, sibling);
        report.refetching_s =
            std::max(report.refetching_s, sibling >= 0 ? survival_.fetch_s(sibling, node) : start_alone(node));
    }
    return report;
}

/// The first node of a stage that had none. Where all went back to a checkpoint, it has that already.
double FailingNetwork::start_alone(int node) {
    compute_.rejoin(node, node);
    const auto& recovery = experiment_.recovery;
    if (recovery.rebuild == StageRebuild::disk || recovery.policy == RecoveryPolicy::restart) return 0;
    if (const auto from = survival_.neighbours(node); recovery.rebuild == StageRebuild::neighbours && !from.empty()) {
        std::vector<NeighbourWeights> weights;
        for (const auto& [other, share] : from)
            weights.push_back({survival_.stage_of(other), share, compute_.weights(other)});
        compute_.rebuild(node, weights, compute_.state(node).learning_rate * recovery.rebuilt_learning_rate);
        return survival_.rebuild_s(from, node);
    }
    const auto& state = remembered_.value().stages.at(at(survival_.stage_of(node)));
    if (!state.weights.empty()) compute_.set_state(node, state);
    return recovery.restore_s;
}

/// How long it takes until nodes that go to other stages have what they need there.
double FailingNetwork::change_plan(const Plan& plan) {
    auto next = one_rank_schedule(problem_.nodes(), plan);
    const auto moves = survival_.take_moves();
    moves.list.empty() ? compute_.follow(next) : compute_.move(next, moves.list);
    execution_.reset();
    execution_ =
        std::make_unique<PlanExecution>(experiment_, survival_.network(), std::move(next), compute_, transport_);
    return moves.lasts_s;
}

}  // namespace skippipe
