// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels that a stage on a device is made of, as a table: kernels/cuda fills it where a CUDA toolkit was there at
// build time; the tests fill it with the same sources run on the CPU.
#pragma once
#include "kernels/cuda/launch.h"

namespace skippipe {

/// Functions of kernels/cuda/launch.h; each returns CUDA's error number, 0 where there is none.
struct DeviceKernels {
    decltype(&kernels::cuda::runs_on) runs_on;
    decltype(&kernels::cuda::rms_norm) rms_norm;
    decltype(&kernels::cuda::rms_norm_workspace) rms_norm_workspace;
    decltype(&kernels::cuda::rms_norm_backward) rms_norm_backward;
    decltype(&kernels::cuda::softmax_cross_entropy) softmax_cross_entropy;
    decltype(&kernels::cuda::swiglu) swiglu;
    decltype(&kernels::cuda::swiglu_backward) swiglu_backward;
    decltype(&kernels::cuda::rotary) rotary;
    decltype(&kernels::cuda::rotary_backward) rotary_backward;
    decltype(&kernels::cuda::adamw) adamw;
    decltype(&kernels::cuda::accumulate) accumulate;
    decltype(&kernels::cuda::pack) pack;
};

/// CUDA's; null where this program was built without a CUDA toolkit.
const DeviceKernels* cuda_kernels();

/// Throws std::runtime_error where a launch failed.
void require_launched(int error, const char* kernel);

}  // namespace skippipe
