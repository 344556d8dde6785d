// SPDX-License-Identifier: GPL-3.0-or-later
// A run that goes on: its rows after the commit leave the record, and it is this process's from now on.
#pragma once
#include "core/record/schema.h"
#include "core/record/spill.h"

namespace skippipe::record {

/// What the writer must know of a run that goes on.
struct TakenUp {
    RunIdentity identity;
    std::int64_t last_span = 0, last_metric = 0;  ///< numbers up to these were given before: they are given once
    ResumedRun resumed;
};

/// What was recorded after the commit leaves the record, but for `keep_account`, the metrics of what failures cost. In
/// a transaction of the caller's.
void truncate_run(SQLite::Database& database, RunId run, const RunCommit& commit, bool keep_account);

/// In one transaction of its own. Throws InputError where there is no such run, its process is still there, or the
/// record has not all of its iterations up to the commit.
TakenUp take_up_run(SQLite::Database& database, const std::filesystem::path& file, RunId run, const RunCommit& commit,
                    const std::optional<RunExtension>& extension, const ProcessIdentity& self);

}  // namespace skippipe::record
