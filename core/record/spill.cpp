// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/spill.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/record/resume.h"
#include "core/record/values.h"
#include "core/record/write.h"

namespace skippipe::record {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "skippipe-spill-";

/// Of the record's path, so that several records may spill into one folder (FNV-1a).
std::string key_of(const fs::path& record) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const unsigned char c : fs::absolute(record).lexically_normal().string()) hash = (hash ^ c) * 1099511628211ULL;
    return fmt::format("{:016x}", hash);
}

void remove_database(const fs::path& file) {
    std::error_code ignored;
    for (const char* ending : {"", "-journal", "-wal", "-shm"}) fs::remove(fs::path{file} += ending, ignored);
}

void remove_spill(fs::path file) {
    remove_database(file);
    std::error_code ignored;
    fs::remove(file.replace_extension(".json"), ignored);
}

/// Instead of a log that could grow beyond the limit.
void use_bounded_journal(SQLite::Database& database) {
    database.exec("PRAGMA journal_mode = TRUNCATE");
    database.exec("PRAGMA synchronous = FULL");
}

/// Kept beside the rows: what the record itself has to forget before it takes them in.
void note_went_back(SQLite::Database& spill, const RunCommit& commit) {
    spill.exec("CREATE TABLE IF NOT EXISTS went_back (iterations_done INTEGER, validated INTEGER, machine_s REAL)");
    SQLite::Statement insert{spill, "INSERT INTO went_back VALUES (?, ?, ?)"};
    SQLite::bind(insert, commit.iterations_done, commit.validated ? 1 : 0, commit.machine_s);
    insert.exec();
}

/// The training went back while its rows were spilled: those that the record has from before are of what is done anew.
void forget_what_is_done_anew(SQLite::Database& database, RunId as) {
    if (database.execAndGet("SELECT count(*) FROM spill.sqlite_schema WHERE name = 'went_back'").getInt() == 0) return;
    RunCommit commit;
    {
        SQLite::Statement farthest{database,
                                   "SELECT iterations_done, validated, machine_s FROM spill.went_back "
                                   "ORDER BY iterations_done LIMIT 1"};
        if (!farthest.executeStep()) return;
        commit = {farthest.getColumn(0).getInt(), farthest.getColumn(1).getInt() != 0, real(farthest.getColumn(2))};
    }
    truncate_run(database, as, commit, true);
    SQLite::Statement done{database, "UPDATE main.runs SET iterations_done = ?, machine_s = ? WHERE id = ?"};
    SQLite::bind(done, commit.iterations_done, commit.machine_s, as);
    done.exec();
}

/// ATTACH for the length of a scope.
class Attached {
public:
    Attached(SQLite::Database& database, const fs::path& file, const char* name) : database_(database), name_(name) {
        SQLite::Statement attach{database, "ATTACH ? AS " + name_};
        attach.bind(1, file.string());
        attach.exec();
    }
    ~Attached() { database_.tryExec("DETACH " + name_); }

private:
    SQLite::Database& database_;
    std::string name_;
};

void take_in_file(SQLite::Database& database, const fs::path& file, RunId run, std::optional<RunId> as) {
    const Attached spill{database, file, "spill"};
    SQLite::Transaction transaction{database, SQLite::TransactionBehavior::IMMEDIATE};
    const RunId place = as ? *as : place_of_run(database, "spill", run, "main");
    forget_what_is_done_anew(database, place);
    copy_run(database, "spill", run, "main", place);
    transaction.commit();
}

/// The run whose rows a left spill holds, where nobody writes to it any more.
std::optional<RunId> left_run(const fs::path& file) {
    auto spill = open(file, OpenMode::existing);  // of an older version: brought to the newest
    SQLite::Statement row{spill, "SELECT id, state, pid, pid_namespace, process_start, boot_id, heartbeat_s FROM runs"};
    if (!row.executeStep()) return std::nullopt;
    const bool lives = writer_is_alive(row, 2);
    return lives && row.getColumn(1).getString() == "running" ? std::nullopt
                                                              : std::optional{row.getColumn(0).getInt64()};
}

}  // namespace

std::vector<fs::path> spill_folders(const fs::path& record) {
    std::vector<fs::path> folders{fs::absolute(record).parent_path()};
    const auto absolute = [](const char* text) { return text && *text == '/'; };
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    if (absolute(state))
        folders.push_back(fs::path{state} / "skippipe-studio");
    else if (absolute(home))
        folders.push_back(fs::path{home} / ".local" / "state" / "skippipe-studio");
    std::error_code none;
    if (const auto temporary = fs::temp_directory_path(none); !none) folders.push_back(temporary);
    return folders;
}

std::string spill_name(const fs::path& record, RunId run) {
    return fmt::format("{}{}-{}", prefix, key_of(record), run);
}

Spill::Spill(fs::path record, RunId run, RunIdentity identity, std::size_t limit_bytes)
    : record_(std::move(record)), run_(run), identity_(std::move(identity)), limit_bytes_(limit_bytes) {}

void Spill::open() {
    if (database_) return;
    if (has_rows()) {  // it could not be taken in
        database_.emplace(record::open(file_, OpenMode::existing));
        use_bounded_journal(*database_);
        return;
    }
    for (const auto& folder : spill_folders(record_)) {
        const auto file = folder / (spill_name(record_, run_) + ".sqlite");
        try {
            remove_database(file);
            database_.emplace(record::open(file, OpenMode::create));
            use_bounded_journal(*database_);
            SQLite::Transaction transaction{*database_, SQLite::TransactionBehavior::IMMEDIATE};
            insert_run(*database_, run_, identity_.start, identity_.process, identity_.started_utc);
            transaction.commit();
            file_ = file;
            return;
        } catch (const std::exception&) {
            database_.reset();
            remove_database(file);
        }
    }
    throw InputError{record_.string(), "no folder takes what the record does not", "", "Free some space"};
}

void Spill::write(const RunRows& rows) {
    open();
    {
        SQLite::Transaction transaction{*database_, SQLite::TransactionBehavior::IMMEDIATE};
        if (rows.back_to) note_went_back(*database_, *rows.back_to);
        write_rows(*database_, run_, rows);
        transaction.commit();
    }
    shrink(*database_);
}

std::size_t Spill::size(SQLite::Database& database) const {
    const auto pragma = [&](const char* name) {
        return static_cast<std::size_t>(database.execAndGet(std::string{"PRAGMA "} + name).getInt64());
    };
    return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
}

void Spill::shrink(SQLite::Database& database) {
    while (size(database) > limit_bytes_) {
        const auto last = database
                              .execAndGet(
                                  "SELECT coalesce(max(row), 0) FROM (SELECT row FROM spans ORDER BY row LIMIT (SELECT "
                                  "count(*) / 4 + 1 FROM "
                                  "spans))")
                              .getInt64();
        if (last == 0) return;  // metrics are kept whatever their size
        SQLite::Transaction transaction{database, SQLite::TransactionBehavior::IMMEDIATE};
        dropped_ += database.exec(fmt::format("DELETE FROM spans WHERE row <= {}", last));
        database.exec(fmt::format("DELETE FROM iterations WHERE last_row <= {}", last));
        database.exec(fmt::format("UPDATE iterations SET first_row = {} WHERE first_row <= {}", last + 1, last));
        transaction.commit();
    }
}

void Spill::tell(const Fault& fault) {
    const nlohmann::ordered_json json{{"what", fault.what}, {"why", fault.why}, {"remedy", fault.remedy}};
    for (const auto& folder : spill_folders(record_)) {
        std::error_code error;
        fs::create_directories(folder, error);
        const auto file = folder / (spill_name(record_, run_) + ".json"), next = fs::path{file} += ".next";
        {
            std::ofstream out{next};
            out << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
            out.close();
            if (!out) {
                fs::remove(next, error);
                continue;
            }
        }
        fs::rename(next, file, error);
        if (error) continue;
        if (!status_.empty() && status_ != file) fs::remove(status_, error);
        status_ = file;
        return;
    }
}

void Spill::take_in(SQLite::Database& database, RunId as) {
    if (has_rows()) {
        database_.reset();
        take_in_file(database, file_, run_, as);
        remove_spill(file_);
        file_.clear();
    }
    std::error_code ignored;
    if (!status_.empty()) fs::remove(status_, ignored);
    status_.clear();
}

std::string trouble_of(const fs::path& record, RunId run) {
    for (const auto& folder : spill_folders(record)) {
        std::ifstream in{folder / (spill_name(record, run) + ".json")};
        if (!in) continue;
        const auto json = nlohmann::json::parse(in, nullptr, false);
        if (!json.is_object()) continue;
        const auto part = [&](const char* name) { return json.value(name, std::string{}); };
        try {
            return to_string(Fault{record.string(), part("what"), part("why"), part("remedy")});
        } catch (const nlohmann::json::exception&) {
            continue;  // somebody else's file
        }
    }
    return {};
}

void forget_trouble(const fs::path& record, RunId run) {
    std::error_code ignored;
    for (const auto& folder : spill_folders(record)) fs::remove(folder / (spill_name(record, run) + ".json"), ignored);
}

int take_in_spills(SQLite::Database& database, const fs::path& record) {
    int taken = 0;
    const auto beginning = std::string{prefix} + key_of(record) + "-";
    for (const auto& folder : spill_folders(record)) {
        std::error_code error;
        for (fs::directory_iterator it{folder, error}, end; !error && it != end; it.increment(error)) {
            const auto file = it->path();
            if (!file.filename().string().starts_with(beginning) || file.extension() != ".sqlite") continue;
            try {
                const auto run = left_run(file);
                if (!run) continue;
                take_in_file(database, file, *run, std::nullopt);
                remove_spill(file);
                ++taken;
            } catch (const std::exception&) {
                // It stays where it is, for the next that opens the record.
            }
        }
    }
    return taken;
}

}  // namespace skippipe::record
