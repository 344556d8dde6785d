// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated annealing over the binding order of each node, and over paths and placement with it: what first come, first
// served cannot express (a node that waits for a more urgent operation, a fresh forward before a ready backward).
#pragma once
#include "plugins/planners/joint/orders/order_moves.h"

namespace skippipe::planners::joint {

class OrderAnnealer : public Annealer<OrderState> {
public:
    /// `start` has a binding order on every node and is complete. Keeps a reference to the problem.
    OrderAnnealer(const Problem& problem, const PlanCandidate& start, std::uint64_t seed, std::uint64_t stream,
                  const MoveList& moves = all_order_moves())
        : Annealer(seed, stream, moves, problem, start) {}
};

}  // namespace skippipe::planners::joint
