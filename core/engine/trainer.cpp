// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/trainer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "core/base/index.h"
#include "core/engine/failing_network.h"
#include "core/engine/plan_ahead.h"
#include "core/engine/plan_execution.h"
#include "core/engine/regroup.h"
#include "core/engine/rest.h"
#include "core/engine/span_codec.h"
#include "core/engine/wall_clock.h"
#include "core/experiment/io.h"

namespace skippipe {

namespace {

/// Machine time while it runs; validation is not part of training.
class Stopwatch {
public:
    explicit Stopwatch(double total_s) : total_s_(total_s) {}
    void resume() {
        if (!since_s_) since_s_ = steady_s();
    }
    void pause() {
        if (since_s_) total_s_ += steady_s() - *std::exchange(since_s_, std::nullopt);
    }
    double total_s() const { return total_s_; }

private:
    std::optional<double> since_s_;
    double total_s_;
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
          everybody_(schedule),
          planner_(start.planner),
          ahead_(experiment.recovery.planning_s > 0 ? start.planner : nullptr, experiment.seed,
                 experiment.pipeline.plan_steps),
          commits_(start.commits),
          watch_(start.position.machine_s),
          network_s_(start.position.network_s),
          tokens_(start.position.tokens),
          done_(start.position.iterations_done),
          committed_at_(done_),
          validated_at_(start.position.validated ? done_ : -1),
          validation_due_(start.validate_first),
          told_members_(transport.members()),
          is_new_(transport.must_regroup()) {
        const auto& members = start.position.members;  // lost by hand, where the document loses none
        const bool fails = !experiment_.failures.empty() || !members.absent.empty();
        if (fails && experiment_.execution.clock == Clock::virtual_time)
            network_.emplace(experiment_, problem_, schedule.plan, compute_, transport_, listener_, start);
        else if (!is_new_)
            execution_ = std::make_unique<PlanExecution>(experiment_, problem_, schedule, compute_, transport_);
        replanner_ = ReplanController(experiment_.recovery.policy);
    }

    void run() {
        transport_.outlive_losses(experiment_.execution.clock == Clock::wall);
        while (!over_) try {
                transport_.must_regroup() ? regroup() : advance();
            } catch (...) {
                if (!transport_.must_regroup()) throw;
            }
        transport_.outlive_losses(false);
    }

private:
    const RankSchedule& schedule() const { return network_ ? network_->schedule() : execution_->schedule(); }
    TrainingPosition position() const {
        return {done_,      validated_at_ == done_,
                network_s_, watch_.total_s(),
                tokens_,    network_ ? network_->members() : Membership{}};
    }

    /// From one point at which nothing is under way to the next; what a lost rank interrupts is done again.
    void advance() {
        if (after_rest_) return iterate();
        if (validation_due_) validate();
        if (network_) network_->commit(position());
        if (committed_at_ != done_) commit(false);
        if (done_ < experiment_.training.iterations && go_on()) return iterate();
        commit(true);
        validate();
        over_ = true;
    }

    /// Rank 0 tells the others: to stop, to take in who has come back, to go over to a plan, or nothing.
    bool go_on() {
        static const std::string stop = "stop", meet = "meet";
        for (;;) {
            std::string told;
            if (controller_) {
                const auto command = controller_->next();
                for (const auto& loss : command.losses) lose(loss);
                told = command.stop                  ? stop
                       : transport_.somebody_waits() ? meet
                       : network_                    ? ""
                       : everybody_is_there()        ? command.plan_json
                                                     : plan_made_anew();
            }
            told = transport_.broadcast(told);
            if (told == stop) return false;
            if (told == meet) {
                regroup();
                continue;
            }
            if (!told.empty()) switch_plan(told);
            return true;
        }
    }

    Plan plan_from(const std::string& plan_json) const {
        Faults faults;
        auto plan = parse_plan(parse_json(plan_json, faults), problem_, faults);
        if (has_errors(faults)) throw InputError(faults);
        return plan;
    }

    void switch_plan(const std::string& plan_json) {
        const auto plan = plan_from(plan_json);
        if (plan.stages != schedule().plan.stages || plan.blocks != schedule().plan.blocks)
            throw InputError("PLAN", "places nodes or blocks anew", "weights stay where they are while a run goes on",
                             "Start a new run with it");
        auto next = make_schedule(problem_, plan, schedule().rank_of, schedule().ranks);
        if (const auto why = find_deadlock(problem_, next))
            throw InputError("PLAN", "comes to a deadlock: " + *why, "every rank posts transfers in one order",
                             "Plan again");
        if (everybody_is_there()) everybody_ = next;
        go_over_to(std::move(next));
        if (listener_) listener_->plan_switched(done_, schedule().plan, reason_);
        reason_.clear();
    }

    /// By hand, between two iterations. Whoever trains without failures of the document goes on as one with them.
    void lose(const TrainingCommand::Loss& loss) {
        const bool possible =
            experiment_.execution.clock == Clock::virtual_time && !problem_.plan_reductions && !problem_.has_uplinks();
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

    bool everybody_is_there() const { return transport_.members().size() == at(transport_.ranks()); }

    /// Rank 0's, for the ranks that are left; "": none yet, or none that is better.
    std::string plan_made_anew() {
        if (!ahead_.ready()) return {};
        const auto better = ahead_.take();
        if (!better || find_deadlock(problem_, make_schedule(problem_, *better, everybody_.rank_of, everybody_.ranks)))
            return {};
        reason_ = "planned anew for the nodes that are left";
        return to_json(*better, problem_, nullptr).dump();
    }

    void go_over_to(RankSchedule next) {
        execution_.reset();  // first: a line book of the old plan is given back
        compute_.follow(next);
        transport_.follow(next);
        execution_ = std::make_unique<PlanExecution>(experiment_, problem_, std::move(next), compute_, transport_);
    }

    void commit(bool last) {
        committed_at_ = done_;
        if (commits_) commits_->committed(position(), network_ ? network_->base() : everybody_.plan, last);
    }

    void validate() {
        const bool wanted = experiment_.execution.compute == Compute::torch && validated_at_ != done_;
        const auto result = wanted ? compute_.validate(transport_) : ValidationResult{};
        validation_due_ = false;
        if (!wanted) return;
        validated_at_ = done_;
        if (listener_) listener_->validated(done_, network_s_, watch_.total_s(), tokens_, result);
    }

    void iterate() {
        watch_.resume();
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

    void go_back(const Setback& setback) {
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

    /// The iteration is over: `commit` is what all ranks gave. Where the others do not say what their nodes did
    /// (`together` false, or one is lost meanwhile), its timeline is that of this rank's.
    void conclude(Commit commit, bool together) {
        auto ran = *std::exchange(computed_, std::nullopt);
        const auto down_since_s = std::exchange(down_since_s_, {});
        forget_iteration();
        commit_ = std::move(commit);
        auto result = take_step(done_++, commit_, compute_);
        tokens_ += result.tokens;
        const int every = experiment_.training.validate_every;
        validation_due_ = every > 0 && done_ % every == 0;
        auto& timeline = ran.timeline;
        std::exception_ptr lost;
        if (const auto* wall = execution_ ? execution_->wall() : nullptr) {
            add_steps(timeline.spans, ran.sums, step_from_s_ - wall->origin_s(), transport_.now_s() - wall->origin_s());
            try {
                if (together) gather_spans(timeline);
            } catch (...) {
                if (!transport_.must_regroup()) throw;
                lost = std::current_exception();
            }
            if (!together || lost) add_totals(schedule().plan, timeline);
            add_absent(timeline, down_since_s);
        }
        watch_.pause();
        if (listener_)
            listener_->iterated({done_ - 1, network_s_, &timeline, std::move(result), watch_.total_s(), tokens_});
        network_s_ += timeline.iteration_s;
        if (lost) std::rethrow_exception(lost);
    }

    /// Ranks were lost, or one has come back: who is there agrees on where the training stands, and goes on.
    void regroup() {
        watch_.resume();
        const double interrupted_s = steady_s();
        double since_s = interrupted_s;
        if (!began_s_) began_s_ = interrupted_s;
        const auto lap = [&since_s] { return steady_s() - std::exchange(since_s, steady_s()); };
        RegroupReport report;
        const double at_s = transport_.now_s();
        interrupt();
        after_rest_.reset();
        report.quiet_s = lap();
        const auto met = transport_.regroup();
        const auto positions = transport_.gather(to_text(position_among_ranks()));
        report.meeting_s = lap();
        const auto agreement = agree_with_all(met, positions);
        auto rest = plan_rest(met, agreement);
        report.planning_s = lap();
        auto next = make_schedule(problem_, plan_from(agreement.plan_json), everybody_.rank_of, everybody_.ranks);
        if (rest) {
            report.goes_on = true;
            note_absent(at_s - agreement.origin_s - met.detection_s);
            go_on_with(std::move(*rest), agreement, report);
            after_rest_ = std::move(next);
        } else {
            if (began_s_) report.lost_work_s = interrupted_s - *began_s_;  // else the iteration was over after all
            forget_iteration();
            go_over_to(std::move(next));
        }
        report.connecting_s = lap();
        fetch_states(everybody_, met.members, agreement.joined, compute_, transport_);
        is_new_ = false;
        if (!agreement.joined.empty()) transport_.all_gather({0});  // until they have it
        if (commits_) commits_->regrouped();
        report.fetching_s = lap();
        if (!report.goes_on) network_s_ += report.total_s();  // else the iteration lasts so much longer
        watch_.pause();
        tell(met, agreement, std::move(report));
    }

    /// Ends what is under way. What this rank has of the iteration stays, until it is committed or begins again.
    void interrupt() {
        const bool begun =
            execution_ && execution_->wall() && execution_->begun() && (computed_ || execution_->wall()->under_way());
        if (begun) {
            rests_begun_ = rests_to_begin_;
            origin_s_ = execution_->wall()->origin_s();
            interrupted_ = execution_->interrupt();
            if (interrupted_ && computed_) interrupted_->timeline = computed_->timeline;
            if (interrupted_)  // what was reduced is reduced again
                std::erase_if(interrupted_->timeline.spans,
                              [](const Span& span) { return span.kind == SpanKind::all_reduce; });
            if (!interrupted_) rests_begun_ = RankPosition::not_known;
        }
        if (!computed_) execution_.reset();  // else a step may have to be taken
    }

    RankPosition position_among_ranks() const {
        RankPosition position{.iterations_done = is_new_ ? -1 : done_, .commit = commit_, .rests = rests_begun_};
        if (looks_on_) position.rests = RankPosition::looks_on;
        if (position.rests < 0) return position;
        position.progress = to_text(interrupted_.value().progress);
        position.origin_s = origin_s_;
        return position;
    }

    /// A rest that all can go on with, as all of them make it; nothing: the iteration begins again.
    std::optional<PlannedRest> plan_rest(const Regrouping& met, const Agreement& agreement) {
        if (agreement.rests < 0) return std::nullopt;
        std::optional<PlannedRest> rest;
        std::string found;
        const bool looks_on = is_new_ || looks_on_;
        if (!looks_on) {
            if (at(agreement.rests) > rests_.size())
                throw PeerFault(0, "goes on with a rest of the iteration that this rank was never told of");
            rests_.resize(at(agreement.rests));
            const auto* before = rests_.empty() ? nullptr : &rests_.back();
            const auto& plan = before ? before->plan : iteration_plan_;
            try {
                rest = rest_of(problem_, everybody_, plan, before, met.members, agreement, replanner_);
                found = to_json(rest->replan.plan, problem_, nullptr).dump();
            } catch (const PeerFault&) {
                throw;
            } catch (const InputError&) {
                // There is no way on: begun again, the iteration has one.
            }
        }
        const auto agreed = transport_.broadcast(found);
        if (agreed.empty()) return std::nullopt;
        if (looks_on) rest = PlannedRest{{}, schedule_of_rest(everybody_, met.members, nullptr)};
        if (!rest || (!looks_on && agreed != found)) throw PeerFault(0, "goes on by another plan than this rank");
        return rest;
    }

    void go_on_with(PlannedRest rest, const Agreement& agreement, RegroupReport& report) {
        origin_s_ = agreement.origin_s;
        if (is_new_) {
            compute_.begin_iteration(agreement.iterations_done);
            began_s_ = steady_s();
            looks_on_ = true;
        } else if (!looks_on_) {
            const int lost_before = rests_.empty() ? 0 : rests_.back().lost_gradients;
            report.redone_forwards = rest.replan.redone_forwards;
            report.redone_backwards = rest.replan.redone_backwards;
            report.lost_gradients = rest.replan.lost_gradients - lost_before;
            report.dropped = rest.replan.dropped;
            rests_.push_back(std::move(rest.replan));
        }
        if (!interrupted_) interrupted_.emplace();  // it had not even begun
        rests_to_begin_ = agreement.rests + 1;
        execution_.reset();
        transport_.follow(rest.schedule);
        execution_ =
            std::make_unique<PlanExecution>(experiment_, problem_, std::move(rest.schedule), compute_, transport_);
    }

    /// Nothing is kept any more of the iteration that was under way.
    void forget_iteration() {
        began_s_.reset();
        interrupted_.reset();
        rests_.clear();
        rests_begun_ = RankPosition::not_begun;
        rests_to_begin_ = 0;
        looks_on_ = false;
        down_since_s_.clear();
    }

    /// Nodes that are not there from now on were so since that long after the iteration's start.
    void note_absent(double since_s) {
        for (const NodeIndex node : nodes_of_ranks(everybody_, absent_ranks()))
            if (std::find(told_members_.begin(), told_members_.end(), everybody_.rank_of[at(node)]) !=
                told_members_.end())
                down_since_s_.emplace(node, std::max(0.0, since_s));
    }

    Agreement agree_with_all(const Regrouping& met, const std::vector<std::string>& positions) {
        std::string told;
        if (transport_.rank() == 0) {
            auto agreement = agree(positions);
            take_place(agreement);
            agreement.validation_due = validation_due_;
            agreement.validated_at = validated_at_;
            agreement.committed_at = committed_at_;
            agreement.at_s = transport_.now_s() - agreement.origin_s;
            const auto next = schedule_for(problem_, everybody_, met.members, agreement.joined, met.how, replanner_);
            agreement.plan_json = to_json(next.plan, problem_, nullptr).dump();
            ahead_.give_up();
            if (met.members.size() < at(transport_.ranks())) ahead_.begin(problem_, next.plan);
            told = to_text(agreement);
        }
        auto agreement = read_agreement(transport_.broadcast(told));
        take_place(agreement);
        validation_due_ = agreement.validation_due;
        validated_at_ = agreement.validated_at;
        committed_at_ = agreement.committed_at;
        return agreement;
    }

    /// Where the others are: one that had not heard how the last iteration ended takes its step now.
    void take_place(const Agreement& agreement) {
        if (!is_new_ && agreement.iterations_done == done_ + 1) {
            if (!computed_ || agreement.commit.empty())
                throw std::logic_error("the others have ended an iteration without this rank");
            conclude(agreement.commit, false);
        }
        computed_.reset();
        done_ = agreement.iterations_done;
    }

    void tell(const Regrouping& met, const Agreement& agreement, RegroupReport report) {
        // Against what was told last: a meeting that led to nothing was not.
        const auto told = std::exchange(told_members_, met.members);
        const auto is_in = [](const std::vector<int>& ranks, int rank) {
            return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
        };
        std::copy_if(told.begin(), told.end(), std::back_inserter(report.lost),
                     [&](int rank) { return !is_in(met.members, rank); });
        std::copy_if(met.members.begin(), met.members.end(), std::back_inserter(report.joined),
                     [&](int rank) { return !is_in(told, rank) || is_in(agreement.joined, rank); });
        if (!listener_) return;
        report.iterations_done = done_;
        report.nodes_lost = nodes_of_ranks(everybody_, report.lost);
        report.nodes_joined = nodes_of_ranks(everybody_, report.joined);
        report.how = met.how;
        report.detection_s = met.detection_s;
        report.plan_json = agreement.plan_json;
        listener_->regrouped(report);
    }

    RankIteration run_once() {
        if (after_rest_)
            return execution_->run_rest(done_, {rests_.empty() ? nullptr : &rests_.back(), origin_s_},
                                        interrupted_.value());
        iteration_plan_ = schedule().plan;
        rests_to_begin_ = 0;
        compute_.begin_iteration(done_);
        return execution_->run(done_);
    }

    /// The real step of this rank's nodes.
    void add_steps(std::vector<Span>& spans, const std::vector<StageSum>& sums, double start_s, double end_s) const {
        for (const int stage : schedule().stages_of(transport_.rank()))
            for (const NodeIndex node : schedule().plan.stages[at(stage)])
                if (sums[at(stage)].tokens > 0 && schedule().rank_of[at(node)] == transport_.rank())
                    spans.push_back({SpanKind::step, node, -1, StageIndex(stage), -1, start_s, start_s, end_s, 0});
    }

    /// Nodes of ranks that are not there.
    void add_absent(Timeline& timeline, const std::map<NodeIndex, double>& since_s) const {
        const auto stage_of = stage_of_nodes(everybody_.plan, problem_.nodes());
        for (const NodeIndex node : nodes_of_ranks(everybody_, absent_ranks())) {
            const auto lost = since_s.find(node);
            const double from_s = lost == since_s.end() ? 0 : std::min(lost->second, timeline.iteration_s);
            timeline.spans.push_back(
                {SpanKind::down, node, -1, stage_of[at(node)], -1, from_s, from_s, timeline.iteration_s, 0});
        }
    }

    std::vector<int> absent_ranks() const {
        std::vector<int> absent;
        const auto members = transport_.members();
        for (int rank = 0; rank < transport_.ranks(); ++rank)
            if (!std::binary_search(members.begin(), members.end(), rank)) absent.push_back(rank);
        return absent;
    }

    /// Every rank's spans make the iteration's timeline, on rank 0.
    void gather_spans(Timeline& timeline) const {
        const auto encoded = transport_.gather(encode_spans(timeline.spans));
        const SpanLimits limits{problem_.nodes(), problem_.stages, problem_.microbatches};
        timeline = {};
        for (const int rank : transport_.rank() == 0 ? transport_.members() : std::vector<int>{}) {
            const auto spans = decode_spans(encoded.at(at(rank)), limits, rank);
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
    RankSchedule everybody_;  ///< with every rank there: of the plan in force, or of the one that is when all are back
    std::optional<FailingNetwork> network_;  ///< where the drawn network has failures
    ReplanController replanner_;
    const Planner* planner_;
    PlanAhead ahead_;                           ///< under the wall clock, on rank 0
    std::string reason_;                        ///< of the plan that is gone over to; "": the controller's
    std::unique_ptr<PlanExecution> execution_;  ///< where network_ has none
    CommitListener* commits_;
    Stopwatch watch_;
    double network_s_;
    std::int64_t tokens_;
    int done_, committed_at_, validated_at_;  ///< iterations
    bool validation_due_, over_ = false;

    std::optional<double> began_s_;          ///< when what is under way and not committed began, steady_s()
    std::optional<RankIteration> computed_;  ///< what has ended here and not been shared with all
    double step_from_s_ = 0;                 ///< common clock
    Commit commit_;                          ///< of the last iteration done

    // Of the iteration under way, under the wall clock, where ranks are lost in it (core/engine/rest.h).
    Plan iteration_plan_;                        ///< by which it began
    double origin_s_ = 0;                        ///< when, common clock
    std::vector<Replan> rests_;                  ///< each of what was left after a loss
    bool looks_on_ = false;                      ///< came in the middle of it
    int rests_to_begin_ = 0;                     ///< of them execution_ runs this one; 0: the whole iteration
    int rests_begun_ = RankPosition::not_begun;  ///< which of them interrupted_ is of
    std::optional<Interrupted> interrupted_;     ///< what this rank has of it, while nothing runs
    std::optional<RankSchedule> after_rest_;     ///< where a rest is to run: what all go over to then
    std::map<NodeIndex, double> down_since_s_;   ///< lost in it, and when, from its start

    std::vector<int> told_members_;  ///< ranks that were there when it was told last
    bool is_new_;                    ///< has come back, and knows nothing of what the others know
};

}  // namespace

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
