// SPDX-License-Identifier: GPL-3.0-or-later
// Ways to sum a stage's gradient that searches over planned reductions begin with.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "core/planner/timeline/lone_reduction.h"

namespace skippipe::planners {

/// Of a stage's nodes in their order: direct exchange by equal shares and by bandwidth, exchange in one round, a star
/// to each root, trees of the nearest neighbours to each root and to all of them by equal shares, the best-ordered
/// ring, region by region (where latencies tell regions: one of each region sums its own and hands on) to each root and
/// to all of them, and trees that share the lines (packed_trees.h). None that needs a line that is missing. Of many
/// replicas some are roots, and what would take thousands of transfers is left out.
std::vector<Pieces> reduction_starts(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage);

/// Finds the shortest of them, for the same nodes once. Keeps a reference to the problem.
class ReductionChoice {
public:
    explicit ReductionChoice(const Problem& problem);

    /// The start, or the trees of as many pieces as are worth it, that take the least where all parts are there at once
    /// and nothing else uses the lines; the default where none has its lines.
    Pieces best(const std::vector<NodeIndex>& nodes, StageIndex stage);
    /// The shorter so of two that are soon made, and of most networks hardly longer: region by region, and trees of the
    /// nearest neighbours, each to all roots. The default where neither has its lines.
    Pieces quick(const std::vector<NodeIndex>& nodes, StageIndex stage);
    /// What a stage's reduction takes so, seconds.
    double lone_s(const std::vector<NodeIndex>& nodes, StageIndex stage, const Pieces& pieces);

private:
    using Known = std::map<std::pair<double, std::vector<NodeIndex>>, Pieces>;  ///< by gradient bytes and nodes, sorted

    template <class Find>
    Pieces known(Known& all, const std::vector<NodeIndex>& nodes, StageIndex stage, const Find& find);
    Pieces shortest(const std::vector<NodeIndex>& nodes, StageIndex stage);

    const Problem& problem_;
    LoneReduction lone_;
    PerStage<std::vector<NodeIndex>> stages_;  ///< empty but for the one that is asked for
    PerStage<Pieces> pieces_;
    const PerNode<double> own_s_;
    Known best_, quick_;
};

/// Whether every line is there that a stage's pieces go over.
bool has_reduction_lines(const Problem& problem, const std::vector<NodeIndex>& nodes, const Pieces& pieces);

}  // namespace skippipe::planners
