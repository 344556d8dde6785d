// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/values.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace skippipe {
namespace {
constexpr std::array<std::string_view, 5> state_names{"running", "finished", "failed", "stopped", "died"};
constexpr std::array<std::string_view, 6> event_kinds{"lost", "back", "speeds", "went back", "plan", "met anew"};
}  // namespace

std::string_view to_string(RunState state) {
    const auto index = static_cast<std::size_t>(state);
    return index < state_names.size() ? state_names[index] : "?";
}

std::string_view to_string(RunEvent::Kind kind) {
    const auto index = static_cast<std::size_t>(kind);
    return index < event_kinds.size() ? event_kinds[index] : "?";
}

std::string_view state_name(const RunInfo& run) {
    return run.state == RunState::running && run.paused ? "paused" : to_string(run.state);
}

std::filesystem::path default_record_path() {
    const auto absolute = [](const char* text) {
        return text && *text == '/';
    };  // the XDG rule: anything else is ignored
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    std::filesystem::path base = absolute(data)   ? std::filesystem::path{data}
                                 : absolute(home) ? std::filesystem::path{home} / ".local" / "share"
                                                  : std::filesystem::current_path();
    return base / "skippipe-studio" / "record.sqlite";
}

namespace record {

std::optional<RunState> state_of(std::string_view name) {
    for (std::size_t i = 0; i < state_names.size(); ++i)
        if (state_names[i] == name) return static_cast<RunState>(i);
    return std::nullopt;
}

std::optional<RunEvent::Kind> event_kind_of(std::string_view name) {
    for (std::size_t i = 0; i < event_kinds.size(); ++i)
        if (event_kinds[i] == name) return static_cast<RunEvent::Kind>(i);
    return std::nullopt;
}

std::string utc_now() {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                       milliseconds);
}

double unix_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool writer_is_alive(SQLite::Statement& row, int first) {
    static const auto self = this_process();
    const ProcessIdentity writer{row.getColumn(first).getInt64(), row.getColumn(first + 1).getString(),
                                 row.getColumn(first + 2).getInt64(), row.getColumn(first + 3).getString()};
    return is_alive(writer, self, unix_seconds() - row.getColumn(first + 4).getDouble());
}

}  // namespace record
}  // namespace skippipe
