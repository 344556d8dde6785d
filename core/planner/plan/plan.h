// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/plan/problem.h"
#include "core/planner/plan/reduction.h"

namespace skippipe {

/// F forward, L loss, B backward, I input gradient, W weight gradient.
enum class OpKind : std::uint8_t { F, L, B, I, W };

/// One operation; which node runs it follows from the path. On a data node F, L and B of its own microbatches.
struct Operation {
    OpKind kind = OpKind::F;
    MicrobatchIndex microbatch = 0;
    std::uint8_t attempt = 0;  ///< 1: run again, because what it had left was lost with a node; never in a plan
    bool operator==(const Operation&) const = default;
};

/// "F3", "L3", ...; "F3#1" where it is run again
std::string to_string(const Operation& operation);

struct Path {
    MicrobatchIndex microbatch = 0;
    std::vector<NodeIndex> nodes;  ///< its data node, then one node of each further stage; the return is implied
    bool operator==(const Path&) const = default;
};

/// One iteration: who holds what, which way every microbatch goes, and, if bound, in which order each node works.
/// Immutable once made.
struct Plan {
    std::string planner;
    std::uint64_t seed = 0;
    std::int64_t steps = 0;
    std::string experiment_hash;
    bool split_backward = false;
    PerStage<std::vector<NodeIndex>> stages;
    PerStage<int> blocks;
    std::vector<Path> paths;                ///< in release order
    PerNode<std::vector<Operation>> order;  ///< empty: dispatch decides
    PerStage<Pieces> reductions;            ///< where they are planned; a stage without any has default_pieces
    std::string note;                       ///< what the planner has to say ("throttled by M = 3")

    bool operator==(const Plan&) const = default;
};

/// Whether microbatches skip nothing; not where there are none.
bool visits_all_stages(const Plan& plan);
/// The skip ratio that the plan works by: 0 where it visits all stages, whatever was `asked` for.
double used_skip_ratio(const Plan& plan, double asked);

/// Stage of each node, -1 for a node left out.
PerNode<StageIndex> stage_of_nodes(const Plan& plan, int nodes);

/// The plan file; `experiment` (may be null) is embedded, so that the file can be run on its own.
nlohmann::ordered_json to_json(const Plan& plan, const Problem& problem, const nlohmann::ordered_json& experiment);

/// Reads a plan file's JSON against its problem. Faults name pointer, fault and remedy; a plan with errors is partly
/// filled.
Plan parse_plan(const nlohmann::ordered_json& json, const Problem& problem, Faults& faults);

}  // namespace skippipe
