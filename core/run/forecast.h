// SPDX-License-Identifier: GPL-3.0-or-later
// What a run under the wall clock should take, held against what it takes; and a better plan where that has drifted.
#pragma once
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/engine/online_replan.h"
#include "core/run/messages.h"

namespace skippipe {

class Forecast {
public:
    /// `calibrate`: keep the cost model true to what is measured. Experiment and problem outlive it.
    Forecast(const Experiment& experiment, const Problem& problem, const Plan& plan,
             const std::vector<protocol::RankMachine>& machines, bool calibrate);

    /// Seconds of an iteration, by the values of now.
    double iteration_s() const;
    /// What one iteration says; the prediction for it. Explains the first iterations and then one every 2 s: the cores
    /// are the run's.
    double observe(const protocol::Iterated& iteration);
    const std::vector<Difference>& differences() const { return differences_; }

    /// A plan for the rest of the run where values have drifted from what the plan in force was made for, and none was
    /// told already. It is in force once `switched` says so.
    std::optional<BetterPlan> better_plan(const protocol::Iterated& iteration);
    void told(BetterPlan better) { told_ = std::move(better); }
    /// Why; nothing where none was told.
    std::optional<std::string> switched();
    const Plan& plan() const { return schedule_.plan; }

private:
    const Problem& now() const { return costs_ ? costs_->now() : problem_; }

    const Experiment& experiment_;
    const Problem& problem_;
    Machines machines_;
    RankSchedule schedule_;
    std::optional<CostEstimator> costs_;
    std::optional<double> predicted_s_;
    std::vector<Difference> differences_;
    double explained_at_s_ = 0;       ///< machine time
    std::optional<BetterPlan> told_;  ///< the workers have it and still execute the one in force
    int considered_ = 0;              ///< iterations done when it was last thought of planning again
};

/// That of the iteration of median length; nothing where there is none.
std::optional<Difference> median_difference(const std::vector<Difference>& differences);
nlohmann::ordered_json to_json(const Difference& difference);

}  // namespace skippipe
