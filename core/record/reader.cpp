// SPDX-License-Identifier: GPL-3.0-or-later
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include <fmt/format.h>

#include "core/record/checkpoints.h"
#include "core/record/device_rows.h"
#include "core/record/evaluation_rows.h"
#include "core/record/process.h"
#include "core/record/schema.h"
#include "core/record/spill.h"
#include "core/record/values.h"

namespace skippipe {
namespace {

using record::told;

constexpr const char* run_columns =
    "SELECT runs.id, name, planner, state, seed, started_utc, finished_utc, iterations, iterations_done, "
    "predicted_iteration_s, iteration_s, "
    "tokens_per_second, first_validation_loss, last_validation_loss, machine_s, error, pid, pid_namespace, "
    "process_start, boot_id, "
    "heartbeat_s, coalesce(note, ''), paused, warning, skip_ratio, "
    "coalesce((SELECT iteration FROM metrics WHERE metrics.run = runs.id ORDER BY row LIMIT 1), 0) FROM runs LEFT JOIN "
    "notes ON notes.run = runs.id ";
constexpr const char* died_text = "its process is gone, and it did not say why";

bool writer_is_alive(SQLite::Statement& row) { return record::writer_is_alive(row, 16); }

RunInfo run_of(SQLite::Statement& row, const std::filesystem::path& file) {
    RunInfo run;
    run.id = row.getColumn(0).getInt64();
    run.name = row.getColumn(1).getString();
    run.planner = row.getColumn(2).getString();
    run.state = record::state_of(row.getColumn(3).getString()).value_or(RunState::died);
    run.seed = static_cast<std::uint64_t>(row.getColumn(4).getInt64());
    run.started_utc = row.getColumn(5).getString();
    run.finished_utc = row.getColumn(6).getString();
    run.iterations = row.getColumn(7).getInt();
    run.iterations_done = row.getColumn(8).getInt();
    run.predicted_iteration_s = record::real(row.getColumn(9));
    run.iteration_s = record::optional_real(row.getColumn(10));
    run.tokens_per_second = record::optional_real(row.getColumn(11));
    run.first_validation_loss = record::optional_real(row.getColumn(12));
    run.last_validation_loss = record::optional_real(row.getColumn(13));
    run.machine_s = record::real(row.getColumn(14));
    run.error = row.getColumn(15).getString();
    run.pid = row.getColumn(16).getInt64();
    run.note = row.getColumn(21).getString();
    run.paused = row.getColumn(22).getInt() != 0;
    run.warning = row.getColumn(23).getString();
    run.heartbeat_s = record::real(row.getColumn(20));
    run.skip_ratio = record::optional_real(row.getColumn(24));
    run.first_iteration = row.getColumn(25).getInt();
    const auto find_checkpoint = [&] {
        if (const auto found = list_checkpoints(file, run.id); !found.empty())
            run.checkpoint = found.front().iterations_done;
    };
    if (run.state != RunState::running) {
        if (run.state != RunState::finished) find_checkpoint();
        return run;
    }
    if (auto trouble = record::trouble_of(file, run.id); !trouble.empty()) run.warning = std::move(trouble);
    if (!writer_is_alive(row)) {
        run.state = RunState::died;
        if (run.error.empty()) run.error = died_text;
        find_checkpoint();
    } else {
        run.silent = record::unix_seconds() - run.heartbeat_s > silent_after_s;
    }
    return run;
}

RecordedSpan span_of(SQLite::Statement& row) {
    RecordedSpan span;
    span.row = row.getColumn(0).getInt64();
    span.iteration = row.getColumn(1).getInt();
    const int kind = std::clamp(row.getColumn(2).getInt(), 0, static_cast<int>(last_span_kind));
    span.span.kind = static_cast<SpanKind>(kind);
    span.span.node = NodeIndex(row.getColumn(3).getInt());
    span.span.to_node = NodeIndex(row.getColumn(4).getInt());
    span.span.stage = StageIndex(row.getColumn(5).getInt());
    span.span.microbatch = MicrobatchIndex(row.getColumn(6).getInt());
    span.offset_s = record::real(row.getColumn(7));
    span.span.ready_s = record::real(row.getColumn(8));
    span.span.start_s = record::real(row.getColumn(9));
    span.span.end_s = record::real(row.getColumn(10));
    span.span.bytes = record::real(row.getColumn(11));
    return span;
}

}  // namespace

struct Reader::Impl {
    std::filesystem::path file;
    std::optional<SQLite::Database> opened;
    struct stat seen {
    }, seen_index{};  ///< the file, and its "-shm"

    explicit Impl(const std::filesystem::path& path) : file(std::filesystem::absolute(path)) {}
    ~Impl() {
        if (opened && !record::same_file(index(), seen_index)) close();
    }

    SQLite::Database* database();
    SQLite::Database& writable();
    struct stat index() const;
    void close();
    std::string document(RunId id, const char* sql);
    void require(SQLite::Database& database, RunId id);
    std::vector<RunInfo> list(SQLite::Database& database, const std::string& where, std::optional<RunId> id);
};

/// All zero where there is none.
struct stat Reader::Impl::index() const {
    struct stat index {};
    ::stat((file.string() + "-shm").c_str(), &index);
    return index;
}

/// The log of a connection may be another's by now: it is neither brought in nor removed.
void Reader::Impl::close() {
    if (opened) record::forget_log(*opened);
    opened.reset();
}

/// Null while there is no file. Follows the file: one that appears later, or was replaced, is opened then. So is one
/// whose log was taken from under this connection: whatever closes the file in this process gives up its locks (fcntl's
/// rule), and the next program to leave removes the log as the last.
SQLite::Database* Reader::Impl::database() {
    struct stat now {};
    const bool there = stat(file.c_str(), &now) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR)
        record::open(file, record::OpenMode::existing);  // says what is in the way
    if (!there || now.st_size == 0) {
        close();
        return nullptr;
    }
    if (opened && record::same_file(now, seen) && record::same_file(index(), seen_index)) return &*opened;
    if (opened) close();
    opened.emplace(record::open(file, record::OpenMode::existing));
    seen = now;
    seen_index = index();
    record::take_in_spills(*opened, file);
    return &*opened;
}

SQLite::Database& Reader::Impl::writable() {
    if (auto* found = database()) return *found;
    throw InputError{file.string(), "there is no record here", "no run was ever recorded in it",
                     "Start a run first, or name the record with --db"};
}

void Reader::Impl::require(SQLite::Database& database, RunId id) {
    SQLite::Statement query{database, "SELECT 1 FROM runs WHERE id = ?"};
    query.bind(1, id);
    if (!query.executeStep())
        throw InputError{file.string(), "there is no run " + std::to_string(id), "",
                         "Choose one that `skippipe runs` lists"};
}

std::string Reader::Impl::document(RunId id, const char* sql) {
    return told(file, [&]() -> std::string {
        auto* found = database();
        if (!found) return {};
        SQLite::Statement query{*found, sql};
        query.bind(1, id);
        return query.executeStep() ? query.getColumn(0).getString() : std::string{};
    });
}

std::vector<RunInfo> Reader::Impl::list(SQLite::Database& found, const std::string& where, std::optional<RunId> id) {
    SQLite::Transaction snapshot{found};  // runs and tags of one moment; ends with this function
    std::map<RunId, std::vector<std::string>> tags;
    SQLite::Statement tag{
        found, std::string{"SELECT run, tag FROM tags "} + (id ? "WHERE run = ? " : "") + "ORDER BY run, tag"};
    if (id) tag.bind(1, *id);
    while (tag.executeStep()) tags[tag.getColumn(0).getInt64()].push_back(tag.getColumn(1).getString());
    std::vector<RunInfo> runs;
    SQLite::Statement row{found, run_columns + where};
    if (id) row.bind(1, *id);
    while (row.executeStep()) {
        runs.push_back(run_of(row, file));
        if (const auto own = tags.find(runs.back().id); own != tags.end()) runs.back().tags = std::move(own->second);
    }
    return runs;
}

Reader::Reader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) { impl_->database(); }
Reader::~Reader() = default;

std::vector<RunInfo> Reader::runs() {
    return told(impl_->file, [&]() -> std::vector<RunInfo> {
        auto* found = impl_->database();
        return found ? impl_->list(*found, "ORDER BY runs.id DESC", std::nullopt) : std::vector<RunInfo>{};
    });
}

std::optional<RunInfo> Reader::run(RunId id) {
    return told(impl_->file, [&]() -> std::optional<RunInfo> {
        auto* found = impl_->database();
        if (!found) return std::nullopt;
        auto one = impl_->list(*found, "WHERE runs.id = ?", id);
        return one.empty() ? std::nullopt : std::optional{std::move(one.front())};
    });
}

std::string Reader::experiment_json(RunId id) {
    return impl_->document(id, "SELECT experiment FROM documents WHERE run = ?");
}
std::string Reader::plan_json(RunId id, int iteration) {
    const auto first = impl_->document(id, "SELECT plan FROM documents WHERE run = ?");
    const auto changed = impl_->document(
        id, fmt::format("SELECT plan FROM plans WHERE run = ? AND iteration <= {} ORDER BY iteration DESC LIMIT 1",
                        iteration)
                .c_str());
    return changed.empty() ? first : changed;
}

std::vector<PlanChange> Reader::plan_changes(RunId id) {
    return told(impl_->file, [&]() -> std::vector<PlanChange> {
        auto* found = impl_->database();
        if (!found) return {};
        SQLite::Statement query{*found, "SELECT iteration, why FROM plans WHERE run = ? ORDER BY iteration"};
        query.bind(1, id);
        std::vector<PlanChange> changes;
        while (query.executeStep()) changes.push_back({query.getColumn(0).getInt(), query.getColumn(1).getString()});
        return changes;
    });
}

std::string Reader::summary_json(RunId id) {
    return impl_->document(id, "SELECT summary FROM documents WHERE run = ?");
}
std::string Reader::machine_json(RunId id) {
    return impl_->document(id, "SELECT machine FROM documents WHERE run = ?");
}
std::string Reader::versions_json(RunId id) {
    return impl_->document(id, "SELECT versions FROM documents WHERE run = ?");
}

std::vector<RecordedSpan> Reader::spans(RunId id, int iteration, std::int64_t after, std::int64_t limit) {
    return told(impl_->file, [&]() -> std::vector<RecordedSpan> {
        auto* found = impl_->database();
        if (!found) return {};
        std::string sql =
            "SELECT row, spans.iteration, kind, node, to_node, stage, microbatch, offset_s, ready_s, start_s, end_s, "
            "bytes FROM spans ";
        if (iteration >= 0) sql += "JOIN iterations USING (run, iteration) ";
        sql += "WHERE run = ?1 AND row > ?2 ";
        if (iteration >= 0) sql += "AND iteration = ?4 AND row BETWEEN first_row AND last_row ";
        SQLite::Statement query{*found, sql + "ORDER BY row LIMIT ?3"};
        query.bind(1, id);
        query.bind(2, after);
        query.bind(3, std::max<std::int64_t>(limit, 0));
        if (iteration >= 0) query.bind(4, iteration);
        std::vector<RecordedSpan> spans;
        while (query.executeStep()) spans.push_back(span_of(query));
        return spans;
    });
}

int Reader::kept_iterations(RunId id) {
    return told(impl_->file, [&] {
        auto* found = impl_->database();
        if (!found) return 0;
        SQLite::Statement query{*found, "SELECT count(*) FROM iterations WHERE run = ?"};
        query.bind(1, id);
        return query.executeStep() ? query.getColumn(0).getInt() : 0;
    });
}

std::vector<IterationRows> Reader::iteration_rows(RunId id, int from_iteration) {
    return told(impl_->file, [&]() -> std::vector<IterationRows> {
        auto* found = impl_->database();
        if (!found) return {};
        SQLite::Statement query{
            *found,
            "SELECT iteration, first_row, last_row FROM iterations WHERE run = ? AND iteration >= ? "
            "ORDER BY iteration"};
        SQLite::bind(query, id, from_iteration);
        std::vector<IterationRows> rows;
        while (query.executeStep())
            rows.push_back({query.getColumn(0).getInt(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64()});
        return rows;
    });
}

std::vector<RecordedDevices> Reader::devices(RunId id, int from_iteration) {
    return told(impl_->file, [&]() -> std::vector<RecordedDevices> {
        auto* found = impl_->database();
        return found ? record::read_devices(*found, id, from_iteration) : std::vector<RecordedDevices>{};
    });
}

std::vector<Metric> Reader::metrics(RunId id, std::int64_t after) {
    return told(impl_->file, [&]() -> std::vector<Metric> {
        auto* found = impl_->database();
        if (!found) return {};
        SQLite::Statement query{*found,
                                "SELECT row, iteration, name, value, network_s, machine_s, tokens FROM metrics WHERE "
                                "run = ? AND row > ? ORDER BY row"};
        SQLite::bind(query, id, after);
        std::vector<Metric> metrics;
        while (query.executeStep())
            metrics.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt(),
                               query.getColumn(2).getString(), record::real(query.getColumn(3)),
                               record::real(query.getColumn(4)), record::real(query.getColumn(5)),
                               query.getColumn(6).getInt64()});
        return metrics;
    });
}

std::vector<RunEvent> Reader::events(RunId id, std::int64_t after) {
    return told(impl_->file, [&]() -> std::vector<RunEvent> {
        auto* found = impl_->database();
        if (!found) return {};
        SQLite::Statement query{*found,
                                "SELECT row, iteration, kind, network_s, lasted_s, what FROM events WHERE run = ? AND "
                                "row > ? ORDER BY row"};
        SQLite::bind(query, id, after);
        std::vector<RunEvent> events;
        while (query.executeStep())
            if (const auto kind = record::event_kind_of(query.getColumn(2).getString()))
                events.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt(), *kind,
                                  record::real(query.getColumn(3)), record::real(query.getColumn(4)),
                                  query.getColumn(5).getString()});
        return events;
    });
}

std::optional<Evaluation> Reader::evaluation(RunId id) {
    return told(impl_->file, [&]() -> std::optional<Evaluation> {
        auto* found = impl_->database();
        if (!found) return std::nullopt;
        SQLite::Transaction snapshot{*found};
        return record::read_evaluation(*found, id);
    });
}

void Reader::set_evaluation(RunId id, const Evaluation& evaluation) {
    told(impl_->file, [&] {
        auto& found = impl_->writable();
        found.exec("PRAGMA synchronous = FULL");
        SQLite::Transaction transaction{found, SQLite::TransactionBehavior::IMMEDIATE};
        impl_->require(found, id);
        record::write_evaluation(found, id, evaluation);
        transaction.commit();
        found.exec("PRAGMA synchronous = NORMAL");
    });
}

std::int64_t Reader::send_command(RunId id, const std::string& kind, const std::string& payload_json) {
    const auto& file = impl_->file;
    auto& found = impl_->writable();
    const auto target = run(id);
    if (!target) impl_->require(found, id);
    if (!target || target->state != RunState::running)
        throw InputError{
            file.string(),
            "run " + std::to_string(id) + " takes no commands: it has " + std::string{to_string(target->state)},
            "only a running run reads them", "Choose a run that is running"};
    return told(file, [&] {
        SQLite::Statement insert{found, "INSERT INTO commands (run, kind, payload, sent_utc) VALUES (?, ?, ?, ?)"};
        SQLite::bind(insert, id, kind, payload_json, record::utc_now());
        insert.exec();
        return found.getLastInsertRowid();
    });
}

bool Reader::is_taken(RunId id, std::int64_t command) {
    return told(impl_->file, [&] {
        SQLite::Statement query{impl_->writable(),
                                "SELECT taken_utc IS NOT NULL FROM commands WHERE run = ? AND id = ?"};
        SQLite::bind(query, id, command);
        return query.executeStep() && query.getColumn(0).getInt() != 0;
    });
}

void Reader::set_tags(RunId id, const std::vector<std::string>& tags) {
    told(impl_->file, [&] {
        auto& found = impl_->writable();
        SQLite::Transaction transaction{found, SQLite::TransactionBehavior::IMMEDIATE};
        impl_->require(found, id);
        SQLite::Statement clear{found, "DELETE FROM tags WHERE run = ?"};
        clear.bind(1, id);
        clear.exec();
        SQLite::Statement insert{found, "INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)"};
        for (const auto& tag : tags) {
            if (tag.empty()) continue;
            SQLite::bind(insert, id, tag);
            insert.exec();
            insert.reset();
        }
        transaction.commit();
    });
}

void Reader::set_note(RunId id, const std::string& note) {
    told(impl_->file, [&] {
        auto& found = impl_->writable();
        SQLite::Transaction transaction{found, SQLite::TransactionBehavior::IMMEDIATE};
        impl_->require(found, id);
        SQLite::Statement write{
            found, "INSERT INTO notes (run, note) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET note = excluded.note"};
        SQLite::bind(write, id, note);
        write.exec();
        transaction.commit();
    });
}

int Reader::sweep_dead() {
    return told(impl_->file, [&] {
        auto* found = impl_->database();
        if (!found) return 0;
        int swept = 0;
        record::take_in_spills(*found, impl_->file);
        SQLite::Transaction transaction{*found, SQLite::TransactionBehavior::IMMEDIATE};
        std::vector<RunId> dead;
        SQLite::Statement row{*found, std::string{run_columns} + "WHERE state = 'running'"};
        while (row.executeStep())
            if (!writer_is_alive(row)) dead.push_back(row.getColumn(0).getInt64());
        row.reset();
        SQLite::Statement mark{*found,
                               "UPDATE runs SET state = 'died', finished_utc = strftime('%Y-%m-%dT%H:%M:%fZ', "
                               "heartbeat_s, 'unixepoch'), error = ? WHERE id = ?"};
        for (const RunId id : dead) {
            SQLite::bind(mark, died_text, id);
            swept += mark.exec();
            record::forget_trouble(impl_->file, id);
            mark.reset();
        }
        transaction.commit();
        return swept;
    });
}

void Reader::remove(RunId id) {
    const auto& file = impl_->file;
    auto& found = impl_->writable();
    const auto target = run(id);
    if (!target) return impl_->require(found, id);
    if (target->state == RunState::running)
        throw InputError{file.string(), "run " + std::to_string(id) + " is running",
                         "its process would write to a run that is gone", "Stop it first"};
    told(file, [&] {
        SQLite::Statement erase{found, "DELETE FROM runs WHERE id = ?"};
        erase.bind(1, id);
        erase.exec();
    });
    prune_checkpoints(file, id, 0, 0);
}

}  // namespace skippipe
