// SPDX-License-Identifier: GPL-3.0-or-later
// Messages rounded where they lie, by LibTorch's operations: what stays on a GPU is not fetched to be rounded, and what
// leaves it is small before it does. To the bit what wire.h makes of the same values, but for what is no number.
#pragma once
#include <cstddef>

#include <torch/types.h>

#include "core/experiment/model_size.h"

namespace skippipe {

/// Values [rows, width] fp32 as they travel: uint8 [wire_bytes] on the same device. `residual` [rows x width] there,
/// where it is given, as encode's.
torch::Tensor encoded_there(const torch::Tensor& values, WireType wire, torch::Tensor* residual = nullptr);

/// And back: fp32 [rows, width] on the device of the bytes.
torch::Tensor decoded_there(const torch::Tensor& bytes, std::int64_t rows, std::int64_t width, WireType wire);

}  // namespace skippipe
