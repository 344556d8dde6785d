// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/trainer.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/rank_timeline.h"
#include "core/engine/stage_copies.h"
#include "core/engine/training.h"
#include "core/engine/wall_clock.h"

namespace skippipe {

namespace {
constexpr std::chrono::milliseconds look_again{20};
}

void Stopwatch::resume() {
    if (!since_s_) since_s_ = steady_s();
}

void Stopwatch::pause() {
    if (since_s_) total_s_ += steady_s() - *std::exchange(since_s_, std::nullopt);
}

Trainer::Trainer(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule,
                 ComputeBackend& compute, RankTransport& transport, TrainingListener* listener,
                 TrainingController* controller, const TrainingStart& start)
    : experiment_(experiment),
      problem_(problem),
      compute_(compute),
      transport_(transport),
      listener_(listener),
      controller_(controller),
      everybody_(schedule),
      planner_(start.planner),
      ahead_(experiment.recovery.planning_s > 0 ? start.planner : nullptr, experiment.seed,
             experiment.pipeline.plan_steps, nodes_may_move(experiment) ? experiment.recovery.move_nodes_s : 0),
      placed_(start.position.members.placed),
      held_(stage_of_nodes(schedule.plan, problem.nodes())),
      commits_(start.commits),
      meter_(start.meter),
      watch_(start.position.machine_s),
      network_s_(start.position.network_s),
      tokens_(start.position.tokens),
      iterations_(experiment.training.iterations),
      done_(start.position.iterations_done),
      committed_at_(start.commit_first ? -1 : done_),
      validated_at_(start.position.validated ? done_ : -1),
      validation_due_(start.validate_first),
      squared_norms_(start.position.members.squared_norms),
      learning_rates_(start.position.members.learning_rates),
      told_members_(transport.members()),
      is_new_(transport.must_regroup()) {
    const auto& members = start.position.members;  // lost by hand, where the document loses none
    const bool fails =
        !experiment_.failures.empty() || !members.absent.empty() || members.placed != Membership::Placed{};
    if (fails && experiment_.execution.clock == Clock::virtual_time)
        network_.emplace(experiment_, problem_, schedule.plan, compute_, transport_, listener_, start);
    else if (!is_new_)
        execution_ = std::make_unique<PlanExecution>(experiment_, problem_, schedule, compute_, transport_);
    replanner_ = ReplanController(experiment_.recovery.policy, start.replanning_operations);
    if (!is_new_ && !network_) plan_ahead(everybody_.plan);
}

void Trainer::run() {
    transport_.outlive_losses(experiment_.execution.clock == Clock::wall);
    while (!over_) try {
            transport_.must_regroup() ? regroup() : advance();
        } catch (...) {
            if (!transport_.must_regroup()) throw;
        }
    transport_.outlive_losses(false);
}

TrainingPosition Trainer::position() const {
    return {done_,
            validated_at_ == done_,
            network_s_,
            watch_.total_s(),
            tokens_,
            network_
                ? network_->members()
                : Membership{.placed = placed_, .squared_norms = squared_norms_, .learning_rates = learning_rates_}};
}

bool Trainer::everybody_is_there() const { return transport_.members().size() == at(transport_.ranks()); }

void Trainer::advance() {
    if (waits_for_ >= 0) return stand_still();
    if (after_rest_) return iterate();
    if (validation_due_) validate();
    if (network_) network_->commit(position());
    if (committed_at_ != done_) commit(false);
    if (done_ >= iterations_) hear_extension();
    if (done_ < iterations_ && go_on()) return waits_for_ < 0 ? iterate() : void();
    commit(true);
    validate();
    over_ = true;
}

void Trainer::hear_extension() {
    const auto told = transport_.broadcast(controller_ ? std::to_string(controller_->iterations()) : std::string{});
    int iterations = 0;
    std::from_chars(told.data(), told.data() + told.size(), iterations);
    iterations_ = std::max(iterations_, iterations);
}

bool Trainer::go_on() {
    for (;;) {
        std::string told;
        if (controller_) {
            const auto command = controller_->next();
            for (const auto& loss : command.losses) lose(loss);
            // Whoever stops or pauses it does not wait for the planner.
            if (!command.stop && network_ && network_->awaits_plan(network_s_)) {
                std::this_thread::sleep_for(look_again);
                continue;
            }
            told = command.stop                  ? stop_word
                   : transport_.somebody_waits() ? meet_word
                   : network_                    ? ""
                                                 : plan_made_anew();
            if (told.empty() && !network_ && everybody_is_there()) told = command.plan_json;
        }
        told = transport_.broadcast(told);
        if (told == stop_word) return false;
        if (told == meet_word) {
            regroup();
            if (waits_for_ >= 0) return true;
            continue;
        }
        if (!told.empty()) switch_plan(told);
        return true;
    }
}

void Trainer::lose(const TrainingCommand::Loss& loss) {
    const bool possible = experiment_.execution.clock == Clock::virtual_time;
    if (!possible || loss.node < 0 || loss.node >= problem_.nodes()) return;
    if (!network_) {
        execution_.reset();
        TrainingStart here;
        here.position = position();
        here.planner = planner_;
        network_.emplace(experiment_, problem_, everybody_.plan, compute_, transport_, listener_, here);
        network_->commit(here.position);
    }
    network_->lose(done_, loss, network_s_);
}

void Trainer::commit(bool last) {
    committed_at_ = done_;
    if (commits_) commits_->committed(position(), network_ ? network_->base() : everybody_.plan, last);
}

void Trainer::validate() {
    const bool wanted = experiment_.execution.compute == Compute::torch && validated_at_ != done_;
    const auto result = wanted ? compute_.validate(transport_) : ValidationResult{};
    validation_due_ = false;
    if (!wanted) return;
    validated_at_ = done_;
    if (!std::isfinite(result.loss_nats))
        throw std::runtime_error(
            fmt::format("after {} iterations: the validation loss is no longer a finite number; training diverged. "
                        "Lower training.learning_rate or add training.warmup_iterations",
                        done_));
    if (listener_) listener_->validated(done_, network_s_, watch_.total_s(), tokens_, result);
}

void Trainer::iterate() {
    watch_.resume();
    if (meter_) meter_->begin();
    if (!began_s_) began_s_ = steady_s();
    computed_ = network_ ? network_->run(done_, network_s_) : run_once();
    if (!computed_) return go_back(network_->setback());
    const auto& timeline = computed_->timeline;
    if (!timeline.complete)
        throw std::runtime_error("the plan comes to a deadlock: " +
                                 (timeline.blocked.empty() ? std::string{} : timeline.blocked.front()));
    step_from_s_ = transport_.now_s();
    conclude(share_sums(schedule(), computed_->sums, compute_, transport_), true);
    if (after_rest_) go_over_to(*std::exchange(after_rest_, std::nullopt));
}

RankIteration Trainer::run_once() {
    change_speeds();
    if (after_rest_) return under_way_.run_rest(done_, *execution_);
    under_way_.begin(schedule().plan);
    compute_.begin_iteration(done_);
    return execution_->run(done_);
}

void Trainer::change_speeds() {
    if (!execution_->wall() || !has_speed_failures(experiment_)) return;
    std::string told;
    if (transport_.rank() == 0) {
        if (!speeds_) speeds_.emplace(experiment_, problem_);
        told = to_text(speeds_->in_force(done_, network_s_, schedule().plan.stages));
    }
    const auto changes = read_speed_changes(transport_.broadcast(told), problem_);
    execution_->change_speeds(changes);
    if (changes == slower_) return;
    slower_ = changes;
    if (listener_) listener_->speeds_changed(done_, network_s_, slower_);
}

void Trainer::go_back(const Setback& setback) {
    const auto& to = setback.position;
    began_s_.reset();
    done_ = committed_at_ = to.iterations_done;
    validated_at_ = to.validated ? done_ : -1;
    validation_due_ = false;
    network_s_ = to.network_s;
    tokens_ = to.tokens;
    watch_.pause();
    if (listener_) listener_->went_back(position(), setback);
}

void Trainer::conclude(Commit commit, bool together) {
    auto ran = *std::exchange(computed_, std::nullopt);
    const auto down_since_s = under_way_.down_since_s();
    forget_iteration();
    commit_ = std::move(commit);
    auto result = take_step(done_++, commit_, compute_);
    tokens_ += result.tokens;
    squared_norms_.resize(result.squared_norms.size(), -1);
    for (std::size_t stage = 0; stage < squared_norms_.size(); ++stage)
        if (result.stage_tokens[stage] > 0) squared_norms_[stage] = result.squared_norms[stage];
    const int every = experiment_.training.validate_every;
    validation_due_ = every > 0 && done_ % every == 0;
    auto& timeline = ran.timeline;
    std::exception_ptr lost;
    DeviceReport devices;
    auto copies = compute_.copy_hashes();
    if (const auto* wall = execution_ ? execution_->wall() : nullptr) {
        add_steps(schedule(), transport_.rank(), ran.sums, step_from_s_ - wall->origin_s(),
                  transport_.now_s() - wall->origin_s(), timeline.spans);
        try {
            if (together) gather_ends(problem_, schedule().plan, transport_, timeline, copies);
            devices = read_devices(together);
        } catch (...) {
            if (!transport_.must_regroup()) throw;
            lost = std::current_exception();
        }
        if (!together || lost) copies.clear(), add_totals(schedule().plan, timeline);
        add_absent(everybody_, held_, absent_ranks(transport_), down_since_s, timeline);
    } else {
        devices = read_devices(false);
    }
    require_equal_copies(experiment_, done_ - 1, copies);
    watch_.pause();
    if (listener_)
        listener_->iterated(
            {done_ - 1, network_s_, &timeline, std::move(result), watch_.total_s(), tokens_, std::move(devices)});
    network_s_ += timeline.iteration_s;
    if (lost) std::rethrow_exception(lost);
}

DeviceReport Trainer::read_devices(bool together) {
    if (!meter_) return {};
    DeviceReport own;
    own.devices = meter_->end();
    own.trouble = meter_->trouble();
    if (!together) return own;
    std::vector<DeviceReport> all;
    for (const auto& text : transport_.gather(to_json_text(own)))
        if (!text.empty()) all.push_back(read_device_report(text));
    return join(all);
}

void Trainer::forget_iteration() {
    began_s_.reset();
    under_way_.forget();
}

void train(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
           RankTransport& transport, TrainingListener* listener, TrainingController* controller, const Failed& failed,
           const TrainingStart& start) {
    Trainer trainer(experiment, problem, schedule, compute, transport, listener, controller, start);
    try {
        trainer.run();
    } catch (...) {
        if (failed) failed(std::current_exception());
        throw;
    }
}

}  // namespace skippipe
