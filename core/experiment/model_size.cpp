// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/model_size.h"

#include <algorithm>
#include <cmath>

#include "core/experiment/counts.h"

namespace skippipe {

int ffn_width(const ModelSpec& model) {
    if (model.ffn_width > 0) return model.ffn_width;
    const int width = (8 * model.width + 2) / 3;
    return (width + 7) / 8 * 8;
}

int kv_heads(const ModelSpec& model) { return model.kv_heads > 0 ? model.kv_heads : model.heads; }

double block_parameters(const ModelSpec& model) {
    const double d = model.width, kv = d / model.heads * kv_heads(model);
    return 2 * d * d + 2 * d * kv + 3 * d * ffn_width(model) + 2 * d;
}

double stage_parameters(const ModelSpec& model, int blocks, bool first) {
    const double d = model.width;
    return blocks * block_parameters(model) + (first ? 2.0 * model.vocabulary * d + d : 0.0);
}

double model_parameters(const ModelSpec& model) { return stage_parameters(model, model.blocks, true); }

std::size_t wire_bytes(WireType wire, std::int64_t rows, std::int64_t width) {
    const auto values = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
    if (wire == WireType::int8) return values + 4 * static_cast<std::size_t>(rows);
    return values * (wire == WireType::bf16 ? 2 : 4);
}

std::size_t gradient_wire_bytes(WireType wire, std::int64_t values) {
    const std::int64_t rows = (values + gradient_row - 1) / gradient_row;
    if (wire == WireType::int8) return static_cast<std::size_t>(values + rows * gradient_scale_bytes);
    return wire_bytes(wire, 1, values);
}

double gradient_value_bytes(WireType wire) {
    return static_cast<double>(gradient_wire_bytes(wire, gradient_row)) / gradient_row;
}

double backward_factor(const Experiment& experiment) {
    return experiment.costs.backward_factor + (experiment.training.recompute ? 1 : 0);
}

namespace {

/// Of the largest microbatch.
double tokens_of(const Experiment& experiment) {
    return static_cast<double>(most_samples(experiment.pipeline)) * experiment.model.sequence;
}

/// Whether stages keep what autograd does: attention's scores too. A drawn machine (compute `cost`) or a GPU does not.
bool keeps_scores(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    return kv_heads(experiment.model) != experiment.model.heads && experiment.execution.compute == Compute::torch &&
           std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.device == "cpu"; });
}

/// Of a block, fp32 values a token: attention's scores, or what makes them again.
double score_values(const Experiment& experiment) {
    const double heads = experiment.model.heads;
    return keeps_scores(experiment) ? heads * experiment.model.sequence : heads;
}

/// fp32 values a token that the blocks of a stage keep for their backward, the stage's input apart.
double kept_values(const Experiment& experiment, int blocks) {
    const double d = experiment.model.width, f = ffn_width(experiment.model);
    const double besides = keeps_scores(experiment) ? 10 * d + 4 * f + 2 : 6 * d + 2 * f;
    return blocks * (besides + score_values(experiment)) - (blocks > 0 ? d : 0);
}

}  // namespace

double between_bytes(const Experiment& experiment, int blocks) {
    const double d = experiment.model.width;
    return experiment.pipeline.split_backward
               ? 4 * tokens_of(experiment) * (d + blocks * (4 * d + ffn_width(experiment.model)))
               : 0;
}

double activation_bytes(const Experiment& experiment, int blocks) {
    double values = experiment.model.width;
    if (!experiment.training.recompute || experiment.pipeline.split_backward) values += kept_values(experiment, blocks);
    return 4 * tokens_of(experiment) * values + between_bytes(experiment, blocks);
}

double state_bytes(const Experiment& experiment, int blocks, bool first) {
    return 16 * stage_parameters(experiment.model, blocks, first);
}

double workspace_bytes(const Experiment& experiment, int blocks, bool first) {
    const auto& model = experiment.model;
    const double d = model.width, f = ffn_width(model), tokens = tokens_of(experiment);
    const double norm_and_hidden = d + f, one_block = kept_values(experiment, 1) + d, messages = 3 * d;
    const double backward = 6 * d + f + (keeps_scores(experiment) ? 2 * score_values(experiment) : 0);
    double values = messages + (blocks > 0 ? norm_and_hidden + one_block + backward : 0);
    if (experiment.training.recompute && !experiment.pipeline.split_backward) values += kept_values(experiment, blocks);
    const auto rows = static_cast<double>(head_rows(model, static_cast<std::int64_t>(tokens)));
    return 4 * (tokens * values + (first ? rows * model.vocabulary : 0));
}

StageBytes stage_bytes(const Experiment& experiment) {
    // Everything grows with the blocks in a straight line, from one block on.
    const auto fixed = [&](int blocks, bool first) {
        return state_bytes(experiment, blocks, first) + workspace_bytes(experiment, blocks, first);
    };
    StageBytes bytes;
    bytes.state_per_block = fixed(2, false) - fixed(1, false);
    bytes.scratch = fixed(1, false) - bytes.state_per_block;
    bytes.state_besides = fixed(1, true) - fixed(1, false);
    bytes.activations_per_block = activation_bytes(experiment, 2) - activation_bytes(experiment, 1);
    bytes.activations_besides = activation_bytes(experiment, 1) - bytes.activations_per_block;
    return bytes;
}

double StageBytes::state(const std::vector<int>& blocks) const {
    double bytes = 0;
    for (std::size_t s = 0; s < blocks.size(); ++s)
        bytes = std::max(bytes, blocks[s] * state_per_block + (s == 0 ? state_besides : 0));
    return bytes + scratch;
}

double StageBytes::activations(const std::vector<int>& blocks) const {
    return activations_besides +
           activations_per_block * (blocks.empty() ? 1 : std::max(1, *std::max_element(blocks.begin(), blocks.end())));
}

int StageBytes::microbatches(double memory_bytes, const std::vector<int>& blocks) const {
    const double held = std::floor((memory_bytes - state(blocks)) / activations(blocks));
    return static_cast<int>(std::clamp(held, 0.0, 1e6));
}

double memory_for_one(const Experiment& experiment) {
    const auto bytes = stage_bytes(experiment);
    const auto blocks = stage_blocks(experiment);
    return bytes.state(blocks) + bytes.activations(blocks);
}

int memory_limit(const Experiment& experiment, const Node& node) {
    if (node.memory_microbatches) return *node.memory_microbatches;
    if (!node.memory_bytes) return experiment.pipeline.memory_microbatches;
    return stage_bytes(experiment).microbatches(*node.memory_bytes, stage_blocks(experiment));
}

}  // namespace skippipe
