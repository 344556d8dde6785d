// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/fused_stage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "core/model/buffers.h"
#include "core/model/matmul.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/norm.h"
#include "kernels/rotary.h"
#include "kernels/swiglu.h"
#include "kernels/vector.h"

namespace skippipe {

namespace {

constexpr float epsilon = static_cast<float>(norm_epsilon);

/// Scratch of a thread, by purpose.
enum Slot : std::size_t {
    normed,
    hidden,
    one_block,
    workspace,
    logits,
    between_scratch,
    attended_gradient,
    recomputed_blocks
};

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

std::map<std::string, float*> pointers(const Stage& stage, torch::Tensor& flat) {
    std::map<std::string, float*> result;
    for (const auto& segment : stage.segments()) result[segment.name] = flat.data_ptr<float>() + segment.offset;
    return result;
}

}  // namespace

/// What the forward keeps of a block, [n, ...] each.
struct FusedStage::Kept {
    float *x, *qkv, *attended, *log_sums, *middle, *gate_up;
};

/// What a block's input gradient leaves for its weight gradients.
struct FusedStage::Between {
    float *hidden, *ffn_normed, *middle_gradient, *attention_normed, *dx, *norm_gradients;
};

std::int64_t activation_floats(const ModelSpec& model, int blocks, std::int64_t tokens) {
    return tokens *
           (blocks * (6LL * model.width + 2LL * ffn_width(model) + model.heads) - (blocks > 0 ? model.width : 0));
}

std::int64_t split_floats(const ModelSpec& model, int blocks, std::int64_t tokens) {
    return blocks * (tokens * (4LL * model.width + ffn_width(model)) + 2LL * model.width);
}

FusedStage::FusedStage(Stage& stage, const ModelSpec& model, ProductType products)
    : products_(products),
      width_(model.width),
      hidden_(ffn_width(model)),
      heads_(model.heads),
      sequence_(model.sequence),
      vocabulary_(model.vocabulary),
      head_rows_(head_rows(model, std::numeric_limits<std::int64_t>::max())) {
    const auto weights = pointers(stage, stage.weights()), gradients = pointers(stage, stage.gradient());
    for (const auto& [from, to] : {std::pair{&weights, &weights_}, std::pair{&gradients, &gradients_}})
        for (int block = 0; from->contains(fmt::format("block{}.qkv", block)); ++block) {
            const auto get = [&](const char* tensor) { return from->at(fmt::format("block{}.{}", block, tensor)); };
            to->push_back({get("attention_norm"), get("qkv"), get("attention_out"), get("ffn_norm"), get("gate_up"),
                           get("down")});
        }
    blocks_ = static_cast<int>(weights_.size());
    if (stage.stage() == 0) {
        head_ = {weights.at("embedding"), weights.at("final_norm"), weights.at("head")};
        head_gradient_ = {gradients.at("embedding"), gradients.at("final_norm"), gradients.at("head")};
    }
    const kernels::RotaryShape shape{size(sequence_), size(heads_), size(width_ / heads_)};
    rotary_table_.resize(kernels::rotary_table_size(shape));
    kernels::fill_rotary_table(rotary_table_.data(), shape, model.rotary_base);
}

void FusedStage::embed(float* x, const std::int64_t* tokens, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i)
        std::memcpy(x + i * width_, head_.embedding + tokens[i] * width_, size(width_) * sizeof(float));
}

void FusedStage::embed_backward(const float* dx, const std::int64_t* tokens, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
        kernels::sum_into(head_gradient_.embedding + tokens[i] * width_, dx + i * width_, size(width_));
}

FusedStage::Kept FusedStage::kept_of(float* kept, int block, std::int64_t n) const {
    const auto take = [&](std::int64_t each) { return std::exchange(kept, kept + each * n); };
    if (block > 0) kept += n * (block * (6 * width_ + 2 * hidden_ + heads_) - width_);
    Kept k{};
    if (block > 0) k.x = take(width_);
    k.qkv = take(3 * width_);
    k.attended = take(width_);
    k.log_sums = take(heads_);
    k.middle = take(width_);
    k.gate_up = take(2 * hidden_);
    return k;
}

FusedStage::Between FusedStage::between_of(float* between, int block, std::int64_t n) const {
    const auto take = [&](std::int64_t each) { return std::exchange(between, between + each); };
    between += block * (n * (4 * width_ + hidden_) + 2 * width_);
    return {take(n * hidden_), take(n * width_), take(n * width_),
            take(n * width_),  take(n * width_), take(2 * width_)};
}

void FusedStage::attend(float* out, float* log_sums, const float* qkv, std::int64_t n) const {
    const kernels::AttentionShape shape{size(sequence_), size(heads_), size(width_ / heads_)};
    auto* space =
        Scratch::of_this_thread().part(workspace, static_cast<std::int64_t>(kernels::attention_workspace(shape)));
    for (std::int64_t i = 0; i < n; i += sequence_)
        kernels::causal_attention(out + i * width_, log_sums + i * heads_, qkv + i * 3 * width_, shape, space);
}

void FusedStage::attend_backward(float* qkv, const float* dout, const float* out, const float* log_sums,
                                 std::int64_t n) const {
    const kernels::AttentionShape shape{size(sequence_), size(heads_), size(width_ / heads_)};
    auto* space =
        Scratch::of_this_thread().part(workspace, static_cast<std::int64_t>(kernels::attention_workspace(shape)));
    for (std::int64_t i = 0; i < n; i += sequence_)
        kernels::causal_attention_backward(qkv + i * 3 * width_, dout + i * width_, out + i * width_,
                                           log_sums + i * heads_, shape, space);
}

float* FusedStage::recomputed(std::int64_t n) const {
    return Scratch::of_this_thread().part(
        recomputed_blocks, n * (blocks_ * (6 * width_ + 2 * hidden_ + heads_) - (blocks_ > 0 ? width_ : 0)));
}

void FusedStage::forward(float* out, const float* x, float* kept, std::int64_t n) const {
    auto& scratch = Scratch::of_this_thread();
    const kernels::RotaryShape turn{size(sequence_), size(heads_), size(width_ / heads_)};
    const float query_scale = 1 / std::sqrt(static_cast<float>(width_ / heads_));
    auto* norm = scratch.part(normed, n * width_);
    auto* activated = scratch.part(hidden, n * hidden_);
    // Without `kept` all blocks use the same memory: what a block reads is no longer needed when its successor's input
    // is written.
    auto* shared = kept ? nullptr : scratch.part(one_block, n * (6 * width_ + 2 * hidden_ + heads_));
    const auto memory = [&](int block) {
        auto k = kept_of(kept ? kept : shared, kept ? block : 0, n);
        if (!kept) k.x = k.gate_up + 2 * n * hidden_;
        return k;
    };
    if (blocks_ == 0) {
        if (out) std::memcpy(out, x, size(n * width_) * sizeof(float));
        return;
    }
    kernels::rms_norm(norm, x, weights_[0].attention_norm, size(n), size(width_), epsilon);
    for (int block = 0; block < blocks_; ++block) {
        const auto& w = weights_[static_cast<std::size_t>(block)];
        const auto k = memory(block);
        multiply(k.qkv, {norm, n, width_}, {w.qkv, width_, 3 * width_}, products_);
        kernels::rotary(k.qkv, rotary_table_.data(), size(n), turn, query_scale);
        attend(k.attended, k.log_sums, k.qkv, n);
        multiply(k.middle, {k.attended, n, width_}, {w.attention_out, width_, width_}, products_);
        kernels::add_rms_norm(norm, k.middle, block == 0 ? x : k.x, w.ffn_norm, size(n), size(width_), epsilon);
        multiply(k.gate_up, {norm, n, width_}, {w.gate_up, width_, 2 * hidden_}, products_);
        const bool last = block + 1 == blocks_;
        if (last && !out) return;
        kernels::swiglu(activated, k.gate_up, size(n), size(hidden_));
        float* next = last ? out : memory(block + 1).x;
        multiply(next, {activated, n, hidden_}, {w.down, hidden_, width_}, products_);
        if (last)
            kernels::sum_into(next, k.middle, size(n * width_));
        else
            kernels::add_rms_norm(norm, next, k.middle, weights_[static_cast<std::size_t>(block) + 1].attention_norm,
                                  size(n), size(width_), epsilon);
    }
}

void FusedStage::block_input_gradient(int block, float* dx, const float* dy, const float* x, const Kept& k,
                                      const Between& g, std::int64_t n) const {
    const auto& w = weights_[static_cast<std::size_t>(block)];
    const kernels::RotaryShape turn{size(sequence_), size(heads_), size(width_ / heads_)};
    const float query_scale = 1 / std::sqrt(static_cast<float>(width_ / heads_));
    std::fill(g.norm_gradients, g.norm_gradients + 2 * width_, 0.0f);
    multiply(g.hidden, {dy, n, width_}, transpose({w.down, hidden_, width_}), products_);
    kernels::swiglu_backward(k.gate_up, g.hidden, size(n), size(hidden_));
    multiply(g.ffn_normed, {k.gate_up, n, 2 * hidden_}, transpose({w.gate_up, width_, 2 * hidden_}), products_);
    kernels::rms_norm_backward(g.middle_gradient, g.ffn_normed, g.norm_gradients + width_, dy, k.middle, w.ffn_norm,
                               size(n), size(width_), epsilon);
    auto* dattended = Scratch::of_this_thread().part(attended_gradient, n * width_);
    multiply(dattended, {g.middle_gradient, n, width_}, transpose({w.attention_out, width_, width_}), products_);
    attend_backward(k.qkv, dattended, k.attended, k.log_sums, n);
    kernels::rotary_backward(k.qkv, rotary_table_.data(), size(n), turn, query_scale);
    multiply(g.attention_normed, {k.qkv, n, 3 * width_}, transpose({w.qkv, width_, 3 * width_}), products_);
    kernels::rms_norm_backward(dx, g.attention_normed, g.norm_gradients, g.middle_gradient, x, w.attention_norm,
                               size(n), size(width_), epsilon);
}

void FusedStage::block_weight_gradient(int block, const float* dy, const Kept& k, const Between& g, std::int64_t n) {
    const auto& sums = gradients_[static_cast<std::size_t>(block)];
    multiply_add(sums.down, transpose({g.hidden, n, hidden_}), {dy, n, width_}, products_);
    multiply_add(sums.gate_up, transpose({g.ffn_normed, n, width_}), {k.gate_up, n, 2 * hidden_}, products_);
    multiply_add(sums.attention_out, transpose({k.attended, n, width_}), {g.middle_gradient, n, width_}, products_);
    multiply_add(sums.qkv, transpose({g.attention_normed, n, width_}), {k.qkv, n, 3 * width_}, products_);
    kernels::sum_into(sums.attention_norm, g.norm_gradients, size(width_));
    kernels::sum_into(sums.ffn_norm, g.norm_gradients + width_, size(width_));
}

void FusedStage::backward(float* dx, const float* dy, const float* x, float* kept, std::int64_t n) {
    if (blocks_ == 0) return void(std::memcpy(dx, dy, size(n * width_) * sizeof(float)));
    const auto each = n * (4 * width_ + hidden_) + 2 * width_;
    auto* between = Scratch::of_this_thread().part(between_scratch, each + n * width_);
    for (int block = blocks_ - 1; block >= 0; --block) {
        const auto k = kept_of(kept, block, n);
        auto g = between_of(between, 0, n);
        if (block % 2 == 1) g.dx = between + each;  // the one before reads it while it writes the other
        block_input_gradient(block, block == 0 ? dx : g.dx, dy, block == 0 ? x : k.x, k, g, n);
        block_weight_gradient(block, dy, k, g, n);
        dy = g.dx;
    }
}

void FusedStage::input_gradient(float* dx, const float* dy, const float* x, float* kept, float* between,
                                std::int64_t n) const {
    if (blocks_ == 0) return void(std::memcpy(dx, dy, size(n * width_) * sizeof(float)));
    for (int block = blocks_ - 1; block >= 0; --block) {
        const auto k = kept_of(kept, block, n);
        const auto g = between_of(between, block, n);
        block_input_gradient(block, block == 0 ? dx : g.dx, dy, block == 0 ? x : k.x, k, g, n);
        dy = g.dx;
    }
}

void FusedStage::weight_gradient(const float* dy, const float* kept, const float* between, std::int64_t n) {
    for (int block = blocks_ - 1; block >= 0; --block) {
        const auto g = between_of(const_cast<float*>(between), block, n);
        block_weight_gradient(block, dy, kept_of(const_cast<float*>(kept), block, n), g, n);
        dy = g.dx;
    }
}

double FusedStage::head_pass(float* dx, const float* x, const std::int64_t* targets, std::int64_t n,
                             bool backward) const {
    auto& scratch = Scratch::of_this_thread();
    const auto rows = std::min(head_rows_, n);
    auto* norm = scratch.part(normed, rows * width_);
    auto* slopes = scratch.part(logits, rows * vocabulary_);
    double loss = 0;
    for (std::int64_t begin = 0; begin < n; begin += rows) {
        const auto count = std::min(rows, n - begin);
        const float* from = x + begin * width_;
        const MatrixView head{head_.head, width_, vocabulary_};
        kernels::rms_norm(norm, from, head_.final_norm, size(count), size(width_), epsilon);
        multiply(slopes, {norm, count, width_}, head, products_);
        if (!backward) {
            loss += kernels::cross_entropy(slopes, targets + begin, size(count), size(vocabulary_));
            continue;
        }
        loss += kernels::softmax_cross_entropy(slopes, targets + begin, size(count), size(vocabulary_));
        multiply_add(head_gradient_.head, transpose({norm, count, width_}), {slopes, count, vocabulary_}, products_);
        multiply(norm, {slopes, count, vocabulary_}, transpose(head), products_);
        float* to = dx + begin * width_;
        std::fill(to, to + count * width_, 0.0f);
        kernels::rms_norm_backward(to, norm, head_gradient_.final_norm, to, from, head_.final_norm, size(count),
                                   size(width_), epsilon);
    }
    return loss;
}

double FusedStage::loss(const float* x, const std::int64_t* targets, std::int64_t n) const {
    return head_pass(nullptr, x, targets, n, false);
}

double FusedStage::loss_backward(float* dx, const float* x, const std::int64_t* targets, std::int64_t n) {
    return head_pass(dx, x, targets, n, true);
}

}  // namespace skippipe
