// SPDX-License-Identifier: GPL-3.0-or-later
// How a stage's gradient is summed, as pictures and words tell it: over which edges, and what one transfer carries.
#pragma once
#include <optional>
#include <vector>

#include "core/experiment/document.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// All that a replica sends to another one while the stage's gradient is summed once.
struct ReductionEdge {
    NodeIndex from = -1, to = -1;
    double up_share = 0;    ///< of the gradient: parts and partial sums
    double down_share = 0;  ///< of the gradient: sums
    double bytes = 0;
    double seconds = 0;  ///< alone on its line; charged: its part of the ring's rounds
};

/// The edges of a stage's reduction, by the places of sender and receiver; none for a single replica or where
/// reductions are free.
struct StageReduction {
    StageIndex stage = -1;
    bool planned = false;  ///< false: a ring in the order of the stage
    std::vector<ReductionEdge> edges;
    std::size_t slowest = 0;  ///< of them: that of the most seconds
};

/// Of a plan that passed check_structure, or of one that was recorded.
StageReduction reduction_of(const Problem& problem, const Plan& plan, StageIndex stage);
/// Of all stages.
std::vector<StageReduction> reductions_of(const Problem& problem, const Plan& plan);

/// What the plan's iteration would take if gradients were summed by another rule, all else kept.
struct ReductionWhatIf {
    AllReduceRule rule = AllReduceRule::charged;
    /// Where they are planned: every stage's pieces; trees: by direct exchange in two rounds, an equal share rooted at
    /// each replica.
    PieceForm pieces = PieceForm::tree;
    /// Where given: by the plan's own pieces, parts and sums travel as this type, which is not exact.
    std::optional<WireType> wire = {};
    bool complete = true;  ///< false: the plan would not come to its end
    double iteration_s = 0;
    double change = 0;  ///< against the plan as it is, as a share of it
};

/// Of the two other rules and of planned reductions with plain pieces, in two rounds and in one, which a search may
/// better; where lines have what these need. Where reductions are planned also of the other types that gradients may
/// travel as; `wire`: what they do now, nothing where their bytes do not follow from it. None where no stage has a
/// second replica or a gradient. `timeline`: of the plan as it is, complete. Not for a hop matrix, which has no
/// bandwidth.
std::vector<ReductionWhatIf> other_reductions(const Problem& problem, const Plan& plan, const Timeline& timeline,
                                              std::optional<WireType> wire = {});

/// A transfer of a planned reduction, as it was timed. Seconds from any instant, the same for all.
struct ReductionTransfer {
    NodeIndex from = -1, to = -1;
    double ready_s = 0, end_s = 0;  ///< handed over, arrived
    double bytes = 0;
};

/// What a transfer of a planned reduction carries.
struct ReductionCargo {
    int piece = 0;     ///< place in the plan
    double share = 1;  ///< of the gradient
    PieceForm form = PieceForm::tree;
    std::vector<NodeIndex> summed;  ///< whose parts are added up in it, by their places; of all: it is the result
    bool result = false;
    bool operator==(const ReductionCargo&) const = default;
};

/// Of each transfer of one stage in one iteration; nothing where none of the plan's fits it. `replicas` and `pieces`
/// of the stage (as planned: none stands for default_pieces), its gradient's bytes, and when each replica had its own
/// part. The transfers tell neither piece nor direction: both follow from what each can have waited for.
std::vector<std::optional<ReductionCargo>> cargo_of(const std::vector<NodeIndex>& replicas, const Pieces& pieces,
                                                    double gradient_bytes, const std::vector<double>& own_part_s,
                                                    const std::vector<ReductionTransfer>& transfers);

}  // namespace skippipe
