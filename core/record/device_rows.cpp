// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/device_rows.h"

#include <fmt/format.h>
#include <SQLiteCpp/VariadicBind.h>
#include <nlohmann/json.hpp>

#include "core/record/values.h"

namespace skippipe::record {
namespace {

std::optional<double> if_told(double value) { return value < 0 ? std::nullopt : std::optional{value}; }

double or_not_told(const SQLite::Column& column) { return optional_real(column).value_or(-1); }

/// None where the text is damaged.
std::vector<int> nodes_of(const std::string& text) {
    std::vector<int> nodes;
    for (const auto& node : nlohmann::json::parse(text, nullptr, false))
        if (node.is_number_integer()) nodes.push_back(node.get<int>());
    return nodes;
}

}  // namespace

void write_devices(SQLite::Database& database, RunId run, const std::vector<DeviceRow>& rows) {
    if (rows.empty()) return;
    SQLite::Statement insert{database,
                             fmt::format("INSERT OR REPLACE INTO devices (run, {}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                         "?, ?, ?, ?, ?)",
                                         device_columns)};
    for (const auto& [iteration, reading] : rows) {
        const auto& gpu = reading.gpu;
        insert.bind(1, run);
        insert.bind(2, iteration);
        int column = 3;
        for (const auto& text :
             {reading.uuid, reading.host, reading.device, reading.name, nlohmann::json(reading.nodes).dump()})
            insert.bind(column++, text);
        insert.bind(column++, reading.readings);
        for (const double value :
             {gpu.busy, gpu.memory_used_bytes, gpu.memory_total_bytes, gpu.power_w, gpu.clock_hz, gpu.memory_clock_hz})
            bind_optional(insert, column++, if_told(value));
        insert.exec();
        insert.reset();
    }
}

std::vector<RecordedDevices> read_devices(SQLite::Database& database, RunId run, int from_iteration) {
    SQLite::Statement row{database, fmt::format("SELECT {} FROM devices WHERE run = ? AND iteration >= ? ORDER BY "
                                                "iteration, host, device, uuid",
                                                device_columns)};
    SQLite::bind(row, run, from_iteration);
    std::vector<RecordedDevices> all;
    while (row.executeStep()) {
        const auto text = [&](int column) { return row.getColumn(column).getString(); };
        const auto number = [&](int column) { return or_not_told(row.getColumn(column)); };
        const int iteration = row.getColumn(0).getInt();
        if (all.empty() || all.back().iteration != iteration) all.push_back({iteration, {}});
        all.back().devices.push_back({text(2),
                                      text(3),
                                      text(4),
                                      text(1),
                                      nodes_of(text(5)),
                                      row.getColumn(6).getInt(),
                                      {number(7), number(8), number(9), number(10), number(11), number(12)}});
    }
    return all;
}

}  // namespace skippipe::record
