// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that searches a plan that stays short when nodes and links vary.
#include <cmath>

#include "core/base/index.h"
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/robust.h"

namespace skippipe::planners::joint {

/// From the best paths without bound orders, as many steps again against drawn networks, or where each is a timeline
/// of its own as many timelines. What it found is taken where a
/// fresh and larger sample confirms it, so that the plan is never worse for having been asked for.
void JointSearch::make_robust(const Budget& budget) {
    const auto& jitter = request_.robust->jitter;
    const bool drawn = wants_drawn_networks(problem_);
    const auto scenarios = draw_scenarios(problem_, jitter, request_.seed);
    const PathOptions options{
        .scenarios = drawn ? nullptr : &scenarios, .drawn = drawn ? &jitter : nullptr, .seed = request_.seed};
    const std::int64_t steps = drawn ? std::max<std::int64_t>(steps_ / DrawnNetworks::count, 1) : steps_;
    PlanCandidate start = paths_;
    start.schedule.order.clear();
    Chains<PathAnnealer> all;
    for (int c = 0; c < chains(budget); ++c)
        all.push_back(std::make_unique<PathAnnealer>(problem_, network_, start, request_.seed, at(c) + 201, options));
    const RelativeTemperatures gentle{temperatures_.first / 2, temperatures_.last};  // not so hot as to lose the start
    run_chains(all, steps, request_.threads, budget, from_start(gentle), iteration_s(problem_, best_.candidate));
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

}  // namespace skippipe::planners::joint
