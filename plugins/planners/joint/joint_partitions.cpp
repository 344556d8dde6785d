// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that plans a large problem in partitions of near nodes.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/base/parallel.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/joint/partitions.h"
#include "plugins/planners/joint/joint_search.h"

namespace skippipe::planners::joint {

namespace {

/// Operations of a partition, at least.
constexpr int least_operations = 250;
constexpr double least_seconds_each = 0.05;

}  // namespace

bool JointSearch::may_be_parted() const { return operations() >= large && has_dedicated_lines(problem_) && !warm_; }

/// Plans every partition on its own and takes over what they make together where it is better. Returns whether it did.
bool JointSearch::plan_partitions(const Budget& budget, std::int64_t steps) {
    if (!may_be_parted() || request_.stop.stop_requested()) return false;
    const auto partitions =
        make_partitions(problem_, network_, timed_start_ ? stage_sizes(problem_) : sizes_of(best_.candidate.stages),
                        least_operations, request_.seed);
    const auto count = static_cast<int>(partitions.size());
    if (count < 2) return false;
    const int threads = std::min(std::max(request_.threads, 1), count), waves = (count + threads - 1) / threads;
    const double seconds = budget.seconds_left() / waves;
    if (budget.by_clock() && seconds < least_seconds_each) return false;
    std::vector<PlanCandidate> candidates(partitions.size());
    std::atomic<int> ready{0};
    std::atomic<std::int64_t> taken{0};
    std::mutex one_at_a_time;
    parallel_for(count, threads, [&](int k) {
        PlanRequest own;
        own.seed = request_.seed + 1'000'003 * static_cast<std::uint64_t>(k);
        own.steps = steps;
        own.seconds = budget.by_clock() ? seconds : 0;
        own.stop = request_.stop;
        own.progress = [&](const PlanProgress& progress) {
            const std::lock_guard lock(one_at_a_time);
            budget.go_on((ready + progress.fraction) / count, best_s_);
        };
        const Problem& part = partitions[at(k)].problem;
        try {
            const Plan plan = JointSearch(part, own).plan({});
            PlanCandidate candidate = candidate_of(part, plan);
            if (candidate.schedule.order.empty()) candidate.schedule.order = dispatch_order(part, candidate);
            taken += plan.steps;
            candidates[at(k)] = std::move(candidate);
            ++ready;
        } catch (const InputError&) {
            return;  // no plan without lines to other partitions
        }
    });
    if (ready < count) return false;
    const PlanCandidate whole = merge_partitions(problem_, partitions, candidates);
    const double whole_s = fits_everywhere(problem_, whole) ? iteration_s(problem_, whole) : best_s_;
    if (!(whole_s < best_s_)) return false;
    take(whole, whole_s);
    done_ += taken;
    return true;
}

}  // namespace skippipe::planners::joint
