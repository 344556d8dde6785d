// SPDX-License-Identifier: GPL-3.0-or-later
// Random networks and plans that lose nodes at random instants, under the virtual clock and without tensors: what must
// hold after each, and the smallest case in which it does not. A seed is two cases: an iteration that is looked at to
// the last tie, whose nodes then go to other stages, and a training by a document's failures of every kind.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/ledger_compute.h"
#include "core/engine/recovery.h"
#include "core/experiment/document.h"

namespace skippipe {

/// An iteration of a plan in which things go wrong, and one by another plan for those who are left.
struct TortureScene {
    Problem problem;
    Plan plan;
    std::vector<Disturbance> disturbances;
    RecoveryPolicy policy = RecoveryPolicy::reroute;
    std::uint64_t next_seed = 0;  ///< of that other plan
};

/// A training of three or four iterations by the failures and the recovery of its document, as `run` makes it.
struct TortureTraining {
    Experiment experiment;  ///< what of it the network and the plan do not say
    Problem problem;
    Plan plan;
};

/// Changes what is decided or done, for tests; each may be empty.
struct TortureTampering {
    std::function<void(Replan&)> rest = {};                  ///< what the planner answers
    std::function<void(std::vector<NodeMove>&)> moves = {};  ///< who gets what from whom
    LedgerFault books = LedgerFault::none;                   ///< what the back end does wrong
    bool steps_twice = false;                                ///< of the first iteration
    bool believes_everybody = false;                         ///< messages of nodes that all went on without count
};

/// What became of it.
struct TortureOutcome {
    std::string fault;       ///< what did not hold; empty: all did
    bool abandoned = false;  ///< there was no way on (a stage lost its last node, or memory blocked)
    int recoveries = 0, redone = 0, lost_gradients = 0, dropped = 0;
    int moved = 0;                    ///< nodes that went to another stage
    int refused = 0;                  ///< messages of nodes that all went on without
    int iterations = 0;               ///< of a training: done, those done again counted twice
    int rejoined = 0, went_back = 0;  ///< of a training: nodes that came back; setbacks
    std::uint64_t end = 0;            ///< of a training: a mark of all that happened
    TortureOutcome& operator+=(const TortureOutcome& other);
};

/// Runs them and checks: every operation had what it needs and a place (LedgerCompute), it ends, the last rest ran as
/// the planner foretold it, to the last tie; each gradient counts once or was reported lost; head and body of stage 0
/// agree; no activation is left, and no result is kept after the step; what was handed over arrived or was lost with a
/// node or a plan, and weighs what the spans say; each copy steps once, and has its stage's newest weights, also after
/// it went to another stage, which takes as long as the longest of the transfers at least.
TortureOutcome torture_iteration(const TortureScene& scene, const TortureTampering& tampering = {});
/// The same after every iteration of a training by `train`, but for what was foretold; and that it ends.
TortureOutcome torture_training(const TortureTraining& training, const TortureTampering& tampering = {});

/// The scene of a seed: 3 to 14 nodes, all kinds of plans, one to four losses, known at once or later, nodes that only
/// seem lost, nodes and lines that get slower, and each policy that goes on within an iteration. Everything is drawn
/// from the seed.
TortureScene torture_scene(std::uint64_t seed);
/// The training of a seed: 2 to 7 nodes, one to four failures of any kind, at any time or chance, over or for good,
/// each policy, each way to rebuild a stage, planned anew or not, nodes that move or stay.
TortureTraining torture_document(std::uint64_t seed);

/// A part of a seed's scene or training: what a failing one shrinks to.
struct TortureCase {
    std::uint64_t seed = 0;
    bool training = false;
    std::vector<std::size_t> disturbances;  ///< of the scene's, or failures of the training's, by place
    int microbatches = 0;                   ///< the first so many of the plan's release order; 0: all
    std::string fault;
};
/// All of a seed's.
TortureCase torture_case(std::uint64_t seed, bool training);
TortureScene torture_scene(const TortureCase& part);
TortureTraining torture_document(const TortureCase& part);
TortureOutcome torture_one(const TortureCase& part, const TortureTampering& tampering = {});
/// The line that repeats it.
std::string command_of(const TortureCase& failing);

struct TortureSummary {
    std::uint64_t seeds = 0, abandoned = 0, trainings_ended = 0;  ///< the latter: before their last iteration
    TortureOutcome sum;                                           ///< without faults
    std::vector<TortureCase> faults;                              ///< shrunk; the first few
    double seconds = 0;
};

/// Seeds first .. first + count - 1, on all cores. `progress` (may be empty) hears now and then how many are done, and
/// ends it by returning false.
TortureSummary torture(std::uint64_t first, std::uint64_t count,
                       const std::function<bool(std::uint64_t)>& progress = {}, const TortureTampering& tampering = {});

/// What the books say of an iteration whose sums are made: empty: nothing is wrong.
std::string fault_of_iteration(const Problem& problem, const LedgerCompute& ledger, const Timeline& timeline,
                               int lost_gradients);
/// The same once all have stepped.
std::string fault_after_step(const LedgerCompute& ledger);

}  // namespace skippipe
