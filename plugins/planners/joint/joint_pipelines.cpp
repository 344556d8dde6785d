// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that deals a large network out to small fixed pipelines.
#include <algorithm>

#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/pipelines/pipeline_search.h"

namespace skippipe::planners::joint {

namespace {

/// What steps are in seconds of a core, by the operations of the timelines that are simulated meanwhile.
constexpr double operations_a_second = 2e7;

}  // namespace

/// Returns whether it gave a better plan; where the designs promise none, most of its time is left.
bool JointSearch::plan_pipelines(double begin, double end) {
    const double share = end - begin;
    PipelineEffort effort{.threads = std::max(1, request_.threads), .seed = request_.seed, .stop = request_.stop};
    effort.seconds = first_.by_clock() ? request_.seconds * share : 0;
    effort.core_s = first_.by_clock() ? effort.seconds * effort.threads
                                      : static_cast<double>(steps_) * share * operations() / operations_a_second;
    const Budget budget = first_.part(begin, end);
    const PipelineSearch search(problem_, network_, effort, [&](double fraction) { budget.go_on(fraction, best_s_); });
    auto plan = search.design(best_s_);
    if (!plan || request_.stop.stop_requested() || !(plan->promised_s < best_s_)) return false;
    if (plan->seconds < best_s_) take(plan->whole, plan->seconds);
    search.search_orders(*plan);
    done_ += plan->steps / static_cast<std::int64_t>(plan->parts.size());
    if (plan->seconds < best_s_) take(plan->whole, plan->seconds);
    return best_.candidate == plan->whole;
}

}  // namespace skippipe::planners::joint
