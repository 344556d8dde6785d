// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/planner/explain/explain.h"

namespace skippipe::cli {

/// Why the plan takes as long as it does; nothing where it has no time (faults of structure, deadlock).
std::optional<Explanation> explain_plan(const Problem& problem, const Plan& plan);

/// For people: critical node and link, the chain, the worst waits and the what-ifs.
std::string explanation_text(const Explanation& why, const Problem& problem, const Plan& plan);

/// For scripts: everything, nodes and lines by name, times in seconds.
nlohmann::ordered_json to_json(const Explanation& why, const Problem& problem);

}  // namespace skippipe::cli
