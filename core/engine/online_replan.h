// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "core/engine/prediction.h"
#include "core/engine/cost_estimator.h"

namespace skippipe {

/// A schedule for the network as it is now, with the nodes where they are.
struct BetterPlan {
    RankSchedule schedule;
    double unchanged_s = 0, predicted_s = 0;  ///< of an iteration, by the values of now
    std::string why;  ///< for people: what has changed, how many microbatches move, what it saves
};

/// Plans a running experiment's iterations again where values have drifted by more than 10 % from what its plan was
/// made for, and that saves at least 2 % of the time that `predict` gives. Nothing where they have not, or it does not.
std::optional<BetterPlan> plan_again(const CostEstimator& costs, const RankSchedule& schedule,
                                     const Machines& machines);

}  // namespace skippipe
