// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/fault.h"
#include "core/planner/plan.h"
#include "core/planner/problem.h"

namespace skippipe {

/// Bytes that a node of a plan takes while it trains.
struct NodeMemory {
    int node = 0;
    double state = 0;        ///< weights, gradients and two AdamW moments: 16 bytes a parameter
    double activations = 0;  ///< of as many microbatches as it may hold at once, at most M and those that visit it; an estimate
    double loss = 0;         ///< a data node's logits of one microbatch, three times; an estimate
    double total() const { return state + activations + loss; }
};

std::vector<NodeMemory> memory_needed(const Experiment& experiment, const Problem& problem, const Plan& plan);

/// A fault that says what is missing where the nodes whose tensors live in this machine's memory (device cpu) need more than
/// `available` bytes; none where they fit.
Faults check_memory_fits(const Experiment& experiment, const Problem& problem, const Plan& plan, double available);

/// Bytes that programs may still take without swapping: MemAvailable of /proc/meminfo, or what this process's control group has left.
/// Infinite where neither is known.
double available_memory();

}  // namespace skippipe
