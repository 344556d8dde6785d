// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/job_checks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/device/gpus.h"
#include "core/device/nvml.h"
#include "core/engine/devices.h"
#include "core/engine/launch.h"
#include "core/engine/schedule.h"
#include "core/planner/runnable.h"
#include "core/planner/timeline/memory.h"

namespace skippipe::cli {

namespace {

/// The GPUs that the nodes name are here, and large enough. Under a launcher each rank looks for its own.
void require_devices(const RunJob& job) {
    const auto& nodes = job.experiment.topology.nodes;
    const auto& how = job.experiment.execution;
    if (how.compute != Compute::torch ||
        (how.transport != Transport::nccl &&
         std::all_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.device == "cpu"; })))
        return;
    const auto gpus = gpus_and_free_memory();
    const int ranks = how.ranks;
    const auto schedule = make_schedule(job.problem, job.plan, assign_ranks(job.experiment, job.plan), ranks);
    std::vector<std::string> devices(nodes.size());
    Faults faults;
    for (int rank = 0; rank < ranks; ++rank) {
        const LocalRank local{rank, ranks};
        const auto found = check_devices(job.experiment, schedule, rank, local, gpus);
        faults.insert(faults.end(), found.begin(), found.end());
        if (!found.empty()) continue;
        const auto dealt = deal_devices(job.experiment.topology, schedule, rank, local, gpus);
        for (std::size_t node = 0; node < dealt.size(); ++node)
            if (!dealt[node].empty()) devices[node] = dealt[node];
    }
    if (faults.empty() && !job.ignore_memory)
        faults = check_gpu_memory(job.experiment, job.problem, job.plan, devices, gpus);
    if (!faults.empty()) throw InputError(std::move(faults));
}

}  // namespace

void add_memory_option(CLI::App& verb, bool& ignores) {
    verb.add_flag("--ignore-memory", ignores, "Start although the model seems not to fit into this machine's memory");
}

void require_machine(const RunJob& job) {
    if (!job.ignore_memory && !job.launched && job.experiment.execution.compute == Compute::torch)
        if (auto faults = check_memory_fits(job.experiment, job.problem, job.plan, available_memory()); !faults.empty())
            throw InputError(std::move(faults));
    // The other ranks of a launcher end with this one.
    if (job.experiment.execution.ranks > 1) assign_ranks(job.experiment, job.plan);
    if (!job.launched) require_devices(job);
}

}  // namespace skippipe::cli
