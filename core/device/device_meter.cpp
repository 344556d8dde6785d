// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device_meter.h"

#include <exception>
#include <stop_token>
#include <utility>

namespace skippipe {

DeviceMeter::DeviceMeter(std::vector<DeviceReading> devices, Read read, std::chrono::milliseconds every)
    : devices_(std::move(devices)), read_(std::move(read)), every_(every), read_so_far_(devices_.size()) {
    if (!devices_.empty()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void DeviceMeter::begin() {
    const std::lock_guard lock(mutex_);
    read_so_far_.assign(devices_.size(), {});
    ++period_;
    running_ = true;
}

std::vector<DeviceReading> DeviceMeter::end() {
    const std::lock_guard lock(mutex_);
    running_ = false;
    std::vector<DeviceReading> told;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const auto& all = read_so_far_[i];
        if (all.count() == 0) continue;
        told.push_back(devices_[i]);
        told.back().readings = all.count();
        told.back().gpu = all.mean();
        told.back().gpu.memory_used_bytes = all.largest().memory_used_bytes;
    }
    return told;
}

std::string DeviceMeter::trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
}

void DeviceMeter::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (trouble_.empty()) {
        wake_.wait_for(lock, stop, every_, [] { return false; });
        if (stop.stop_requested()) return;
        if (running_) read_all(lock);
    }
}

/// Unlocked while it asks: a driver may take its time, and nobody waits for it.
void DeviceMeter::read_all(std::unique_lock<std::mutex>& lock) {
    const int period = period_;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        lock.unlock();
        GpuReading reading;
        std::string trouble;
        try {
            reading = read_(devices_[i].uuid);
        } catch (const std::exception& error) {
            trouble = error.what();
        }
        lock.lock();
        if (trouble_ = std::move(trouble); !trouble_.empty()) return;
        if (running_ && period == period_) read_so_far_[i].add(reading);
    }
}

}  // namespace skippipe
