// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <torch/types.h>

#include "core/experiment/document.h"
#include "kernels/vector.h"

namespace skippipe {

/// Learning rate of an iteration (0-based): linear warm-up, then constant.
double learning_rate(const Training& training, int iteration);

/// Factor for each stage's gradient, given the squared norms of the stages that stepped (negative: the stage does not
/// step).
std::vector<double> clip_factors(const Training& training, const std::vector<double>& squared_norms);

/// Norm over all stages that step.
double total_norm(const std::vector<double>& squared_norms);

/// The step's parameters without clipping; `step` counts the steps of the stage, 1 at the first.
kernels::AdamW step_parameters(const Training& training, int iteration, long long step);

/// AdamW in LibTorch's operations, for any device; `weights` and the rest are flat and of one size.
void adamw_tensors(torch::Tensor weights, const torch::Tensor& gradient, torch::Tensor m, torch::Tensor v,
                   const kernels::AdamW& parameters);

}  // namespace skippipe
