// SPDX-License-Identifier: GPL-3.0-or-later
// The table of device kernels, filled with kernels/cuda's sources run on the CPU by the block emulator.
#pragma once
#include "core/model/device_kernels.h"
#include "kernels/cuda/rows.h"
#include "tests/kernels/block_emulator.h"

namespace skippipe::testing {

using kernels::device::Bf16;
using Launched = kernels::cuda::Stream;

/// Every launch: few threads, in an order of its own.
inline int emulate(const BlockEmulator::Body& body, int blocks = 2, int threads = 32) {
    static std::uint64_t seed = 0;
    BlockEmulator(++seed).launch(blocks, threads, body);
    return 0;
}

inline const DeviceKernels& emulated_kernels() {
    namespace device = kernels::device;
    using std::size_t;
    static constexpr int norm_blocks = 2, norm_threads = 64;
    static const DeviceKernels table{
        .runs_on = [](int) { return true; },
        .rms_norm =
            [](Bf16* normed, float* factors, float* sum, const float* x, const Bf16* added, const float* weight,
               size_t rows, size_t width, float epsilon, Launched) {
                return emulate([&](EmulatedBlock& block) {
                    device::rms_norm<8>(block, normed, factors, sum, x, added, weight, rows, width, epsilon);
                });
            },
        .rms_norm_workspace = [](size_t width) { return norm_blocks * width; },
        .rms_norm_backward =
            [](float* dx, Bf16* rounded, Bf16* gradient, float* weight_gradient, const float* residual, const float* x,
               const float* weight, const float* factors, size_t rows, size_t width, float* workspace, Launched) {
                emulate(
                    [&](EmulatedBlock& block) {
                        device::rms_norm_backward<8>(block, dx, rounded, gradient, workspace, residual, x, weight,
                                                     factors, rows, width);
                    },
                    norm_blocks, norm_threads);
                return emulate([&](EmulatedBlock& block) {
                    device::add_rows(block, weight_gradient, workspace, norm_blocks, width);
                });
            },
        .softmax_cross_entropy =
            [](Bf16* logits, float* losses, const std::int64_t* targets, size_t rows, size_t vocabulary, Launched) {
                return emulate([&](EmulatedBlock& block) {
                    device::softmax_cross_entropy<8, 8>(block, logits, losses, targets, rows, vocabulary);
                });
            },
        .swiglu =
            [](Bf16* out, const Bf16* gate_up, size_t rows, size_t hidden, Launched) {
                return emulate([&](EmulatedBlock& block) { device::swiglu<8>(block, out, gate_up, rows, hidden); });
            },
        .swiglu_backward =
            [](Bf16* gate_up, Bf16* gradient, size_t rows, size_t hidden, Launched) {
                return emulate(
                    [&](EmulatedBlock& block) { device::swiglu_backward<8>(block, gate_up, gradient, rows, hidden); });
            },
        .rotary =
            [](Bf16* qkv, const float* table_of, size_t rows, const kernels::RotaryShape& shape, float query_scale,
               Launched) {
                return emulate(
                    [&](EmulatedBlock& block) { device::rotary<4>(block, qkv, table_of, rows, shape, query_scale); });
            },
        .rotary_backward =
            [](Bf16* qkv, const Bf16* query, const Bf16* key, const Bf16* value, const float* table_of, size_t rows,
               const kernels::RotaryShape& shape, float query_scale, Launched) {
                return emulate([&](EmulatedBlock& block) {
                    device::rotary_backward<4>(block, qkv, query, key, value, table_of, rows, shape, query_scale);
                });
            },
        .adamw =
            [](float* weights, Bf16* working, const float* gradient, float* m, float* v, size_t n,
               const kernels::cuda::AdamWStep& step, Launched) {
                return emulate(
                    [&](EmulatedBlock& block) { device::adamw<8>(block, weights, working, gradient, m, v, n, step); });
            },
        .accumulate =
            [](float* to, const Bf16* from, size_t n, Launched) {
                return emulate([&](EmulatedBlock& block) { device::accumulate<8>(block, to, from, n); });
            },
        .pack =
            [](Bf16* to, const float* from, float factor, size_t n, Launched) {
                return emulate([&](EmulatedBlock& block) { device::pack<8>(block, to, from, factor, n); });
            }};
    return table;
}

}  // namespace skippipe::testing
