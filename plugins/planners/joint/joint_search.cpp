// SPDX-License-Identifier: GPL-3.0-or-later
// Several annealing chains, as many as the plan's steps say and not as many as there are threads, so that threads never
// change the result.
#include "plugins/planners/joint/joint_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/joint_sizes.h"
#include "plugins/planners/joint/joint_start.h"
#include "plugins/planners/joint/robust.h"

namespace skippipe {

namespace {

std::uint64_t at(int index) { return static_cast<std::uint64_t>(index); }

constexpr double robust_begin = 0.4;  ///< of the time, where a plan is to be robust

/// Of the time and the steps of the paths: to find out what sizes stages should have, where that is open.
constexpr double sizes_share = 0.5, sizes_end = 0.2;
/// With fewer steps of each operation the starts say more than the ends.
constexpr double least_sizing = 60;
/// A step on the paths takes so many times as long as one on the orders.
constexpr double paths_slower = 6;
/// Of three or more ends, those that are this much longer than what promises most are not searched on.
constexpr double near_size = 1.06;

/// Of steps and time; the rest is spent on the whole.
constexpr double partitions_share = 0.85;

/// Chains begin anew, from other paths, rather than cool ever more slowly: what one ends in depends on its placement.
constexpr double seconds_a_round = 30, steps_a_round = 60'000'000;

/// Each chain by what it begins with.
auto relative(const RelativeTemperatures& temperatures) {
    return [temperatures](const PathAnnealer& chain) { return temperatures.times(chain.best_s()); };
}

/// The best of each chain that came near to the best of all, that one first.
std::vector<PlanCandidate> ends_of(const Chains<PathAnnealer>& all, double near_best) {
    std::vector<const PathAnnealer*> chains;
    for (const auto& chain : all) chains.push_back(chain.get());
    std::stable_sort(chains.begin(), chains.end(),
                     [](const auto* a, const auto* b) { return a->best_s() < b->best_s(); });
    std::vector<PlanCandidate> ends;
    for (const auto* chain : chains)
        if (chain->best_s() < chains.front()->best_s() * near_best || ends.empty()) ends.push_back(chain->best());
    return ends;
}

}  // namespace

/// Found by trial: small problems on those whose optimum is known, larger ones on the authors' 20 nodes.
SearchShares JointSearch::shares_of(const Problem& problem, double operations) {
    const bool uneven = problem.plan_blocks || problem.sizes.size() > 1;
    if (operations < 100) return {20, uneven ? 0.3 : 0.5, 0.5, 1.3, 3e8 / operations};
    // Where times follow a graph, a step on the orders costs a fifth of one on the paths, and takes the iteration
    // further; large problems have more orders than there are steps to improve them.
    return has_dedicated_lines(problem) && operations < large ? SearchShares{2, 0.1, 0.35, 1.05, 3e8 / operations}
                                                              : SearchShares{2, 0.85, 0.85, 1.05, 3e7 / operations};
}

/// As long a search for every problem: a step costs about as much as the operations of a timeline.
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
      request_(request),
      first_(request, 0, start_end),
      shares_(shares_of(problem, operations())),
      temperatures_(RelativeTemperatures::of_paths(problem)),
      best_(any_start(problem, request, first_)),
      best_s_(iteration_s(problem, best_.candidate)),
      network_(problem),
      steps_(request.steps > 0 ? request.steps : default_steps()) {
    if (request.warm_start != nullptr && fits_as_start(problem, *request.warm_start)) take_warm_start();
    paths_ = best_.candidate;
    starts_ = {best_.candidate};
    starts_.front().schedule.order.clear();
    paths_s_ = best_s_;
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

/// Adds the steps of the chains, and takes over the best of them where it is better.
template <typename Chain>
void JointSearch::take_best(const Chains<Chain>& all) {
    for (const auto& chain : all) {
        done_ += chain->steps();
        if (chain->best_s() < best_s_) take(chain->best(), chain->best_s());
    }
}

/// On the paths, on all threads, about.
std::int64_t JointSearch::steps_in(double seconds) const {
    return static_cast<std::int64_t>(shares_.steps_per_s / paths_slower * seconds * std::max(1, request_.threads));
}

/// By the clock, each chain needs a thread of its own.
int JointSearch::chains(const Budget& budget) const {
    return budget.by_clock() ? std::clamp(request_.threads, 1, shares_.chains) : shares_.chains;
}

/// Small problems are begun anew often enough, large ones are planned in partitions, and where transfers wait for each
/// other paths are annealed so long that they find out by themselves; so do data nodes that need not start as many
/// microbatches each. Who gives a plan to begin with has chosen its sizes.
bool JointSearch::sizes_are_open() const {
    const bool are_free = problem_.placement.empty() && problem_.stage_sizes.empty() && problem_.stages > 1 && !warm_;
    return are_free && problem_.balance_data_nodes && has_dedicated_lines(problem_) && operations() >= 100 &&
           operations() < large;
}

/// Short searches say which sizes are worth a long one.
void JointSearch::choose_sizes(const Budget& budget, std::int64_t steps) {
    const auto suffices_for = [&](std::size_t count) {
        return static_cast<double>(steps) >= least_sizing * operations() * static_cast<double>(count);
    };
    if (!sizes_are_open() || !suffices_for(2)) return;
    const auto starts = starts_of_several_sizes(problem_, starts_.front(), request_, first_);
    if (starts.size() < 2 || !suffices_for(starts.size())) return;
    Chains<PathAnnealer> all;
    for (std::size_t k = 0; k < starts.size(); ++k)
        all.push_back(std::make_unique<PathAnnealer>(problem_, network_, starts[k], request_.seed, 701 + k));
    run_chains(all, steps, request_.threads, budget.by_steps(), relative(temperatures_));
    take_best(all);
    starts_.clear();
    for (const auto& chain : all) starts_.push_back(chain->best());
    starts_ = by_promise(problem_, std::move(starts_));
    const double first_s = iteration_s(problem_, starts_.front());
    while (starts_.size() > 2 && iteration_s(problem_, starts_.back()) > first_s * near_size) starts_.pop_back();
}

/// So many rounds as there are time or steps for, each from the start; after partitions, on the orders of what they
/// make together alone.
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
    const bool partitioned = plan_partitions(first_.part(start_end, partitions_end),
                                             static_cast<std::int64_t>(static_cast<double>(steps_) * partitions_share));
    const double begun = partitioned ? partitions_end : start_end;
    const std::int64_t left = std::max<std::int64_t>(
        1,
        partitioned ? static_cast<std::int64_t>(static_cast<double>(steps_) * (1 - partitions_share)) : steps_ - done_);
    for (int r = 0; r < rounds && !request_.stop.stop_requested(); ++r) {
        const double begin = begun + (plain_end - begun) * r / rounds,
                     end = begun + (plain_end - begun) * (r + 1) / rounds;
        anneal({r, begin, end, left / rounds + (r < left % rounds ? 1 : 0), false, partitioned});
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

/// Returns what orders are searched for.
std::vector<PlanCandidate> JointSearch::anneal_paths(const Round& round, const Budget& budget, std::int64_t steps) {
    const int count = chains(budget);
    Chains<PathAnnealer> all;
    for (int c = 0; c < count; ++c) {
        PlanCandidate from = starts_[at(c) % starts_.size()];
        if (c > 1) scatter(problem_, Rng(request_.seed, at(c) + 301 + 1000 * at(round.number)), from);
        // Where there are several, the first searches as it would if the blocks were given: freedom to move them must
        // not make a plan longer.
        all.push_back(std::make_unique<PathAnnealer>(problem_, network_, from, request_.seed,
                                                     at(c) + 1 + 1000 * at(round.number),
                                                     PathOptions{.hold_blocks = count > 1 && c == 0}));
    }
    run_chains(all, steps, request_.threads, budget, relative(temperatures_));
    const double before_s = best_s_;
    const PlanCandidate before = best_.candidate;
    take_best(all);
    auto ends = ends_of(all, shares_.near_best);
    if (const double end_s = iteration_s(problem_, ends.front()); end_s < paths_s_) {
        paths_ = ends.front();
        paths_s_ = end_s;
    }
    if (round.number == 0 && best_s_ == before_s) ends.insert(ends.begin(), before);
    return ends;
}

/// Binds every node's order, first as it comes, and improves it, beginning with each of `ends` in turn. A plan that
/// gains nothing stays without an order.
void JointSearch::anneal_orders(const Round& round, const Budget& budget, std::int64_t steps,
                                std::vector<PlanCandidate> ends) {
    for (auto& end : ends)
        if (end.schedule.order.empty()) end.schedule.order = dispatch_order(problem_, end);
    std::erase_if(ends, [](const PlanCandidate& end) { return end.schedule.order.empty(); });
    if (ends.empty() || !std::isfinite(best_s_)) return;
    const int count = chains(budget);
    const OrderHeat heat = OrderHeat::of(
        budget.by_clock() ? budget.seconds() * shares_.steps_per_s : static_cast<double>(steps) / count, operations());
    Chains<OrderAnnealer> all;
    for (int c = 0; c < count; ++c)
        all.push_back(std::make_unique<OrderAnnealer>(problem_, ends[at(c) % ends.size()], request_.seed,
                                                      at(c) + 101 + 1000 * at(round.number)));
    const auto schedule = TemperatureSchedule::between(best_s_ * temperatures_.first * heat.first,
                                                       best_s_ * temperatures_.last * heat.last);
    run_chains(all, steps, request_.threads, budget, [&](const OrderAnnealer&) { return schedule; });
    take_best(all);
}

/// From the best paths without bound orders, as many steps again against drawn networks. What it found is taken where a
/// fresh and larger sample confirms it, so that the plan is never worse for having been asked for.
void JointSearch::make_robust(const Budget& budget) {
    const auto scenarios = draw_scenarios(problem_, request_.robust->jitter, request_.seed);
    PlanCandidate start = paths_;
    start.schedule.order.clear();
    Chains<PathAnnealer> all;
    for (int c = 0; c < chains(budget); ++c)
        all.push_back(std::make_unique<PathAnnealer>(problem_, network_, start, request_.seed, at(c) + 201,
                                                     PathOptions{.scenarios = &scenarios}));
    const RelativeTemperatures gentle{temperatures_.first / 2, temperatures_.last};  // not so hot as to lose the start
    run_chains(all, steps_, request_.threads, budget, relative(gentle), iteration_s(problem_, best_.candidate));
    std::vector<PlanCandidate> candidates{best_.candidate};
    std::int64_t taken = 0;
    for (const auto& chain : all) {
        taken += chain->steps();
        if (std::isfinite(iteration_s(problem_, chain->best()))) candidates.push_back(chain->best());
    }
    done_ += taken;
    if (taken > 0 || !request_.stop.stop_requested())
        best_.candidate = most_robust(problem_, candidates, request_, best_.note);
}

}  // namespace skippipe
