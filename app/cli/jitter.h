// SPDX-License-Identifier: GPL-3.0-or-later
// --jitter and what belongs to it, for every verb that judges plans.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/planner/planner.h"

namespace skippipe::cli {

struct JitterOptions {
    std::string both, compute, links;  ///< as written: "20%" or "0.2"
    int samples = 1000;
};

/// --jitter, --jitter-compute, --jitter-links and --samples.
void add_jitter_options(CLI::App& verb, JitterOptions& options);

/// Empty where no jitter is asked for. Throws InputError for a share that is none.
std::optional<Jitter> jitter_of(const JitterOptions& options);

/// Fills in the score's distribution; a plan that is not valid gets none.
void add_jitter(const Problem& problem, const Plan& plan, const Jitter& jitter, int samples, std::uint64_t seed,
                int threads, Score& score);

/// Headings and cells of a table row: median, 95th percentile, standard deviation.
const std::vector<std::string>& jitter_headings();
std::vector<std::string> jitter_cells(const Score& score);

/// Seconds; null where a plan deadlocks in so many drawn networks that there is no number.
nlohmann::ordered_json to_json(const Distribution& distribution);

}  // namespace skippipe::cli
