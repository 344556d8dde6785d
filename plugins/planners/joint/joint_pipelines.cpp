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

/// Returns whether it gave a better plan; where the designs promise none, at least half of its time is left.
bool JointSearch::plan_pipelines(double begin, double end) {
    const Budget budget = first_.part(begin, end);
    PipelineEffort effort{.threads = std::max(1, request_.threads), .seed = request_.seed, .stop = request_.stop};
    effort.seconds = budget.by_clock() ? budget.seconds_left() : 0;
    effort.core_s = budget.by_clock()
                        ? effort.seconds * effort.threads
                        : static_cast<double>(steps_) * (end - begin) * operations() / operations_a_second;
    if (budget.by_clock() && effort.seconds <= 0) return false;
    PipelineSearch search(problem_, network_, effort, [&](double fraction) { budget.go_on(fraction, best_s_); });
    const auto plan = search.search(best_s_);
    if (!plan || !(plan->seconds < best_s_)) return false;
    done_ += plan->steps / static_cast<std::int64_t>(plan->parts.size());
    take(plan->whole, plan->seconds);
    return true;
}

}  // namespace skippipe::planners::joint
