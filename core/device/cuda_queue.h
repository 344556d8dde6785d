// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/device/device_queue.h"

namespace skippipe {

struct CudaDriver;

/// A stream of one's own, beside all others; or the standard one, which LibTorch's operations go to from every thread
/// that chose no other: what is recorded there is behind them.
enum class CudaStream { own, standard };

/// A stream of GPU `index`, in the context that CUDA's runtime and LibTorch use as well. Throws InputError at "device"
/// where that GPU is not there; std::runtime_error with CUDA's words where it cannot be used.
std::shared_ptr<DeviceQueue> make_cuda_queue(const CudaDriver& driver, int index, CudaStream which = CudaStream::own);

}  // namespace skippipe
