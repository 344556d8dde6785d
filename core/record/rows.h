// SPDX-License-Identifier: GPL-3.0-or-later
// What of a run is still to be written: rows in memory, with their numbers.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/record/record.h"

namespace skippipe::record {

/// Whether a metric is of what the training came to. Those of what failures cost stay where a training goes back.
bool is_result(const std::string& metric);
/// A validation is told with the iterations that were done before it, everything else with the number of its own.
bool is_validation(const std::string& metric);

/// Spans of one iteration; their row numbers follow each other.
struct SpanRows {
    std::int64_t first_row = 0;
    int iteration = 0;
    double offset_s = 0;
    std::vector<Span> spans;

    std::size_t bytes() const { return sizeof(SpanRows) + spans.size() * sizeof(Span); }
};

struct PlanRow {
    int iteration = 0;
    std::string plan_json, why;
};

struct DeviceRow {
    int iteration = 0;
    DeviceReading reading;
};

struct RunEnd {
    RunState state = RunState::died;
    RunInfo summary;
    std::string summary_json;
};

struct RunRows {
    std::deque<SpanRows> spans;
    std::vector<Metric> metrics;
    std::vector<PlanRow> plans;
    std::vector<DeviceRow> devices;
    std::vector<RunEvent> events;
    std::optional<std::pair<int, double>> done;  ///< iterations done, machine seconds
    std::optional<bool> paused;
    std::optional<std::string> warning;  ///< what people should know of the run, or what of it was not kept
    std::int64_t taken_command = 0;      ///< commands up to this one were taken; 0: none
    std::optional<RunExtension> extension;
    std::optional<RunEnd> end;
    bool heartbeat = false;
    std::optional<RunCommit> back_to;  ///< before all of these: what was recorded after it leaves the record

    bool empty() const;
    std::size_t rows() const;
    std::size_t bytes() const;
    /// What came after this.
    void append(RunRows&& later);
    /// The training has gone back there.
    void go_back(const RunCommit& commit);
    /// Drops the oldest spans until `bytes()` is at most `limit` or none is left; returns how many.
    std::int64_t drop_oldest_spans(std::size_t limit);
};

}  // namespace skippipe::record
