// SPDX-License-Identifier: GPL-3.0-or-later
// Fixed pipelines as a plan that is changed one or two pipelines at a time.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "plugins/planners/joint/pipelines/pipeline_parts.h"

namespace skippipe::planners::joint {

struct PipelinePlan {
    PipelineShape shape;
    std::vector<PipelinePart> parts;
    PlanCandidate whole;                                       ///< merge_parts of them
    double seconds = std::numeric_limits<double>::infinity();  ///< of the whole's iteration
    double promised_s = seconds;  ///< the same about, once the orders of all parts are searched
    std::int64_t steps = 0;       ///< on the orders of its parts
};

/// Its parts alone; nothing where any pipeline is none, or `go_on`, asked after each, says no.
std::optional<PipelinePlan> pipeline_plan(const PartProblems& problems, const PipelineDesign& design,
                                          const std::function<bool()>& go_on);

/// After it: exchanges nodes of the longest pipelines with those of others, or within, where their timelines promise to
/// be shorter for it. What a design says of a pipeline is right on average; those whose microbatches meet badly take
/// much longer. `go_on`: asked with the number of exchanges looked at.
void relieve_longest(const PartProblems& problems, PipelineDesign& design, PipelinePlan& plan, std::uint64_t seed,
                     const std::function<bool(std::int64_t tried)>& go_on);

/// Sets `whole`, and what it takes, by what the parts are now.
void merge(const Problem& problem, PipelinePlan& plan);

}  // namespace skippipe::planners::joint
