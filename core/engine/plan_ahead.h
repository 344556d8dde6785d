// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <future>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/planner/planner.h"

namespace skippipe {

/// Plans anew for those who are left after a loss, on a thread beside the training. Nodes stay in their stages, unless
/// other places are worth what it takes to move weights. A plan depends on what it was begun with alone, not on how
/// long it took.
class PlanAhead {
public:
    /// `planner`, null: nobody plans, and nothing is ever begun. It outlives this. `move_s`: network time that nodes
    /// may take to go to other stages; 0: they stay.
    PlanAhead(const Planner* planner, std::uint64_t seed, std::int64_t steps, double move_s = 0)
        : planner_(planner), seed_(seed), steps_(steps), move_s_(move_s) {}
    ~PlanAhead() { give_up(); }

    /// `start`: the plan in force on `network`; `spares`: nodes that are there and have no stage in it. What was begun
    /// before is given up. Nothing is begun where a stage has no node left: planners know no such plan.
    void begin(const Problem& network, const Plan& start, std::vector<NodeIndex> spares = {});
    void give_up();
    bool begun() const { return result_.valid(); }
    /// Of what was begun; does not wait.
    bool ready() const;
    /// Waits for what was begun; nothing where no shorter plan than `start` was found, or none at all where
    /// `start` does not fit the network.
    std::optional<Plan> take();

private:
    const Planner* planner_;
    std::uint64_t seed_;
    std::int64_t steps_;
    double move_s_;
    std::stop_source stop_;
    std::future<std::optional<Plan>> result_;
};

}  // namespace skippipe
