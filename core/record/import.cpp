// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/import.h"

#include <unistd.h>

#include <memory>
#include <set>

#include <SQLiteCpp/Backup.h>
#include <sqlite3.h>

#include "core/record/schema.h"
#include "core/record/values.h"

namespace skippipe {
namespace {

/// A run that was not heard of for so long has died, whatever its record says; of one that another machine trains no
/// more is known.
constexpr double silence_s = 3600;

// Children after what they refer to. Commands were for a process that is gone.
constexpr const char* tables_of_runs[] = {"documents", "iterations",  "spans",     "metrics", "tags",  "notes",
                                          "plans",     "evaluations", "omissions", "devices", "events"};

/// A copy of the other record beside ours, of the newest schema; it goes with this object.
class NewestCopy {
public:
    NewestCopy(const std::filesystem::path& other, const std::filesystem::path& record,
               std::chrono::milliseconds patience)
        : file_(record.string() + ".import-" + std::to_string(::getpid())) {
        remove();
        try {
            record::told(other, [&] { copy(other, patience); });
            record::open(file_, record::OpenMode::existing);
        } catch (const InputError& error) {
            remove();
            auto faults = error.faults();
            for (auto& fault : faults)
                if (fault.pointer == file_.string()) fault.pointer = other.string();
            throw InputError(std::move(faults));
        }
    }
    ~NewestCopy() { remove(); }
    NewestCopy(const NewestCopy&) = delete;
    NewestCopy& operator=(const NewestCopy&) = delete;
    std::string path() const { return file_.string(); }

private:
    void copy(const std::filesystem::path& other, std::chrono::milliseconds patience) const {
        SQLite::Database source(std::filesystem::absolute(other).string(), SQLite::OPEN_READONLY,
                                static_cast<int>(patience.count()));
        SQLite::Database target(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        // That somebody keeps it locked is returned, not thrown: then nothing was copied.
        if (const int code = SQLite::Backup(target, source).executeStep(-1); code != SQLITE_DONE)
            throw record::error_of(code, sqlite3_errstr(code), other);
    }
    void remove() const {
        std::error_code ignored;
        for (const char* part : {"", "-wal", "-shm", "-journal"})
            std::filesystem::remove(file_.string() + part, ignored);
    }
    std::filesystem::path file_;
};

/// "a, b, c" of a table, without a column; `instead` stands in the column's place where it is given.
std::string columns_of(SQLite::Database& database, const std::string& table, const std::string& column,
                       const char* instead) {
    std::string list;
    SQLite::Statement info(database, "PRAGMA table_info(" + table + ")");
    while (info.executeStep()) {
        const std::string name = info.getColumn(1).getString();
        if (name == column && instead == nullptr) continue;
        list += (list.empty() ? "" : ", ") + (name == column ? std::string(instead) : name);
    }
    return list;
}

/// The rows of a run in all tables but `kept`.
void copy_rows(SQLite::Database& database, const ImportedRun& run, const std::set<std::string>& kept = {}) {
    for (const std::string table : tables_of_runs) {
        if (kept.contains(table)) continue;
        SQLite::Statement rows(database, "INSERT INTO " + table + " (" + columns_of(database, table, "run", "run") +
                                             ") SELECT " + columns_of(database, table, "run", "?1") + " FROM other." +
                                             table + " WHERE run = ?2");
        SQLite::bind(rows, run.here, run.there);
        rows.exec();
    }
}

void copy_run(SQLite::Database& database, ImportedRun& run) {
    const std::string columns = columns_of(database, "runs", "id", nullptr);
    SQLite::Statement row(database,
                          "INSERT INTO runs (" + columns + ") SELECT " + columns + " FROM other.runs WHERE id = ?");
    row.bind(1, run.there);
    row.exec();
    run.here = database.getLastInsertRowid();
    copy_rows(database, run);
}

/// What it was given here stays: its number, tags and note.
void replace_run(SQLite::Database& database, const ImportedRun& run) {
    const std::set<std::string> kept{"tags", "notes"};
    for (const std::string table : tables_of_runs)
        if (!kept.contains(table)) record::execute(database, "DELETE FROM " + table + " WHERE run = ?", run.here);
    const std::string columns = columns_of(database, "runs", "id", nullptr);
    record::execute(
        database,
        "UPDATE runs SET (" + columns + ") = (SELECT " + columns + " FROM other.runs WHERE id = ?) WHERE id = ?",
        run.there, run.here);
    copy_rows(database, run, kept);
}

/// The run here that is the same one, whoever went on with it; each is the same as one there.
struct Match {
    RunId here = 0;
    int iterations_done = 0;
    bool running = false;
};
Match find_here(SQLite::Database& database, RunId there, std::set<RunId>& taken) {
    SQLite::Statement found(database,
                            "SELECT mine.id, mine.iterations_done, mine.state = 'running' FROM main.runs AS mine JOIN "
                            "other.runs AS theirs ON mine.started_utc = theirs.started_utc AND mine.seed = theirs.seed "
                            "AND mine.name = theirs.name AND mine.planner = theirs.planner WHERE theirs.id = ? "
                            "ORDER BY mine.id");
    found.bind(1, there);
    while (found.executeStep())
        if (taken.insert(found.getColumn(0).getInt64()).second)
            return {found.getColumn(0).getInt64(), found.getColumn(1).getInt(), found.getColumn(2).getInt() != 0};
    return {};
}

/// What becomes of each run there; nothing is copied yet.
std::vector<ImportedRun> runs_to_import(SQLite::Database& database) {
    std::vector<ImportedRun> runs;
    std::set<RunId> taken;
    SQLite::Statement there(database,
                            "SELECT id, name, state, iterations_done, pid, pid_namespace, process_start, boot_id, "
                            "heartbeat_s FROM other.runs ORDER BY id");
    const auto here = record::this_process().boot_id;
    while (there.executeStep()) {
        ImportedRun run{.there = there.getColumn(0).getInt64(), .name = there.getColumn(1).getString()};
        const bool is_gone = there.getColumn(7).getString() == here && !record::writer_is_alive(there, 4);
        const bool goes_on = there.getColumn(2).getString() == "running" && !is_gone &&
                             record::unix_seconds() - there.getColumn(8).getDouble() < silence_s;
        const Match match = find_here(database, run.there, taken);
        if (match.here != 0 && (match.running || there.getColumn(3).getInt() <= match.iterations_done))
            run.why = "it is here already";
        else if (goes_on)
            run.why = "it goes on, or its end was not noticed yet: import it when it has ended";
        else if (match.here != 0)
            run.here = match.here, run.grown = true;
        runs.push_back(std::move(run));
    }
    return runs;
}

}  // namespace

std::vector<ImportedRun> import_runs(const std::filesystem::path& other, const std::filesystem::path& record,
                                     std::chrono::milliseconds patience) {
    std::error_code ignored;
    if (std::filesystem::equivalent(other, record, ignored))
        throw InputError(other.string(), "is the record itself", "its runs are here already", "Name another record");
    if (!std::filesystem::exists(other, ignored))
        throw InputError(other.string(), "is not there", "runs were to be read from it", "Check the path");
    auto database = record::open(record, record::OpenMode::create);
    Reader(record).sweep_dead();  // one that was killed may have gone on elsewhere
    const NewestCopy copy(other, record, patience);
    return record::told(record, [&] {
        {
            SQLite::Statement attach(database, "ATTACH ? AS other");
            attach.bind(1, copy.path());
            attach.exec();
        }
        SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
        auto runs = runs_to_import(database);
        for (auto& run : runs) {
            if (run.grown)
                replace_run(database, run);
            else if (run.why.empty())
                copy_run(database, run);
            if (run.here != 0)
                record::execute(database,
                                "UPDATE runs SET state = 'died', paused = 0 WHERE state = 'running' AND id = ?",
                                run.here);
        }
        transaction.commit();
        database.exec("DETACH other");
        return runs;
    });
}

}  // namespace skippipe
