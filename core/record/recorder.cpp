// SPDX-License-Identifier: GPL-3.0-or-later
#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include "core/record/process.h"
#include "core/record/schema.h"
#include "core/record/values.h"

namespace skippipe {
namespace {

using Steady = std::chrono::steady_clock;
using record::told;
constexpr std::size_t batch_rows = 1000;
constexpr auto batch_age = std::chrono::milliseconds{250};
constexpr auto heartbeat_interval = std::chrono::seconds{1};

struct RowRange {
    std::int64_t first = 0, last = 0;
};

/// What one run still has in memory, and where its row numbers stand.
struct Pending {
    std::vector<RecordedSpan> spans;
    std::vector<Metric> metrics;
    std::map<int, RowRange> iterations;
    std::int64_t last_span = 0, last_metric = 0;
    std::optional<std::pair<int, double>> done;  ///< iterations done, machine seconds
    Steady::time_point heartbeat{};              ///< last written
    bool heartbeat_due = false;
    bool empty() const { return spans.empty() && metrics.empty() && !done && !heartbeat_due; }
};

}  // namespace

struct Recorder::Impl {
    std::filesystem::path file;
    SQLite::Database database;
    std::map<RunId, Pending> pending;
    std::set<RunId> own;   ///< begun here and not finished
    std::size_t rows = 0;  ///< waiting in all runs
    Steady::time_point flushed = Steady::now();
    std::mutex mutex;  ///< a heartbeat may come from another thread

    explicit Impl(const std::filesystem::path& path)
        : file(std::filesystem::absolute(path)), database(record::open(file, record::OpenMode::create)) {}

    Pending& of(RunId run);
    void write();
    void write_spans(RunId run, Pending& one);
    void write_metrics(RunId run, Pending& one);
    void write_progress(RunId run, Pending& one);
    void write_if_due() {
        if (rows >= batch_rows || Steady::now() - flushed >= batch_age) write();
    }
    /// A transaction that is on the disk when it returns.
    template <class Work>
    void durably(Work&& work) {
        database.exec("PRAGMA synchronous = FULL");
        try {
            SQLite::Transaction transaction{database, SQLite::TransactionBehavior::IMMEDIATE};
            work();
            transaction.commit();
        } catch (...) {
            database.tryExec("PRAGMA synchronous = NORMAL");
            throw;
        }
        database.exec("PRAGMA synchronous = NORMAL");
    }
    void end(RunId run, RunState state, const RunInfo& summary, const std::string& summary_json);
};

Pending& Recorder::Impl::of(RunId run) {
    if (const auto known = pending.find(run); known != pending.end()) return known->second;
    Pending fresh;
    const auto last_row = [&](const char* sql) {
        SQLite::Statement query{database, sql};
        query.bind(1, run);
        return query.executeStep() ? query.getColumn(0).getInt64() : 0;
    };
    fresh.last_span = last_row("SELECT coalesce(max(row), 0) FROM spans WHERE run = ?");
    fresh.last_metric = last_row("SELECT coalesce(max(row), 0) FROM metrics WHERE run = ?");
    return pending.emplace(run, std::move(fresh)).first->second;
}

void Recorder::Impl::write_spans(RunId run, Pending& one) {
    if (one.spans.empty()) return;
    SQLite::Statement insert{
        database,
        "INSERT INTO spans (run, row, iteration, kind, node, to_node, stage, microbatch, offset_s, ready_s, "
        "start_s, end_s, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
    insert.bind(1, run);
    for (const auto& [row, iteration, offset_s, span] : one.spans) {
        insert.bind(2, row);
        insert.bind(3, iteration);
        insert.bind(4, static_cast<int>(span.kind));
        insert.bind(5, span.node);
        insert.bind(6, span.to_node);
        insert.bind(7, span.stage);
        insert.bind(8, span.microbatch);
        insert.bind(9, offset_s);
        insert.bind(10, span.ready_s);
        insert.bind(11, span.start_s);
        insert.bind(12, span.end_s);
        insert.bind(13, span.bytes);
        insert.exec();
        insert.reset();
    }
    SQLite::Statement range{database,
                            "INSERT INTO iterations (run, iteration, first_row, last_row) VALUES (?, ?, ?, ?) "
                            "ON CONFLICT (run, iteration) DO UPDATE SET last_row = excluded.last_row"};
    for (const auto& [iteration, rows_of] : one.iterations) {
        SQLite::bind(range, run, iteration, rows_of.first, rows_of.last);
        range.exec();
        range.reset();
    }
}

void Recorder::Impl::write_metrics(RunId run, Pending& one) {
    if (one.metrics.empty()) return;
    SQLite::Statement insert{database,
                             "INSERT INTO metrics (run, row, iteration, name, value, network_s, machine_s, tokens) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"};
    for (const auto& metric : one.metrics) {
        SQLite::bind(insert, run, metric.row, metric.iteration, metric.name, metric.value, metric.network_s,
                     metric.machine_s, metric.tokens);
        insert.exec();
        insert.reset();
    }
}

void Recorder::Impl::write_progress(RunId run, Pending& one) {
    if (one.done) {
        SQLite::Statement update{database, "UPDATE runs SET iterations_done = ?, machine_s = ? WHERE id = ?"};
        SQLite::bind(update, one.done->first, one.done->second, run);
        update.exec();
    }
    SQLite::Statement beat{database, "UPDATE runs SET heartbeat_s = ? WHERE id = ?"};
    SQLite::bind(beat, record::unix_seconds(), run);
    beat.exec();
}

void Recorder::Impl::write() {
    flushed = Steady::now();
    SQLite::Transaction transaction{database, SQLite::TransactionBehavior::IMMEDIATE};
    for (auto& [run, one] : pending) {
        if (one.empty()) continue;
        write_spans(run, one);
        write_metrics(run, one);
        write_progress(run, one);
    }
    transaction.commit();
    // Only now: what a failed commit did not take is tried again with the next.
    for (auto& [run, one] : pending) {
        if (!one.empty()) one.heartbeat = flushed;
        one.spans.clear();
        one.metrics.clear();
        one.iterations.clear();
        one.done.reset();
        one.heartbeat_due = false;
    }
    rows = 0;
}

void Recorder::Impl::end(RunId run, RunState state, const RunInfo& summary, const std::string& summary_json) {
    write();
    durably([&] {
        SQLite::Statement update{
            database,
            "UPDATE runs SET state = ?, finished_utc = ?, iterations_done = ?, iteration_s = ?, tokens_per_second = ?, "
            "first_validation_loss = ?, last_validation_loss = ?, machine_s = ?, error = ? WHERE id = ?"};
        update.bind(1, std::string{to_string(state)});
        update.bind(2, summary.finished_utc.empty() ? record::utc_now() : summary.finished_utc);
        update.bind(3, summary.iterations_done);
        record::bind_optional(update, 4, summary.iteration_s);
        record::bind_optional(update, 5, summary.tokens_per_second);
        record::bind_optional(update, 6, summary.first_validation_loss);
        record::bind_optional(update, 7, summary.last_validation_loss);
        update.bind(8, summary.machine_s);
        update.bind(9, summary.error);
        update.bind(10, run);
        update.exec();
        SQLite::Statement document{database, "UPDATE documents SET summary = ? WHERE run = ?"};
        SQLite::bind(document, summary_json, run);
        document.exec();
    });
    own.erase(run);
    pending.erase(run);
}

Recorder::Recorder(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}

Recorder::~Recorder() {
    // A recorder that goes away without `finish` (an exception on its way out) must leave no run that looks alive.
    try {
        impl_->write();
        const auto unfinished = impl_->own;
        for (const RunId run : unfinished) {
            SQLite::Statement update{
                impl_->database,
                "UPDATE runs SET state = 'died', finished_utc = ?, error = ? WHERE id = ? AND state = 'running'"};
            SQLite::bind(update, record::utc_now(), "it ended without saying how", run);
            update.exec();
        }
    } catch (...) {
        // Nobody is left to be told; readers see by the process that the run is over.
    }
}

RunId Recorder::begin(const RunStart& start) {
    const std::lock_guard lock{impl_->mutex};
    return told(impl_->file, [&] {
        const auto self = record::this_process();
        RunId run = 0;
        impl_->durably([&] {
            SQLite::Statement row{impl_->database,
                                  "INSERT INTO runs (name, planner, state, seed, started_utc, iterations, "
                                  "predicted_iteration_s, machine_s, pid, "
                                  "pid_namespace, process_start, boot_id, heartbeat_s) VALUES (?, ?, 'running', ?, ?, "
                                  "?, ?, 0, ?, ?, ?, ?, ?)"};
            SQLite::bind(row, start.name, start.planner, static_cast<std::int64_t>(start.seed), record::utc_now(),
                         start.iterations, start.predicted_iteration_s, self.pid, self.pid_namespace,
                         self.process_start, self.boot_id, record::unix_seconds());
            row.exec();
            run = impl_->database.getLastInsertRowid();
            SQLite::Statement documents{
                impl_->database,
                "INSERT INTO documents (run, experiment, plan, versions, machine) VALUES (?, ?, ?, ?, ?)"};
            SQLite::bind(documents, run, start.experiment_json, start.plan_json, start.versions_json,
                         start.machine_json);
            documents.exec();
        });
        impl_->own.insert(run);
        impl_->of(run).heartbeat = Steady::now();
        return run;
    });
}

void Recorder::spans(RunId run, int iteration, double offset_s, const std::vector<Span>& spans) {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] {
        if (spans.empty()) return;
        auto& one = impl_->of(run);
        auto& range = one.iterations[iteration];
        if (range.first == 0) range.first = one.last_span + 1;
        for (const auto& span : spans) one.spans.push_back({++one.last_span, iteration, offset_s, span});
        range.last = one.last_span;
        impl_->rows += spans.size();
        if (impl_->rows >= batch_rows) impl_->write();
    });
}

void Recorder::metric(RunId run, const Metric& metric) {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] {
        auto& one = impl_->of(run);
        one.metrics.push_back(metric);
        one.metrics.back().row = ++one.last_metric;
        ++impl_->rows;
        impl_->write_if_due();
    });
}

void Recorder::plan(RunId run, int iteration, const std::string& plan_json, const std::string& why) {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] {
        SQLite::Statement insert{impl_->database,
                                 "INSERT OR REPLACE INTO plans (run, iteration, plan, why) VALUES (?, ?, ?, ?)"};
        SQLite::bind(insert, run, iteration, plan_json, why);
        insert.exec();
    });
}

void Recorder::iteration_done(RunId run, int iterations_done, double machine_s) {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] {
        impl_->of(run).done = {iterations_done, machine_s};
        impl_->write_if_due();
    });
}

void Recorder::heartbeat(RunId run) {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] {
        auto& one = impl_->of(run);
        if (Steady::now() - one.heartbeat >= heartbeat_interval) one.heartbeat_due = true;
        const bool stale = impl_->rows > 0 && Steady::now() - impl_->flushed >= batch_age;
        if (one.heartbeat_due || stale) impl_->write();
    });
}

void Recorder::finish(RunId run, RunState state, const RunInfo& summary, const std::string& summary_json) {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] { impl_->end(run, state, summary, summary_json); });
}

void Recorder::flush() {
    const std::lock_guard lock{impl_->mutex};
    told(impl_->file, [&] { impl_->write(); });
}

std::vector<Command> Recorder::take_commands(RunId run) {
    const std::lock_guard lock{impl_->mutex};
    return told(impl_->file, [&] {
        std::vector<Command> commands;
        SQLite::Statement waiting{
            impl_->database, "SELECT id, kind, payload FROM commands WHERE run = ? AND taken_utc IS NULL ORDER BY id"};
        waiting.bind(1, run);
        while (waiting.executeStep())
            commands.push_back(
                {waiting.getColumn(0).getInt64(), waiting.getColumn(1).getString(), waiting.getColumn(2).getString()});
        waiting.reset();
        if (commands.empty()) return commands;
        SQLite::Transaction transaction{impl_->database, SQLite::TransactionBehavior::IMMEDIATE};
        SQLite::Statement take{impl_->database,
                               "UPDATE commands SET taken_utc = ? WHERE run = ? AND taken_utc IS NULL AND id <= ?"};
        SQLite::bind(take, record::utc_now(), run, commands.back().id);
        take.exec();
        transaction.commit();
        return commands;
    });
}

}  // namespace skippipe
