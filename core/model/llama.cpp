// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/llama.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numbers>
#include <thread>

#include <fmt/format.h>
#include <torch/cuda.h>

#include "core/base/fault.h"
#include "core/base/rng.h"
#include "core/experiment/model_size.h"
#include "core/model/layers.h"
#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

constexpr std::uint64_t weight_stream = 0x77656967;  // "weig": apart from the streams of the data

std::vector<Segment> unplaced_segments(const ModelSpec& model, int stage, int blocks) {
    const std::int64_t width = model.width, hidden = ffn_width(model), vocabulary = model.vocabulary;
    const double residual = 0.02 / std::sqrt(2.0 * model.blocks);
    std::vector<Segment> segments;
    if (stage == 0) {
        segments.push_back({"embedding", {vocabulary, width}, 0, 0.02});
        segments.push_back({"head", {width, vocabulary}, 0, 0.02});
    }
    const auto name = [](int block, const char* tensor) { return fmt::format("block{}.{}", block, tensor); };
    for (int block = 0; block < blocks; ++block) {
        segments.push_back({name(block, "qkv"), {width, width + 2 * (width / model.heads) * kv_heads(model)}, 0, 0.02});
        segments.push_back({name(block, "attention_out"), {width, width}, 0, residual});
        segments.push_back({name(block, "gate_up"), {width, 2 * hidden}, 0, 0.02});
        segments.push_back({name(block, "down"), {hidden, width}, 0, residual});
    }
    for (int block = 0; block < blocks; ++block) {
        segments.push_back({name(block, "attention_norm"), {width}});
        segments.push_back({name(block, "ffn_norm"), {width}});
    }
    if (stage == 0) segments.push_back({"final_norm", {width}});
    return segments;
}

void fill_normal(float* values, std::int64_t n, double deviation, Rng rng) {
    for (std::int64_t i = 0; i < n; i += 2) {  // Box and Muller
        const double radius = deviation * std::sqrt(-2 * std::log(1 - rng.uniform()));
        const double angle = 2 * std::numbers::pi * rng.uniform();
        values[i] = static_cast<float>(radius * std::cos(angle));
        if (i + 1 < n) values[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
}

/// Rotations of query and key pairs; the queries' also carry attention's 1 / sqrt(head width).
torch::Tensor rotations(int sequence, int head_width, double base) {
    const int pairs = head_width / 2;
    auto table = torch::empty({sequence, 2, 1, pairs, 2});
    auto* value = table.data_ptr<float>();
    for (int position = 0; position < sequence; ++position)
        for (const double scale : {1 / std::sqrt(static_cast<double>(head_width)), 1.0})
            for (int pair = 0; pair < pairs; ++pair) {
                const double angle = position * std::pow(base, -2.0 * pair / head_width);
                *value++ = static_cast<float>(scale * std::cos(angle));
                *value++ = static_cast<float>(scale * std::sin(angle));
            }
    return torch::view_as_complex(table);
}

}  // namespace

std::int64_t Segment::size() const {
    std::int64_t size = 1;
    for (const auto extent : shape) size *= extent;
    return size;
}

std::vector<Segment> stage_segments(const ModelSpec& model, int stage, int blocks) {
    auto segments = unplaced_segments(model, stage, blocks);
    std::int64_t offset = 0;
    for (auto& segment : segments) {
        segment.offset = offset;
        offset += segment.size();
    }
    return segments;
}

void mean_blocks(Stage& stage, const std::vector<BlockSource>& sources) {
    torch::NoGradGuard no_gradient;
    for (const auto& segment : stage.segments()) {
        const auto dot = segment.name.find('.');
        if (dot == std::string::npos) continue;
        const int block = std::stoi(segment.name.substr(std::string_view("block").size()));
        auto mean = stage.weights().narrow(0, segment.offset, segment.size());
        mean.zero_();
        for (const auto& source : sources) {
            const int theirs = block * source.blocks / stage.blocks();
            const auto name = fmt::format("block{}{}", theirs, segment.name.substr(dot));
            const auto found = std::find_if(source.segments.begin(), source.segments.end(),
                                            [&](const Segment& other) { return other.name == name; });
            mean.add_(source.weights.narrow(0, found->offset, found->size()).to(stage.device()), source.share);
        }
    }
}

torch::Device parse_device(const std::string& name, const std::string& pointer) {
    const auto refuse = [&](const std::string& what, const char* why) -> InputError {
        return {pointer, what, why, "Use \"cpu\", or a device that this machine has"};
    };
    if (name == "cpu") return torch::kCPU;
    const bool numbered = name.size() > 5 && name.size() < 9 && name.starts_with("cuda:") &&
                          name.find_first_not_of("0123456789", 5) == std::string::npos;
    if (name != "cuda" && !numbered)
        throw refuse(fmt::format("unknown device \"{}\"", name), "a node's tensors live there");
    const int index = numbered ? std::stoi(name.substr(5)) : 0;
    const int count = torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0;
    if (index >= count)
        throw refuse(fmt::format("device \"{}\" is not available: {} GPUs were found", name, count),
                     "a node's tensors live there");
    return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

Stage::Stage(const ModelSpec& model, int stage, int blocks, torch::Device device, ProductType products)
    : segments_(stage_segments(model, stage, blocks)),
      stage_(stage),
      sequence_(model.sequence),
      heads_(model.heads),
      kv_heads_(kv_heads(model)),
      device_(device),
      products_(products) {
    const auto total = segments_.empty() ? 0 : segments_.back().offset + segments_.back().size();
    weights_ = torch::zeros({total}, torch::TensorOptions(device));
    gradient_ = torch::zeros({total}, torch::TensorOptions(device));
    std::map<std::string, torch::Tensor> named;
    for (const auto& segment : segments_) {
        auto tensor =
            weights_.narrow(0, segment.offset, segment.size()).view(segment.shape).detach().set_requires_grad(true);
        tensor.mutable_grad() = gradient_.narrow(0, segment.offset, segment.size()).view(segment.shape).detach();
        named[segment.name] = tensor;
        if (segment.decays()) decayed_ = segment.offset + segment.size();
    }
    if (stage == 0) {
        embedding_ = named.at("embedding");
        final_norm_ = named.at("final_norm");
        head_ = named.at("head");
    }
    for (int block = 0; block < blocks; ++block) {
        const auto get = [&](const char* tensor) { return named.at(fmt::format("block{}.{}", block, tensor)); };
        blocks_.push_back(
            {get("attention_norm"), get("qkv"), get("attention_out"), get("ffn_norm"), get("gate_up"), get("down")});
    }
    rotation_ = rotations(model.sequence, model.width / model.heads, model.rotary_base).to(device);
}

void Stage::initialise(std::uint64_t seed) {
    const std::uint64_t stage_seed = Rng(Rng(seed, weight_stream).next(), static_cast<std::uint64_t>(stage_)).next();
    auto values = torch::ones({size()});
    std::atomic<std::size_t> next = 0;
    const auto fill = [&] {
        for (std::size_t i = next++; i < segments_.size(); i = next++)
            if (const auto& segment = segments_[i]; segment.deviation > 0)
                fill_normal(values.data_ptr<float>() + segment.offset, segment.size(), segment.deviation,
                            Rng(stage_seed, i));
    };
    {
        constexpr std::int64_t worth_a_thread = 1 << 22;  // some 0.1 s
        std::vector<std::jthread> others;
        const auto most = std::min<std::int64_t>(std::thread::hardware_concurrency(), size() / worth_a_thread);
        for (std::int64_t i = 1; i < most; ++i) others.emplace_back(fill);
        fill();
    }
    torch::NoGradGuard no_gradient;
    weights_.copy_(values);
}

torch::Tensor Stage::product(const torch::Tensor& x, const torch::Tensor& weights) const {
    if (products_ == ProductType::fp32) return torch::mm(x, weights);
    return torch::mm(x.to(torch::kBFloat16), weights.to(torch::kBFloat16)).to(torch::kFloat32);
}

/// In bf16 where that keeps no scores: LibTorch's other one would round them.
torch::Tensor Stage::attend(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) const {
    if (products_ == ProductType::fp32 || !has_fused_attention) return causal_attention(query, key, value);
    const auto rounded = [](const torch::Tensor& t) { return t.to(torch::kBFloat16); };
    return causal_attention(rounded(query), rounded(key), rounded(value)).to(torch::kFloat32);
}

torch::Tensor Stage::embed(const torch::Tensor& tokens) const { return torch::embedding(embedding_, tokens); }

/// As attention, where several heads of queries share one of keys and values.
torch::Tensor Stage::grouped_attention(const Block& block, const torch::Tensor& x) const {
    const auto width = x.size(1), samples = x.size(0) / sequence_, head_width = width / heads_;
    const auto parts = product(rms_norm(x, block.attention_norm), block.qkv)
                           .view({samples, sequence_, heads_ + 2 * kv_heads_, head_width})
                           .split_with_sizes({heads_, kv_heads_, kv_heads_}, 2);
    const auto rotated = [&](const torch::Tensor& t, int which) {
        const auto pairs = torch::view_as_complex(t.reshape({samples, sequence_, t.size(2), head_width / 2, 2}));
        return torch::view_as_real(pairs * rotation_.select(1, which)).reshape(t.sizes());
    };
    // [samples x kv heads, sequence, head width], a kv head repeated for each of its group.
    const auto shared = [&](const torch::Tensor& t) {
        return t.transpose(1, 2)
            .unsqueeze(2)
            .expand({samples, kv_heads_, heads_ / kv_heads_, sequence_, head_width})
            .reshape({samples * heads_, sequence_, head_width});
    };
    const auto query = rotated(parts[0], 0).transpose(1, 2).reshape({samples * heads_, sequence_, head_width});
    const auto mixed = attend(query, shared(rotated(parts[1], 1)), shared(parts[2]));
    return mixed.view({samples, heads_, sequence_, head_width}).transpose(1, 2).reshape({x.size(0), width});
}

torch::Tensor Stage::attention(const Block& block, const torch::Tensor& x) const {
    if (kv_heads_ != heads_) return grouped_attention(block, x);
    const auto width = x.size(1), samples = x.size(0) / sequence_, head_width = width / heads_;
    const auto parts = product(rms_norm(x, block.attention_norm), block.qkv)
                           .view({samples, sequence_, 3, heads_, head_width / 2, 2})
                           .split_with_sizes({2, 1}, 2);
    const auto by_head = [&](const torch::Tensor& t) { return t.reshape({samples * heads_, sequence_, head_width}); };
    const auto rotated = torch::view_as_real(torch::view_as_complex(parts[0]) * rotation_).permute({2, 0, 3, 1, 4, 5});
    const auto query_key = rotated.reshape({2, samples * heads_, sequence_, head_width}).unbind(0);
    const auto value = by_head(parts[1].squeeze(2).transpose(1, 2));
    const auto mixed = attend(query_key[0], query_key[1], value);
    return mixed.view({samples, heads_, sequence_, head_width}).transpose(1, 2).reshape({x.size(0), width});
}

torch::Tensor Stage::forward(const torch::Tensor& input) const {
    auto x = input;
    for (const auto& block : blocks_) {
        if (products_ == ProductType::fp32) {
            x = torch::addmm(x, attention(block, x), block.attention_out);
            x = torch::addmm(x, swiglu(torch::mm(rms_norm(x, block.ffn_norm), block.gate_up)), block.down);
        } else {
            x = x + product(attention(block, x), block.attention_out);
            x = x + product(swiglu(product(rms_norm(x, block.ffn_norm), block.gate_up)), block.down);
        }
    }
    return x;
}

torch::Tensor Stage::loss_sum(const torch::Tensor& x, const torch::Tensor& targets) const {
    const auto logits = product(rms_norm(x, final_norm_), head_);
    return torch::nll_loss(torch::log_softmax(logits, 1), targets, {}, at::Reduction::Sum);
}

std::int64_t Stage::head_tokens() const {
    constexpr std::int64_t most_logits = std::int64_t{1} << 24, least_tokens = 256;
    return std::max(most_logits / head_.size(1), least_tokens);
}

torch::Tensor Stage::loss(const torch::Tensor& x, const torch::Tensor& targets) const {
    auto sum = torch::zeros({}, x.options().dtype(torch::kFloat64).requires_grad(false));
    const std::int64_t tokens = x.size(0), piece = head_tokens();
    for (std::int64_t at = 0; at < tokens; at += piece) {
        const auto count = std::min(piece, tokens - at);
        sum.add_(loss_sum(x.narrow(0, at, count), targets.narrow(0, at, count)));
    }
    return sum;
}

torch::Tensor Stage::loss_backward(torch::Tensor& dx, const torch::Tensor& x, const torch::Tensor& targets) const {
    auto sum = torch::zeros({}, x.options().dtype(torch::kFloat64).requires_grad(false));
    const std::int64_t tokens = x.size(0), piece = head_tokens();
    for (std::int64_t at = 0; at < tokens; at += piece) {
        const auto count = std::min(piece, tokens - at);
        const auto input = x.narrow(0, at, count).detach().set_requires_grad(true);
        const auto part = loss_sum(input, targets.narrow(0, at, count));
        accumulate_gradients(gradient_edge(part), torch::ones_like(part));
        dx.narrow(0, at, count).copy_(input.grad());
        sum.add_(part.detach());
    }
    return sum;
}

std::vector<torch::Tensor> Stage::body_tensors() const {
    std::vector<torch::Tensor> tensors;
    if (stage_ == 0) tensors.push_back(embedding_);
    for (const auto& block : blocks_)
        tensors.insert(tensors.end(), {block.attention_norm, block.qkv, block.attention_out, block.ffn_norm,
                                       block.gate_up, block.down});
    return tensors;
}

}  // namespace skippipe
