// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/resume.h"

#include <fmt/format.h>

#include "core/record/rows.h"
#include "core/record/values.h"
#include "core/record/write.h"

namespace skippipe::record {

namespace {

std::int64_t number(SQLite::Database& database, const std::string& sql, RunId run) {
    SQLite::Statement query{database, sql};
    query.bind(1, run);
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

void require_over(SQLite::Database& database, const std::filesystem::path& file, RunId run, const RunCommit& commit) {
    const auto refuse = [&](const std::string& what, const char* why, const char* remedy) {
        throw InputError{file.string(), fmt::format("run {} {}", run, what), why, remedy};
    };
    SQLite::Statement row{database,
                          "SELECT state, pid, pid_namespace, process_start, boot_id, heartbeat_s, iterations_done "
                          "FROM runs WHERE id = ?"};
    row.bind(1, run);
    if (!row.executeStep()) refuse("is not there", "", "Choose one that `skippipe runs` lists");
    if (row.getColumn(0).getString() == "running" && writer_is_alive(row, 1))
        refuse("is running", "two programs would write to one run", "Stop it first, or wait for its end");
    if (row.getColumn(6).getInt() < commit.iterations_done)
        refuse(fmt::format("has {} iterations in the record, its checkpoint {}", row.getColumn(6).getInt(),
                           commit.iterations_done),
               "between them nothing would be recorded", "Go on from an earlier checkpoint, or fork the run");
}

RunIdentity identity_of(SQLite::Database& database, RunId run, const ProcessIdentity& self) {
    SQLite::Statement row{database,
                          "SELECT name, planner, experiment, plan, versions, machine, seed, iterations, "
                          "predicted_iteration_s, started_utc FROM runs JOIN documents ON run = id WHERE id = ?"};
    row.bind(1, run);
    row.executeStep();
    const auto text = [&](int column) { return row.getColumn(column).getString(); };
    return {
        {text(0), text(1), text(2), text(3), text(4), text(5), static_cast<std::uint64_t>(row.getColumn(6).getInt64()),
         row.getColumn(7).getInt(), real(row.getColumn(8))},
        self,
        text(9)};
}

ResumedRun resumed(SQLite::Database& database, RunId run) {
    const auto value = [&](const char* name, const char* order) -> std::optional<double> {
        SQLite::Statement query{
            database,
            fmt::format("SELECT value FROM metrics WHERE run = ? AND name = ? ORDER BY row {} LIMIT 1", order)};
        SQLite::bind(query, run, name);
        return query.executeStep() ? optional_real(query.getColumn(0)) : std::nullopt;
    };
    SQLite::Statement first{database,
                            "SELECT iteration, network_s - value, machine_s, tokens FROM metrics "
                            "WHERE run = ? AND name = 'iteration_s' ORDER BY row LIMIT 1"};
    first.bind(1, run);
    std::optional<ResumedRun::Begin> begin;
    if (first.executeStep()) begin = {first.getColumn(0).getInt(), real(first.getColumn(1)), 0, 0};
    if (begin && begin->iteration > 0)
        begin->machine_s = real(first.getColumn(2)), begin->tokens = first.getColumn(3).getInt64();
    return {value("validation_loss", "ASC"), value("validation_loss", "DESC"),
            value("bits_per_byte", "DESC").value_or(0), begin};
}

}  // namespace

void truncate_run(SQLite::Database& database, RunId run, const RunCommit& commit, bool keep_account) {
    for (const char* table : {"spans", "iterations", "plans", "devices"})
        execute(database, fmt::format("DELETE FROM {} WHERE run = ? AND iteration >= ?", table), run,
                commit.iterations_done);
    if (!keep_account)
        execute(database, "DELETE FROM events WHERE run = ? AND iteration >= ?", run, commit.iterations_done);
    execute(database, "DELETE FROM evaluations WHERE run = ?", run);  // of weights that it goes on from
    SQLite::Statement names{database, "SELECT DISTINCT name FROM metrics WHERE run = ?"};
    names.bind(1, run);
    std::vector<std::string> metrics;
    while (names.executeStep()) metrics.push_back(names.getColumn(0).getString());
    for (const auto& name : metrics) {
        if (keep_account && !is_result(name)) continue;
        execute(database, "DELETE FROM metrics WHERE run = ? AND name = ? AND iteration >= ?", run, name,
                commit.iterations_done + (is_validation(name) && commit.validated ? 1 : 0));
    }
}

TakenUp take_up_run(SQLite::Database& database, const std::filesystem::path& file, RunId run, const RunCommit& commit,
                    const std::optional<RunExtension>& extension, const ProcessIdentity& self) {
    SQLite::Transaction transaction{database, SQLite::TransactionBehavior::IMMEDIATE};
    require_over(database, file, run, commit);
    if (extension) extend_run(database, run, *extension);
    TakenUp taken{identity_of(database, run, self),
                  number(database, "SELECT coalesce(max(row), 0) FROM spans WHERE run = ?", run),
                  number(database,
                         "SELECT coalesce(max(row), 0) FROM (SELECT run, row FROM metrics UNION ALL "
                         "SELECT run, row FROM events) WHERE run = ?",
                         run),
                  {}};
    truncate_run(database, run, commit, false);
    taken.resumed = resumed(database, run);
    execute(database,
            "UPDATE runs SET state = 'running', finished_utc = '', error = '', paused = 0, iterations_done = ?, "
            "machine_s = ?, iteration_s = NULL, tokens_per_second = NULL, first_validation_loss = NULL, "
            "last_validation_loss = NULL, pid = ?, pid_namespace = ?, process_start = ?, boot_id = ?, heartbeat_s = ? "
            "WHERE id = ?",
            commit.iterations_done, commit.machine_s, self.pid, self.pid_namespace, self.process_start, self.boot_id,
            unix_seconds(), run);
    execute(database, "UPDATE documents SET summary = '' WHERE run = ?", run);
    // What was told to the process that is gone is not meant for this one.
    execute(database, "UPDATE commands SET taken_utc = ? WHERE run = ? AND taken_utc IS NULL", utc_now(), run);
    transaction.commit();
    forget_trouble(file, run);
    return taken;
}

}  // namespace skippipe::record
