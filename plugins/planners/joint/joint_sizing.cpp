// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that finds out what sizes stages should have.
#include <cmath>

#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/joint_sizes.h"

namespace skippipe::planners::joint {

namespace {

/// With fewer steps of each operation the starts say more than the ends.
constexpr double least_sizing = 60;
/// Of three or more ends, those that are this much longer than what promises most are not searched on.
constexpr double near_size = 1.06;

}  // namespace

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
    run_chains(all, steps, request_.threads, budget.by_steps(), from_start(temperatures_));
    take_best(all);
    starts_.clear();
    for (const auto& chain : all) starts_.push_back(chain->best());
    starts_ = by_promise(problem_, std::move(starts_));
    const double first_s = iteration_s(problem_, starts_.front());
    while (starts_.size() > 2 && iteration_s(problem_, starts_.back()) > first_s * near_size) starts_.pop_back();
    if (besides_) starts_.push_back(*besides_);
}

}  // namespace skippipe::planners::joint
