// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <vector>

#include "core/base/fault.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// Bytes that a node of a plan takes while it trains.
struct NodeMemory {
    NodeIndex node = 0;
    double state = 0;  ///< weights, gradients and two AdamW moments: 16 bytes a parameter; 9 more where gradients
                       ///< travel as int8
    double activations =
        0;  ///< of as many microbatches as it may hold at once, at most M and those that visit it; what a split
            ///< backward leaves for its weight gradient, of as many as wait for theirs in the plan's timeline behind
            ///< another; and what int8's error feedback keeps of every message
    double workspace =
        0;  ///< scratch of the worker that runs it, and what it carries from an input gradient to its weight gradient
    double messages = 0;  ///< most bytes at once, by the plan's timeline, of messages that it has handed over and that
                          ///< are still on their way, and of those that have come before it can use them; or, where
                          ///< nodes may be lost in an iteration (keeps_inputs), of all that it hands on in one
    double total() const { return state + activations + workspace + messages; }
};

/// Receives that a rank posts ahead on each of the `edges` from other ranks: eight, and fewer, at least one, where
/// messages of `largest_bytes` would then hold more than posted_bytes together.
std::size_t posted_ahead(std::size_t edges, double largest_bytes);
constexpr double posted_bytes = 64 << 20;

std::vector<NodeMemory> memory_needed(const Experiment& experiment, const Problem& problem, const Plan& plan);

/// Of nodes in one memory: workers go from node to node with a workspace as large as the largest.
double memory_together(const std::vector<NodeMemory>& nodes, int workers);

/// What the ranks of an experiment hold in receives that are posted before their messages come, at most: each from all
/// others. None where there is one rank.
double posted_memory(const Experiment& experiment, const Problem& problem, const Plan* plan = nullptr);

/// What training takes of this machine's memory: its nodes (device cpu) and the copy that a checkpoint is written from.
/// A rank has as many workers as the experiment says, else the ranks share the cores, at least one each. Without posted
/// receives, of which hardly a page is touched before its message comes, and which take their place then.
double training_memory(const Experiment& experiment, const Problem& problem, const Plan& plan);

/// A fault that says what is missing where training_memory, with posted_memory, is more than `available` bytes; none
/// where it fits.
Faults check_memory_fits(const Experiment& experiment, const Problem& problem, const Plan& plan, double available);

/// Bytes that programs may still take without swapping: MemAvailable of /proc/meminfo, or what this process's control
/// group has left. Infinite where neither is known.
double available_memory();

}  // namespace skippipe
