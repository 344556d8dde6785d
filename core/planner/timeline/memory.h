// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/fault.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// Bytes that a node of a plan takes while it trains.
struct NodeMemory {
    int node = 0;
    double state = 0;  ///< weights, gradients and two AdamW moments: 16 bytes a parameter
    double activations =
        0;  ///< of as many microbatches as it may hold at once, at most M and those that visit it; what a split
            ///< backward leaves for its weight gradient, of as many as wait for theirs in the plan's timeline behind
            ///< another; and what int8's error feedback keeps of every message
    double workspace =
        0;  ///< scratch of the worker that runs it, and what it carries from an input gradient to its weight gradient
    double total() const { return state + activations + workspace; }
};

std::vector<NodeMemory> memory_needed(const Experiment& experiment, const Problem& problem, const Plan& plan);

/// Of nodes in one memory: workers go from node to node with a workspace as large as the largest.
double memory_together(const std::vector<NodeMemory>& nodes, int workers);

/// A fault that says what is missing where the nodes whose tensors live in this machine's memory (device cpu) need more
/// than `available` bytes; none where they fit.
Faults check_memory_fits(const Experiment& experiment, const Problem& problem, const Plan& plan, double available);

/// Bytes that programs may still take without swapping: MemAvailable of /proc/meminfo, or what this process's control
/// group has left. Infinite where neither is known.
double available_memory();

}  // namespace skippipe
