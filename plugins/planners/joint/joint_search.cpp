// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/joint_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.h"
#include "plugins/planners/joint/joint_start.h"

namespace skippipe::planners::joint {

namespace {

constexpr double robust_begin = 0.4;  ///< of the time, where a plan is to be robust

/// Of the time and the steps of the paths: to find out what sizes stages should have, where that is open.
constexpr double sizes_share = 0.5, sizes_end = 0.2;
/// A step on the paths takes so many times as long as one on the orders.
constexpr double paths_slower = 6;
/// Of steps and time; the rest is spent on the whole.
constexpr double partitions_share = 0.85;

/// Chains begin anew, from other paths, rather than cool ever more slowly: what one ends in depends on its placement.
constexpr double seconds_a_round = 30, steps_a_round = 60'000'000;

/// The request, whose progress is told the best of all that it was told.
PlanRequest told_the_best(const PlanRequest& request) {
    PlanRequest told = request;
    if (request.progress)
        told.progress = [tell = request.progress, best_s = 0.0, fraction = 0.0](const PlanProgress& progress) mutable {
            const double now_s = progress.best_iteration_s;
            fraction = std::max(fraction, progress.fraction);
            if (now_s > 0 && (best_s == 0 || now_s < best_s)) best_s = now_s;
            tell({fraction, best_s});
        };
    return told;
}

}  // namespace

/// Found by trial: small problems on those whose optimum is known, larger ones on the authors' 20 nodes.
SearchShares JointSearch::shares_of(const Problem& problem, double operations) {
    const bool uneven = problem.plan_blocks || problem.sizes.size() > 1;
    if (operations < 100) return {20, uneven ? 0.3 : 0.5, 0.5, 1.3, 3e8 / operations};
    // Where times follow a graph, a step on the orders costs a fifth of one on the paths, and takes the iteration
    // further; large problems have more orders than there are steps to improve them.
    return follows_a_graph(problem) && operations < large ? SearchShares{2, 0.1, 0.35, 1.05, 3e8 / operations}
                                                          : SearchShares{2, 0.85, 0.85, 1.05, 3e7 / operations};
}

/// As long a search for every problem: a step costs about as much as the operations of a timeline. The transfers of
/// planned reductions don't count, though a step takes several times as long with them: what they hide under the
/// microbatches is found late.
std::int64_t JointSearch::default_steps() const {
    const double most = shares_.paths_share < 0.5 ? 1'500'000 : 400'000;
    return static_cast<std::int64_t>(std::clamp(most * usual_operations / operations(), 2'000.0, most));
}

/// Of the steps of a round; of few steps a greater part, as orders are only worth their while on paths that are.
std::int64_t JointSearch::paths_steps(std::int64_t steps) const {
    const double share = std::clamp(300 * operations() / static_cast<double>(steps), shares_.paths_share, 0.85);
    return static_cast<std::int64_t>(static_cast<double>(steps) * share);
}

JointSearch::JointSearch(const Problem& problem, const PlanRequest& request)
    : problem_(problem),
      request_(told_the_best(request)),
      first_(request_, 0, start_end),
      shares_(shares_of(problem, operations())),
      temperatures_(RelativeTemperatures::of_paths(problem)),
      network_(problem),
      steps_(request.steps > 0 ? request.steps : default_steps()) {
    if (!begin_timed()) begin_published();
    if (request.warm_start != nullptr && fits_as_start(problem, *request.warm_start)) take_warm_start();
    paths_ = best_.candidate;
    paths_.schedule.order.clear();
    paths_s_ = best_.candidate.schedule.order.empty() ? best_s_ : iteration_s(problem_, paths_);
    starts_ = {paths_};
    first_.go_on(1, best_s_);
}

Plan JointSearch::plan(const std::string& planner) {
    const double plain_end = request_.robust ? robust_begin : 1;
    if (uses_replicas(plain_end))
        search_with_replicas(plain_end);
    else
        anneal_rounds(plain_end);
    if (request_.robust) make_robust(first_.part(plain_end, 1));
    if (request_.progress) request_.progress({1, best_s_});
    return make_plan(problem_, best_.candidate, planner, request_, first_.by_clock() ? done_ : steps_, best_.note);
}

void JointSearch::begin_besides(const Plan& plan) {
    if (!fits_as_start(problem_, plan)) return;
    PlanCandidate given = candidate_of(problem_, plan);
    if (const double given_s = iteration_s(problem_, given); given_s < best_s_) take(given, given_s);
    given.schedule.order.clear();
    if (!std::isfinite(iteration_s(problem_, given))) return;  // its order alone kept it from a deadlock
    besides_ = given;
    starts_.push_back(std::move(given));
}

void JointSearch::have_left(double seconds) {
    request_.seconds = seconds / (1 - start_end);
    first_.end_now();
}

/// Takes over a given plan where it is better.
void JointSearch::take_warm_start() {
    PlanCandidate given = candidate_of(problem_, *request_.warm_start);
    const double given_s = iteration_s(problem_, given);
    if (!(given_s < best_s_)) return;
    take(given, given_s);
    best_.note = request_.warm_start->note;
    warm_ = true;
}

void JointSearch::take(const PlanCandidate& candidate, double seconds) {
    best_s_ = seconds;
    best_.candidate = candidate;
    best_.note.clear();
}

/// On the paths, on all threads, about.
std::int64_t JointSearch::steps_in(double seconds) const {
    return static_cast<std::int64_t>(shares_.steps_per_s / paths_slower * seconds * std::max(1, request_.threads));
}

/// By the clock, each chain needs a thread of its own.
int JointSearch::chains(const Budget& budget) const {
    return budget.by_clock() ? std::clamp(request_.threads, 1, shares_.chains) : shares_.chains;
}

/// So many rounds as there are time or steps for, each from the start; after partitions, and after changes of the
/// start, on the orders of what these made alone.
void JointSearch::anneal_rounds(double plain_end) {
    const double wanted = first_.by_clock() ? request_.seconds / (seconds_a_round * scale())
                                            : static_cast<double>(steps_) / steps_a_round;
    const int rounds = static_cast<int>(std::clamp(wanted, 1.0, 1000.0));
    const double partitions_end = start_end + (plain_end - start_end) * partitions_share;
    if (first_.by_clock())
        choose_sizes(first_.part(start_end, sizes_end), steps_in((sizes_end - start_end) * request_.seconds));
    else
        choose_sizes(first_.part(start_end, start_end),
                     static_cast<std::int64_t>(static_cast<double>(paths_steps(steps_)) * sizes_share));
    const auto [started, may_part, orders_alone] = search_starts(plain_end);
    const bool partitioned =
        may_part && plan_partitions(first_.part(started, partitions_end),
                                    static_cast<std::int64_t>(static_cast<double>(steps_) * partitions_share));
    const double begun = partitioned ? partitions_end : started;
    const std::int64_t left = std::max<std::int64_t>(
        1,
        partitioned ? static_cast<std::int64_t>(static_cast<double>(steps_) * (1 - partitions_share)) : steps_ - done_);
    for (int r = 0; r < rounds && !request_.stop.stop_requested(); ++r) {
        const double begin = begun + (plain_end - begun) * r / rounds,
                     end = begun + (plain_end - begun) * (r + 1) / rounds;
        anneal({r, begin, end, left / rounds + (r < left % rounds ? 1 : 0), false, partitioned || orders_alone});
    }
}

void JointSearch::anneal(const Round& round) {
    const double middle = round.begin + (round.end - round.begin) * (round.orders_alone ? 0 : shares_.paths_time);
    const std::int64_t for_paths = round.orders_alone ? 0 : paths_steps(round.steps);
    const auto ends = round.orders_alone ? std::vector{best_.candidate}
                                         : anneal_paths(round, part(round, round.begin, middle), for_paths);
    anneal_orders(round, part(round, middle, round.end), round.steps - for_paths, ends);
}

/// Where steps decide although there is a clock, the clock says nothing about how the round is divided.
Budget JointSearch::part(const Round& round, double begin, double end) const {
    if (!round.by_steps) return first_.part(begin, end);
    return first_.by_clock() ? first_.part(round.begin, round.end).by_steps() : first_.part(begin, end);
}

}  // namespace skippipe::planners::joint
