// SPDX-License-Identifier: GPL-3.0-or-later
// A LLaMA in a few lines, by the names it has at Hugging Face.
#pragma once
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <torch/types.h>

#include "core/data/safetensors.h"
#include "core/experiment/document.h"

namespace skippipe::testing {

using Tensors = std::map<std::string, torch::Tensor>;

inline Tensors tensors_of(const std::filesystem::path& path) {
    const SafeTensors file(path, "W");
    Tensors tensors;
    for (const auto& [name, stored] : file.tensors()) {
        auto values = file.read(name, stored.shape);
        tensors[name] = torch::from_blob(values.data(), stored.shape).clone();
    }
    return tensors;
}

inline torch::Tensor norm(const torch::Tensor& x, const torch::Tensor& weight) {
    return weight * x / torch::sqrt(x.pow(2).mean(-1, true) + 1e-5);
}

/// Hugging Face's rotation: the two values of a pair lie half a head apart. [heads, sequence, head width]
inline torch::Tensor rotate(const torch::Tensor& x, double base) {
    const auto sequence = x.size(1), half = x.size(2) / 2;
    const auto frequency = torch::pow(base, -torch::arange(half, torch::kFloat64) / static_cast<double>(half));
    const auto angle = torch::outer(torch::arange(sequence, torch::kFloat64), frequency);
    const auto both = torch::cat({angle, angle}, 1);
    const auto halves = x.chunk(2, 2);
    return x * both.cos() + torch::cat({-halves[1], halves[0]}, 2) * both.sin();
}

/// The summed loss of one sequence by Hugging Face's names and layouts (y = W x), in float64, written apart from the
/// model; `layers`: those that the hidden state passes through.
inline torch::Tensor plain_loss(const Tensors& w, const ModelSpec& model, const torch::Tensor& tokens,
                                const torch::Tensor& targets, const std::vector<int>& layers) {
    const auto get = [&](const std::string& name) { return w.at(name); };
    const std::int64_t length = tokens.numel(), heads = model.heads, kv = model.kv_heads > 0 ? model.kv_heads : heads,
                       head_width = model.width / heads;
    auto x = get("model.embed_tokens.weight").index_select(0, tokens);
    for (const int layer : layers) {
        const auto at = "model.layers." + std::to_string(layer) + ".";
        const auto h = norm(x, get(at + "input_layernorm.weight"));
        const auto project = [&](const char* name, std::int64_t count) {
            return torch::matmul(h, get(at + "self_attn." + name + ".weight").t())
                .view({length, count, head_width})
                .transpose(0, 1);
        };
        const auto q = rotate(project("q_proj", heads), model.rotary_base);
        const auto k = rotate(project("k_proj", kv), model.rotary_base).repeat_interleave(heads / kv, 0);
        const auto v = project("v_proj", kv).repeat_interleave(heads / kv, 0);
        const auto causal = torch::full({length, length}, -INFINITY, torch::kFloat64).triu(1);
        const auto weights = torch::softmax(
            torch::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(head_width)) + causal, -1);
        x = x + torch::matmul(torch::matmul(weights, v).transpose(0, 1).reshape({length, model.width}),
                              get(at + "self_attn.o_proj.weight").t());
        const auto g = norm(x, get(at + "post_attention_layernorm.weight"));
        const auto inner = torch::silu(torch::matmul(g, get(at + "mlp.gate_proj.weight").t())) *
                           torch::matmul(g, get(at + "mlp.up_proj.weight").t());
        x = x + torch::matmul(inner, get(at + "mlp.down_proj.weight").t());
    }
    const auto logits = torch::matmul(norm(x, get("model.norm.weight")), get("lm_head.weight").t());
    return -torch::log_softmax(logits, 1).gather(1, targets.unsqueeze(1)).sum();
}

/// Through all layers.
inline torch::Tensor plain_loss(const Tensors& w, const ModelSpec& model, const torch::Tensor& tokens,
                                const torch::Tensor& targets) {
    std::vector<int> layers(static_cast<std::size_t>(model.blocks));
    std::iota(layers.begin(), layers.end(), 0);
    return plain_loss(w, model, tokens, targets, layers);
}

}  // namespace skippipe::testing
