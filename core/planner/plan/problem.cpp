// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/problem.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "core/experiment/counts.h"
#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "core/experiment/validate.h"
#include "core/planner/plan/make_hops.h"

namespace skippipe {

namespace {

/// Their names follow those of the lines, every uplink's and then every downlink's.
void set_uplinks(const Topology& topology, Problem& problem) {
    for (const char* what : {"uplink of ", "downlink of "})
        for (const auto& id : problem.node_ids) problem.line_names.push_back(what + id);
    const auto rates = [&](std::optional<double> Node::*of) {
        PerNode<double> bytes_per_s;
        for (const auto& node : topology.nodes)
            bytes_per_s.push_back((node.*of).value_or(std::numeric_limits<double>::infinity()));
        return bytes_per_s;
    };
    problem.up_bytes_per_s = rates(&Node::up_bytes_per_s);
    problem.down_bytes_per_s = rates(&Node::down_bytes_per_s);
}

void set_nodes(const Experiment& experiment, Problem& problem) {
    const bool ignore = experiment.pipeline.constraints.memory == MemoryRule::ignore;
    for (const auto& node : experiment.topology.nodes) {
        problem.node_ids.push_back(node.id);
        problem.seconds_per_sample_per_block.push_back(node.seconds_per_sample_per_block);
        problem.memory.push_back(ignore ? unlimited_memory : memory_limit(experiment, node));
        const bool from_bytes =
            experiment.pipeline.plan_blocks && !ignore && !node.memory_microbatches && node.memory_bytes;
        problem.memory_bytes.push_back(from_bytes ? *node.memory_bytes : 0);
    }
    problem.stage_bytes = stage_bytes(experiment);
}

void set_pipeline(const Experiment& experiment, Problem& problem) {
    const auto& pipeline = experiment.pipeline;
    problem.stages = pipeline.stages;
    problem.path_length = path_length(pipeline.stages, pipeline.skip_ratio);
    problem.microbatches = pipeline.microbatches;
    problem.samples = pipeline.microbatch_samples;
    problem.sizes.assign(pipeline.microbatch_sizes.begin(), pipeline.microbatch_sizes.end());
    problem.blocks = PerStage<int>(stage_blocks(experiment));
    problem.plan_blocks = pipeline.plan_blocks;
    problem.balance_data_nodes = pipeline.balance_data_nodes;
    problem.split_backward = pipeline.split_backward;
    problem.constraints = pipeline.constraints;
    problem.stage_sizes = PerStage<int>(pipeline.stage_sizes);
    const NodesById nodes = nodes_by_id(experiment.topology);
    for (const auto& stage : pipeline.placement) {
        auto& placed = problem.placement.emplace_back();
        for (const auto& id : stage) placed.push_back(nodes.at(id));
    }
}

void set_costs(const Experiment& experiment, Problem& problem) {
    const auto& costs = experiment.costs;
    const bool matrix = !experiment.topology.hop_matrix_s.empty();
    problem.backward_factor = backward_factor(experiment);
    problem.loss_factor = costs.loss_factor;
    problem.transfer_cpu_s = costs.transfer_cpu_s;
    problem.transfer_cpu_s_per_byte = costs.transfer_cpu_s_per_byte;
    problem.reduction_cpu_s_per_byte = costs.reduction_cpu_s_per_byte;
    problem.overhead_s = matrix ? 0 : costs.overhead_s;
    problem.step_seconds = costs.step_seconds;
    problem.shared_links = costs.links == LinkRule::shared && !matrix;
    problem.charge_all_reduce = costs.all_reduce == AllReduceRule::charged && !matrix;
    problem.plan_reductions = costs.all_reduce == AllReduceRule::planned && !matrix;
    const auto tokens = static_cast<std::int64_t>(experiment.pipeline.microbatch_samples) * experiment.model.sequence;
    const auto model_bytes = static_cast<double>(wire_bytes(costs.wire, tokens, experiment.model.width));
    problem.forward_bytes = costs.forward_bytes.value_or(model_bytes);
    problem.backward_bytes = costs.backward_bytes.value_or(problem.forward_bytes);
    // As they travel, where the document does not say how many: only what is planned is rounded.
    const double value_bytes =
        gradient_value_bytes(problem.plan_reductions ? experiment.training.gradient_wire : WireType::fp32);
    if (costs.gradient_bytes.empty()) problem.weight_bytes_per_gradient_byte = 4 / value_bytes;
    problem.gradient_bytes = PerStage<double>(costs.gradient_bytes);
    if (problem.gradient_bytes.empty())
        for (std::size_t s = 0; s < problem.blocks.size(); ++s)
            problem.gradient_bytes.push_back(value_bytes *
                                             stage_parameters(experiment.model, problem.blocks[s], s == 0));
    problem.gradient_bytes_per_block = value_bytes * block_parameters(experiment.model);
    problem.gradient_bytes_besides = value_bytes * stage_parameters(experiment.model, 0, true);
}

/// Most microbatches a node executes, and how far the stages are apart in that, with r0 data nodes.
std::tuple<double, double> load(const Problem& problem, int data_nodes) {
    const int others = problem.stages - 1, rest = problem.nodes() - data_nodes;
    const double first = static_cast<double>(problem.microbatches) / data_nodes;
    const double visits = static_cast<double>(problem.microbatches) * (problem.path_length - 1) / others;
    const double most = visits / (rest / others), least = visits / ((rest + others - 1) / others);
    return {std::max(first, most), std::max(first, most) - std::min(first, least)};
}

}  // namespace

double Problem::smallest_size() const {
    return sizes.empty() ? 1 : *std::min_element(sizes.begin(), sizes.end()) / samples;
}

void Problem::set_blocks(const PerStage<int>& chosen) {
    blocks = chosen;
    for (std::size_t s = 0; s < blocks.size(); ++s)
        gradient_bytes[s] = blocks[s] * gradient_bytes_per_block + (s == 0 ? gradient_bytes_besides : 0);
    for (std::size_t n = 0; n < memory_bytes.size(); ++n)
        if (memory_bytes[n] > 0) memory[n] = stage_bytes.microbatches(memory_bytes[n], blocks);
}

std::string Problem::unlinked_words(NodeIndex from, NodeIndex to) const {
    return reachable(to, from) ? fmt::format("{} is not linked to {}, only {} to {}", node_ids[from], node_ids[to],
                                             node_ids[to], node_ids[from])
                               : fmt::format("{} and {} are not linked", node_ids[from], node_ids[to]);
}

int Problem::visits_cap(int length) const { return uniform_cap(microbatches, length, stages); }

PerStage<int> Problem::default_stage_sizes() const {
    if (stages > nodes())
        throw InputError("/pipeline/stages", fmt::format("{} stages on {} nodes", stages, nodes()),
                         "a node holds one stage, and every stage needs a node",
                         fmt::format("Use {} stages or fewer, or add {} node{}", nodes(), stages - nodes(),
                                     stages - nodes() == 1 ? "" : "s"));
    const auto divides = [&](int data_nodes) { return !balance_data_nodes || microbatches % data_nodes == 0; };
    if (stages == 1) {
        if (divides(nodes())) return {nodes()};
        throw InputError("/pipeline/microbatches",
                         fmt::format("{} microbatches on {} data nodes", microbatches, nodes()),
                         "every data node starts the same number (CC1), and with one stage all are data nodes",
                         fmt::format("Make it {}, or another multiple of {}, fill in Stage sizes (stage_sizes), or "
                                     "switch off Balance data nodes "
                                     "(balance_data_nodes)",
                                     (microbatches / nodes() + 1) * nodes(), nodes()));
    }
    int best = 1;  // one data node always divides
    for (int data_nodes = 2; data_nodes <= nodes() - (stages - 1); ++data_nodes)
        if (divides(data_nodes) && load(*this, data_nodes) < load(*this, best)) best = data_nodes;
    return stage_sizes_with(best);
}

PerStage<int> Problem::stage_sizes_with(int data_nodes) const {
    PerStage<int> sizes{data_nodes};
    const int others = stages - 1, rest = nodes() - data_nodes;
    for (int s = 0; s < others; ++s) sizes.push_back(rest / others + (s < rest % others ? 1 : 0));
    return sizes;
}

Problem make_problem(const Experiment& experiment) {
    Faults errors;
    for (auto& fault : validate(experiment))
        if (fault.severity == Fault::Severity::error) errors.push_back(std::move(fault));
    if (!errors.empty()) throw InputError(std::move(errors));
    Problem problem;
    set_nodes(experiment, problem);
    set_pipeline(experiment, problem);
    set_costs(experiment, problem);
    problem.hops = make_hops(experiment.topology, problem);
    if (queues_at_uplinks(experiment)) set_uplinks(experiment.topology, problem);
    problem.experiment_hash = experiment_hash(experiment);
    return problem;
}

}  // namespace skippipe
