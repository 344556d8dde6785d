// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that reaches below LibTorch's front end or differs between its versions (1.13 of Debian 12, 2.6 of Debian
// 13).
#pragma once
#include <cstring>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <vector>

// Not <torch/torch.h>: the whole front end costs twice the time to compile, and only tensors and autograd are used.
#include <c10/core/Allocator.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

namespace skippipe {

using torch::autograd::Edge;

/// Where a tensor's gradient enters the graph; keeps the graph alive, but not the tensor.
inline Edge gradient_edge(const torch::Tensor& tensor) { return torch::autograd::impl::gradient_edge(tensor); }

/// Backward from one edge; gradients are added up in the leaves, and the graph is freed on the way.
inline void accumulate_gradients(const Edge& from, const torch::Tensor& gradient) {
    torch::autograd::Engine::get_default_engine().execute({from}, {gradient}, false, false, true);
}

/// Gradients of `inputs` alone, nothing is added up anywhere; undefined where an input took no part.
inline std::vector<torch::Tensor> gradients_of(const Edge& from, const torch::Tensor& gradient,
                                               const std::vector<torch::Tensor>& inputs, bool keep_graph) {
    torch::autograd::edge_list edges;
    for (const auto& input : inputs) edges.push_back(gradient_edge(input));
    return torch::autograd::Engine::get_default_engine().execute({from}, {gradient}, keep_graph, false, false, edges);
}

/// Whether LibTorch has an attention that keeps no scores (2.1 and later).
inline constexpr bool has_fused_attention = TORCH_VERSION_MAJOR > 2 ||
                                            (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1);
/// Whether LibTorch adds a product of bf16 to fp32 (2.8 and later).
inline constexpr bool has_wide_products = TORCH_VERSION_MAJOR > 2 ||
                                          (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8);

/// softmax(query key^T + causal mask) value, all [heads, sequence, head width], queries scaled already.
inline torch::Tensor causal_attention(const torch::Tensor& query, const torch::Tensor& key,
                                      const torch::Tensor& value) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    return at::scaled_dot_product_attention(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0), {}, 0.0, true,
                                            1.0)
        .squeeze(0);
#else
    auto scores = torch::bmm(query, key.transpose(1, 2));
    // Made anew: as large as a head's scores, it would outweigh all else that a stage holds between its operations.
    const auto mask =
        torch::full({scores.size(1), scores.size(2)}, -std::numeric_limits<float>::infinity(), scores.options())
            .triu(1);
    return torch::bmm(torch::softmax(scores.add_(mask), -1), value);
#endif
}

/// What attention on a GPU leaves for its way back.
struct FusedAttention {
    torch::Tensor out;  ///< [samples, heads, sequence, head width]
    torch::Tensor log_sums, first_query, first_key, random_state, random_offset;
};
/// Causal, of [samples, heads, sequence, head width] in bf16 on a GPU, queries scaled already. Both where
/// has_fused_attention alone.
inline FusedAttention fused_attention(const torch::Tensor& query, const torch::Tensor& key,
                                      const torch::Tensor& value) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    const auto found = at::_scaled_dot_product_flash_attention(query, key, value, 0, true, false, 1.0);
    return {std::get<0>(found), std::get<1>(found), std::get<2>(found),
            std::get<3>(found), std::get<6>(found), std::get<7>(found)};
#else
    static_cast<void>(query), static_cast<void>(key), static_cast<void>(value);
    throw std::logic_error("LibTorch has no fused attention before 2.1");
#endif
}
/// Gradients of query, key and value.
inline std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> fused_attention_backward(const torch::Tensor& gradient,
                                                                                        const torch::Tensor& query,
                                                                                        const torch::Tensor& key,
                                                                                        const torch::Tensor& value,
                                                                                        const FusedAttention& kept) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    const auto sequence = query.size(2);
    return at::_scaled_dot_product_flash_attention_backward(gradient, query, key, value, kept.out, kept.log_sums,
                                                            kept.first_query, kept.first_key, sequence, sequence, 0,
                                                            true, kept.random_state, kept.random_offset, 1.0);
#else
    static_cast<void>(gradient), static_cast<void>(query), static_cast<void>(key), static_cast<void>(value);
    static_cast<void>(kept);
    throw std::logic_error("LibTorch has no fused attention before 2.1");
#endif
}

/// sum += left right, of bf16 on a GPU, in fp32. Where has_wide_products alone.
inline void add_wide_product(torch::Tensor& sum, const torch::Tensor& left, const torch::Tensor& right) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
    at::addmm_out(sum, sum, left, right, at::kFloat);
#else
    static_cast<void>(sum), static_cast<void>(left), static_cast<void>(right);
    throw std::logic_error("LibTorch adds no product of bf16 to fp32 before 2.8");
#endif
}

/// One thread inside an operation, for the calling thread: parallelism is over nodes.
inline void use_one_thread() { at::set_num_threads(1); }

/// Memory of tensors on the CPU from two functions: bytes to memory for them, and that memory back.
class CpuMemory final : public c10::Allocator {
public:
    CpuMemory(void* (*take)(std::size_t bytes), void (*give)(void* memory)) : take_(take), give_(give) {}
    // LibTorch's own is const in 1.13 and not in 2.6, where copy_data is its own too: none says override.
    c10::DataPtr allocate(std::size_t bytes) const { return taken(bytes); }
    c10::DataPtr allocate(std::size_t bytes) { return taken(bytes); }
    void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    c10::DeleterFnPtr raw_deleter() const override { return give_; }

private:
    c10::DataPtr taken(std::size_t bytes) const {
        void* memory = bytes > 0 ? take_(bytes) : nullptr;
        return {memory, memory, give_, at::Device(at::kCPU)};
    }
    void* (*take_)(std::size_t);
    void (*give_)(void*);
};

/// For the whole process, from its first tensor on. `memory` lives as long as the process.
inline void use_memory(CpuMemory& memory) { c10::SetAllocator(at::kCPU, &memory); }

}  // namespace skippipe
