// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/analysis/accounting.h"
#include "core/analysis/idle.h"
#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"
#include "core/record/record.h"
#include "views/timeline/lanes.h"

namespace skippipe {

/// One recorded run as the views show it; grows while the run goes on.
struct RunData {
    RunInfo info;
    Experiment experiment;
    std::optional<Problem> problem;  ///< absent: the frozen experiment cannot be understood
    Plan plan;                       ///< the first; later ones place nodes alike
    std::vector<PlanChange> plan_changes;
    std::optional<Accounting> iteration;  ///< what one iteration of the plan costs; absent: no problem, or no such plan
    std::shared_ptr<TimelineData> lanes = std::make_shared<TimelineData>();
    std::vector<Metric> metrics;
    std::array<double, idle_causes> idle_share{};              ///< mean over the iterations explained
    std::vector<std::array<double, idle_causes>> node_idle_s;  ///< [node], summed over them
    std::vector<double> node_busy_s;
    int explained_iterations = 0;
    double network_s = 0;  ///< of the drawn network, as far as it was recorded
};

/// Reads a run bit by bit: each `poll` takes what is new, at most a bounded number of rows.
class RunLoader {
public:
    /// Throws InputError where the run is not there.
    RunLoader(Reader& reader, RunId id);
    /// True when something was added; `more` where rows are left for the next call.
    bool poll(Reader& reader, const RunInfo& info, bool& more);
    const RunData& data() const { return data_; }

private:
    void explain(int iteration);
    void take_plan_changes(Reader& reader);
    const Plan& plan_at(int iteration) const;

    struct Pending {
        double offset_s = 0;
        Timeline timeline;
    };
    RunData data_;
    std::map<int, Plan> later_plans_;  ///< by their first iteration
    std::map<int, Pending> pending_;
    std::int64_t last_span_ = 0, last_metric_ = 0;
};

}  // namespace skippipe
