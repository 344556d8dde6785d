// SPDX-License-Identifier: GPL-3.0-or-later
// What a GPU says of itself while it works: NVML (libnvidia-ml.so.1, part of the driver), opened at run time, as a
// table of functions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/device/gpus.h"

namespace skippipe {

/// nvmlReturn_t: 0 is success.
using NvmlResult = int;
struct NvmlDevice;  // NVML's own
struct NvmlUtilization {
    unsigned gpu, memory;  ///< percent of the last sample period (a sixth of a second to one second)
};
struct NvmlMemory {
    unsigned long long total, free, used;
};
enum class NvmlClock : int { sm = 1, memory = 2 };

struct Nvml {
    NvmlResult (*init)();
    const char* (*error_string)(NvmlResult);
    NvmlResult (*device_by_uuid)(const char*, NvmlDevice**);
    NvmlResult (*utilization)(NvmlDevice*, NvmlUtilization*);
    NvmlResult (*memory)(NvmlDevice*, NvmlMemory*);
    NvmlResult (*power_mw)(NvmlDevice*, unsigned*);
    NvmlResult (*clock_mhz)(NvmlDevice*, NvmlClock, unsigned*);
};

/// NVML of this machine, initialised once. Throws InputError at "device" where it is missing or refuses.
const Nvml& nvml();

/// Of one GPU at one moment. What it does not tell is negative.
struct GpuReading {
    double busy = -1;  ///< share of NVML's last sample period in which some kernel ran: not how much of the GPU it used
    double memory_used_bytes = -1, memory_total_bytes = -1;
    double power_w = -1;
    double clock_hz = -1, memory_clock_hz = -1;
    bool operator==(const GpuReading&) const = default;
};

/// Reads the GPU of that UUID (core/device/gpus.h). Throws std::runtime_error where it is not there.
GpuReading read_gpu(const Nvml& nvml, const std::string& uuid);

/// What of each one's memory is free now; nothing of those that NVML does not tell.
void read_free_memory(const Nvml& nvml, std::vector<Gpu>& gpus);
/// attached_gpus() with what is free, where this machine has NVML.
AttachedGpus gpus_and_free_memory();

/// Mean and largest of many readings, each value over those that told it.
class GpuReadings {
public:
    void add(const GpuReading& reading);
    bool empty() const { return count_ == 0; }
    int count() const { return count_; }
    GpuReading mean() const;
    GpuReading largest() const { return largest_; }

private:
    int count_ = 0;
    GpuReading sum_, told_{0, 0, 0, 0, 0, 0}, largest_;
};

}  // namespace skippipe
