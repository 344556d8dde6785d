// SPDX-License-Identifier: GPL-3.0-or-later
// What GPUs say of themselves while something runs on them.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/device/nvml.h"

namespace skippipe {

struct DeviceReading {
    std::string host, device;  ///< where it is: "cuda:0" as that host counts
    std::string name, uuid;
    std::vector<int> nodes;  ///< that sit there
    int readings = 0;        ///< that `gpu` sums up: their means, of memory in use the most
    GpuReading gpu;
    bool operator==(const DeviceReading&) const = default;
};

/// Reads GPUs once in a while, on a thread of its own, between `begin` and `end`.
class DeviceMeter {
public:
    using Read = std::function<GpuReading(const std::string& uuid)>;

    /// `devices`: without readings. NVML's busy share is of the time before a reading, at most a second.
    DeviceMeter(std::vector<DeviceReading> devices, Read read,
                std::chrono::milliseconds every = std::chrono::milliseconds{1000});

    /// What was read before is forgotten.
    void begin();
    /// What was read since `begin`; devices that were not read in this time are left out. Nothing is read from now on.
    std::vector<DeviceReading> end();
    /// Why nothing is read any more; "": it is.
    std::string trouble() const;

private:
    void work(const std::stop_token& stop);
    void read_all(std::unique_lock<std::mutex>& lock);

    const std::vector<DeviceReading> devices_;
    const Read read_;
    const std::chrono::milliseconds every_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;
    std::vector<GpuReadings> read_so_far_;  ///< of each device
    int period_ = 0;                        ///< calls of `begin`
    bool running_ = false;
    std::string trouble_;
    std::jthread thread_;
};

}  // namespace skippipe
