// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are more than one of LibTorch's operations.
#pragma once
#include <torch/types.h>

namespace skippipe {

/// RMSNorm over the last dimension: x / sqrt(mean(x^2) + norm_epsilon) * weight.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight);

/// [n, 2 h] to [n, h]: silu(first half) * second half.
torch::Tensor swiglu(const torch::Tensor& gate_up);

}  // namespace skippipe
