// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that reaches below LibTorch's front end or differs between its versions (1.13 of Debian 12, 2.6 of Debian 13).
#pragma once
#include <torch/torch.h>
#include <torch/csrc/autograd/engine.h>

namespace skippipe {

using torch::autograd::Edge;

/// Where a tensor's gradient enters the graph; keeps the graph alive, but not the tensor.
inline Edge gradient_edge(const torch::Tensor& tensor) { return torch::autograd::impl::gradient_edge(tensor); }

/// Backward from one edge; gradients are added up in the leaves, and the graph is freed on the way.
inline void accumulate_gradients(const Edge& from, const torch::Tensor& gradient) {
    torch::autograd::Engine::get_default_engine().execute({from}, {gradient}, false, false, true);
}

/// Gradients of `inputs` alone, nothing is added up anywhere; undefined where an input took no part.
inline std::vector<torch::Tensor> gradients_of(const Edge& from, const torch::Tensor& gradient, const std::vector<torch::Tensor>& inputs,
                                               bool keep_graph) {
    torch::autograd::edge_list edges;
    for (const auto& input : inputs) edges.push_back(gradient_edge(input));
    return torch::autograd::Engine::get_default_engine().execute({from}, {gradient}, keep_graph, false, false, edges);
}

/// One thread inside an operation, for the calling thread: parallelism is over nodes.
inline void use_one_thread() { at::set_num_threads(1); }

}  // namespace skippipe
