// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/schema.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include <sqlite3.h>

namespace skippipe::record {
namespace {

constexpr int busy_timeout_ms = 10'000;
constexpr std::string_view magic{"SQLite format 3\0", 16};

// Comments inside CREATE TABLE stay in the file: `.schema` in the sqlite3 shell documents itself.
constexpr const char* version_1 = R"sql(
CREATE TABLE runs (              -- one row a run
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    planner TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'failed', 'stopped', 'died')),
    seed INTEGER NOT NULL,               -- 64 bits, unsigned
    started_utc TEXT NOT NULL,           -- ISO 8601
    finished_utc TEXT NOT NULL DEFAULT '',
    iterations INTEGER NOT NULL,         -- planned
    iterations_done INTEGER NOT NULL DEFAULT 0,
    predicted_iteration_s REAL,          -- network time
    iteration_s REAL,                    -- network time, mean of the executed iterations
    tokens_per_second REAL,              -- machine time
    first_validation_loss REAL,
    last_validation_loss REAL,
    machine_s REAL,                      -- machine time spent
    error TEXT NOT NULL DEFAULT '',
    pid INTEGER NOT NULL,                -- the writing process: pid, its namespace, its start, the machine's boot
    pid_namespace TEXT NOT NULL,
    process_start INTEGER NOT NULL,      -- field 22 of /proc/PID/stat
    boot_id TEXT NOT NULL,
    heartbeat_s REAL NOT NULL            -- seconds since 1970 UTC
);
CREATE TABLE documents (         -- what was frozen at the start, and the summary at the end; apart from `runs` so that lists stay quick
    run INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    experiment TEXT NOT NULL,            -- JSON, all of them
    plan TEXT NOT NULL,
    versions TEXT NOT NULL,
    machine TEXT NOT NULL,
    summary TEXT NOT NULL DEFAULT ''     -- empty while the run goes on
);
CREATE TABLE iterations (        -- where each iteration's spans lie
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    iteration INTEGER NOT NULL,
    first_row INTEGER NOT NULL,
    last_row INTEGER NOT NULL,
    PRIMARY KEY (run, iteration)
) WITHOUT ROWID;
CREATE TABLE spans (             -- what took network time; clustered by run, `row` grows within it
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    row INTEGER NOT NULL,
    iteration INTEGER NOT NULL,
    kind INTEGER NOT NULL,               -- 0 forward, 1 loss, 2 backward, 3 input gradient, 4 weight gradient, 5 transfer forward, 6 transfer backward, 7 all-reduce, 8 step, 9 down, 10 transfer of a reduction
    node INTEGER NOT NULL,
    to_node INTEGER NOT NULL,            -- transfers; -1: none
    stage INTEGER NOT NULL,
    microbatch INTEGER NOT NULL,
    offset_s REAL,                       -- network time of the iteration's start; the next three count from there
    ready_s REAL,
    start_s REAL,
    end_s REAL,
    bytes REAL,
    PRIMARY KEY (run, row)
) WITHOUT ROWID;
CREATE TABLE metrics (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    row INTEGER NOT NULL,
    iteration INTEGER NOT NULL,
    name TEXT NOT NULL,
    value REAL,                          -- NULL: not a number
    network_s REAL,
    machine_s REAL,
    tokens INTEGER NOT NULL,             -- trained so far
    PRIMARY KEY (run, row)
) WITHOUT ROWID;
CREATE TABLE commands (          -- inserted by windows, taken by the run
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,               -- JSON
    sent_utc TEXT NOT NULL,
    taken_utc TEXT                       -- NULL: waiting
);
CREATE INDEX commands_of_run ON commands(run, taken_utc);
CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) WITHOUT ROWID;
CREATE TABLE notes (
    run INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    note TEXT NOT NULL
);
)sql";

constexpr const char* version_2 = R"sql(
CREATE TABLE plans (             -- what a run went over to while it went on; the first plan is in `documents`
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    iteration INTEGER NOT NULL,          -- the first one of this plan
    plan TEXT NOT NULL,                  -- JSON
    why TEXT NOT NULL,                   -- for people
    PRIMARY KEY (run, iteration)
) WITHOUT ROWID;
)sql";

constexpr const char* version_3 = R"sql(
ALTER TABLE runs ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;    -- 1: running, and waits to be resumed
ALTER TABLE runs ADD COLUMN warning TEXT NOT NULL DEFAULT '';     -- what of the run could not be kept
)sql";

constexpr const char* version_4 = R"sql(
CREATE TABLE evaluations (       -- a trained model's validation with stages left out; the last one of each run
    run INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    evaluated_utc TEXT NOT NULL,         -- ISO 8601
    weights TEXT NOT NULL,               -- where they were read
    stages INTEGER NOT NULL,             -- of the model
    tokens INTEGER NOT NULL,             -- predicted in one validation
    bytes_per_token REAL NOT NULL,       -- of text; 0: not known
    seed INTEGER NOT NULL,               -- 64 bits, unsigned: chose what is left out
    samples INTEGER NOT NULL             -- sets of a size that were drawn where there are more
);
CREATE TABLE omissions (         -- one row a set of stages
    run INTEGER NOT NULL REFERENCES evaluations(run) ON DELETE CASCADE,
    omitted TEXT NOT NULL,               -- stages left out, JSON; of stage 0 its blocks
    loss REAL,                           -- nats a token
    PRIMARY KEY (run, omitted)
) WITHOUT ROWID;
)sql";

constexpr const char* version_5 = R"sql(
CREATE TABLE devices (           -- what GPUs said of themselves while an iteration ran; NULL: not told
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    iteration INTEGER NOT NULL,
    uuid TEXT NOT NULL,                  -- the GPU, whatever it is called on a host
    host TEXT NOT NULL,
    device TEXT NOT NULL,                -- cuda:0
    name TEXT NOT NULL,
    nodes TEXT NOT NULL,                 -- that sat there, JSON
    readings INTEGER NOT NULL,           -- the next six sum up so many: means, of memory in use the most
    busy REAL,                           -- share of the time in which some kernel ran, of any program
    memory_used_bytes REAL,
    memory_total_bytes REAL,
    power_w REAL,
    clock_hz REAL,
    memory_clock_hz REAL,
    PRIMARY KEY (run, iteration, uuid)
) WITHOUT ROWID;
)sql";

constexpr const char* version_6 = R"sql(
CREATE TABLE events (            -- what happened to a run besides iterations
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    row INTEGER NOT NULL,                -- grows within the run, and with that of its metrics
    iteration INTEGER NOT NULL,          -- in which it happened, or that came next
    kind TEXT NOT NULL,                  -- 'lost', 'back', 'speeds', 'went back', 'plan', 'met anew'
    network_s REAL,                      -- when, from the run's start
    lasted_s REAL,                       -- until training went on, or could
    what TEXT NOT NULL,                  -- for people
    PRIMARY KEY (run, row)
) WITHOUT ROWID;
)sql";

const std::string version_7 = std::string{R"sql(
ALTER TABLE runs ADD COLUMN skip_ratio REAL;                      -- that it was trained with; NULL: not known
)sql"} + set_skip_ratio;

int version_of(SQLite::Database& database) { return database.execAndGet("PRAGMA user_version").getInt(); }

/// One transaction a step. The version is read again once the write lock is held: another program may have been first.
void take_step(SQLite::Database& database, int from, const std::string& sql) {
    SQLite::Transaction transaction{database, SQLite::TransactionBehavior::IMMEDIATE};
    if (version_of(database) != from) return;
    database.exec(sql);
    database.exec("PRAGMA application_id = " + std::to_string(application_id));
    database.exec("PRAGMA user_version = " + std::to_string(from + 1));
    transaction.commit();
}

/// The switch needs the file for itself, and SQLite does not wait for that as it does for other locks: two programs
/// that make a record at once would meet here.
void use_wal(SQLite::Database& database) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{busy_timeout_ms};
    while (true) try {
            database.exec("PRAGMA journal_mode = WAL");
            return;
        } catch (const SQLite::Exception& error) {
            if ((error.getErrorCode() & 0xFF) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
}

[[noreturn]] void refuse(const std::filesystem::path& file, std::string what) {
    throw InputError{file.string(), std::move(what), "it was left as it is",
                     "Name another file with --db, or move this one away"};
}

/// The first bytes of a file, read by a descriptor that stays open as long as this process: closing one would give up
/// the locks that SQLite holds on the same file for other connections of the process (fcntl's rule), and another
/// program would take the log from under them. -1: it cannot be read.
ssize_t read_header(const std::filesystem::path& file, std::span<char> header) {
    static std::mutex mutex;
    static std::map<std::pair<dev_t, ino_t>, int> opened;
    const std::lock_guard lock{mutex};
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return -1;
    auto found = opened.find({status.st_dev, status.st_ino});
    if (found == opened.end()) {
        const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return -1;
        found = opened.insert_or_assign({status.st_dev, status.st_ino}, descriptor).first;
    }
    return ::pread(found->second, header.data(), header.size(), 0);
}

/// Reads the header by hand, because SQLite may write to what it opens (hot journals). False: nothing there yet.
bool looks_like_record(const std::filesystem::path& file) {
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (status.type() == std::filesystem::file_type::not_found) return false;
    if (error)
        throw InputError{file.string(), "cannot be looked at: " + error.message(), "",
                         "Check the permissions of its folder"};
    if (!std::filesystem::is_regular_file(status)) refuse(file, "is no regular file");
    std::array<char, 100> header{};
    const auto read = read_header(file, header);
    if (read < 0) throw InputError{file.string(), "cannot be read", "the record lies there", "Check its permissions"};
    if (read == 0) return false;
    if (read < static_cast<ssize_t>(header.size()) || std::string_view{header.data(), magic.size()} != magic)
        refuse(file, "is no SQLite file");
    std::uint32_t id = 0;
    for (std::size_t i = 68; i < 72; ++i) id = id << 8 | static_cast<unsigned char>(header[i]);
    if (id != static_cast<std::uint32_t>(application_id))
        refuse(file, "is an SQLite file, but no record of SkipPipe Studio");
    return true;
}

void make_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        throw InputError{folder.string(), "this folder cannot be made: " + error.message(), "the record lies there",
                         "Name another file with --db, or set XDG_DATA_HOME"};
}

}  // namespace

const std::vector<std::string>& migrations() {
    static const std::vector<std::string> steps{version_1, version_2, version_3, version_4,
                                                version_5, version_6, version_7};
    return steps;
}

void migrate(SQLite::Database& database, const std::vector<std::string>& steps, const std::filesystem::path& file) {
    const int newest = static_cast<int>(steps.size());
    for (int version = version_of(database); version < newest; version = version_of(database)) {
        if (version < 0) refuse(file, "has the impossible schema version " + std::to_string(version));
        take_step(database, version, steps[static_cast<std::size_t>(version)]);
    }
    if (const int version = version_of(database); version > newest)
        throw InputError{
            file.string(),
            "is of schema version " + std::to_string(version) + ", this program knows up to " + std::to_string(newest),
            "a newer SkipPipe Studio wrote it", "Use that newer version, or name another file with --db"};
}

SQLite::Database open(const std::filesystem::path& file, OpenMode mode) {
    const auto path = std::filesystem::absolute(file);  // an absolute path is never taken for a URI
    if (mode == OpenMode::create && path.has_parent_path()) make_folder(path.parent_path());
    looks_like_record(path);
    return told(path, [&] {
        const int create = mode == OpenMode::create ? SQLite::OPEN_CREATE : 0;
        // Whoever has a connection uses it from one thread at a time: SQLite need not lock it at every value bound.
        SQLite::Database database{path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX | create,
                                  busy_timeout_ms};
        // The first schema goes through the rollback journal, so that the header says at once whose file it is.
        migrate(database, migrations(), path);
        use_wal(database);
        database.exec("PRAGMA synchronous = NORMAL");
        database.exec("PRAGMA foreign_keys = ON");
        return database;
    });
}

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

void forget_log(SQLite::Database& database) {
    sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

InputError error_of(int code, const std::string& message, const std::filesystem::path& file) {
    const auto make = [&](std::string what, std::string remedy) {
        return InputError{file.string(), std::move(what) + " (SQLite: " + message + ")", "the record could not be used",
                          std::move(remedy)};
    };
    switch (code & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return make("another program keeps the record locked", "Close what writes to it, then try again");
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_CANTOPEN:
            return make("the record cannot be opened for writing",
                        "Check the permissions of the file and its folder, or name another with --db");
        case SQLITE_FULL: return make("the disk is full", "Free some space, or name a file on another disk with --db");
        case SQLITE_IOERR:
            return make("reading or writing the record failed",
                        "Check the disk's space and health, or name a file on another disk with --db");
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return make("the record is damaged",
                        "Restore it from a backup, save what can be read with `sqlite3 FILE .recover`, or name another "
                        "with --db");
        case SQLITE_CONSTRAINT:
            return make("the record refused the row", "The run may have been removed meanwhile; start it again");
        default: return make("the record could not be used", "Check the file, or name another with --db");
    }
}

InputError error_of(const SQLite::Exception& error, const std::filesystem::path& file) {
    return error_of(error.getErrorCode(), error.what(), file);
}

}  // namespace skippipe::record
