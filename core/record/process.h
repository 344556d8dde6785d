// SPDX-License-Identifier: GPL-3.0-or-later
// Is the process that wrote a run still there? What identifies one on Linux, and the rule that tells dead from alive.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace skippipe::record {

/// A process for good: a pid alone is reused.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::string pid_namespace;       ///< /proc/self/ns/pid; pids of another container mean nothing here
    std::int64_t process_start = 0;  ///< field 22 of /proc/PID/stat, clock ticks since boot
    std::string boot_id;             ///< /proc/sys/kernel/random/boot_id
};

ProcessIdentity this_process();

/// What /proc/PID/stat says: start time, or nothing where there is no such process or it is a zombie.
std::optional<std::int64_t> start_of_process(std::int64_t pid);

/// Silence after which a run in another container counts as dead, seconds.
inline constexpr double heartbeat_limit_s = 30;

/// False where another boot wrote it, where the pid is gone or another process' by now, and, where the pid cannot be
/// looked up from here (another container), after 30 s without heartbeat.
bool is_alive(const ProcessIdentity& writer, const ProcessIdentity& self, double heartbeat_age_s);

}  // namespace skippipe::record
