// SPDX-License-Identifier: GPL-3.0-or-later
// What recorder and reader share: states, times, NaN as NULL, default path.
#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include "core/record/process.h"
#include "core/record/record.h"

namespace skippipe::record {

/// The state of that name; nothing where there is none.
std::optional<RunState> state_of(std::string_view name);

/// The kind of that name; nothing where there is none.
std::optional<RunEvent::Kind> event_kind_of(std::string_view name);

/// "2025-11-21T03:20:00.123Z".
std::string utc_now();
/// Seconds since 1970, UTC.
double unix_seconds();

/// SQLite turns NaN into NULL; read it back as NaN.
inline double real(const SQLite::Column& column) {
    return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}
inline std::optional<double> optional_real(const SQLite::Column& column) {
    return column.isNull() ? std::nullopt : std::optional{column.getDouble()};
}
inline void bind_optional(SQLite::Statement& statement, int index, const std::optional<double>& value) {
    value ? statement.bind(index, *value) : statement.bind(index);
}

/// Whether the process that writes a run is there, of a row with, from `first` on, runs' columns pid, pid_namespace,
/// process_start, boot_id and heartbeat_s.
bool writer_is_alive(SQLite::Statement& row, int first);

/// One statement without an answer; its parameters in their order.
template <class... Values>
void execute(SQLite::Database& database, const std::string& sql, const Values&... values) {
    SQLite::Statement statement{database, sql};
    SQLite::bind(statement, values...);
    statement.exec();
}

}  // namespace skippipe::record
