// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/device_stage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "core/data/llama_file.h"
#include "core/experiment/model_size.h"
#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

using kernels::cuda::Bf16;

constexpr float device_epsilon = static_cast<float>(norm_epsilon);
/// LibTorch's operations go to the standard stream, and so do the kernels.
constexpr kernels::cuda::Stream standard_stream = nullptr;

std::size_t count_of(std::int64_t n) { return static_cast<std::size_t>(n); }
std::size_t rows(const torch::Tensor& x) { return count_of(x.size(0)); }

float* f32(const torch::Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }
Bf16* bf16(const torch::Tensor& x) {
    return x.defined() ? reinterpret_cast<Bf16*>(x.data_ptr<at::BFloat16>()) : nullptr;
}

torch::Tensor like(const torch::Tensor& x, std::int64_t columns, at::ScalarType type) {
    return torch::empty({x.size(0), columns}, x.options().dtype(type));
}

/// Of bf16, rounded to it once: a GPU sums in fp32 between, LibTorch on a processor without AVX-512 does not.
torch::Tensor product(const torch::Tensor& left, const torch::Tensor& right) {
    if (left.is_cuda()) return torch::mm(left, right);
    return torch::mm(left.to(torch::kFloat), right.to(torch::kFloat)).to(left.dtype());
}

std::map<std::string, torch::Tensor> parts(const Stage& stage, const torch::Tensor& flat) {
    std::map<std::string, torch::Tensor> result;
    for (const auto& segment : stage.segments())
        result[segment.name] = flat.narrow(0, segment.offset, segment.size()).view(segment.shape);
    return result;
}

torch::Tensor rotary_table(const ModelSpec& model) {
    const std::int64_t half = model.width / model.heads / 2;
    auto table = torch::empty({2, model.sequence, half});
    auto* values = table.data_ptr<float>();
    for (std::int64_t i = 0; i < model.sequence * half; ++i) {
        const double angle = static_cast<double>(i / half) *
                             std::pow(model.rotary_base, -static_cast<double>(i % half) / static_cast<double>(half));
        values[i] = static_cast<float>(std::cos(angle));
        values[model.sequence * half + i] = static_cast<float>(std::sin(angle));
    }
    return table;
}

}  // namespace

bool DeviceStage::fits(const ModelSpec& model, ProductType products) {
    const int head_width = model.width / model.heads;
    constexpr int widest_head = 192, widest_row = 8192;
    return products == ProductType::bf16 && kv_heads(model) == model.heads && head_width % 8 == 0 &&
           head_width <= widest_head && model.width <= widest_row;
}

DeviceStage::DeviceStage(Stage& stage, const ModelSpec& model, const DeviceKernels& kernels, std::int64_t most_logits)
    : kernels_(&kernels),
      width_(model.width),
      hidden_(ffn_width(model)),
      heads_(model.heads),
      sequence_(model.sequence),
      vocabulary_(model.vocabulary),
      most_logits_(most_logits),
      exact_(stage.weights()),
      working_(torch::empty_like(stage.weights(), at::kBFloat16)),
      rotary_table_(rotary_table(model).to(stage.device())) {
    const auto exact = parts(stage, stage.weights().detach()), working = parts(stage, working_),
               gradients = parts(stage, stage.gradient());
    for (int block = 0; block < stage.blocks(); ++block) {
        const auto name = [&](const char* tensor) { return fmt::format("block{}.{}", block, tensor); };
        weights_.push_back({exact.at(name("attention_norm")), exact.at(name("ffn_norm")), working.at(name("qkv")),
                            working.at(name("attention_out")), working.at(name("gate_up")), working.at(name("down"))});
        gradients_.push_back({gradients.at(name("attention_norm")), gradients.at(name("ffn_norm")),
                              gradients.at(name("qkv")), gradients.at(name("attention_out")),
                              gradients.at(name("gate_up")), gradients.at(name("down"))});
    }
    if (stage.stage() != 0) return;
    head_ = working.at("head");
    final_norm_ = exact.at("final_norm");
    embedding_gradient_ = gradients.at("embedding");
    head_gradient_ = gradients.at("head");
    final_norm_gradient_ = gradients.at("final_norm");
}

void DeviceStage::refresh() {
    const auto version = static_cast<std::int64_t>(exact_._version());
    if (version == version_) return;
    torch::NoGradGuard no_gradient;
    working_.copy_(exact_);
    version_ = version;
}

torch::Tensor DeviceStage::rounded(const torch::Tensor& x) const {
    auto to = like(x, width_, at::kBFloat16);
    require_launched(kernels_->pack(bf16(to), f32(x), 1, count_of(x.numel()), standard_stream), "pack");
    return to;
}

void DeviceStage::norm(torch::Tensor& normed, torch::Tensor& factors, const torch::Tensor& x,
                       const torch::Tensor& weight, const torch::Tensor& sum, const torch::Tensor& added) const {
    require_launched(kernels_->rms_norm(bf16(normed), f32(factors), f32(sum), f32(x), bf16(added), f32(weight), rows(x),
                                        count_of(width_), device_epsilon, standard_stream),
                     "rms_norm");
}

void DeviceStage::norm_backward(torch::Tensor& dx, torch::Tensor& dx_rounded, torch::Tensor& gradient,
                                torch::Tensor weight_gradient, const torch::Tensor& residual, const torch::Tensor& x,
                                const torch::Tensor& weight, const torch::Tensor& factors) const {
    const auto space =
        torch::empty({static_cast<std::int64_t>(kernels_->rms_norm_workspace(count_of(width_)))}, x.options());
    require_launched(kernels_->rms_norm_backward(f32(dx), bf16(dx_rounded), bf16(gradient), f32(weight_gradient),
                                                 f32(residual), f32(x), f32(weight), f32(factors), rows(x),
                                                 count_of(width_), f32(space), standard_stream),
                     "rms_norm_backward");
}

/// sum [k, m] += left [n, k]^T right [n, m].
void DeviceStage::add_product(torch::Tensor& sum, const torch::Tensor& left, const torch::Tensor& right) const {
    if (has_wide_products && sum.is_cuda()) return add_wide_product(sum, left.t(), right);
    const auto both = product(left.t(), right);
    require_launched(kernels_->accumulate(f32(sum), bf16(both), count_of(sum.numel()), standard_stream), "accumulate");
}

kernels::RotaryShape DeviceStage::turn() const {
    return {count_of(sequence_), count_of(heads_), count_of(width_ / heads_)};
}

float DeviceStage::query_scale() const { return 1 / std::sqrt(static_cast<float>(width_ / heads_)); }

torch::Tensor DeviceStage::forward(const torch::Tensor& input, DeviceKept* kept) const {
    if (version_ < 0) throw std::logic_error("no weights have been rounded yet");
    torch::NoGradGuard no_gradient;
    const c10::DeviceGuard guard(exact_.device());
    if (kept) kept->resize(weights_.size());
    auto normed = like(input, width_, at::kBFloat16), out = input, factors = torch::Tensor();
    const auto new_factors = [&] { return kept ? torch::empty({input.size(0)}, input.options()) : torch::Tensor(); };
    if (!weights_.empty()) norm(normed, factors = new_factors(), input, weights_.front().attention_norm);
    for (std::size_t block = 0; block < weights_.size(); ++block) {
        const auto& w = weights_[block];
        DeviceBlock made;
        made.x = out;
        made.input_factors = factors;
        made.qkv = product(normed, w.qkv);
        require_launched(
            kernels_->rotary(bf16(made.qkv), f32(rotary_table_), rows(input), turn(), query_scale(), standard_stream),
            "rotary");
        made.attended = device_attention(made.qkv, {sequence_, heads_}, kept ? &made.attention : nullptr);
        made.middle = torch::empty_like(input);
        made.middle_factors = new_factors();
        norm(normed, made.middle_factors, out, w.ffn_norm, made.middle, product(made.attended, w.attention_out));
        made.gate_up = product(normed, w.gate_up);
        auto activated = like(input, hidden_, at::kBFloat16);
        require_launched(
            kernels_->swiglu(bf16(activated), bf16(made.gate_up), rows(input), count_of(hidden_), standard_stream),
            "swiglu");
        const auto down = product(activated, w.down);
        if (block + 1 == weights_.size()) {
            out = made.middle + down;
        } else {
            out = torch::empty_like(input);
            norm(normed, factors = new_factors(), made.middle, weights_[block + 1].attention_norm, out, down);
        }
        if (kept) (*kept)[block] = std::move(made);
    }
    return out;
}

torch::Tensor DeviceStage::block_input_gradient(int block, const torch::Tensor& gradient, DeviceKept& kept) const {
    const auto& w = weights_[static_cast<std::size_t>(block)];
    auto& k = kept.at(static_cast<std::size_t>(block));
    const auto n = rows(gradient);
    if (!k.output_gradient.defined()) k.output_gradient = rounded(gradient);
    k.norm_gradients = torch::zeros({2, width_}, gradient.options());
    k.hidden = product(k.output_gradient, w.down.t());
    require_launched(kernels_->swiglu_backward(bf16(k.gate_up), bf16(k.hidden), n, count_of(hidden_), standard_stream),
                     "swiglu_backward");
    k.ffn_normed = product(k.gate_up, w.gate_up.t());
    auto middle = torch::empty_like(gradient), dx = torch::empty_like(gradient), dx_rounded = torch::Tensor();
    k.middle_gradient = like(gradient, width_, at::kBFloat16);
    norm_backward(middle, k.middle_gradient, k.ffn_normed, k.norm_gradients[1], gradient, k.middle, w.ffn_norm,
                  k.middle_factors);
    const auto attended = product(k.middle_gradient, w.attention_out.t());
    const auto [query, key, value] = device_attention_backward(attended, k.qkv, {sequence_, heads_}, k.attention);
    require_launched(kernels_->rotary_backward(bf16(k.qkv), bf16(query), bf16(key), bf16(value), f32(rotary_table_), n,
                                               turn(), query_scale(), standard_stream),
                     "rotary_backward");
    k.attention_normed = product(k.qkv, w.qkv.t());
    if (block > 0)  // which reads it so
        dx_rounded = kept[static_cast<std::size_t>(block) - 1].output_gradient = like(gradient, width_, at::kBFloat16);
    norm_backward(dx, dx_rounded, k.attention_normed, k.norm_gradients[0], middle, k.x, w.attention_norm,
                  k.input_factors);
    return dx;
}

void DeviceStage::block_weight_gradient(int block, DeviceBlock& k) {
    auto& sums = gradients_[static_cast<std::size_t>(block)];
    add_product(sums.down, k.hidden, k.output_gradient);
    add_product(sums.gate_up, k.ffn_normed, k.gate_up);
    add_product(sums.attention_out, k.attended, k.middle_gradient);
    add_product(sums.qkv, k.attention_normed, k.qkv);
    sums.attention_norm.add_(k.norm_gradients[0]);
    sums.ffn_norm.add_(k.norm_gradients[1]);
    k = {};
}

torch::Tensor DeviceStage::backward(const torch::Tensor& gradient, DeviceKept& kept) {
    torch::NoGradGuard no_gradient;
    const c10::DeviceGuard guard(exact_.device());
    auto dx = gradient;
    for (int block = blocks() - 1; block >= 0; --block) {
        dx = block_input_gradient(block, dx, kept);
        block_weight_gradient(block, kept[static_cast<std::size_t>(block)]);
    }
    kept.clear();
    return dx;
}

torch::Tensor DeviceStage::input_gradient(const torch::Tensor& gradient, DeviceKept& kept) const {
    torch::NoGradGuard no_gradient;
    const c10::DeviceGuard guard(exact_.device());
    auto dx = gradient;
    for (int block = blocks() - 1; block >= 0; --block) dx = block_input_gradient(block, dx, kept);
    return dx;
}

void DeviceStage::weight_gradient(DeviceKept& kept) {
    torch::NoGradGuard no_gradient;
    const c10::DeviceGuard guard(exact_.device());
    for (int block = blocks() - 1; block >= 0; --block)
        block_weight_gradient(block, kept.at(static_cast<std::size_t>(block)));
    kept.clear();
}

void DeviceStage::embed_backward(const torch::Tensor& gradient, const torch::Tensor& tokens) {
    torch::NoGradGuard no_gradient;
    embedding_gradient_.index_add_(0, tokens, gradient);
}

torch::Tensor DeviceStage::head_pass(torch::Tensor* dx, const torch::Tensor& x, const torch::Tensor& targets) const {
    torch::NoGradGuard no_gradient;
    const c10::DeviceGuard guard(exact_.device());
    auto losses = torch::empty({x.size(0)}, x.options()), factors = torch::empty({x.size(0)}, x.options());
    const std::int64_t tokens = x.size(0), piece = std::max<std::int64_t>(most_logits_ / vocabulary_, 1);
    for (std::int64_t begin = 0; begin < tokens; begin += piece) {
        const auto count = std::min(piece, tokens - begin);
        const auto from = x.narrow(0, begin, count);
        auto normed = like(from, width_, at::kBFloat16), its_factors = factors.narrow(0, begin, count);
        norm(normed, its_factors, from, final_norm_);
        const auto logits = product(normed, head_);
        require_launched(
            kernels_->softmax_cross_entropy(bf16(logits), f32(losses) + begin, targets.data_ptr<std::int64_t>() + begin,
                                            count_of(count), count_of(vocabulary_), standard_stream),
            "softmax_cross_entropy");
        if (!dx) continue;
        auto sum = head_gradient_, slope = product(logits, head_.t()), to = dx->narrow(0, begin, count),
             unrounded = torch::Tensor();
        add_product(sum, normed, logits);
        norm_backward(to, unrounded, slope, final_norm_gradient_, {}, from, final_norm_, its_factors);
    }
    return losses.sum(at::kDouble);
}

torch::Tensor DeviceStage::loss(const torch::Tensor& x, const torch::Tensor& targets) const {
    return head_pass(nullptr, x, targets);
}

torch::Tensor DeviceStage::loss_backward(torch::Tensor& dx, const torch::Tensor& x, const torch::Tensor& targets) {
    return head_pass(&dx, x, targets);
}

}  // namespace skippipe
