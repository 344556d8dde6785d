// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/devices.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/experiment/model_size.h"
#include "core/planner/timeline/memory.h"

namespace skippipe {
namespace {

std::string pointer_to(int node) { return fmt::format("/topology/nodes/{}/device", node); }

/// "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)".
std::string names_of(const AttachedGpus& gpus) {
    std::string text;
    for (const auto& gpu : gpus.list)
        text += fmt::format("{}cuda:{} ({})", text.empty() ? "" : ", ", gpu.index, gpu.name);
    return text;
}

InputError missing(const Topology& topology, int node, const AttachedGpus& gpus) {
    const auto& drawn = topology.nodes[at(node)];
    const auto what = fmt::format("{} is to live on \"{}\"", drawn.id, drawn.device);
    if (gpus.list.empty()) {
        const auto& why = gpus.none.front();
        return {pointer_to(node), what + ", and there is no GPU", why.what + ": " + why.why, why.remedy};
    }
    return {pointer_to(node), what + ", which is not there", "this machine has " + names_of(gpus),
            "Name one of these, or \"cuda\", which takes any"};
}

/// Of the rank, in the order of the stages; then those that have none, or none yet.
std::vector<int> nodes_in_order(const RankSchedule& schedule, int rank) {
    std::vector<int> nodes;
    std::vector<bool> has_stage(schedule.rank_of.size());
    for (const auto& ring : schedule.plan.stages)
        for (const NodeIndex node : ring) {
            has_stage[at(node)] = true;
            if (schedule.rank_of[at(node)] == rank) nodes.push_back(node);
        }
    for (int node = 0; at(node) < schedule.rank_of.size(); ++node)
        if (schedule.rank_of[at(node)] == rank && !has_stage[at(node)]) nodes.push_back(node);
    return nodes;
}

}  // namespace

std::vector<std::string> deal_devices(const Topology& topology, const RankSchedule& schedule, int rank, LocalRank local,
                                      const AttachedGpus& gpus) {
    std::vector<std::string> devices(topology.nodes.size());
    std::vector<int> left;
    const int count = static_cast<int>(gpus.list.size());
    for (const int node : nodes_in_order(schedule, rank)) {
        const int number = device_number(topology.nodes[at(node)].device, pointer_to(node));
        if (number >= count || (number == any_gpu && count == 0)) throw missing(topology, node, gpus);
        if (number == any_gpu)
            left.push_back(node);
        else
            devices[at(node)] = number == no_gpu ? "cpu" : fmt::format("cuda:{}", number);
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        const int number = local.ranks > 1 ? local.rank % count : static_cast<int>(i * at(count) / left.size());
        devices[at(left[i])] = fmt::format("cuda:{}", number);
    }
    return devices;
}

int gpu_of_rank(const Topology& topology, const RankSchedule& schedule, int rank,
                const std::vector<std::string>& devices) {
    std::set<std::string> used;
    for (const int node : nodes_in_order(schedule, rank)) {
        if (devices[at(node)] == "cpu")
            throw InputError(
                "/execution/transport", fmt::format("NCCL, and {} is on no GPU", topology.nodes[at(node)].id),
                "NCCL carries messages between GPUs", "Set the node's device to \"cuda\", or this to \"gloo\"");
        used.insert(devices[at(node)]);
    }
    if (used.size() > 1)
        throw InputError("/execution/transport",
                         fmt::format("rank {}'s nodes are on {} GPUs, {} and {} among them", rank, used.size(),
                                     *used.begin(), *used.rbegin()),
                         "NCCL has one GPU a rank", "Start a rank for each GPU, or put its nodes on one of them");
    if (used.empty()) throw InputError("/execution/ranks", fmt::format("rank {} hosts no node", rank), "", "");
    return device_number(*used.begin(), "device");
}

Faults check_devices(const Experiment& experiment, const RankSchedule& schedule, int rank, LocalRank local,
                     const AttachedGpus& gpus) {
    try {
        const auto devices = deal_devices(experiment.topology, schedule, rank, local, gpus);
        if (experiment.execution.transport == Transport::nccl)
            gpu_of_rank(experiment.topology, schedule, rank, devices);
        return {};
    } catch (const InputError& error) {
        return error.faults();
    }
}

namespace {

/// Bytes of the weights that products in bf16 read, beside the exact ones, at the most.
double rounded_weights(const Experiment& experiment, const Plan& plan, NodeIndex node) {
    if (experiment.execution.products != ProductType::bf16) return 0;
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
        if (std::find(plan.stages[stage].begin(), plan.stages[stage].end(), node) != plan.stages[stage].end())
            return 2 * stage_parameters(experiment.model, plan.blocks[stage], stage == 0);
    return 0;
}

}  // namespace

bool has_bf16_products() {
    std::ifstream processors("/proc/cpuinfo");
    for (std::string line; std::getline(processors, line);)
        if (line.starts_with("flags") || line.starts_with("Features")) {
            line += ' ';
            return line.find(" avx512_bf16 ") != line.npos || line.find(" amx_bf16 ") != line.npos ||
                   line.find(" bf16 ") != line.npos;
        }
    return false;
}

Faults check_products(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    const auto& how = experiment.execution;
    if (how.compute != Compute::torch || how.products != ProductType::bf16 || has_bf16_products() ||
        std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.device == "cpu"; }))
        return {};
    return {{"/execution/products", "this processor does not multiply bf16", "in software it would be slower than fp32",
             "Set it to \"fp32\", or the nodes' device to a GPU"}};
}

Faults check_gpu_memory(const Experiment& experiment, const Problem& problem, const Plan& plan,
                        const std::vector<std::string>& devices, const AttachedGpus& gpus) {
    std::map<std::string, std::vector<NodeMemory>> on;
    for (auto& need : memory_needed(experiment, problem, plan)) {
        const auto& device = devices[at(need.node)];
        if (device.empty()) continue;
        need.state += rounded_weights(experiment, plan, need.node);
        on[device].push_back(need);
    }
    Faults faults;
    for (const auto& gpu : gpus.list) {
        const auto found = on.find(fmt::format("cuda:{}", gpu.index));
        if (found == on.end()) continue;
        const auto& nodes = found->second;
        const double bytes = memory_together(nodes, static_cast<int>(nodes.size()));
        const double room = std::min(gpu.memory_bytes, gpu.free_bytes.value_or(gpu.memory_bytes));
        if (bytes <= room) continue;
        const std::string has = room < gpu.memory_bytes ? fmt::format("{} of its {} are free", format_si(room, "B"),
                                                                      format_si(gpu.memory_bytes, "B"))
                                                        : fmt::format("it has {}", format_si(room, "B"));
        faults.push_back(
            {"/model",
             fmt::format("{} nodes on cuda:{} ({}) need {}, and {}: {} are missing", nodes.size(), gpu.index, gpu.name,
                         format_si(bytes, "B"), has, format_si(bytes - room, "B")),
             "every node drawn has its own copy of its stage, and all of them share the GPU's memory",
             "Look at `nvidia-smi` for what else is on this GPU, put fewer nodes on it, choose a smaller model "
             "(`skippipe models`), or use --ignore-memory"});
    }
    return faults;
}

}  // namespace skippipe
