// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/node_build.h"

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/model/matmul.h"

namespace skippipe {

namespace {

void require_fit(const Experiment& experiment, const Plan& plan) {
    const auto& model = experiment.model;
    const auto refuse = [](std::string pointer, std::string what, std::string why, std::string remedy) {
        throw InputError(std::move(pointer), std::move(what), std::move(why), std::move(remedy));
    };
    if (model.vocabulary < 256)
        refuse("/model/vocabulary", fmt::format("a vocabulary of {} cannot hold bytes", model.vocabulary), "tokens are bytes", "Set it to 256 or more");
    if (model.heads < 1 || model.width % (2 * model.heads) != 0)
        refuse("/model/heads", fmt::format("a width of {} is not {} heads of even width", model.width, model.heads), "rotary attention turns pairs",
               "Choose a width that 2 x heads divides");
    if (experiment.execution.products == ProductType::bf16 && !has_bf16_products())
        refuse("/execution/products", "this processor does not multiply bf16", "in software it would be slower than fp32", "Set it to \"fp32\"");
    int blocks = 0;
    for (const int count : plan.blocks) blocks += count;
    if (plan.stages.size() != plan.blocks.size() || blocks != model.blocks)
        refuse("/blocks", fmt::format("the plan's stages have {} blocks, the model {}", blocks, model.blocks), "every block is in one stage", "Plan again");
    std::vector<bool> used(experiment.topology.nodes.size());
    for (const auto& nodes : plan.stages) {
        if (nodes.empty()) refuse("/stages", "a stage has no node", "its blocks would be nowhere", "Plan again");
        for (const int node : nodes) {
            if (node < 0 || static_cast<std::size_t>(node) >= used.size() || used[static_cast<std::size_t>(node)])
                refuse("/stages", fmt::format("node number {} is unknown or in two stages", node), "a node hosts one stage", "Plan again");
            used[static_cast<std::size_t>(node)] = true;
        }
    }
}

NodeState build_node(const Experiment& experiment, int node, int stage, int blocks, std::uint64_t seed) {
    const auto& drawn = experiment.topology.nodes[static_cast<std::size_t>(node)];
    Stage copy(experiment.model, stage, blocks, parse_device(drawn.device, fmt::format("/topology/nodes/{}/device", node)));
    copy.initialise(seed);
    NodeState state(std::move(copy), experiment.model, experiment.execution.products);
    state.recompute = experiment.training.recompute;
    return state;
}

}  // namespace

std::vector<std::optional<NodeState>> build_nodes(const Experiment& experiment, const Plan& plan, std::uint64_t seed, const std::function<bool(int)>& hosted) {
    require_fit(experiment, plan);
    std::vector<std::optional<NodeState>> nodes(experiment.topology.nodes.size());
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
        for (const int node : plan.stages[stage])
            if (hosted(node)) nodes[static_cast<std::size_t>(node)].emplace(build_node(experiment, node, static_cast<int>(stage), plan.blocks[stage], seed));
    return nodes;
}

}  // namespace skippipe
