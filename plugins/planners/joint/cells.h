// SPDX-License-Identifier: GPL-3.0-or-later
// Large problems in parts that do not wait for each other: cells of near nodes with some of every stage, each with its
// share of the microbatches. A change in one is then judged by its own timeline, a small part of the whole.
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/planners/common/draft.h"

namespace skippipe {

struct Cell {
    std::vector<int> nodes;  ///< the problem's node for each of its own
    Problem problem;
};

/// Cells of `least_operations` or more each, with the given numbers of nodes a stage divided among them; empty where
/// the problem cannot be divided into two.
std::vector<Cell> divide(const Problem& problem, const Network& network, const std::vector<int>& sizes,
                         int least_operations, std::uint64_t seed);

/// The plan that the cells' plans make together, with bound orders.
Draft unite(const Problem& problem, const std::vector<Cell>& cells, const std::vector<Draft>& drafts);

}  // namespace skippipe
