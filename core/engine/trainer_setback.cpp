// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks of a training that all go back to a checkpoint, or stand still until a stage has a node again.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/engine/training.h"
#include "core/engine/way_on.h"

namespace skippipe {

void Trainer::choose_way(const Regrouping& met, Agreement& agreement) {
    const auto is_in = [](const std::vector<int>& ranks, int rank) {
        return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    const bool lost = std::any_of(told_members_.begin(), told_members_.end(),
                                  [&](int rank) { return !is_in(met.members, rank) || is_in(agreement.joined, rank); });
    const auto checkpoint = commits_ ? commits_->newest() : std::string{};
    const auto way =
        way_on(problem_, everybody_, experiment_.recovery,
               {met.members, agreement.joined, met.how, lost, agreement.torn,
                controller_ ? controller_->never_back() : std::vector<int>{}, squared_norms_, learning_rates_},
               !checkpoint.empty(), [&] { return has_plan_for(met.members); });
    agreement.waits_for = way.waits_for;
    agreement.rebuilt = way.rebuilt;
    agreement.neighbours = way.neighbours;
    agreement.passed_over = way.passed_over;
    if (way.goes_back || !way.rebuilt.empty()) agreement.checkpoint = checkpoint;
    if (!agreement.checkpoint.empty() || !way.neighbours.empty() || way.waits_for >= 0)
        agreement.rests = RankPosition::not_begun;
}

bool Trainer::has_plan_for(const std::vector<int>& members) {
    try {
        schedule_for(problem_, everybody_, members, replanner_);
        return true;
    } catch (const InputError&) {
        return false;
    }
}

Setback Trainer::go_back_with_all(const Agreement& agreement) {
    torn_ = true;
    done_before_ = std::max(done_before_, agreement.iterations_done);
    const auto to = commits_->go_back(agreement.checkpoint, everybody_.plan);
    commit_.clear();
    done_ = committed_at_ = to.iterations_done;
    validated_at_ = to.validated ? done_ : -1;
    validation_due_ = false;
    tokens_ = to.tokens;
    squared_norms_ = to.members.squared_norms;
    learning_rates_ = to.members.learning_rates;
    transport_.all_gather({0});
    torn_ = is_new_ = false;
    const bool was_here = went_to_ && went_to_->first == done_;
    const double since_s = was_here ? went_to_->second : to.network_s;
    return {to, std::max(std::exchange(done_before_, 0) - done_, 0), network_s_ - since_s, "nodes were lost"};
}

void Trainer::tell_setback(Setback setback, double going_back_s) {
    setback.lost_s += going_back_s;
    went_to_.emplace(done_, network_s_ + going_back_s);
    if (listener_) listener_->went_back(position(), setback);
}

void Trainer::stand_still() {
    std::string told;
    if (controller_) {
        const double longest_s = longest_wait_s(experiment_.recovery, experiment_.failures);
        const double until_s = stands_since_s_ + longest_s;
        while (told.empty()) {
            if (transport_.must_regroup()) throw Aborted();
            if (controller_->next().stop)
                told = stop_word;
            else if (transport_.somebody_waits() || never_comes(everybody_, waits_for_, controller_->never_back()))
                told = meet_word;
            else if (steady_s() > until_s)
                throw nobody_came(problem_, everybody_, waits_for_, longest_s);
            else
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    told = transport_.broadcast(told);
    if (told == meet_word) return regroup();
    watch_.pause();
    over_ = true;
}

}  // namespace skippipe
