// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/write.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/record/device_rows.h"
#include "core/record/resume.h"
#include "core/record/values.h"

namespace skippipe::record {

namespace {

/// So many spans a statement: to start one takes SQLite nearly half as long as a span.
constexpr std::size_t spans_at_once = 16;

std::string insert_spans(std::size_t count) {
    std::string sql =
        "INSERT INTO spans (run, iteration, offset_s, row, kind, node, to_node, stage, microbatch, ready_s, start_s, "
        "end_s, bytes) VALUES ";
    for (std::size_t i = 0; i < count; ++i)
        sql += std::string(i == 0 ? "" : ", ") + "(?1, ?2, ?3, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    return sql;
}

/// As many as the statement takes, from `first_row` on.
void insert_some(SQLite::Statement& insert, std::span<const Span> spans, std::int64_t first_row) {
    int at = 4;
    for (const auto& span : spans) {
        insert.bind(at++, first_row++);
        insert.bind(at++, static_cast<int>(span.kind));
        insert.bind(at++, span.node);
        insert.bind(at++, span.to_node);
        insert.bind(at++, span.stage);
        insert.bind(at++, span.microbatch);
        insert.bind(at++, span.ready_s);
        insert.bind(at++, span.start_s);
        insert.bind(at++, span.end_s);
        insert.bind(at++, span.bytes);
    }
    insert.exec();
    insert.reset();
}

void write_spans(SQLite::Database& database, RunId run, const RunRows& rows) {
    if (rows.spans.empty()) return;
    SQLite::Statement several{database, insert_spans(spans_at_once)}, single{database, insert_spans(1)};
    SQLite::Statement range{database,
                            "INSERT INTO iterations (run, iteration, first_row, last_row) VALUES (?, ?, ?, ?) "
                            "ON CONFLICT (run, iteration) DO UPDATE SET last_row = excluded.last_row"};
    for (const auto& some : rows.spans) {
        for (auto* insert : {&several, &single}) {
            insert->bind(1, run);
            insert->bind(2, some.iteration);
            insert->bind(3, some.offset_s);
        }
        const std::span<const Span> spans = some.spans;
        for (std::size_t done = 0; done < spans.size();) {
            const std::size_t count = spans.size() - done >= spans_at_once ? spans_at_once : 1;
            insert_some(count > 1 ? several : single, spans.subspan(done, count),
                        some.first_row + static_cast<std::int64_t>(done));
            done += count;
        }
        SQLite::bind(range, run, some.iteration, some.first_row,
                     some.first_row + static_cast<std::int64_t>(spans.size()) - 1);
        range.exec();
        range.reset();
    }
}

void write_metrics(SQLite::Database& database, RunId run, const RunRows& rows) {
    if (rows.metrics.empty()) return;
    SQLite::Statement insert{database,
                             "INSERT INTO metrics (run, row, iteration, name, value, network_s, machine_s, tokens) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"};
    for (const auto& metric : rows.metrics) {
        SQLite::bind(insert, run, metric.row, metric.iteration, metric.name, metric.value, metric.network_s,
                     metric.machine_s, metric.tokens);
        insert.exec();
        insert.reset();
    }
}

void write_events(SQLite::Database& database, RunId run, const std::vector<RunEvent>& events) {
    for (const auto& event : events)
        execute(
            database,
            "INSERT INTO events (run, row, iteration, kind, network_s, lasted_s, what) VALUES (?, ?, ?, ?, ?, ?, ?)",
            run, event.row, event.iteration, std::string{to_string(event.kind)}, event.network_s, event.lasted_s,
            event.what);
}

void write_end(SQLite::Database& database, RunId run, const RunEnd& end) {
    const auto& summary = end.summary;
    SQLite::Statement update{
        database,
        "UPDATE runs SET state = ?, finished_utc = ?, iterations_done = max(iterations_done, ?), iteration_s = ?, "
        "tokens_per_second = ?, first_validation_loss = ?, last_validation_loss = ?, machine_s = max(machine_s, ?), "
        "error = ?, paused = 0 WHERE id = ?"};
    update.bind(1, std::string{to_string(end.state)});
    update.bind(2, summary.finished_utc.empty() ? utc_now() : summary.finished_utc);
    update.bind(3, summary.iterations_done);
    bind_optional(update, 4, summary.iteration_s);
    bind_optional(update, 5, summary.tokens_per_second);
    bind_optional(update, 6, summary.first_validation_loss);
    bind_optional(update, 7, summary.last_validation_loss);
    update.bind(8, summary.machine_s);
    update.bind(9, summary.error);
    update.bind(10, run);
    update.exec();
    execute(database, "UPDATE documents SET summary = ? WHERE run = ?", end.summary_json, run);
}

}  // namespace

RunId insert_run(SQLite::Database& database, RunId id, const RunStart& start, const ProcessIdentity& self,
                 const std::string& started_utc) {
    SQLite::Statement row{database,
                          "INSERT INTO runs (id, name, planner, state, seed, started_utc, iterations, "
                          "predicted_iteration_s, machine_s, pid, pid_namespace, process_start, boot_id, heartbeat_s) "
                          "VALUES (nullif(?, 0), ?, ?, 'running', ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)"};
    SQLite::bind(row, id, start.name, start.planner, static_cast<std::int64_t>(start.seed), started_utc,
                 start.iterations, start.predicted_iteration_s, self.pid, self.pid_namespace, self.process_start,
                 self.boot_id, unix_seconds());
    row.exec();
    const RunId run = database.getLastInsertRowid();
    execute(database, "INSERT INTO documents (run, experiment, plan, versions, machine) VALUES (?, ?, ?, ?, ?)", run,
            start.experiment_json, start.plan_json, start.versions_json, start.machine_json);
    execute(database, std::string{set_skip_ratio} + " WHERE id = ?", run);
    return run;
}

void extend_run(SQLite::Database& database, RunId run, const RunExtension& extension) {
    execute(database, "UPDATE runs SET iterations = ? WHERE id = ?", extension.iterations, run);
    execute(database, "UPDATE documents SET experiment = ? WHERE run = ?", extension.experiment_json, run);
}

void write_rows(SQLite::Database& database, RunId run, const RunRows& rows) {
    if (rows.back_to) truncate_run(database, run, *rows.back_to, true);
    write_spans(database, run, rows);
    write_metrics(database, run, rows);
    for (const auto& plan : rows.plans)
        execute(database, "INSERT OR REPLACE INTO plans (run, iteration, plan, why) VALUES (?, ?, ?, ?)", run,
                plan.iteration, plan.plan_json, plan.why);
    write_devices(database, run, rows.devices);
    write_events(database, run, rows.events);
    if (rows.done)
        execute(database, "UPDATE runs SET iterations_done = ?, machine_s = ? WHERE id = ?", rows.done->first,
                rows.done->second, run);
    if (rows.paused) execute(database, "UPDATE runs SET paused = ? WHERE id = ?", *rows.paused ? 1 : 0, run);
    if (rows.warning) execute(database, "UPDATE runs SET warning = ? WHERE id = ?", *rows.warning, run);
    if (rows.taken_command > 0)
        execute(database, "UPDATE commands SET taken_utc = ? WHERE run = ? AND taken_utc IS NULL AND id <= ?",
                utc_now(), run, rows.taken_command);
    execute(database, "UPDATE runs SET heartbeat_s = ? WHERE id = ?", unix_seconds(), run);
    if (rows.extension) extend_run(database, run, *rows.extension);
    if (rows.end) write_end(database, run, *rows.end);
}

void thin_spans(SQLite::Database& database, RunId run, const SpanRetention& retention, int iterations_done) {
    constexpr int always_kept = 2;  // whoever watches reads the one that has just ended
    if (retention.newest <= 0 && retention.every <= 1) return;
    const int before = iterations_done - std::max(retention.newest, always_kept);
    SQLite::Statement gone{database,
                           "SELECT iteration, first_row, last_row FROM iterations WHERE run = ? AND iteration < ? AND "
                           "(? <= 1 OR iteration % ? <> 0)"};
    SQLite::bind(gone, run, before, retention.every, std::max(retention.every, 1));
    std::vector<IterationRows> iterations;
    while (gone.executeStep())
        iterations.push_back({gone.getColumn(0).getInt(), gone.getColumn(1).getInt64(), gone.getColumn(2).getInt64()});
    for (const auto& one : iterations) {
        // Rows of an iteration that was begun again lie around those of others.
        execute(database, "DELETE FROM spans WHERE run = ? AND row BETWEEN ? AND ? AND iteration = ?", run,
                one.first_row, one.last_row, one.iteration);
        execute(database, "DELETE FROM iterations WHERE run = ? AND iteration = ?", run, one.iteration);
    }
}

std::vector<Command> waiting_commands(SQLite::Database& database, RunId run, std::int64_t after) {
    std::vector<Command> commands;
    SQLite::Statement waiting{database,
                              "SELECT id, kind, payload FROM commands WHERE run = ? AND taken_utc IS NULL AND id > ? "
                              "ORDER BY id"};
    SQLite::bind(waiting, run, after);
    while (waiting.executeStep())
        commands.push_back(
            {waiting.getColumn(0).getInt64(), waiting.getColumn(1).getString(), waiting.getColumn(2).getString()});
    return commands;
}

void copy_run(SQLite::Database& database, const std::string& from, RunId id, const std::string& to, RunId as) {
    const auto copy = [&](const std::string& sql) {
        execute(database, fmt::format(fmt::runtime(sql), fmt::arg("from", from), fmt::arg("to", to)), id, as);
    };
    const std::string frozen =
        "name, planner, seed, started_utc, iterations, predicted_iteration_s, pid, pid_namespace, process_start, "
        "boot_id, skip_ratio";
    const std::string results =
        "state, finished_utc, iterations_done, iteration_s, tokens_per_second, first_validation_loss, "
        "last_validation_loss, machine_s, error, heartbeat_s, paused, warning";
    copy("INSERT INTO {to}.runs (id, " + frozen + ", " + results + ") SELECT ?2, " + frozen + ", " + results +
         " FROM {from}.runs WHERE id = ?1 ON CONFLICT (id) DO UPDATE SET state = excluded.state, "
         "finished_utc = excluded.finished_utc, iterations = max(iterations, excluded.iterations), iterations_done = "
         "max(iterations_done, excluded.iterations_done), "
         "iteration_s = coalesce(excluded.iteration_s, iteration_s), "
         "tokens_per_second = coalesce(excluded.tokens_per_second, tokens_per_second), "
         "first_validation_loss = coalesce(excluded.first_validation_loss, first_validation_loss), "
         "last_validation_loss = coalesce(excluded.last_validation_loss, last_validation_loss), "
         "machine_s = max(machine_s, excluded.machine_s), error = excluded.error, "
         "heartbeat_s = max(heartbeat_s, excluded.heartbeat_s), paused = excluded.paused, "
         "warning = CASE excluded.warning WHEN '' THEN warning ELSE excluded.warning END");
    copy(
        "INSERT INTO {to}.documents (run, experiment, plan, versions, machine, summary) "
        "SELECT ?2, experiment, plan, versions, machine, summary FROM {from}.documents WHERE run = ?1 "
        "ON CONFLICT (run) DO UPDATE SET summary = CASE excluded.summary WHEN '' THEN summary ELSE excluded.summary "
        "END, experiment = CASE (SELECT iterations FROM {from}.runs WHERE id = ?1) WHEN (SELECT iterations FROM "
        "{to}.runs WHERE id = ?2) THEN excluded.experiment ELSE experiment END");  // of whichever was extended
    copy(
        "INSERT INTO {to}.iterations (run, iteration, first_row, last_row) "
        "SELECT ?2, iteration, first_row, last_row FROM {from}.iterations WHERE run = ?1 "
        "ON CONFLICT (run, iteration) DO UPDATE SET first_row = min(first_row, excluded.first_row), "
        "last_row = max(last_row, excluded.last_row)");
    for (const std::string& table : std::vector<std::string>{
             "spans:row, iteration, kind, node, to_node, stage, microbatch, offset_s, ready_s, start_s, end_s, bytes",
             "metrics:row, iteration, name, value, network_s, machine_s, tokens", "plans:iteration, plan, why",
             "events:row, iteration, kind, network_s, lasted_s, what", "devices:" + std::string(device_columns),
             "tags:tag", "notes:note"}) {
        const auto name = table.substr(0, table.find(':')), columns = table.substr(table.find(':') + 1);
        copy("INSERT OR REPLACE INTO {to}." + name + " (run, " + columns + ") SELECT ?2, " + columns + " FROM {from}." +
             name + " WHERE run = ?1");
    }
}

RunId place_of_run(SQLite::Database& database, const std::string& from, RunId id, const std::string& to) {
    const auto same_start = "started_utc, name, pid, process_start, boot_id";
    SQLite::Statement there{
        database, fmt::format("SELECT ({0}) = (SELECT {0} FROM {1}.runs WHERE id = ?1) FROM {2}.runs WHERE id = ?1",
                              same_start, from, to)};
    there.bind(1, id);
    if (!there.executeStep() || there.getColumn(0).getInt() == 1) return id;
    SQLite::Statement moved{database, fmt::format("SELECT id FROM {2}.runs WHERE ({0}) = (SELECT {0} FROM {1}.runs "
                                                  "WHERE id = ?1)",
                                                  same_start, from, to)};
    moved.bind(1, id);
    if (moved.executeStep()) return moved.getColumn(0).getInt64();
    return database.execAndGet(fmt::format("SELECT max(id) + 1 FROM {}.runs", to)).getInt64();
}

}  // namespace skippipe::record
