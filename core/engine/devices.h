// SPDX-License-Identifier: GPL-3.0-or-later
// Which node's tensors live on which device, and whether these are there and large enough.
#pragma once
#include <string>
#include <vector>

#include "core/device/gpus.h"
#include "core/engine/schedule.h"

namespace skippipe {

/// A rank among those of its host.
struct LocalRank {
    int rank = 0, ranks = 1;
    bool operator==(const LocalRank&) const = default;
};

/// Of each node of the topology "cpu" or "cuda:N"; empty for those that `rank` does not host. A node that says "cuda"
/// is dealt to one of `gpus`: where its host has several ranks, all of a rank to GPU number rank mod GPUs, else in the
/// order of the stages, each GPU its share. Throws InputError where a node names a GPU that is not there.
std::vector<std::string> deal_devices(const Topology& topology, const RankSchedule& schedule, int rank, LocalRank local,
                                      const AttachedGpus& gpus);

/// What a rank cannot do with the devices of its nodes: a GPU is missing; over NCCL, nodes that are on no GPU, or on
/// several.
Faults check_devices(const Experiment& experiment, const RankSchedule& schedule, int rank, LocalRank local,
                     const AttachedGpus& gpus);

/// Whether the processor multiplies bf16 (AVX-512 BF16, AMX, Arm's BF16): elsewhere such products are slower than
/// fp32's.
bool has_bf16_products();

/// A fault where nodes are to compute on this machine's processor in bf16, which it does not multiply.
Faults check_products(const Experiment& experiment);

/// A fault for each GPU whose memory, or what of it is free where that is known, is less than its nodes need;
/// `devices`: of every node, as deal_devices has them, empty for those that do not count.
Faults check_gpu_memory(const Experiment& experiment, const Problem& problem, const Plan& plan,
                        const std::vector<std::string>& devices, const AttachedGpus& gpus);

/// The number of the one GPU that all nodes of a rank are on. Throws InputError where it is none, or several.
int gpu_of_rank(const Topology& topology, const RankSchedule& schedule, int rank,
                const std::vector<std::string>& devices);

}  // namespace skippipe
