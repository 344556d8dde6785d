// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/device_kernels.h"

#include <stdexcept>

#include <fmt/format.h>

namespace skippipe {

const DeviceKernels* cuda_kernels() {
#ifdef SKIPPIPE_CUDA_KERNELS
    namespace cuda = kernels::cuda;
    static constexpr DeviceKernels table{.runs_on = cuda::runs_on,
                                         .rms_norm = cuda::rms_norm,
                                         .rms_norm_workspace = cuda::rms_norm_workspace,
                                         .rms_norm_backward = cuda::rms_norm_backward,
                                         .softmax_cross_entropy = cuda::softmax_cross_entropy,
                                         .swiglu = cuda::swiglu,
                                         .swiglu_backward = cuda::swiglu_backward,
                                         .rotary = cuda::rotary,
                                         .rotary_backward = cuda::rotary_backward,
                                         .adamw = cuda::adamw,
                                         .accumulate = cuda::accumulate,
                                         .pack = cuda::pack};
    return &table;
#else
    return nullptr;
#endif
}

void require_launched(int error, const char* kernel) {
    if (error != 0)
        throw std::runtime_error(fmt::format("the kernel {} was not launched: CUDA's error {}", kernel, error));
}

}  // namespace skippipe
