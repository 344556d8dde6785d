// SPDX-License-Identifier: GPL-3.0-or-later
// What the record has of a sweep: which run is which point's, and what came of the points.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/experiment/sweep.h"
#include "core/planner/planner.h"
#include "core/record/record.h"

namespace skippipe {

/// Where a point of a sweep stands.
struct SweepState {
    RunId run = 0;         ///< 0: none yet
    bool done = false;     ///< the record has it, finished
    bool taken = false;    ///< a process trains it now
    bool resumes = false;  ///< it was interrupted and has a checkpoint
    double share = 0;      ///< of its iterations that are done
    std::string fault;     ///< what its process said last was wrong
};

/// Names of the planners that visit all stages whatever the skip ratio.
std::set<std::string> full_pipelines(const PlannerRegistry& planners);

/// What the record has of the points: the newest run that trains as one does, from its first iteration on and by a plan
/// of the point's planner; one whose plan visits all stages trained at skip ratio 0, whatever it was asked for. Runs
/// that this program cannot understand are passed over.
std::vector<SweepState> find_points(Reader& reader, const std::vector<SweepPoint>& points);

/// Points of the same settings but for the seed. A figure for each of the runs that are done and have it.
struct SweepRow {
    std::vector<nlohmann::ordered_json> settings;  ///< by axis, as `sweep_fields` names them
    std::vector<double> iteration_s;               ///< network time
    std::vector<double> losses;                    ///< last validation loss
    std::vector<double> money;                     ///< of the whole run, where its experiment has prices
    std::vector<double> machine_s;
    std::size_t points = 0, done = 0;
    std::vector<RunId> runs;        ///< that are done
    std::vector<RunId> taken = {};  ///< that are under way
    bool is_full_pipeline = false;  ///< its planner skips nothing, whatever the skip ratio
};

/// The fields that vary, the seed left out.
std::vector<std::string> sweep_fields(const std::vector<SweepPoint>& points);
/// A value as it was written: a text without quotes, all else as JSON.
std::string setting_text(const nlohmann::ordered_json& value);
/// In the order of the points. Runs whose plan this program cannot understand have no money.
std::vector<SweepRow> sweep_rows(Reader& reader, const std::vector<SweepPoint>& points,
                                 const std::vector<SweepState>& states);
/// The same where nothing was recorded yet.
std::vector<SweepRow> rows_to_come(const std::vector<SweepPoint>& points);

/// Of no values: none.
std::optional<double> mean_or_none(const std::vector<double>& values);
/// [row]: none is as good in mean iteration time, loss and, where there are prices, money, and better in one.
std::vector<bool> sweep_front(const std::vector<SweepRow>& rows);

}  // namespace skippipe
