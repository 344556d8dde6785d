// SPDX-License-Identifier: GPL-3.0-or-later
// The record's file: how it is recognised, opened and brought to the newest schema.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include "core/base/fault.h"

namespace skippipe::record {

/// "SKPP" in the header (PRAGMA application_id): tells a record from any other SQLite file.
inline constexpr int application_id = 0x534B5050;

/// SQL that takes a record from version i to i + 1 (PRAGMA user_version); element 0 makes the first schema.
/// An element that was once published is never changed: append.
const std::vector<std::string>& migrations();

/// Sets `runs.skip_ratio` from the documents as `used_skip_ratio` has it: of all runs, or of those that a WHERE behind
/// it names. It is part of version 7: never changed.
inline constexpr const char* set_skip_ratio =
    "UPDATE runs SET skip_ratio = (SELECT CASE WHEN json_valid(plan) AND json_valid(experiment) THEN "
    "CASE json_array_length(plan, '$.paths[0].nodes') WHEN json_array_length(plan, '$.stages') THEN 0.0 "
    "ELSE json_extract(experiment, '$.pipeline.skip_ratio') END END FROM documents WHERE run = runs.id)";

/// Brings an open file to version steps.size(), each step in a transaction of its own; two programs may do so at once.
/// Throws InputError where the file is of a newer version.
void migrate(SQLite::Database& database, const std::vector<std::string>& steps, const std::filesystem::path& file);

enum class OpenMode {
    create,    ///< make the file and its folder where missing
    existing,  ///< never make a file
};

/// Looks at the file's first bytes and refuses what is no record before SQLite may touch it; then opens, sets WAL, the
/// busy timeout (10 s), synchronous NORMAL and foreign keys, and migrates. Throws InputError.
SQLite::Database open(const std::filesystem::path& file, OpenMode mode);

/// Whether two descriptions are of one file; both all zero: of none.
bool same_file(const struct stat& a, const struct stat& b);
/// For a connection whose log is another's by now: closing it must neither bring it in nor remove it.
void forget_log(SQLite::Database& database);

/// SQLite's error as one for people, by its code: locked, not writable, full, damaged...
InputError error_of(int code, const std::string& message, const std::filesystem::path& file);
InputError error_of(const SQLite::Exception& error, const std::filesystem::path& file);

/// Runs `work`, telling SQLite's exceptions as InputError.
template <class Work>
auto told(const std::filesystem::path& file, Work&& work) {
    try {
        return work();
    } catch (const SQLite::Exception& error) {
        throw error_of(error, file);
    }
}

}  // namespace skippipe::record
