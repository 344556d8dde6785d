// SPDX-License-Identifier: GPL-3.0-or-later
// Rows into an open record, and a run from one record into another. All of it inside a transaction of the caller's.
#pragma once
#include "core/record/process.h"
#include "core/record/rows.h"
#include "core/record/schema.h"

namespace skippipe::record {

/// The row and the documents of a run that begins now, written by `self`. Returns its number: `id`, or the next free
/// one where that is 0.
RunId insert_run(SQLite::Database& database, RunId id, const RunStart& start, const ProcessIdentity& self,
                 const std::string& started_utc);

/// Its number of iterations, and the frozen experiment with it.
void extend_run(SQLite::Database& database, RunId run, const RunExtension& extension);

void write_rows(SQLite::Database& database, RunId run, const RunRows& rows);

/// Spans leave the record that are not kept after so many iterations.
void thin_spans(SQLite::Database& database, RunId run, const SpanRetention& retention, int iterations_done);

/// Commands of the run that came after `after` and that nobody took.
std::vector<Command> waiting_commands(SQLite::Database& database, RunId run, std::int64_t after);

/// Puts run `id` of the attached database `from` into `to` as run `as`: what is there already stays, and is brought up
/// to date. Names of schemas as SQLite's ATTACH gives them.
void copy_run(SQLite::Database& database, const std::string& from, RunId id, const std::string& to, RunId as);

/// The number under which `to` has or shall have run `id` of `from`: the same, unless another run took it there.
RunId place_of_run(SQLite::Database& database, const std::string& from, RunId id, const std::string& to);

}  // namespace skippipe::record
