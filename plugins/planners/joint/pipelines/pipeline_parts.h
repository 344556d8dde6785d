// SPDX-License-Identifier: GPL-3.0-or-later
// Fixed pipelines apart: each is a small problem with a timeline of its own.
#pragma once
#include <limits>
#include <optional>
#include <vector>

#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/joint/pipelines/pipeline_design.h"

namespace skippipe::planners::joint {

struct PipelinePart {
    std::vector<NodeIndex> nodes;    ///< what the whole calls the part's
    std::vector<StageIndex> stages;  ///< the same
    Problem problem;          ///< lines have room for all of its own, and nothing is summed: stages reach beyond it
    PlanCandidate candidate;  ///< with every node's order bound
    double seconds = std::numeric_limits<double>::infinity();  ///< of its iteration
    double promised_s = seconds;                               ///< the same about, once its orders are searched
};

/// Makes the problems of parts, without what they do not use of the whole: the names of its lines alone are many.
class PartProblems {
public:
    /// Keeps a reference.
    explicit PartProblems(const Problem& whole);
    const Problem& whole() const { return whole_; }
    Problem of(const std::vector<NodeIndex>& nodes, const std::vector<StageIndex>& stages, int microbatches) const;

private:
    const Problem& whole_;
    Problem frame_;  ///< what all of them have alike
};

/// Its places serve one stage each, and of one where it diverts microbatches a node serves that stage; paths as
/// journeys are booked, by several weights, of which it takes those that are shortest when its nodes work as it comes.
/// Nothing where a diversion has no node, a line is missing, or all deadlock.
std::optional<PipelinePart> pipeline_part(const PartProblems& problems, const FixedPipeline& pipeline,
                                          const PipelineRoute& route, int microbatches);

/// The plan that they make together.
PlanCandidate merge_parts(const Problem& problem, const std::vector<PipelinePart>& parts);

}  // namespace skippipe::planners::joint
