// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks were lost: whether the others go on, go back to a checkpoint, or wait. Values, without ranks.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/engine/recovery.h"
#include "core/engine/regroup.h"

namespace skippipe {

/// What is known of ranks that have met.
struct Met {
    const std::vector<int>& members;          ///< ranks that are there
    const std::vector<int>& joined;           ///< of them without weights: they have just come
    std::string how;                          ///< why the loss of the others was believed; empty: none was lost
    bool somebody_lost = false;               ///< since it was told last; also one that was back at once
    bool torn = false;                        ///< a rank was interrupted while all went back
    std::vector<int> never_back = {};         ///< ranks of which it is known that nobody starts them again
    std::vector<double> squared_norms = {};   ///< of each stage's last gradient (neighbours_of)
    std::vector<double> learning_rates = {};  ///< of each stage, as factors of the training's; none: 1
};

/// How they go on.
struct WayOn {
    int waits_for = -1;                 ///< a stage of which no node is there: all stand still until one is
    bool goes_back = false;             ///< all become what they were in the last checkpoint
    std::vector<int> passed_over = {};  ///< stages of which no node is there, while the others train
    std::vector<int> rebuilt = {};      ///< stages that start from the checkpoint, while the others stay what they are
    std::vector<NeighbourRebuild> neighbours = {};  ///< stages that are made anew of those beside them, likewise
};

/// `recovery`: of the document. `has_checkpoint`: there is one to go back to. `has_plan`: whether there is a plan for
/// the members; asked only where a stage has no node among them. Throws InputError where the weights of a stage are
/// lost and nothing brings them back.
WayOn way_on(const Problem& problem, const RankSchedule& everybody, const Recovery& recovery, const Met& met,
             bool has_checkpoint, const std::function<bool()>& has_plan);

/// Whether no node of the stage is on a rank that may come back.
bool never_comes(const RankSchedule& everybody, int stage, const std::vector<int>& never_back);

/// How long the others stand still for a stage without a node: who is started again has its data to read (`wait_s`),
/// and who a crash or the loss of a stage kills comes back when the document says.
double longest_wait_s(const Recovery& recovery, const std::vector<Failure>& failures);

/// How long a rank's heart may be silent under the wall clock until it is believed to be lost: the document's deadline,
/// and no less than a busy machine needs to come round to every process.
double borne_silence_s(const Recovery& recovery);

/// That nobody has come for a stage that all have waited for so long.
InputError nobody_came(const Problem& problem, const RankSchedule& everybody, int stage, double waited_s);

}  // namespace skippipe
