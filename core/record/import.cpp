// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/import.h"

#include <unistd.h>

#include <memory>

#include <SQLiteCpp/Backup.h>

#include "core/record/schema.h"

namespace skippipe {
namespace {

constexpr double silence_s = 3600;  ///< a run that was not heard of for so long has died, whatever its record says

// Children after what they refer to. Commands were for a process that is gone.
constexpr const char* tables_of_runs[] = {"documents", "iterations",  "spans",     "metrics", "tags",  "notes",
                                          "plans",     "evaluations", "omissions", "devices", "events"};

/// A copy of the other record beside ours, of the newest schema; it goes with this object.
class NewestCopy {
public:
    NewestCopy(const std::filesystem::path& other, const std::filesystem::path& record)
        : file_(record.string() + ".import-" + std::to_string(::getpid())) {
        remove();
        try {
            record::told(other, [&] {
                SQLite::Database source(std::filesystem::absolute(other).string(), SQLite::OPEN_READONLY);
                SQLite::Database target(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
                SQLite::Backup(target, source).executeStep(-1);
            });
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

void copy_run(SQLite::Database& database, ImportedRun& run) {
    const std::string columns = columns_of(database, "runs", "id", nullptr);
    SQLite::Statement row(database,
                          "INSERT INTO runs (" + columns + ") SELECT " + columns + " FROM other.runs WHERE id = ?");
    row.bind(1, run.there);
    row.exec();
    run.here = database.getLastInsertRowid();
    database.exec("UPDATE runs SET state = 'died', paused = 0 WHERE state = 'running' AND id = " +
                  std::to_string(run.here));
    for (const std::string table : tables_of_runs) {
        SQLite::Statement rows(database, "INSERT INTO " + table + " (" + columns_of(database, table, "run", "run") +
                                             ") SELECT " + columns_of(database, table, "run", "?1") + " FROM other." +
                                             table + " WHERE run = ?2");
        SQLite::bind(rows, run.here, run.there);
        rows.exec();
    }
}

}  // namespace

std::vector<ImportedRun> import_runs(const std::filesystem::path& other, const std::filesystem::path& record) {
    std::error_code ignored;
    if (std::filesystem::equivalent(other, record, ignored))
        throw InputError(other.string(), "is the record itself", "its runs are here already", "Name another record");
    if (!std::filesystem::exists(other, ignored))
        throw InputError(other.string(), "is not there", "runs were to be read from it", "Check the path");
    auto database = record::open(record, record::OpenMode::create);
    const NewestCopy copy(other, record);
    return record::told(record, [&] {
        std::vector<ImportedRun> runs;
        {
            SQLite::Statement attach(database, "ATTACH ? AS other");
            attach.bind(1, copy.path());
            attach.exec();
        }
        SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
        {
            SQLite::Statement found(
                database,
                "SELECT id, name, state, EXISTS (SELECT 1 FROM main.runs AS mine WHERE mine.boot_id = theirs.boot_id "
                "AND "
                "mine.pid = theirs.pid AND mine.process_start = theirs.process_start AND mine.started_utc = "
                "theirs.started_utc AND mine.seed = theirs.seed AND mine.name = theirs.name), "
                "(julianday('now') - 2440587.5) * 86400 - heartbeat_s FROM other.runs AS theirs "
                "ORDER BY id");
            while (found.executeStep()) {
                ImportedRun run{found.getColumn(0).getInt64(), 0, found.getColumn(1).getString(), {}};
                if (found.getColumn(3).getInt() != 0)
                    run.why = "it is here already";
                else if (found.getColumn(2).getString() == "running" && found.getColumn(4).getDouble() < silence_s)
                    run.why = "it goes on, or its end was not noticed yet: import it when it has ended";
                runs.push_back(std::move(run));
            }
        }
        for (auto& run : runs)
            if (run.why.empty()) copy_run(database, run);
        transaction.commit();
        database.exec("DETACH other");
        return runs;
    });
}

}  // namespace skippipe
