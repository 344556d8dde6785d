// SPDX-License-Identifier: GPL-3.0-or-later
// skippipe-joint: placement, paths and priorities together.
#include <algorithm>
#include <chrono>

#include "core/base/fault.h"
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/planners.h"

namespace skippipe::planners::joint {

namespace {

/// Where reductions are planned, of the progress: until a plan with the charged ring is found.
constexpr double rings_end = 0.35;

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

/// The plan that as many steps find with the charged ring, its gradients summed by the shortest starts instead: so that
/// planned reductions do not take longer than the ring. Nothing where a ring lacks lines. `best_s`: what progress
/// shows.
std::optional<Plan> plan_with_rings(const Problem& problem, const PlanRequest& request, std::int64_t steps,
                                    double best_s) {
    Problem ring = problem;
    ring.plan_reductions = false;
    ring.charge_all_reduce = true;
    PlanRequest own = request;
    own.robust.reset();
    own.steps = steps;
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

    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        if (!problem.plan_reductions || request.warm_start != nullptr)
            return JointSearch(problem, request).plan(name());
        if (request.seconds > 0) return plan_by_clock(problem, request);
        const PlanRequest roomy = with_room_for_rings(request);
        JointSearch search(problem, roomy);
        if (const auto rings = plan_with_rings(problem, request, search.steps(), search.best_s()))
            search.begin_besides(*rings);
        return search.plan(name());
    }

private:
    /// The ring has its part of the time, then the search what is left of it.
    Plan plan_by_clock(const Problem& problem, const PlanRequest& request) const {
        using Clock = std::chrono::steady_clock;
        const auto began = Clock::now();
        PlanRequest part = request;
        part.seconds = rings_end * request.seconds;
        const auto rings = plan_with_rings(problem, part, 0, 0);
        const double used_s = std::chrono::duration<double>(Clock::now() - began).count();
        PlanRequest rest = request;
        if (request.progress)
            rest.progress = [&request](const PlanProgress& progress) {
                request.progress({rings_end + (1 - rings_end) * progress.fraction, progress.best_iteration_s});
            };
        rest.seconds = std::max(request.seconds - used_s, (1 - rings_end) * request.seconds);
        JointSearch search(problem, rest);
        if (rings) search.begin_besides(*rings);
        return search.plan(name());
    }
};

}  // namespace

}  // namespace skippipe::planners::joint

namespace skippipe::planners {

std::unique_ptr<Planner> make_skippipe_joint() { return std::make_unique<joint::Joint>(); }

}  // namespace skippipe::planners
