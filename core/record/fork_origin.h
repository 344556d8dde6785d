// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace skippipe {

/// In versions_json of a fork: {"run", "started_utc", "iterations", "machine_s"}: the run that it began in, by its
/// number in the record that it was trained into, and when that was begun, by which it is found in any; how many of it
/// were done, and the machine time that had taken.
inline constexpr const char* fork_origin_key = "forked_from";

}  // namespace skippipe
