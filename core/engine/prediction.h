// SPDX-License-Identifier: GPL-3.0-or-later
// What a run under the wall clock should take, and where what it took comes from.
#pragma once
#include <vector>

#include "core/engine/schedule.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// What the ranks run on.
struct Machines {
    struct Rank {
        int host = 0;
        int workers = 1;  ///< operations at once
    };
    std::vector<Rank> ranks;
    std::vector<int> cores;       ///< of each host
    std::vector<int> gpu_of;      ///< of each node, GPUs of all hosts numbered from 0; no_gpu, and nothing: the CPU
    bool gpus_are_shared = true;  ///< not where operations' times have in them what nodes of a GPU take of each other

    int gpu_of_node(int node) const;  ///< no_gpu: it is on the CPU
};

/// The schedule's timeline by the cost model, where operations also wait for a worker of their rank and a core of their
/// host, first come first served, and on a GPU for the one before; on a host without a core to spare they also take as
/// long as the work for the messages that bring and carry on what they compute (costs.transfer_cpu_s). Each rank adds
/// and rounds parts and sums of planned reductions one after the other, each on a core of its host
/// (costs.reduction_cpu_s_per_byte), half of it where they leave and half where they arrive; on such a host with the
/// work for their messages. What nodes of one rank hand each other on a GPU, but for int8, stays there and is added at
/// the rate of its memory: no work of a core, and no time. With as many workers and cores as nodes, and no such work,
/// it is the evaluator's timeline.
Timeline predict(const Problem& problem, const RankSchedule& schedule, const Machines& machines);

/// predicted_s + the four differences = measured_s.
struct Difference {
    double predicted_s = 0, measured_s = 0;  ///< of an iteration
    double operations_s = 0;                 ///< operations took other times than the cost model says
    double transfers_s = 0;                  ///< so did messages
    double coordination_s =
        0;  ///< between an input's arrival and its operation's start, beyond what the order makes it wait
    double reduction_s = 0;  ///< all-reduces, steps and the wait for the slowest rank
};

/// Puts the measured times of one iteration into the model one kind after the other, and sees what each changes. What
/// ranks take of each other's cores, and nodes of a GPU that they share, is part of the measured operations.
Difference explain_difference(const Problem& problem, const RankSchedule& schedule, const Machines& machines,
                              const Timeline& measured);

}  // namespace skippipe
