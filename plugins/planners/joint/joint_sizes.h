// SPDX-License-Identifier: GPL-3.0-or-later
// How many nodes each stage gets, where that is free. Annealing takes a node to another stage easily, as long as that
// is not stage 0: each data node starts as many microbatches, so that several nodes have to come or go at once. So a
// search begins with several numbers of data nodes.
#pragma once
#include <vector>

#include "plugins/planners/common/search.h"

namespace skippipe::planners::joint {

/// `usual` and candidates with a few data nodes more and less, without those that begin far behind the best. No order
/// is bound.
std::vector<PlanCandidate> starts_of_several_sizes(const Problem& problem, const PlanCandidate& usual,
                                                   const PlanRequest& request, const Budget& budget);

/// Those first that promise most, by how long they are and by what cannot be ruled out for their sizes. The sizes in
/// `problem` are free.
std::vector<PlanCandidate> by_promise(const Problem& problem, std::vector<PlanCandidate> candidates);

}  // namespace skippipe::planners::joint
