// SPDX-License-Identifier: GPL-3.0-or-later
// Fixed pipelines of the shape that suits a problem best, each with its orders searched apart.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "plugins/planners/common/search.h"
#include "plugins/planners/joint/pipelines/pipeline_plan.h"

namespace skippipe::planners::joint {

/// How long a search of pipelines may take.
struct PipelineEffort {
    double seconds = 0;  ///< by the clock; 0: by steps, so many that the time of a core says about what they take
    double core_s = 0;
    int threads = 1;  ///< never changes what steps find
    std::uint64_t seed = 1;
    std::stop_token stop;
};

/// Whether the problem leaves open what pipelines choose (placement, and every data node as many microbatches of a
/// size), and nodes hand to lines alone.
bool may_be_piped(const Problem& problem);

/// Of a core's time, at least: with less, what else is tried gets further.
double least_core_s(const Problem& problem);

class PipelineSearch {
public:
    /// `tell`: what part of the effort is spent, one call at a time. Keeps references.
    PipelineSearch(const Problem& problem, const Network& network, PipelineEffort effort,
                   std::function<void(double fraction)> tell);

    /// The best of several shapes, its orders searched. Nothing where none is possible, the effort is too little for
    /// any, or it was stopped before there was one; after little of the effort where none promises to come near
    /// `best_s`, after half of it where none promises to be shorter.
    std::optional<PipelinePlan> search(double best_s);

private:
    std::vector<PipelinePlan> designs_of(const std::vector<PipelineShape>& shapes, std::uint64_t stream, double begin,
                                         double end) const;
    std::optional<PipelinePlan> design_of(const PipelineShape& shape, std::uint64_t stream, const Budget& budget,
                                          double core_s) const;
    void search_orders(PipelinePlan& plan, double share, std::uint64_t stream, double begin, double end) const;
    void side_by_side(std::size_t count, double begin, double end,
                      const std::function<void(std::size_t, const Budget&, double core_s)>& search) const;
    bool stopped() const { return effort_.stop.stop_requested(); }

    const Problem& problem_;
    const PipelineEffort effort_;
    const std::function<void(double)> tell_;
    const PlanRequest request_;  ///< of the whole effort, by the clock
    const Budget budget_;
    const Network& network_;
    std::vector<int> groups_;  ///< of near nodes, once there is enough effort for them
};

}  // namespace skippipe::planners::joint
