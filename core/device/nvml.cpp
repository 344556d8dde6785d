// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/nvml.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/device/shared_library.h"

namespace skippipe {
namespace {

constexpr double GpuReading::*values[] = {
    &GpuReading::busy,    &GpuReading::memory_used_bytes, &GpuReading::memory_total_bytes,
    &GpuReading::power_w, &GpuReading::clock_hz,          &GpuReading::memory_clock_hz};

Nvml open_nvml() {
    const char* remedy = "Install the NVIDIA driver's tools (Debian: libnvidia-ml1)";
    const SharedLibrary library("device", {"libnvidia-ml.so.1"}, "NVML", remedy);
    Nvml table{};
    library.find(table.init, "nvmlInit_v2");
    library.find(table.error_string, "nvmlErrorString");
    library.find(table.device_by_uuid, "nvmlDeviceGetHandleByUUID");
    library.find(table.utilization, "nvmlDeviceGetUtilizationRates");
    library.find(table.memory, "nvmlDeviceGetMemoryInfo");
    library.find(table.power_mw, "nvmlDeviceGetPowerUsage");
    library.find(table.clock_mhz, "nvmlDeviceGetClockInfo");
    if (const auto result = table.init(); result != 0)
        throw InputError("device", "NVML does not start", table.error_string(result), remedy);
    return table;
}

double clock_of(const Nvml& table, NvmlDevice* device, NvmlClock clock) {
    unsigned mhz = 0;
    return table.clock_mhz(device, clock, &mhz) == 0 ? 1e6 * mhz : -1;
}

}  // namespace

const Nvml& nvml() {
    static const Nvml table = open_nvml();
    return table;
}

GpuReading read_gpu(const Nvml& table, const std::string& uuid) {
    NvmlDevice* device = nullptr;
    if (const auto result = table.device_by_uuid(uuid.c_str(), &device); result != 0)
        throw std::runtime_error(fmt::format("NVML does not find {}: {}", uuid, table.error_string(result)));
    GpuReading reading;
    if (NvmlUtilization share{}; table.utilization(device, &share) == 0) reading.busy = 0.01 * share.gpu;
    if (NvmlMemory memory{}; table.memory(device, &memory) == 0) {
        reading.memory_used_bytes = static_cast<double>(memory.used);
        reading.memory_total_bytes = static_cast<double>(memory.total);
    }
    if (unsigned milliwatts = 0; table.power_mw(device, &milliwatts) == 0) reading.power_w = 1e-3 * milliwatts;
    reading.clock_hz = clock_of(table, device, NvmlClock::sm);
    reading.memory_clock_hz = clock_of(table, device, NvmlClock::memory);
    return reading;
}

void read_free_memory(const Nvml& table, std::vector<Gpu>& gpus) {
    for (auto& gpu : gpus) {
        gpu.free_bytes.reset();
        NvmlDevice* device = nullptr;
        NvmlMemory memory{};
        if (table.device_by_uuid(gpu.uuid.c_str(), &device) == 0 && table.memory(device, &memory) == 0)
            gpu.free_bytes = static_cast<double>(memory.free);
    }
}

AttachedGpus gpus_and_free_memory() {
    auto found = attached_gpus();
    if (found.list.empty()) return found;
    try {
        read_free_memory(nvml(), found.list);
    } catch (const InputError&) {  // a driver without NVML: what is free stays unknown
    }
    return found;
}

void GpuReadings::add(const GpuReading& reading) {
    if (count_++ == 0) sum_ = {0, 0, 0, 0, 0, 0};
    for (const auto value : values) {
        if (reading.*value < 0) continue;
        sum_.*value += reading.*value;
        told_.*value += 1;
        largest_.*value = std::max(largest_.*value, reading.*value);
    }
}

GpuReading GpuReadings::mean() const {
    GpuReading mean;
    for (const auto value : values)
        if (told_.*value > 0) mean.*value = sum_.*value / told_.*value;
    return mean;
}

}  // namespace skippipe
