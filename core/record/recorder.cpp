// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/writer.h"

namespace skippipe {

namespace {

constexpr auto heartbeat_interval = std::chrono::seconds{1};
constexpr auto finish_patience = std::chrono::milliseconds{15'000};

}  // namespace

struct Recorder::Impl {
    record::Writer writer;
    std::mutex mutex;
    std::map<RunId, record::Steady::time_point> heartbeats;  ///< last given

    Impl(const std::filesystem::path& file, const RecorderLimits& limits)
        : writer(std::filesystem::absolute(file), limits) {}
};

Recorder::Recorder(const std::filesystem::path& file, const RecorderLimits& limits)
    : impl_(std::make_unique<Impl>(file, limits)) {}

Recorder::~Recorder() = default;

RunId Recorder::begin(const RunStart& start) {
    const RunId run = impl_->writer.begin(start);
    const std::lock_guard lock{impl_->mutex};
    impl_->heartbeats[run] = record::Steady::now();
    return run;
}

ResumedRun Recorder::resume(RunId run, const RunCommit& commit, const std::optional<RunExtension>& extension) {
    const auto resumed = impl_->writer.resume(run, commit, extension);
    const std::lock_guard lock{impl_->mutex};
    impl_->heartbeats[run] = record::Steady::now();
    return resumed;
}

void Recorder::spans(RunId run, int iteration, double offset_s, const std::vector<Span>& spans) {
    if (spans.empty()) return;
    record::SpanRows rows{impl_->writer.take_span_rows(run, spans.size()), iteration, offset_s, spans};
    impl_->writer.give(run, rows.bytes(), [&](record::RunRows& all) { all.spans.push_back(std::move(rows)); });
}

void Recorder::keep_spans(RunId run, const SpanRetention& retention) { impl_->writer.keep_spans(run, retention); }

void Recorder::metric(RunId run, const Metric& metric) {
    const auto row = impl_->writer.take_metric_row(run);
    impl_->writer.give(run, sizeof metric, [&](record::RunRows& all) {
        all.metrics.push_back(metric);
        all.metrics.back().row = row;
    });
}

void Recorder::plan(RunId run, int iteration, const std::string& plan_json, const std::string& why) {
    impl_->writer.give(run, plan_json.size(), [&](record::RunRows& all) {
        all.plans.push_back({iteration, plan_json, why});
    });
}

void Recorder::devices(RunId run, int iteration, const std::vector<DeviceReading>& devices) {
    if (devices.empty()) return;
    impl_->writer.give(run, devices.size() * sizeof(record::DeviceRow), [&](record::RunRows& all) {
        for (const auto& device : devices) all.devices.push_back({iteration, device});
    });
}

void Recorder::event(RunId run, const RunEvent& event) {
    const auto row = impl_->writer.take_metric_row(run);
    impl_->writer.give(run, sizeof event + event.what.size(), [&](record::RunRows& all) {
        all.events.push_back(event);
        all.events.back().row = row;
    });
}

void Recorder::iteration_done(RunId run, int iterations_done, double machine_s) {
    impl_->writer.give(run, 0, [&](record::RunRows& all) { all.done = {iterations_done, machine_s}; });
}

void Recorder::go_back(RunId run, const RunCommit& commit) {
    impl_->writer.give(run, 0, [&](record::RunRows& all) {
        all.go_back(commit);
        all.done = {commit.iterations_done, commit.machine_s};
    });
}

void Recorder::heartbeat(RunId run) {
    {
        const std::lock_guard lock{impl_->mutex};
        const auto now = record::Steady::now();
        auto& last = impl_->heartbeats[run];
        if (now - last < heartbeat_interval) return;
        last = now;
    }
    impl_->writer.give(run, 0, [](record::RunRows& all) { all.heartbeat = true; });
}

void Recorder::warn(RunId run, const std::string& words) {
    impl_->writer.give(run, 0, [&](record::RunRows& all) { all.warning = words; });
}

void Recorder::extend(RunId run, const RunExtension& extension) {
    impl_->writer.give(run, extension.experiment_json.size(), [&](record::RunRows& all) { all.extension = extension; });
}

void Recorder::finish(RunId run, RunState state, const RunInfo& summary, const std::string& summary_json) {
    impl_->writer.give(run, 0, [&](record::RunRows& all) { all.end = record::RunEnd{state, summary, summary_json}; });
    impl_->writer.wait_for_end(run, finish_patience);
}

bool Recorder::flush(std::chrono::milliseconds patience) { return impl_->writer.flush(patience); }

bool Recorder::commit(RunId run, std::chrono::milliseconds patience) { return impl_->writer.commit(run, patience); }

std::vector<Command> Recorder::take_commands(RunId run) { return impl_->writer.take_commands(run); }

RecordHealth Recorder::health() const { return impl_->writer.health(); }

Faults Recorder::take_warnings() { return impl_->writer.take_warnings(); }

}  // namespace skippipe
