// SPDX-License-Identifier: GPL-3.0-or-later
// Records as large as the window has budgets for.
#pragma once
#include <cstdint>
#include <filesystem>

namespace skippipe {

/// Finished runs, newest last, of as many loss values each.
void make_runs_record(const std::filesystem::path& file, int runs, int metrics);

/// One finished run of the quick start, its plan's iteration again and again until there are `spans` of them.
void make_spans_record(const std::filesystem::path& file, std::int64_t spans);

/// A run of the quick start that goes on for that long: its plan's iteration again and again, `spans_per_s` of them.
void write_live_run(const std::filesystem::path& file, double spans_per_s, double seconds);

}  // namespace skippipe
