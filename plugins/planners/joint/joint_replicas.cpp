// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that long searches spend their time on.
#include <algorithm>
#include <limits>

#include "core/base/index.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/orders/replica_exchange.h"

namespace skippipe::planners::joint {

namespace {

/// Of the authors' 20 nodes, and in proportion of more operations: from so many seconds of a core, or steps, on,
/// replica exchanges find more than rounds of annealing.
constexpr double least_core_seconds = 40;
constexpr std::int64_t least_steps = 24'000'000;
/// Before the first exchange, so many steps of annealing.
constexpr std::int64_t annealed_steps = 6'000'000;
/// And if stages may have any size, so many to find out which to begin with.
constexpr std::int64_t sizing_steps = 600'000;
/// One exchange finds little more after so many rounds; another begins anew.
constexpr std::int64_t rounds_an_exchange = 4000;
/// The hottest and the coldest chain's temperature, parts of the first of annealing's.
constexpr double hottest = 3.75, coldest = 0.6;

}  // namespace

/// Where times follow a graph, small problems apart: those are better begun anew often.
bool JointSearch::uses_replicas(double plain_end) const {
    if (!follows_a_graph(problem_) || operations() < 100 || operations() >= large) return false;
    if (first_.by_clock())
        return request_.seconds * plain_end * std::min(request_.threads, ReplicaExchange::replicas) >=
               least_core_seconds * scale();
    return static_cast<double>(steps_) >= static_cast<double>(least_steps) * scale();
}

/// A plan found by the clock is found again by the steps that it says it took, unless the clock cut the end of the last
/// exchange short.
void JointSearch::search_with_replicas(double plain_end) {
    choose_sizes(first_.part(start_end, first_.by_clock() ? plain_end : start_end), sizing_steps);
    const double annealed_end =
        start_end + (plain_end - start_end) * (first_.by_clock() ? 1 : fraction_of(annealed_steps));
    anneal({.begin = start_end, .end = annealed_end, .steps = annealed_steps, .by_steps = true});
    const Budget budget = first_.part(start_end, plain_end);
    std::int64_t rounds = first_.by_clock() ? std::numeric_limits<std::int64_t>::max()
                                            : (steps_ - done_) / ReplicaExchange::steps_a_round_in_all;
    for (int number = 0; rounds > 0; ++number) {
        const std::int64_t most = std::min(rounds, rounds_an_exchange);
        // None begins after one that the clock has ended: by steps, what is left is one exchange.
        if (exchange_replicas(number, start_of_exchange(number), budget, most) < most) return;
        rounds -= most;
    }
}

/// The first exchange goes on from what annealing found, the next ones begin with stages of the other sizes; then with
/// those that the best plan has.
PlanCandidate JointSearch::start_of_exchange(int number) const {
    const auto same = std::find_if(starts_.begin(), starts_.end(), [&](const PlanCandidate& start) {
        return sizes_of(start.stages) == sizes_of(best_.candidate.stages);
    });
    if (number == 0 && (same == starts_.begin() || starts_.size() < 2)) return best_.candidate;
    PlanCandidate start = at(number) < starts_.size() ? starts_[at(number)]
                          : same != starts_.end()     ? *same
                                                      : starts_.front();
    start.schedule.order = dispatch_order(problem_, start);
    return start.schedule.order.empty() ? best_.candidate : start;
}

/// Returns the rounds that the exchange had.
std::int64_t JointSearch::exchange_replicas(int number, PlanCandidate from, const Budget& budget,
                                            std::int64_t most_rounds) {
    if (from.schedule.order.empty()) from.schedule.order = dispatch_order(problem_, from);
    const double first_s = best_s_ * temperatures_.first, begun_s = budget.seconds_left();
    ReplicaExchange exchange(problem_, from, first_s * hottest, first_s * coldest, request_.seed,
                             at(number) * 1000 + 401);
    const auto go_on = [&] {
        return budget.go_on(fraction_of(done_ + exchange.steps()), std::min(best_s_, exchange.best_s()));
    };
    const auto has_time = [&] {
        return !first_.by_clock() ||
               budget.seconds_left() > (begun_s - budget.seconds_left()) * ReplicaExchange::finish_share;
    };
    while (exchange.rounds() < most_rounds && has_time() && go_on()) exchange.round(request_.threads);
    // What came of the replica exchanges before is worth more reheating than the last of these ends.
    exchange.finish(request_.threads,
                    number > 0 && !best_.candidate.schedule.order.empty() ? &best_.candidate : nullptr, go_on);
    done_ += exchange.steps();
    if (exchange.best_s() < best_s_) take(exchange.best(), exchange.best_s());
    return exchange.rounds();
}

}  // namespace skippipe::planners::joint
