// SPDX-License-Identifier: GPL-3.0-or-later
// The pieces of a stage in the plan file: [{"share", "form": "tree", "root", "up": {child: parent}, "down": {child:
// parent}} or {"share", "form": "exchange"}, ...].
#pragma once
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/experiment/json_reader.h"
#include "core/planner/plan/reduction.h"

namespace skippipe {

/// `ids`: of the stage's nodes, in its order.
nlohmann::ordered_json to_json(const Pieces& pieces, const std::vector<std::string_view>& ids);

/// Reads them at the reader's place; faults name pointer, fault and remedy. With faults: none.
Pieces read_pieces(JsonReader& reader, const nlohmann::ordered_json& value, const std::vector<std::string_view>& ids);

}  // namespace skippipe
