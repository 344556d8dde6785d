// SPDX-License-Identifier: GPL-3.0-or-later
// The record: one SQLite file that the run's coordinator writes and any number of windows and commands read.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/device/device_meter.h"
#include "core/planner/plan/timeline.h"
#include "core/record/evaluation.h"

namespace skippipe {

using RunId = std::int64_t;

enum class RunState { running, finished, failed, stopped, died };
std::string_view to_string(RunState state);
struct RunInfo;
/// The state's name, or "paused".
std::string_view state_name(const RunInfo& run);

/// What is frozen when a run starts.
struct RunStart {
    std::string name, planner;
    std::string experiment_json, plan_json;  ///< as they were run
    std::string versions_json, machine_json;
    std::uint64_t seed = 1;
    int iterations = 0;  ///< planned
    double predicted_iteration_s = 0;
};

/// A run that goes on gives a sign of life every second: without one for so long something is wrong.
inline constexpr double silent_after_s = 5;

/// A row of the run list. Times `*_s` of the network are the drawn network's; `*_utc` and machine_s are this machine's.
struct RunInfo {
    RunId id = 0;
    std::string name, planner;
    RunState state = RunState::running;
    bool paused = false;  ///< running, and waits to be resumed
    std::uint64_t seed = 1;
    std::optional<double> skip_ratio;       ///< trained with: 0 where the plan visits all stages; absent: not known
    std::string started_utc, finished_utc;  ///< ISO 8601, empty: not yet
    int iterations = 0, iterations_done = 0;
    int first_iteration = 0;  ///< the first that it trained itself: a fork begins in the middle of another run
    double predicted_iteration_s = 0;
    std::optional<double> iteration_s;        ///< mean executed network time of an iteration of its own
    std::optional<double> tokens_per_second;  ///< trained here, machine time
    std::optional<double> first_validation_loss, last_validation_loss;
    double machine_s = 0;
    std::string error;
    std::string warning;  ///< what people should know: an alarm of the run, or why its record is incomplete or not
                          ///< written at the moment; empty: all is well
    std::int64_t pid = 0;
    double heartbeat_s = 0;  ///< when its process gave its last sign of life, seconds since 1970
    bool silent = false;     ///< running, and there was none for `silent_after_s`
    int checkpoint = 0;      ///< of a run that ended before its last iteration: iterations of the newest; 0: none
    std::vector<std::string> tags;
    std::string note;
    bool operator==(const RunInfo&) const = default;
};

struct Metric {
    std::int64_t row = 0;  ///< grows; ask for what came after the last one seen
    int iteration = 0;
    std::string
        name;  ///< "loss", "validation_loss", "bits_per_byte", "gradient_norm", "tokens_per_second", "iteration_s"
    double value = 0;
    double network_s = 0, machine_s = 0;
    std::int64_t tokens = 0;  ///< trained so far
};

/// What GPUs said of themselves while an iteration ran.
struct RecordedDevices {
    int iteration = 0;
    std::vector<DeviceReading> devices;  ///< each GPU once
};

struct RecordedSpan {
    std::int64_t row = 0;
    int iteration = 0;
    double offset_s = 0;  ///< network time of the iteration's start; the span's own times count from there
    Span span;
};

/// Where the spans of an iteration lie.
struct IterationRows {
    int iteration = 0;
    std::int64_t first_row = 0, last_row = 0;
};

/// A plan that a run went over to.
struct PlanChange {
    int iteration = 0;  ///< the first one of this plan
    std::string why;
};

/// What happened to a run besides iterations, for people.
struct RunEvent {
    enum class Kind {
        lost,       ///< nodes or links, and what was done about it
        back,       ///< nodes are there again
        speeds,     ///< what is slower, or varies, is another one than before
        went_back,  ///< to a checkpoint
        plan,       ///< another one is in force
        met_anew    ///< ranks, without those that were lost or with those that came back
    };
    std::int64_t row = 0;  ///< grows; ask for what came after the last one seen
    int iteration = 0;     ///< in which it happened, or that came next
    Kind kind = Kind::lost;
    double network_s = 0;  ///< when, from the run's start
    double lasted_s = 0;   ///< network time until training went on, or could; 0: it did not wait
    std::string what;      ///< "n5 lost 0.82 s into the iteration, known 0.21 s later: ..."
    bool operator==(const RunEvent&) const = default;
};
/// "lost", "back", "speeds", "went back", "plan", "met anew": as a record has it.
std::string_view to_string(RunEvent::Kind kind);

struct Command {
    std::int64_t id = 0;
    std::string kind;  ///< "stop", "pause", "resume", "extend", "fail"
    std::string payload_json;
};

/// $XDG_DATA_HOME/skippipe-studio/record.sqlite (or ~/.local/share/...).
std::filesystem::path default_record_path();

/// Bounds of what waits while a record cannot be written.
struct RecorderLimits {
    std::size_t memory_bytes = std::size_t{48} << 20;  ///< of rows, all runs together
    std::size_t spill_bytes = std::size_t{256} << 20;  ///< of the file beside the record, a run
};

/// How the record takes what a run gives it.
struct RecordHealth {
    bool writable = true;
    Fault trouble;                   ///< what is in the way where it is not writable
    std::filesystem::path spill;     ///< where rows wait that memory does not hold; empty: none do
    std::int64_t dropped_spans = 0;  ///< lost for good
};

/// Where a run goes on from: what is recorded after it leaves the record.
struct RunCommit {
    int iterations_done = 0;
    bool validated = false;  ///< a validation after these iterations belongs to it
    double machine_s = 0;
};

/// Of which iterations spans are kept, once others have come: none of both is all.
struct SpanRetention {
    int newest = 0;  ///< so many
    int every = 0;   ///< each whose number (from 0) is a multiple, and the two newest
};

/// A run that is to have more iterations than it was begun with.
struct RunExtension {
    int iterations = 0;           ///< in all
    std::string experiment_json;  ///< with them
};

/// What the record has of a run that goes on.
struct ResumedRun {
    std::optional<double> first_validation_loss, last_validation_loss;
    double bits_per_byte = 0;  ///< of the last validation; 0: none
    /// Where the first iteration that it trained itself began, a fork's in the middle of another run; absent: none
    /// ended.
    struct Begin {
        int iteration = 0;
        double network_s = 0;
        /// Of the run that a fork began in, with the fork's first iteration; 0: it is no fork.
        double machine_s = 0;
        std::int64_t tokens = 0;
    };
    std::optional<Begin> begin;
};

/// The one writer of a run's results. Opens or makes the file, migrates its schema, batches in transactions. The
/// constructor and `begin` throw InputError with a remedy where the file is no record, newer than this program, locked
/// for long or not writable. From then on nothing throws and nothing waits longer than half a second (`finish`: 15 s),
/// whatever happens to the file: a thread writes. What the record does not take waits in memory, then in a bounded file
/// (the oldest spans are given up first, metrics never), and is put in its place as soon as that is possible: by this
/// recorder, or by the next program that opens the record to write. A record that was deleted or moved away is made
/// again with what its runs had recorded.
class Recorder {
public:
    explicit Recorder(const std::filesystem::path& file, const RecorderLimits& limits = {});
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    RunId begin(const RunStart& start);
    /// Takes up a run whose process is gone: in one transaction everything after the commit leaves the record, the
    /// run is this process's, and has the iterations of the extension. Throws as `begin`, and where the run is not
    /// there, still runs, or was not recorded up to the commit.
    ResumedRun resume(RunId run, const RunCommit& commit, const std::optional<RunExtension>& extension = {});
    /// The run goes on for more iterations.
    void extend(RunId run, const RunExtension& extension);
    void spans(RunId run, int iteration, double offset_s, const std::vector<Span>& spans);
    /// From now on: spans of other iterations leave the record as iterations are done. After `begin` or `resume`.
    void keep_spans(RunId run, const SpanRetention& retention);
    void metric(RunId run, const Metric& metric);
    /// Before the iteration's spans.
    void plan(RunId run, int iteration, const std::string& plan_json, const std::string& why);
    void devices(RunId run, int iteration, const std::vector<DeviceReading>& devices);
    void event(RunId run, const RunEvent& event);
    void iteration_done(RunId run, int iterations_done, double machine_s);
    /// The training has gone back: what was recorded of later iterations leaves the record, but for what failures cost
    /// and what happened.
    void go_back(RunId run, const RunCommit& commit);
    void heartbeat(RunId run);
    /// What people should know of the run: the last word stays.
    void warn(RunId run, const std::string& words);
    /// Writes what is pending, then state and summary: durable in the record, or beside it, when it returns.
    void finish(RunId run, RunState state, const RunInfo& summary, const std::string& summary_json);
    /// Waits until all that was given is in the record; false where it is not within `patience`.
    bool flush(std::chrono::milliseconds patience = std::chrono::milliseconds{250});
    /// The same, and it is on the disk then: it outlives a loss of power.
    bool commit(RunId run, std::chrono::milliseconds patience = std::chrono::milliseconds{250});
    /// Commands that came since the last call, marked as taken. "pause" and "resume" are told to readers of the run.
    std::vector<Command> take_commands(RunId run);

    RecordHealth health() const;
    /// What people should be told and were not yet: that rows wait, and why; that all is well again; what was lost.
    Faults take_warnings();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Reads a record, and owns what a window may write: commands, tags, notes. Evaluations are written by the verb of
/// that name.
class Reader {
public:
    explicit Reader(const std::filesystem::path& file);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// Newest first. A run whose process is gone (pid, boot id, heartbeat) is told as died.
    std::vector<RunInfo> runs();
    std::optional<RunInfo> run(RunId id);
    std::string experiment_json(RunId id);
    std::string plan_json(RunId id, int iteration = 0);  ///< in force then
    std::vector<PlanChange> plan_changes(RunId id);      ///< by iteration
    std::string summary_json(RunId id);                  ///< empty while it runs
    std::string machine_json(RunId id);
    std::string versions_json(RunId id);
    /// Spans with row > after, at most `limit`, in row order; of one iteration where iteration >= 0.
    std::vector<RecordedSpan> spans(RunId id, int iteration = -1, std::int64_t after = 0,
                                    std::int64_t limit = INT64_MAX);
    std::vector<Metric> metrics(RunId id, std::int64_t after = 0);
    std::vector<RunEvent> events(RunId id, std::int64_t after = 0);
    /// Of iterations from this one on in which GPUs were read, in their order.
    std::vector<RecordedDevices> devices(RunId id, int from_iteration = 0);
    /// Of how many iterations it has spans.
    int kept_iterations(RunId id);
    /// Of iterations from this one on that have spans, in their order.
    std::vector<IterationRows> iteration_rows(RunId id, int from_iteration = 0);

    /// The last one of the run; nothing where it was not evaluated.
    std::optional<Evaluation> evaluation(RunId id);

    /// In the place of the run's last one; durable when it returns.
    void set_evaluation(RunId id, const Evaluation& evaluation);
    /// Returns the command's number.
    std::int64_t send_command(RunId id, const std::string& kind, const std::string& payload_json = "{}");
    /// Whether the run has taken that command.
    bool is_taken(RunId id, std::int64_t command);
    void set_tags(RunId id, const std::vector<std::string>& tags);
    void set_note(RunId id, const std::string& note);
    /// Marks runs whose process is gone as died, once and for all; returns how many.
    int sweep_dead();
    void remove(RunId id);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace skippipe
