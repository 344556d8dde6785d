// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/device_use.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

namespace skippipe {
namespace {

/// `sum` has been told by so many readings, `value` by `more`; what was not told is negative.
void average(double& sum, int readings, double value, int more) {
    if (value < 0) return;
    sum = sum < 0 ? value : (sum * readings + value * more) / (readings + more);
}

void take_in(DeviceReading& all, const DeviceReading& one) {
    const int had = all.readings, more = one.readings;
    for (const auto value :
         {&GpuReading::busy, &GpuReading::power_w, &GpuReading::clock_hz, &GpuReading::memory_clock_hz})
        average(all.gpu.*value, had, one.gpu.*value, more);
    for (const auto most : {&GpuReading::memory_used_bytes, &GpuReading::memory_total_bytes})
        all.gpu.*most = std::max(all.gpu.*most, one.gpu.*most);
    all.readings += more;
    std::vector<int> nodes;
    std::set_union(all.nodes.begin(), all.nodes.end(), one.nodes.begin(), one.nodes.end(), std::back_inserter(nodes));
    all.nodes = std::move(nodes);
}

}  // namespace

std::vector<DeviceReading> device_use(const std::vector<RecordedDevices>& iterations) {
    std::map<std::tuple<std::string, std::string, std::string>, DeviceReading> found;
    for (const auto& iteration : iterations)
        for (const auto& device : iteration.devices) {
            const auto [place, is_new] = found.try_emplace({device.host, device.device, device.uuid}, device);
            if (!is_new) take_in(place->second, device);
        }
    std::vector<DeviceReading> all;
    for (auto& [_, device] : found) all.push_back(std::move(device));
    return all;
}

std::vector<DeviceReading> devices_of_nodes(const std::vector<DeviceReading>& devices, const std::set<int>& nodes) {
    std::vector<DeviceReading> some;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(some), [&](const DeviceReading& device) {
        return std::any_of(device.nodes.begin(), device.nodes.end(), [&](int node) { return nodes.contains(node); });
    });
    return some;
}

}  // namespace skippipe
