// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "views/runs/run_stretch.h"

namespace skippipe {

/// Reads a run bit by bit, the newest iterations first and of a long run only what was asked for. Each `poll` takes a
/// bounded number of rows; `snapshot` hands out what is there, sharing all that no longer changes.
class RunLoader {
public:
    /// Reads what was frozen when the run began. Throws InputError where the record cannot be read.
    RunLoader(Reader& reader, RunId id);
    /// True when something was added; `more` where rows that are wanted are left for the next call.
    bool poll(Reader& reader, const RunInfo& info, bool& more);
    /// Spans of this network time are wanted too. True where some were not read yet.
    bool want(double begin_s, double end_s);
    std::shared_ptr<const RunData> snapshot() const;

private:
    /// Iterations that are read together; only the last one of a run still grows.
    struct Chunk {
        int first_iteration = 0;
        std::int64_t first_row = 0, next_row = 0;  ///< next_row: after those that were read
        std::int64_t rows = 0;                     ///< recorded
        bool wanted = false;
        std::optional<RunStretch> growing;         ///< while it is read
        std::shared_ptr<const TimelineData> part;  ///< once it is whole
        IdleSums idle;
    };

    void take_plan_changes(Reader& reader);
    bool take_metrics(Reader& reader);
    void take_devices(Reader& reader);
    void find_chunks(Reader& reader);
    bool read(Reader& reader, std::size_t index, bool& more);
    bool is_last(std::size_t index) const { return index + 1 == chunks_.size(); }
    std::pair<double, double> time_of(std::size_t index) const;
    const Plan& plan_at(int iteration) const;
    std::vector<PlanInForce> later_plans(const std::vector<IterationTime>& iterations) const;

    RunData data_;                     ///< without lanes and idle times
    std::map<int, double> ends_s_;     ///< network time of iterations' ends
    std::vector<IterationRows> last_;  ///< the last iteration known, or nothing
    std::vector<Chunk> chunks_;        ///< by iteration
    std::int64_t last_metric_ = 0;
    bool found_ = false;
};

}  // namespace skippipe
