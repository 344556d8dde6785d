// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>

#include "core/device/gpus.h"
#include "core/device/nvml.h"

namespace skippipe {

/// Where GPUs are asked for and read: this machine's driver and NVML, unless a test says otherwise. Called from any
/// thread.
struct GpuSource {
    std::function<AttachedGpus()> attached = attached_gpus;
    /// Throws InputError where NVML is missing, std::runtime_error where that GPU is not there.
    std::function<GpuReading(const std::string& uuid)> read = [](const std::string& uuid) {
        return read_gpu(nvml(), uuid);
    };
};

}  // namespace skippipe
