// SPDX-License-Identifier: GPL-3.0-or-later
// Where a run's rows wait while its record cannot be written: a small record of its own, one file a run, beside the
// record or, where that folder is what is in the way, among the user's state files. Whoever next opens the record to
// write takes it in.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/record/process.h"
#include "core/record/rows.h"
#include "core/record/schema.h"

namespace skippipe::record {

/// Folders to spill into, the best first: the record's own, the user's state folder (XDG_STATE_HOME), the temporary
/// one.
std::vector<std::filesystem::path> spill_folders(const std::filesystem::path& record);

/// How a run's spill is named in each of them, without extension: ".sqlite" has the rows, ".json" says what is wrong.
std::string spill_name(const std::filesystem::path& record, RunId run);

/// What of a run is needed to write it into an empty record.
struct RunIdentity {
    RunStart start;
    ProcessIdentity process;
    std::string started_utc;
};

class Spill {
public:
    Spill(std::filesystem::path record, RunId run, RunIdentity identity, std::size_t limit_bytes);

    /// Writes rows, durable when it returns; then drops the oldest spans while the file is beyond its limit. Throws
    /// SQLite::Exception or InputError where no folder takes them.
    void write(const RunRows& rows);
    /// Says for windows what is in the way of the record; silently not where no folder takes it.
    void tell(const Fault& fault);
    /// Puts what was spilled into the open record as run `as`, in a transaction of its own, and removes the files.
    void take_in(SQLite::Database& database, RunId as);

    bool has_rows() const { return !file_.empty(); }
    const std::filesystem::path& file() const { return file_; }
    std::int64_t dropped_spans() const { return dropped_; }

private:
    void open();
    std::size_t size(SQLite::Database& database) const;
    void shrink(SQLite::Database& database);

    std::filesystem::path record_;
    RunId run_;
    RunIdentity identity_;
    std::size_t limit_bytes_;
    std::filesystem::path file_, status_;
    std::optional<SQLite::Database> database_;
    std::int64_t dropped_ = 0;
};

/// What is in the way of a run's record, in one line, as its writer tells it; empty: nothing.
std::string trouble_of(const std::filesystem::path& record, RunId run);

/// Forgets what was told of a run whose writer is gone.
void forget_trouble(const std::filesystem::path& record, RunId run);

/// Takes in what runs of this record left behind whose writers are gone. Returns how many.
int take_in_spills(SQLite::Database& database, const std::filesystem::path& record);

}  // namespace skippipe::record
