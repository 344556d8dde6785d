// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/joint_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/fault.h"
#include "core/planner/bounds/bounds.h"
#include "plugins/planners/joint/joint_start.h"

namespace skippipe::planners::joint {

namespace {

/// Numbers of data nodes that are tried below the usual one, and above it.
constexpr int most_a_side = 2;
/// Starts this much longer than the best one are not searched.
constexpr double near_start = 1.3;

/// With so many data nodes, where that is possible.
std::optional<PlanCandidate> start_with(const Problem& problem, int data_nodes, const PlanRequest& request,
                                        const Budget& budget) {
    Problem sized = problem;
    sized.stage_sizes = problem.stage_sizes_with(data_nodes);
    try {
        PlanCandidate candidate = any_start(sized, request, budget).candidate;
        candidate.schedule.order.clear();
        return candidate;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

}  // namespace

std::vector<PlanCandidate> starts_of_several_sizes(const Problem& problem, const PlanCandidate& usual,
                                                   const PlanRequest& request, const Budget& budget) {
    std::vector<PlanCandidate> starts{usual};
    const int data_nodes = static_cast<int>(usual.stages[0].size()), most = problem.nodes() - (problem.stages - 1);
    for (const int step : {-1, 1}) {
        int tried = 0;
        for (int r = data_nodes + step; r >= 1 && r <= most && tried < most_a_side; r += step) {
            if (problem.balance_data_nodes && problem.microbatches % r != 0) continue;
            ++tried;
            if (auto start = start_with(problem, r, request, budget)) starts.push_back(std::move(*start));
        }
    }
    double best_s = std::numeric_limits<double>::infinity();
    for (const auto& start : starts) best_s = std::min(best_s, iteration_s(problem, start));
    std::erase_if(starts,
                  [&](const PlanCandidate& start) { return !(iteration_s(problem, start) <= best_s * near_start); });
    return starts;
}

std::vector<PlanCandidate> by_promise(const Problem& problem, std::vector<PlanCandidate> candidates) {
    const auto promise_s = [&](const PlanCandidate& candidate) {
        Problem sized = problem;
        sized.stage_sizes = sizes_of(candidate.stages);
        return iteration_s(problem, candidate) + lower_bound(sized, problem.path_length).seconds;
    };
    std::vector<std::pair<double, PlanCandidate>> promises;
    for (auto& candidate : candidates) promises.emplace_back(promise_s(candidate), std::move(candidate));
    std::stable_sort(promises.begin(), promises.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t k = 0; k < candidates.size(); ++k) candidates[k] = std::move(promises[k].second);
    return candidates;
}

}  // namespace skippipe::planners::joint
