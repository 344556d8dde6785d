// SPDX-License-Identifier: GPL-3.0-or-later
// skippipe-joint: placement, paths and priorities together.
#include <algorithm>
#include <chrono>

#include "core/base/fault.h"
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/planners.h"

namespace skippipe::planners::joint {

namespace {

/// Where reductions are planned, of time and progress: until a plan with the charged ring is found.
constexpr double rings_end = 0.35;
/// Of the time: what is left at the least of that for the ring, and after it.
constexpr double least_share = 0.05;

/// The request, whose progress leaves room for that after the first plan.
PlanRequest with_room_for_rings(const PlanRequest& request) {
    PlanRequest roomy = request;
    if (request.progress)
        roomy.progress = [&request](const PlanProgress& progress) {
            constexpr double begin = JointSearch::start_end;
            const double rest = rings_end + (1 - rings_end) * (progress.fraction - begin) / (1 - begin);
            request.progress({progress.fraction <= begin ? progress.fraction : rest, progress.best_iteration_s});
        };
    return roomy;
}

/// The plan that as many steps or as much time finds with the charged ring, its gradients summed by the shortest starts
/// instead: so that planned reductions do not take longer than the ring. Nothing where a ring lacks lines. `best_s`:
/// what progress shows.
std::optional<Plan> plan_with_rings(const Problem& problem, const PlanRequest& request, std::int64_t steps,
                                    double seconds, double best_s) {
    Problem ring = problem;
    ring.plan_reductions = false;
    ring.charge_all_reduce = true;
    PlanRequest own = request;
    own.robust.reset();
    own.steps = steps;
    own.seconds = seconds;
    if (request.progress)
        own.progress = [&request, best_s](const PlanProgress& progress) {
            constexpr double begin = JointSearch::start_end;
            request.progress({begin + (rings_end - begin) * progress.fraction, best_s});
        };
    try {
        auto candidate = candidate_of(problem, JointSearch(ring, own).plan({}));
        choose_reductions(problem, candidate);
        return make_plan(problem, candidate, {}, request, 0, {});
    } catch (const InputError&) {
        return std::nullopt;
    }
}

class Joint final : public Planner {
public:
    std::string name() const override { return "skippipe-joint"; }
    std::string description() const override {
        return "Placement, paths and priorities searched together against the exact timeline by simulated annealing; "
               "stops at any time.";
    }
    bool full_pipeline() const override { return false; }
    bool robust() const override { return true; }
    bool goes_on() const override { return true; }

    /// Where reductions are planned, what the charged ring finds is searched on with them, after a first plan; of many
    /// nodes the starts see reductions themselves, and the ring only costs time.
    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        if (!problem.plan_reductions || request.warm_start != nullptr || wants_timed_starts(problem))
            return JointSearch(problem, request).plan(name());
        using Clock = std::chrono::steady_clock;
        const auto left_s = [&, began = Clock::now()](double share) {
            const double gone_s = std::chrono::duration<double>(Clock::now() - began).count();
            return request.seconds > 0 ? std::max(share * request.seconds - gone_s, least_share * request.seconds) : 0;
        };
        JointSearch search(problem, with_room_for_rings(request));
        if (const auto rings = plan_with_rings(problem, request, search.steps(), left_s(rings_end), search.best_s()))
            search.begin_besides(*rings);
        if (request.seconds > 0) search.have_left(left_s(1));
        return search.plan(name());
    }
};

}  // namespace

}  // namespace skippipe::planners::joint

namespace skippipe::planners {

std::unique_ptr<Planner> make_skippipe_joint() { return std::make_unique<joint::Joint>(); }

}  // namespace skippipe::planners
