// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/analysis/accounting.h"
#include "core/experiment/document.h"
#include "core/planner/planner.h"

namespace skippipe::cli {

/// Seed and steps of the experiment; threads: 0 for one a core. Ctrl+C ends planning with the best plan so far.
PlanRequest plan_request(const Experiment& experiment, int threads);

/// Plans with a progress line on a terminal's standard error where `talk` is set.
Plan make_plan(const Planner& planner, const Problem& problem, PlanRequest request, bool talk);

/// A plan file against its problem; throws InputError with all of its faults.
Plan read_plan(const std::string& file, const Problem& problem);

/// What is wrong with the experiment's files (data, tokenizer, weights) and products on this processor, as far as it
/// can be known before anything starts.
Faults file_faults(const Experiment& experiment, const std::filesystem::path& base_dir);
/// Throws InputError where these cannot be used as they are; warnings are reported.
void require_files(const Experiment& experiment, const std::filesystem::path& base_dir);

/// What scripts rely on, plus "bound", "note" and, where asked for, "jitter".
nlohmann::ordered_json to_json(const Score& score);
/// The same with "block_flops" (forth and back, one iteration) and "bytes_by_line"; null and {} where the plan has no
/// timeline.
nlohmann::ordered_json to_json(const Score& score, const std::optional<Accounting>& accounting);

/// Ctrl+C and SIGTERM as a flag that long work asks for; a second Ctrl+C ends at once.
bool interrupted();
void catch_interrupts();

}  // namespace skippipe::cli
