// SPDX-License-Identifier: GPL-3.0-or-later
// SwiGLU of rows. `gate_up` is fp32 [rows, 2 hidden], the gates first; arrays do not overlap.
#pragma once
#include <cstddef>

namespace skippipe::kernels {

/// out [rows, hidden] = silu(gate) * up, silu(x) = x / (1 + e^-x).
void swiglu(float* out, const float* gate_up, std::size_t rows, std::size_t hidden) noexcept;

/// `gate_up` goes out as its own gradient; `gradient` comes in as the gradient of swiglu's result and goes out as that
/// result (the weight gradient of the product behind it needs it).
void swiglu_backward(float* gate_up, float* gradient, std::size_t rows, std::size_t hidden) noexcept;

}  // namespace skippipe::kernels
