// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/layers.h"

#include "core/model/llama.h"
#include "core/model/torch_compat.h"

namespace skippipe {

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight) {
    return x * torch::rsqrt((x * x).mean(-1, true) + norm_epsilon) * weight;
}

torch::Tensor swiglu(const torch::Tensor& gate_up) {
    const auto halves = gate_up.chunk(2, 1);
    return torch::silu(halves[0]) * halves[1];
}

}  // namespace skippipe
