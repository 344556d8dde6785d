// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/node_build.h"

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/engine/devices.h"
#include "core/experiment/model_size.h"
#include "core/model/llama_weights.h"

namespace skippipe {

namespace {

void require_fit(const Experiment& experiment, const Plan& plan) {
    const auto& model = experiment.model;
    const auto refuse = [](std::string pointer, std::string what, std::string why, std::string remedy) {
        throw InputError(std::move(pointer), std::move(what), std::move(why), std::move(remedy));
    };
    if (model.heads < 1 || model.width % (2 * model.heads) != 0)
        refuse("/model/heads", fmt::format("a width of {} is not {} heads of even width", model.width, model.heads),
               "rotary attention turns pairs", "Choose a width that 2 x heads divides");
    if (model.heads % kv_heads(model) != 0)
        refuse("/model/kv_heads", fmt::format("{} does not divide {} heads", model.kv_heads, model.heads),
               "each serves the same number of heads", "Choose a divisor of the heads");
    int blocks = 0;
    for (const int count : plan.blocks) blocks += count;
    if (plan.stages.size() != plan.blocks.size() || blocks != model.blocks)
        refuse("/blocks", fmt::format("the plan's stages have {} blocks, the model {}", blocks, model.blocks),
               "every block is in one stage", "Plan again");
    std::vector<bool> used(experiment.topology.nodes.size());
    for (const auto& nodes : plan.stages) {
        if (nodes.empty()) refuse("/stages", "a stage has no node", "its blocks would be nowhere", "Plan again");
        for (const int node : nodes) {
            if (node < 0 || static_cast<std::size_t>(node) >= used.size() || used[static_cast<std::size_t>(node)])
                refuse("/stages", fmt::format("node number {} is unknown or in two stages", node),
                       "a node hosts one stage", "Plan again");
            used[static_cast<std::size_t>(node)] = true;
        }
    }
}

NodeState build_node(const Experiment& experiment, int node, int stage, int blocks, std::uint64_t seed,
                     const std::vector<float>& given) {
    auto state = empty_node(experiment, node, stage, blocks);
    if (given.empty()) {
        state.stage.initialise(seed);
    } else {
        torch::NoGradGuard no_gradient;
        state.stage.weights().copy_(torch::from_blob(const_cast<float*>(given.data()), {state.stage.size()}));
    }
    return state;
}

}  // namespace

std::vector<std::optional<NodeState>> build_nodes(const Experiment& experiment, const Plan& plan, std::uint64_t seed,
                                                  const std::function<bool(int)>& hosted) {
    require_fit(experiment, plan);
    std::optional<LlamaWeights> initial;
    if (const auto& path = experiment.training.initial_weights; !path.empty()) initial.emplace(path, experiment.model);
    std::vector<std::optional<NodeState>> nodes(experiment.topology.nodes.size());
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
        const auto number = static_cast<int>(stage);
        std::vector<float> given;
        for (const int node : plan.stages[stage]) {
            if (!hosted(node)) continue;
            if (initial && given.empty()) given = initial->stage(number, plan.blocks);
            nodes[static_cast<std::size_t>(node)].emplace(
                build_node(experiment, node, number, plan.blocks[stage], seed, given));
        }
    }
    return nodes;
}

NodeState empty_node(const Experiment& experiment, int node, int stage, int blocks) {
    const auto& drawn = experiment.topology.nodes[static_cast<std::size_t>(node)];
    const auto device = parse_device(drawn.device, fmt::format("/topology/nodes/{}/device", node));
    const auto products = experiment.execution.products;
    if (device.is_cpu())
        if (auto faults = check_products(experiment); !faults.empty()) throw InputError(std::move(faults));
    NodeState state(Stage(experiment.model, stage, blocks, device, products), experiment.model, products);
    state.recompute = experiment.training.recompute;
    return state;
}

void require_vocabulary(const Experiment& experiment, const Batches& batches) {
    if (experiment.model.vocabulary >= batches.vocabulary()) return;
    throw InputError(
        "/model/vocabulary",
        fmt::format("{} is less than the {} of the data", experiment.model.vocabulary, batches.vocabulary()),
        "a token would have no embedding", "Read the data for this model");
}

}  // namespace skippipe
