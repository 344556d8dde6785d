// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "core/base/index.h"
#include "core/engine/rank_timeline.h"
#include "core/engine/training.h"
#include "core/engine/way_on.h"
#include "core/experiment/io.h"

namespace skippipe {

void Trainer::interrupt() {
    if (execution_) under_way_.interrupt(*execution_, computed_ ? &*computed_ : nullptr);
    if (!computed_) execution_.reset();  // else a step may have to be taken
}

RankPosition Trainer::position_among_ranks() const {
    RankPosition position{.iterations_done = torn_     ? RankPosition::torn
                                             : is_new_ ? RankPosition::has_come
                                                       : done_,
                          .commit = commit_,
                          .switches = is_new_ ? 0 : switches_};
    under_way_.say(position);
    return position;
}

void Trainer::regroup() {
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
    auto rest = under_way_.plan_rest(problem_, everybody_, met, agreement, is_new_, replanner_, transport_);
    report.planning_s = lap();
    report.waits_for = waits_for_ = agreement.waits_for;
    if (waits_for_ >= 0) report.waits_s = longest_wait_s(experiment_.recovery, experiment_.failures);
    std::optional<RankSchedule> next;
    if (waits_for_ < 0) next = make_schedule(problem_, plan_from(agreement.plan_json), everybody_);
    if (rest) {
        report.goes_on = true;
        note_absent(at_s - agreement.origin_s - met.detection_s);
        go_on_with(std::move(*rest), agreement, report);
        after_rest_ = std::move(next);
    } else {
        if (began_s_) report.lost_work_s = interrupted_s - *began_s_;  // else the iteration was over after all
        forget_iteration();
        computed_.reset();
        execution_.reset();
        if (next) go_over_to(std::move(*next));
    }
    report.connecting_s = lap();
    const bool goes_back = agreement.goes_back();
    if (waits_for_ < 0 && !goes_back) give_weights(met.members, agreement);
    if (commits_) commits_->regrouped();
    std::optional<Setback> setback;
    if (goes_back) setback = go_back_with_all(agreement);
    report.fetching_s = lap();
    if (setback) tell_setback(std::move(*setback), report.total_s());
    if (!report.goes_on) network_s_ += report.total_s();  // else the iteration lasts so much longer
    tell(met, agreement, std::move(report));
    if (waits_for_ < 0) return watch_.pause();
    began_s_ = stands_since_s_ = steady_s();
}

void Trainer::give_weights(const std::vector<int>& members, const Agreement& agreement) {
    fetch_states(everybody_, members, agreement.joined, compute_, transport_);
    for (const int stage : agreement.rebuilt) commits_->rebuild(agreement.checkpoint, stage, everybody_.plan);
    rebuild_from_neighbours(experiment_.model, everybody_, agreement.joined, agreement.neighbours, compute_,
                            transport_);
    if (!agreement.neighbours.empty()) learning_rates_.resize(everybody_.plan.stages.size(), 1);
    for (const auto& stage : agreement.neighbours) learning_rates_[at(stage.stage)] = stage.learning_rate;
    is_new_ = false;
    if (!agreement.joined.empty()) transport_.all_gather({0});  // until they have it
}

void Trainer::go_on_with(PlannedRest rest, const Agreement& agreement, RegroupReport& report) {
    if (is_new_) {
        compute_.begin_iteration(agreement.iterations_done);
        began_s_ = steady_s();
    }
    auto next = under_way_.go_on(std::move(rest), agreement, is_new_, report);
    execution_.reset();
    transport_.follow(next);
    execution_ = std::make_unique<PlanExecution>(experiment_, problem_, std::move(next), compute_, transport_);
}

void Trainer::note_absent(double since_s) {
    for (const int rank : absent_ranks(transport_))
        if (std::find(told_members_.begin(), told_members_.end(), rank) != told_members_.end())
            under_way_.note_lost(nodes_of_ranks(everybody_, {rank}), since_s);
}

Agreement Trainer::agree_with_all(const Regrouping& met, const std::vector<std::string>& positions) {
    std::string told;
    if (transport_.rank() == 0) {
        auto agreement = agree(positions);
        take_switches(agreement);
        choose_way(met, agreement);
        take_place(agreement);
        agreement.validation_due = validation_due_;
        agreement.validated_at = validated_at_;
        agreement.committed_at = committed_at_;
        agreement.iterations = iterations_;
        agreement.at_s = transport_.now_s() - agreement.origin_s;
        ahead_.give_up();
        if (agreement.waits_for < 0) {
            const auto next = schedule_for(problem_, everybody_, met.members, replanner_);
            agreement.plan_json = to_json(next.plan, problem_, nullptr).dump();
            plan_ahead(next.plan);
        }
        if (switches_ > 0) agreement.placement = to_json(everybody_.plan, problem_, nullptr).dump();
        told = to_text(agreement);
    }
    auto agreement = read_agreement(transport_.broadcast(told));
    take_switches(agreement);
    take_place(agreement);
    validation_due_ = agreement.validation_due;
    validated_at_ = agreement.validated_at;
    committed_at_ = agreement.committed_at;
    iterations_ = std::max(iterations_, agreement.iterations);
    return agreement;
}

void Trainer::take_place(const Agreement& agreement) {
    if (agreement.goes_back() || agreement.torn) return;  // they go back, wherever that was
    if (!is_new_ && agreement.iterations_done == done_ + 1) {
        if (!computed_ || agreement.commit.empty())
            throw std::logic_error("the others have ended an iteration without this rank");
        conclude(agreement.commit, false);
    }
    computed_.reset();
    done_ = agreement.iterations_done;
}

void Trainer::tell(const Regrouping& met, const Agreement& agreement, RegroupReport report) {
    // Against what was told last: a meeting that led to nothing was not.
    auto there = met.members;
    const auto is_in = [](const std::vector<int>& ranks, int rank) {
        return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    if (report.waits_for >= 0)  // who has just come is told of once the training goes on
        std::erase_if(there, [&](int rank) { return is_in(agreement.joined, rank); });
    const auto told = std::exchange(told_members_, there);
    std::copy_if(told.begin(), told.end(), std::back_inserter(report.lost),
                 [&](int rank) { return !is_in(there, rank); });
    std::copy_if(there.begin(), there.end(), std::back_inserter(report.joined),
                 [&](int rank) { return !is_in(told, rank) || is_in(agreement.joined, rank); });
    if (!listener_) return;
    report.iterations_done = done_;
    report.nodes_lost = nodes_of_ranks(everybody_, report.lost);
    report.nodes_joined = nodes_of_ranks(everybody_, report.joined);
    report.how = met.how;
    report.detection_s = met.detection_s;
    report.plan_json = agreement.plan_json;
    report.rebuilt = agreement.rebuilt;
    report.passed_over = agreement.passed_over;
    for (const auto& stage : agreement.neighbours) report.from_neighbours.push_back(stage.stage);
    listener_->regrouped(report);
}

}  // namespace skippipe
