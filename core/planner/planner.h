// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/timeline/jitter.h"

namespace skippipe {

struct PlanProgress {
    double fraction = 0;          ///< 0..1
    double best_iteration_s = 0;  ///< of the best plan so far; 0: none yet
};

/// Asks for the plan that is shortest in the bad iterations of a network that varies, not in the network as drawn.
struct Robustness {
    Jitter jitter;
    int samples = 1000;  ///< of `distribution` with the request's seed: on them the plan has the least 95th percentile
                         ///< of those compared
};

struct PlanRequest {
    std::uint64_t seed = 1;
    std::int64_t steps = 0;  ///< 0: the planner's default; the plan depends on steps and seed alone
    double seconds = 0;      ///< > 0: stop by the clock instead; the plan says how many steps that were
    int threads = 1;         ///< never changes the result
    std::stop_token stop;    ///< cancels; the best plan so far is returned
    const Plan* warm_start =
        nullptr;  ///< for planners that go on from it: never a longer one, where it fits the problem
    std::optional<Robustness>
        robust;  ///< for planners that are able to; never a greater 95th percentile than the plan without it
    std::function<void(const PlanProgress&)> progress;  ///< may be empty; called from any thread, one at a time
};

class Planner {
public:
    virtual ~Planner() = default;
    virtual std::string name() const = 0;           ///< "skippipe-joint"
    virtual std::string description() const = 0;    ///< one sentence for people
    virtual bool full_pipeline() const = 0;         ///< ignores the skip ratio: p = S
    virtual bool robust() const { return false; }   ///< heeds PlanRequest::robust
    virtual bool goes_on() const { return false; }  ///< heeds PlanRequest::warm_start
    /// Throws InputError where no plan can exist, naming the constraint and what would make it feasible.
    virtual Plan plan(const Problem& problem, const PlanRequest& request) const = 0;
};

/// Planners by name, in the order they are listed. `app` fills it (plugins/planners/all.h) and hands it on.
class PlannerRegistry {
public:
    void add(std::unique_ptr<Planner> planner) { planners_.push_back(std::move(planner)); }
    const std::vector<std::unique_ptr<Planner>>& all() const { return planners_; }
    /// Null where there is none of that name.
    const Planner* find(const std::string& name) const {
        for (const auto& planner : planners_)
            if (planner->name() == name) return planner.get();
        return nullptr;
    }

private:
    std::vector<std::unique_ptr<Planner>> planners_;
};

/// A row of `plan` and `score`: everything that is said about a plan.
struct Score {
    std::string planner;
    double makespan_seconds = 0, iteration_seconds = 0, lower_bound_seconds = 0, gap = 0, idle_fraction = 0, bytes = 0;
    std::vector<std::string> violations;
    std::string bound, note;
    std::optional<Distribution> jitter;  ///< where asked for; `score` leaves it empty
};

/// Bounds take several times as long as all else of a small plan's score.
enum class Bounding { worked_out, left_out };
/// Evaluates, validates and bounds a plan. With violations of structure the times are 0; without bounds bound and gap
/// are.
Score score(const Problem& problem, const Plan& plan, Bounding bounding = Bounding::worked_out);

}  // namespace skippipe
