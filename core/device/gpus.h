// SPDX-License-Identifier: GPL-3.0-or-later
// The GPUs of this machine.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/fault.h"

namespace skippipe {

struct CudaDriver;

struct Gpu {
    int index = 0;     ///< N of "cuda:N", as CUDA_VISIBLE_DEVICES leaves it
    std::string name;  ///< "NVIDIA H200"
    std::string uuid;  ///< "GPU-01234567-89ab-...", the same whatever CUDA_VISIBLE_DEVICES says
    double memory_bytes = 0;
    std::optional<double> free_bytes;  ///< of it, when it was asked for (core/device/nvml.h)
    bool operator==(const Gpu&) const = default;
};

struct AttachedGpus {
    std::vector<Gpu> list;
    Faults none;  ///< why there is none: one fault; empty where there are some
};

/// Those that the driver has. Throws std::runtime_error where it answers with an error.
std::vector<Gpu> list_gpus(const CudaDriver& driver);
/// Those of this machine; where there is none, or no driver, that is an answer and no error.
AttachedGpus attached_gpus();

/// 0 of "cuda:0"; -1 of "cuda", which leaves the choice; -2 of "cpu". Throws InputError at `pointer` where it is none
/// of these.
int device_number(const std::string& device, const std::string& pointer);
constexpr int any_gpu = -1, no_gpu = -2;

}  // namespace skippipe
