// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/reduction.h"

#include <algorithm>
#include <cmath>

#include <c10/core/DeviceGuard.h>

#include "core/model/optimizer.h"
#include "core/model/piece_sum.h"
#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

constexpr std::int64_t device_piece = 1 << 24;
constexpr std::int64_t chunk_elements = 1 << 15;  // fixed: the order of sums may not depend on the number of threads

/// A part of a stage's flat arrays.
struct Chunk {
    std::size_t stage;
    NodeState* node;  ///< null: all copies together
    std::int64_t begin, size;
    double squares = 0;
    const Piece* piece = nullptr;  ///< that sums it; null: copy after copy
};

bool on_cpu(const NodeState& node) { return node.stage.device().is_cpu(); }
bool all_on_cpu(const StageCopies& stage) {
    return std::all_of(stage.nodes.begin(), stage.nodes.end(), [](const auto* node) { return on_cpu(*node); });
}

void append_chunks(std::vector<Chunk>& chunks, std::size_t stage, NodeState* node, std::int64_t begin, std::int64_t end,
                   std::int64_t step) {
    for (; begin < end; begin += step) chunks.push_back({stage, node, begin, std::min(step, end - begin)});
}

/// All of a stage's gradient, piece by piece: each has its share of the values, in their order.
void append_reduction(std::vector<Chunk>& chunks, const StageCopies& stage) {
    const auto values = stage.nodes.front()->stage.size();
    if (stage.pieces.empty()) return append_chunks(chunks, 0, nullptr, 0, values, chunk_elements);
    const auto ends = piece_ends(stage.pieces, values);
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < ends.size(); begin = ends[k++]) {
        const auto first = chunks.size();
        append_chunks(chunks, 0, nullptr, begin, ends[k], chunk_elements);
        for (auto chunk = first; chunk < chunks.size(); ++chunk) chunks[chunk].piece = &stage.pieces[k];
    }
}

float* data(const torch::Tensor& flat, const Chunk& chunk) { return flat.data_ptr<float>() + chunk.begin; }

void add_piece(const StageCopies& stage, const Chunk& chunk, float* sum) {
    std::vector<const float*> parts;
    for (const auto* node : stage.nodes)
        parts.push_back(node->tokens > 0 ? data(node->stage.gradient(), chunk) : nullptr);
    sum_piece(*chunk.piece, parts, static_cast<std::size_t>(chunk.size), sum);
}

void reduce_on_cpu(StageCopies& stage, bool adds, bool divides, Chunk& chunk) {
    const auto size = static_cast<std::size_t>(chunk.size);
    float* sum = data(stage.sum(), chunk);
    if (adds && stage.apart.defined()) std::copy_n(data(stage.nodes.front()->stage.gradient(), chunk), size, sum);
    if (adds && chunk.piece != nullptr) add_piece(stage, chunk, sum);
    for (std::size_t copy = 1; adds && chunk.piece == nullptr && copy < stage.nodes.size(); ++copy)
        if (stage.nodes[copy]->tokens > 0)
            kernels::sum_into(sum, data(stage.nodes[copy]->stage.gradient(), chunk), size);
    if (!divides) return;
    kernels::scale(sum, static_cast<float>(1.0 / static_cast<double>(stage.tokens)), size);
    chunk.squares = kernels::sum_of_squares(sum, size);
}

double reduce_on_device(StageCopies& stage, bool adds, bool divides) {
    torch::NoGradGuard no_gradient;
    auto& sum = stage.sum();
    if (adds && stage.apart.defined()) sum.copy_(stage.nodes.front()->stage.gradient());
    for (std::size_t copy = 1; adds && copy < stage.nodes.size(); ++copy)
        sum.add_(stage.nodes[copy]->stage.gradient().to(sum.device()));
    if (!divides) return 0;
    sum.mul_(1.0 / static_cast<double>(stage.tokens));
    // Piece by piece, so that no second array of the stage's size is written for it.
    auto squared = torch::zeros({}, sum.options().dtype(torch::kFloat64));
    for (const auto& piece : sum.split(device_piece)) squared.add_(piece.square().sum(torch::kFloat64));
    return squared.item<double>();
}

/// By our own kernel: LibTorch's operations would read and write everything several times.
void step_on_device(NodeState& node, const torch::Tensor& reduced, const Chunk& chunk, const kernels::AdamW& given) {
    const c10::DeviceGuard guard(node.stage.device());
    const auto step = static_cast<double>(given.step);
    const auto f = [](double value) { return static_cast<float>(value); };
    const kernels::cuda::AdamWStep numbers{.learning_rate = f(given.learning_rate),
                                           .beta1 = f(given.beta1),
                                           .beta2 = f(given.beta2),
                                           .epsilon = f(given.epsilon),
                                           .weight_decay = f(given.weight_decay),
                                           .gradient_scale = f(given.gradient_scale),
                                           .mean_factor = f(1 / (1 - std::pow(given.beta1, step))),
                                           .variance_factor = f(1 / (1 - std::pow(given.beta2, step)))};
    require_launched(node.device->kernels().adamw(data(node.stage.weights(), chunk), nullptr, data(reduced, chunk),
                                                  data(node.m, chunk), data(node.v, chunk),
                                                  static_cast<std::size_t>(chunk.size), numbers, nullptr),
                     "adamw");
    node.stage.weights().unsafeGetTensorImpl()->bump_version();  // as an operation of LibTorch would
}

void step_chunk(StageCopies& stage, const Chunk& chunk, kernels::AdamW parameters) {
    auto& node = *chunk.node;
    const auto& reduced = stage.sum();
    if (chunk.begin >= node.stage.decayed_size()) parameters.weight_decay = 0;
    if (on_cpu(node) && reduced.device().is_cpu()) {
        kernels::adamw(data(node.stage.weights(), chunk), data(reduced, chunk), data(node.m, chunk),
                       data(node.v, chunk), static_cast<std::size_t>(chunk.size), parameters);
        return;
    }
    if (node.device && reduced.device() == node.stage.device()) return step_on_device(node, reduced, chunk, parameters);
    const auto part = [&](const torch::Tensor& flat) { return flat.narrow(0, chunk.begin, chunk.size); };
    adamw_tensors(part(node.stage.weights()), part(reduced).to(node.stage.device()), part(node.m), part(node.v),
                  parameters);
}

}  // namespace

std::vector<std::int64_t> piece_ends(const Pieces& pieces, std::int64_t values) {
    std::vector<std::int64_t> ends;
    double shares = 0;
    for (const Piece& piece : pieces) {
        shares += piece.share;
        const auto end = std::min<std::int64_t>(values, std::llround(static_cast<double>(values) * shares));
        ends.push_back(&piece == &pieces.back() ? values : std::max(ends.empty() ? 0 : ends.back(), end));
    }
    return ends;
}

double reduce_gradient(StageCopies& stage, ReductionPass pass, TaskGraph& graph) {
    const bool adds = pass != ReductionPass::divide, divides = pass != ReductionPass::add;
    if (!all_on_cpu(stage)) return reduce_on_device(stage, adds, divides);
    std::vector<Chunk> chunks;
    append_reduction(chunks, stage);
    graph.for_each(chunks.size(), [&](std::size_t i) { reduce_on_cpu(stage, adds, divides, chunks[i]); });
    double squared = 0;
    for (const auto& chunk : chunks) squared += chunk.squares;
    return squared;
}

void step_stages(std::vector<StageCopies>& stages, const std::vector<kernels::AdamW>& parameters, TaskGraph& graph) {
    std::vector<Chunk> chunks;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        if (stages[stage].tokens == 0) continue;
        for (auto* node : stages[stage].nodes) {
            const auto step = on_cpu(*node) ? chunk_elements : node->stage.size();
            append_chunks(chunks, stage, node, 0, node->stage.decayed_size(), step);
            append_chunks(chunks, stage, node, node->stage.decayed_size(), node->stage.size(), step);
        }
    }
    graph.for_each(chunks.size(),
                   [&](std::size_t i) { step_chunk(stages[chunks[i].stage], chunks[i], parameters[chunks[i].stage]); });
}

}  // namespace skippipe
