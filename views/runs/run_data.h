// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/accounting.h"
#include "core/analysis/idle.h"
#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"
#include "core/record/record.h"
#include "views/timeline/lanes.h"

namespace skippipe {

/// One recorded run as the views show it, at one moment. What grows is handed out anew.
struct RunData {
    RunInfo info;
    Experiment experiment;
    std::optional<Problem> problem;   ///< absent: the frozen experiment cannot be understood
    Plan plan;                        ///< the first
    std::map<int, Plan> later_plans;  ///< that it went over to, by their first iteration
    std::vector<PlanChange> plan_changes;
    std::optional<Accounting> iteration;  ///< what one iteration of the plan costs; absent: no problem, or no such plan
    std::shared_ptr<const TimelineData> lanes = std::make_shared<const TimelineData>();
    PlannedIterations planned;                                 ///< of `plan` and those after it
    std::shared_ptr<const std::vector<StageReduction>> rings;  ///< how the first plan sums gradients
    std::vector<Metric> metrics;
    std::vector<RunEvent> events;                              ///< as they were told
    std::vector<RecordedDevices> devices;                      ///< of iterations in which GPUs were read
    std::optional<Evaluation> evaluation;                      ///< with stages left out; absent: there was none
    std::array<double, idle_causes> idle_share{};              ///< of all nodes' time in the iterations explained
    std::vector<std::array<double, idle_causes>> node_idle_s;  ///< [node], summed over them
    std::vector<double> node_busy_s;
    int kept_iterations = 0;  ///< of so many the record has spans
    int explained_iterations = 0;
    std::map<int, double> idle_of_iteration;        ///< share of the nodes' time; of those explained
    double network_s = 0;                           ///< of the drawn network, as far as it was recorded
    std::vector<std::pair<double, double>> unread;  ///< network time whose spans are not in `lanes`: nobody asked yet
};

/// Nothing was computed: times alone.
inline bool is_simulation(const RunData& run) { return run.experiment.execution.compute == Compute::cost; }

}  // namespace skippipe
