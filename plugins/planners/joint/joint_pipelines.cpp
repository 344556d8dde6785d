// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that deals a large network out to small fixed pipelines.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/pipelines/pipeline_search.h"

namespace skippipe::planners::joint {

namespace {

/// What steps are in seconds of a core, by the operations of the timelines that are simulated meanwhile.
constexpr double operations_a_second = 1e7;
constexpr std::uint64_t another_seed = 0x9E3779B9;

}  // namespace

/// Returns whether it gave a better plan; where the designs promise none, at least half of its time is left. Which
/// shape and which deal end shortest is chance in part, so that one long search is now and then worse than a shorter
/// one: the last round takes half of the time, each before it half of the next one's, and by steps the rounds of half
/// of the time are among those of all of it, but where a start found meanwhile makes a design hopeless.
bool JointSearch::plan_pipelines(double begin, double end) {
    if (first_.by_clock()) begin = std::min(end, std::max(begin, first_.part(0, 1).clock_fraction()));
    const Budget budget = first_.part(begin, end);
    const double core_s = budget.by_clock()
                              ? budget.seconds_left() * std::max(1, request_.threads)
                              : static_cast<double>(steps_) * (end - begin) * operations() / operations_a_second;
    const double least_s = least_core_s(problem_);
    int halvings = 0;
    while (std::ldexp(core_s, -halvings - 1) >= least_s) ++halvings;
    bool is_shorter = false;
    for (int round = 0; round <= halvings && !request_.stop.stop_requested(); ++round) {
        const int halved = std::min(halvings, halvings - round + 1);  // the first two are alike
        const double share = std::ldexp(1.0, -halved), before = round == 0 ? 0 : share;
        const double round_begin = begin + (end - begin) * before, round_end = round_begin + (end - begin) * share;
        is_shorter = run_pipelines(first_.part(round_begin, round_end), core_s * share, round == 1) || is_shorter;
    }
    return is_shorter;
}

/// A round of so much of a core's time, `anew`: not the same as one of as much.
bool JointSearch::run_pipelines(const Budget& budget, double core_s, bool anew) {
    PipelineEffort effort{.core_s = core_s,
                          .threads = std::max(1, request_.threads),
                          .seed = request_.seed + (anew ? another_seed : 0),
                          .stop = request_.stop};
    if (budget.by_clock()) {
        effort.seconds = std::min(budget.seconds(), budget.seconds_left());  // not what rounds before it left
        effort.core_s = effort.seconds * effort.threads;
        if (effort.seconds <= 0) return false;
    }
    PipelineSearch search(problem_, network_, effort, [&](double fraction) { budget.go_on(fraction, best_s_); });
    const auto plan = search.search(best_s_);
    if (!plan || !(plan->seconds < best_s_)) return false;
    done_ += plan->steps / static_cast<std::int64_t>(plan->parts.size());
    take(plan->whole, plan->seconds);
    return true;
}

}  // namespace skippipe::planners::joint
