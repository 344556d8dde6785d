// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/trainer.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/span_codec.h"
#include "core/engine/survival.h"
#include "core/engine/virtual_clock.h"
#include "core/engine/wall_clock.h"
#include "core/experiment/io.h"

namespace skippipe {

namespace {

/// Lines that nodes of several ranks send over.
std::vector<bool> lines_across_ranks(const Problem& problem, const RankSchedule& schedule) {
    std::vector<int> sender(problem.line_names.size(), -1);
    std::vector<bool> across(problem.line_names.size(), false);
    for (const auto& path : schedule.plan.paths)
        for (std::size_t i = 0; i < path.nodes.size(); ++i)
            for (const NodeIndex to : {path.nodes[(i + 1) % path.nodes.size()],
                                       path.nodes[(i + path.nodes.size() - 1) % path.nodes.size()]}) {
                const NodeIndex from = path.nodes[i];
                const int line = problem.hop(from, to).line, rank = schedule.rank_of[at(from)];
                if (line == no_line) continue;
                if (sender[at(line)] >= 0 && sender[at(line)] != rank) across[at(line)] = true;
                sender[at(line)] = rank;
            }
    return across;
}

/// Machine time while it runs; validation is not part of training.
class Stopwatch {
public:
    explicit Stopwatch(double total_s) : total_s_(total_s) {}
    void resume() { since_ = std::chrono::steady_clock::now(); }
    void pause() { total_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count(); }
    double total_s() const { return total_s_; }

private:
    std::chrono::steady_clock::time_point since_{};
    double total_s_;
};

/// Nodes, driver and clock of one plan in force.
class Execution {
public:
    Execution(const Experiment& experiment, const Problem& problem, RankSchedule schedule, ComputeBackend& compute,
              RankTransport& transport)
        : planned_(problem, schedule.plan.blocks), schedule_(std::move(schedule)) {
        const auto& drawn = planned_.get();
        const auto& how = experiment.execution;
        if (how.clock == Clock::virtual_time) {
            events_ = std::make_unique<VirtualClock>(drawn, schedule_, compute);
        } else {
            if (how.shape_links)
                shaper_ = std::make_unique<LinkShaper>(drawn, how.link_jitter, experiment.seed,
                                                       lines_across_ranks(drawn, schedule_),
                                                       transport.line_book(drawn.line_names.size()));
            auto wall = std::make_unique<WallClock>(drawn, schedule_, compute, transport, shaper_.get());
            wall_ = wall.get();
            events_ = std::move(wall);
        }
        driver_.emplace(drawn, schedule_, transport.rank(), *events_);
    }

    const RankSchedule& schedule() const { return schedule_; }
    RankIteration run(int iteration) { return driver_->run_iteration(iteration); }
    RankIteration run(int iteration, const std::vector<Disturbance>& disturbances, RecoveryController& controller) {
        return driver_->run_iteration(iteration, disturbances, controller);
    }
    /// Null under the virtual clock.
    const WallClock* wall() const { return wall_; }

private:
    PlannedProblem planned_;
    RankSchedule schedule_;
    std::unique_ptr<LinkShaper> shaper_;
    std::unique_ptr<EventSource> events_;
    const WallClock* wall_ = nullptr;
    std::optional<Driver> driver_;
};

class Trainer {
public:
    Trainer(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
            RankTransport& transport, TrainingListener* listener, TrainingController* controller,
            const TrainingStart& start)
        : experiment_(experiment),
          problem_(problem),
          compute_(compute),
          transport_(transport),
          listener_(listener),
          controller_(controller),
          commits_(start.commits),
          watch_(start.position.machine_s),
          network_s_(start.position.network_s),
          tokens_(start.position.tokens),
          done_(start.position.iterations_done),
          validated_at_(start.position.validated ? done_ : -1),
          validates_first_(start.validate_first) {
        execution_ = std::make_unique<Execution>(experiment_, problem_, schedule, compute_, transport_);
        const auto& members = start.position.members;
        if (!experiment_.failures.empty()) survival_.emplace(experiment_, problem_, schedule.plan, members);
        for (const auto& absent : members.absent)
            if (survival_) compute_.lose(absent.node);
        replanner_ = ReplanController(experiment_.recovery.policy);
    }

    void run() {
        if (validates_first_) validate();
        while (done_ < experiment_.training.iterations && go_on()) {
            iterate();
            const int every = experiment_.training.validate_every;
            if (every > 0 && done_ % every == 0) validate();
            commit(false);
        }
        commit(true);
        validate();
    }

private:
    const RankSchedule& schedule() const { return execution_->schedule(); }

    /// Rank 0 tells the others: to stop, to go over to a plan, or nothing.
    bool go_on() {
        static const std::string stop = "stop";
        std::string told;
        if (controller_) {
            const auto command = controller_->next();
            told = command.stop ? stop : command.plan_json;
        }
        told = transport_.broadcast(told);
        if (told == stop) return false;
        if (!told.empty()) switch_plan(told);
        return true;
    }

    void switch_plan(const std::string& plan_json) {
        Faults faults;
        auto plan = parse_plan(parse_json(plan_json, faults), problem_, faults);
        if (has_errors(faults)) throw InputError(faults);
        if (plan.stages != schedule().plan.stages || plan.blocks != schedule().plan.blocks)
            throw InputError("PLAN", "places nodes or blocks anew", "weights stay where they are while a run goes on",
                             "Start a new run with it");
        auto next = make_schedule(problem_, plan, schedule().rank_of, schedule().ranks);
        if (const auto why = find_deadlock(problem_, next))
            throw InputError("PLAN", "comes to a deadlock: " + *why, "every rank posts transfers in one order",
                             "Plan again");
        compute_.follow(next);
        transport_.follow(next);
        execution_.reset();  // first: a line book of the old plan is given back
        execution_ = std::make_unique<Execution>(experiment_, problem_, std::move(next), compute_, transport_);
        if (listener_) listener_->plan_switched(done_);
    }

    void commit(bool last) {
        if (commits_)
            commits_->committed({done_, validated_at_ == done_, network_s_, watch_.total_s(), tokens_,
                                 survival_ ? survival_->members() : Membership{}},
                                survival_ ? survival_->base() : schedule().plan, last);
    }

    void validate() {
        if (experiment_.execution.compute != Compute::torch || validated_at_ == done_) return;
        validated_at_ = done_;
        const auto result = compute_.validate(transport_);
        if (listener_) listener_->validated(done_, network_s_, watch_.total_s(), tokens_, result);
    }

    void iterate() {
        watch_.resume();
        auto ran = survival_ ? survive() : run_once();
        auto& timeline = ran.timeline;
        if (!timeline.complete)
            throw std::runtime_error("the plan comes to a deadlock: " +
                                     (timeline.blocked.empty() ? std::string{} : timeline.blocked.front()));
        const double start_s = transport_.now_s();
        auto result = finish_iteration(done_, schedule(), ran.sums, compute_, transport_);
        if (const auto* wall = execution_->wall()) {
            add_steps(timeline.spans, ran.sums, start_s - wall->origin_s(), transport_.now_s() - wall->origin_s());
            gather_spans(timeline);
        }
        watch_.pause();
        tokens_ += result.tokens;
        if (listener_)
            listener_->iterated({done_, network_s_, &timeline, std::move(result), watch_.total_s(), tokens_});
        network_s_ += timeline.iteration_s;
        ++done_;
    }

    RankIteration run_once() {
        compute_.begin_iteration(done_);
        return execution_->run(done_);
    }

    /// An iteration while things go wrong; begun again without the lost nodes where it cannot go on.
    RankIteration survive() {
        for (int attempt = 1;; ++attempt) {
            take_stock();
            compute_.begin_iteration(done_);
            const auto events = survival_->events(done_, network_s_);
            std::vector<Disturbance> disturbances;
            for (const auto& event : events) disturbances.push_back(event.disturbance);
            auto ran = execution_->run(done_, disturbances, replanner_);
            survival_->happened(done_, events, ran.disturbances);
            if (listener_)
                for (const auto& report : ran.recoveries) listener_->recovered(done_, network_s_, report);
            if (ran.abandoned.empty()) {
                std::map<int, double> since_s;
                for (std::size_t k = 0; k < ran.disturbances; ++k)
                    since_s.emplace(events[k].disturbance.change.node, events[k].disturbance.at_s);
                survival_->add_down(since_s, ran.timeline.iteration_s, ran.timeline.spans);
                return ran;
            }
            if (attempt == most_attempts) throw InputError(ran.abandoned);
            network_s_ += ran.recoveries.back().detected_s;
        }
    }

    /// Between iterations: who is back fetches what it missed, and the plan is one for those who are there.
    void take_stock() {
        for (;;) {
            auto back = survival_->bring_back(network_s_);
            double fetched_s = 0;
            while (!back.empty()) {
                const int node = back.back(), sibling = survival_->sibling(node, back);
                back.pop_back();
                if (sibling >= 0) {
                    compute_.rejoin(node, sibling);
                    fetched_s = std::max(fetched_s, survival_->fetch_s(sibling, node));
                } else {
                    compute_.rejoin(node, node);  // the last of its stage: with what it has kept on its disk
                }
            }
            network_s_ += fetched_s;
            try {
                const auto& plan = survival_->plan();
                if (plan != schedule().plan || survival_->network_changed()) change_plan(plan);
                return;
            } catch (const InputError&) {
                const double back_s = survival_->next_back_s(network_s_);
                if (!std::isfinite(back_s)) throw;
                network_s_ = back_s;
            }
        }
    }

    void change_plan(const Plan& plan) {
        auto next = one_rank_schedule(problem_.nodes(), plan);
        compute_.follow(next);
        execution_.reset();
        execution_ =
            std::make_unique<Execution>(experiment_, survival_->network(), std::move(next), compute_, transport_);
    }

    /// The real step of this rank's nodes.
    void add_steps(std::vector<Span>& spans, const std::vector<StageSum>& sums, double start_s, double end_s) const {
        for (const int stage : schedule().stages_of(transport_.rank()))
            for (const NodeIndex node : schedule().plan.stages[at(stage)])
                if (sums[at(stage)].tokens > 0 && schedule().rank_of[at(node)] == transport_.rank())
                    spans.push_back({SpanKind::step, node, -1, StageIndex(stage), -1, start_s, start_s, end_s, 0});
    }

    /// Every rank's spans make the iteration's timeline, on rank 0.
    void gather_spans(Timeline& timeline) const {
        const auto encoded = transport_.gather(encode_spans(timeline.spans));
        const SpanLimits limits{problem_.nodes(), problem_.stages, problem_.microbatches};
        timeline = {};
        for (std::size_t rank = 0; rank < encoded.size(); ++rank) {
            const auto spans = decode_spans(encoded[rank], limits, static_cast<int>(rank));
            timeline.spans.insert(timeline.spans.end(), spans.begin(), spans.end());
        }
        add_totals(schedule().plan, timeline);
    }

    const Experiment& experiment_;
    const Problem& problem_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    TrainingListener* listener_;
    TrainingController* controller_;
    std::optional<Survival> survival_;  ///< where the experiment has failures
    ReplanController replanner_;
    static constexpr int most_attempts = 100;  ///< of one iteration
    std::unique_ptr<Execution> execution_;
    CommitListener* commits_;
    Stopwatch watch_;
    double network_s_;
    std::int64_t tokens_;
    int done_, validated_at_;
    bool validates_first_;
};

}  // namespace

IterationResult finish_iteration(int iteration, const RankSchedule& schedule, const std::vector<StageSum>& sums,
                                 ComputeBackend& compute, RankTransport& transport) {
    const auto stages = schedule.plan.stages.size();
    const auto loss = compute.loss();
    std::vector<double> mine{loss.sum_nats, static_cast<double>(loss.tokens)};
    for (std::size_t s = 0; s < stages; ++s) {
        const auto hosts = schedule.ranks_of_stage(static_cast<int>(s));  // none: its nodes are all lost
        const bool first_host = !hosts.empty() && hosts.front() == transport.rank();
        mine.push_back(first_host ? static_cast<double>(sums[s].tokens) : 0);
        mine.push_back(first_host ? sums[s].squared_norm : 0);
    }
    IterationResult result{.stage_tokens = std::vector<std::int64_t>(stages, 0)};
    std::vector<StageSum> all(stages, {0, 0, 0});
    for (const auto& of_rank : transport.all_gather(mine)) {
        result.loss_sum_nats += of_rank[0];
        result.tokens += static_cast<std::int64_t>(of_rank[1]);
        for (std::size_t s = 0; s < stages; ++s) {
            all[s].tokens += static_cast<std::int64_t>(of_rank[2 + 2 * s]);
            all[s].squared_norm += of_rank[3 + 2 * s];
        }
    }
    double total = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        result.stage_tokens[s] = all[s].tokens;
        if (!(all[s].squared_norm < 0)) total += all[s].squared_norm;
    }
    result.gradient_norm = std::sqrt(total);
    if (!std::isfinite(result.gradient_norm) || !std::isfinite(result.loss_sum_nats))
        throw std::runtime_error(
            fmt::format("iteration {}: the loss or its gradient is no longer a finite number; training diverged. "
                        "Lower training.learning_rate or add training.warmup_iterations",
                        iteration));
    compute.step(iteration, all);
    return result;
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
