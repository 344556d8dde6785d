// SPDX-License-Identifier: GPL-3.0-or-later
// Table `devices`: what GPUs said of themselves.
#pragma once
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/rows.h"

namespace skippipe::record {

/// All but the run's, in the table's order.
constexpr const char* device_columns =
    "iteration, uuid, host, device, name, nodes, readings, busy, memory_used_bytes, memory_total_bytes, power_w, "
    "clock_hz, memory_clock_hz";

/// Inside a transaction of the caller's.
void write_devices(SQLite::Database& database, RunId run, const std::vector<DeviceRow>& rows);

std::vector<RecordedDevices> read_devices(SQLite::Database& database, RunId run, int from_iteration);

}  // namespace skippipe::record
