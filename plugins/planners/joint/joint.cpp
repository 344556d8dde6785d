// SPDX-License-Identifier: GPL-3.0-or-later
// skippipe-joint: placement, paths and priorities together.
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/planners.h"

namespace skippipe::planners::joint {

namespace {

class Joint final : public Planner {
public:
    std::string name() const override { return "skippipe-joint"; }
    std::string description() const override {
        return "Placement, paths and priorities searched together against the exact timeline by simulated annealing; "
               "stops at any time.";
    }
    bool full_pipeline() const override { return false; }
    bool robust() const override { return true; }

    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        return JointSearch(problem, request).plan(name());
    }
};

}  // namespace

}  // namespace skippipe::planners::joint

namespace skippipe::planners {

std::unique_ptr<Planner> make_skippipe_joint() { return std::make_unique<joint::Joint>(); }

}  // namespace skippipe::planners
