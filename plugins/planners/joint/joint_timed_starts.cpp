// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that looks for a better start of a problem of many nodes.
#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/joint_start.h"
#include "plugins/planners/joint/pipelines/pipeline_search.h"

namespace skippipe::planners::joint {

namespace {

/// Of time and steps.
constexpr double timed_share = 0.75, trial_share = 0.12;
/// A change of a timed start takes about so many times as long as a step on the paths.
constexpr double change_steps = 8;
constexpr int timed_chains = 2;
/// Of the whole: fixed pipelines, whose orders are searched apart, have until then.
constexpr double pipelines_end = 0.97;
/// Of more nodes, the published method takes longer than what it finds is worth beside a timed start.
constexpr int most_published = 120;

}  // namespace

/// The published method's start, where it is better. Throws InputError where there is none at all.
void JointSearch::begin_published() {
    try {
        const auto found = any_start(problem_, request_, first_);
        const double seconds = iteration_s(problem_, found.candidate);
        if (timed_start_ && seconds >= best_s_) return;
        best_ = found;
        best_s_ = seconds;
    } catch (const InputError&) {
        if (!timed_start_) throw;
    }
}

/// Of many nodes, soon: a placement by groups and memory, with paths chosen in simulated time. Returns whether a plan
/// is wanted so soon that it has to do.
bool JointSearch::begin_timed() {
    if (!wants_timed_starts(problem_)) return false;
    check_solvable(problem_);
    try {
        StartSearch search(problem_, network_, request_.seed, 901);
        timed_start_ = search.begin([&](double best_s) { return first_.go_on(0, best_s); });
    } catch (const InputError&) {
        return false;  // the published method says what is missing
    }
    if (!timed_start_) return false;
    if (!take_if_shorter(*timed_start_)) {
        timed_start_.reset();
        return false;
    }
    return problem_.nodes() > most_published || request_.stop.stop_requested();
}

/// Where a problem can be planned in partitions, a short trial of each says which of both the time is spent on. Where
/// annealing is quick, a trial is all that starts get; elsewhere what they leave is for the orders of the best of them.
JointSearch::Started JointSearch::search_starts(double plain_end) {
    if (!timed_start_ || warm_) return {};
    std::vector<std::unique_ptr<StartSearch>> chains;
    for (int c = 0; c < timed_chains; ++c) {
        chains.push_back(std::make_unique<StartSearch>(problem_, network_, request_.seed, 902 + at(c)));
        chains.back()->begin_with(*timed_start_);
    }
    const bool anneals_well = follows_a_graph(problem_) && operations() < large;
    const double trial = (plain_end - start_end) * trial_share,
                 end = anneals_well ? start_end + trial : start_end + (plain_end - start_end) * timed_share;
    double begin = start_end;
    if (may_be_piped(problem_) && operations() >= large) {
        begin = change_starts(chains, begin, begin + trial);
        if (const double all = plain_end * pipelines_end; plan_pipelines(begin, all))
            return {.end = all, .may_part = false, .orders_alone = true};
        if (first_.by_clock()) begin = std::min(end, std::max(begin, first_.part(0, 1).clock_fraction()));
    }
    if (may_be_parted() && begin + trial < end) {
        begin = change_starts(chains, begin, begin + trial);
        if (plan_partitions(first_.part(begin, begin + trial),
                            static_cast<std::int64_t>(static_cast<double>(steps_) * trial_share)))
            return {.end = begin + trial};
        begin += trial;
    }
    if (begin < end) change_starts(chains, begin, end);
    return {.end = std::max(begin, end), .may_part = false, .orders_alone = !anneals_well};
}

/// Returns the end.
double JointSearch::change_starts(std::vector<std::unique_ptr<StartSearch>>& chains, double begin, double end) {
    const Budget budget = first_.part(begin, end);
    const auto clock = budget.clock();
    const auto changes =
        budget.by_clock()
            ? std::numeric_limits<std::int64_t>::max()
            : static_cast<std::int64_t>(static_cast<double>(steps_) * (end - begin) / change_steps / timed_chains);
    std::mutex one_at_a_time;
    parallel_for(timed_chains, request_.threads, [&](int c) {
        auto& chain = *chains[at(c)];
        const auto before = chain.tried();
        chain.run(changes, clock, [&](double fraction, double best_s) {
            const std::lock_guard lock(one_at_a_time);
            return budget.go_on(fraction, std::min(best_s, best_s_));
        });
        const std::lock_guard lock(one_at_a_time);
        done_ += static_cast<std::int64_t>(static_cast<double>(chain.tried() - before) * change_steps);
    });
    for (const auto& chain : chains) take_start(*chain->best());
    return end;
}

void JointSearch::take_start(const TimedStart& start) {
    if (!take_if_shorter(start)) return;
    PlanCandidate candidate = best_.candidate;
    candidate.schedule.order.clear();
    starts_.insert(starts_.begin(), std::move(candidate));
}

/// As it is, or with the shortest start of each stage's sums. Returns whether it was.
bool JointSearch::take_if_shorter(const TimedStart& start) {
    const double before_s = best_s_;
    const auto look = [&](const PlanCandidate& candidate) {
        if (!fits_everywhere(problem_, candidate)) return;
        if (const double seconds = iteration_s(problem_, candidate); seconds < best_s_) take(candidate, seconds);
    };
    look(start.candidate);
    if (problem_.plan_reductions && !request_.stop.stop_requested()) {
        PlanCandidate other = start.candidate;
        choose_reductions(problem_, other);
        look(other);
    }
    return best_s_ < before_s;
}

}  // namespace skippipe::planners::joint
