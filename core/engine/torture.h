// SPDX-License-Identifier: GPL-3.0-or-later
// Random networks and plans that lose nodes at random instants, under the virtual clock and without tensors, and whose
// nodes then go to other stages: what must hold after each, and the smallest case in which it does not.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/recovery.h"

namespace skippipe {

/// An iteration of a plan in which things go wrong, and one by another plan for those who are left.
struct TortureScene {
    Problem problem;
    Plan plan;
    std::vector<Disturbance> disturbances;
    RecoveryPolicy policy = RecoveryPolicy::reroute;
    std::uint64_t next_seed = 0;  ///< of that other plan
};

/// Changes what is decided, for tests; each may be empty.
struct TortureTampering {
    std::function<void(Replan&)> rest = {};                  ///< what the planner answers
    std::function<void(std::vector<NodeMove>&)> moves = {};  ///< who gets what from whom
};

/// What became of it.
struct TortureOutcome {
    std::string fault;       ///< what did not hold; empty: all did
    bool abandoned = false;  ///< there was no way on (a stage lost its last node, or memory blocked)
    int recoveries = 0, redone = 0, lost_gradients = 0, dropped = 0;
    int moved = 0;  ///< nodes that went to another stage
};

/// Runs them and checks: every operation had what it needs (LedgerCompute), it ends, the last rest ran as the
/// planner foretold it, to the last tie; each gradient counts once or was reported lost; head and body of stage 0
/// agree; no activation is left; each node has its stage's newest weights, also after it went to another stage, which
/// takes as long as the longest of the transfers at least.
TortureOutcome torture_iteration(const TortureScene& scene, const TortureTampering& tampering = {});

/// The scene of a seed: 3 to 14 nodes, all kinds of plans, one to four losses, known at once or later, nodes that get
/// slower, and each policy that goes on within an iteration. Everything is drawn from the seed.
TortureScene torture_scene(std::uint64_t seed);

/// A part of a seed's scene: what a failing one shrinks to.
struct TortureCase {
    std::uint64_t seed = 0;
    std::vector<std::size_t> disturbances;  ///< of the scene's, by place
    int microbatches = 0;                   ///< the first so many of the plan's release order
    std::string fault;
};
TortureScene torture_scene(const TortureCase& part);

struct TortureSummary {
    std::uint64_t seeds = 0, recoveries = 0, redone = 0, abandoned = 0, lost_gradients = 0, dropped = 0, moved = 0;
    std::vector<TortureCase> faults;  ///< shrunk; the first few
    double seconds = 0;
};

/// Seeds first .. first + count - 1, on all cores. `progress` (may be empty) hears now and then how many are done, and
/// ends it by returning false.
TortureSummary torture(std::uint64_t first, std::uint64_t count,
                       const std::function<bool(std::uint64_t)>& progress = {}, const TortureTampering& tampering = {});

}  // namespace skippipe
