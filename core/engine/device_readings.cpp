// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/device_readings.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/index.h"

namespace skippipe {
namespace {

using nlohmann::json;

json write_reading(const DeviceReading& reading) {
    const auto& gpu = reading.gpu;
    return {
        {"host", reading.host},
        {"device", reading.device},
        {"name", reading.name},
        {"uuid", reading.uuid},
        {"nodes", reading.nodes},
        {"readings", reading.readings},
        {"gpu",
         {gpu.busy, gpu.memory_used_bytes, gpu.memory_total_bytes, gpu.power_w, gpu.clock_hz, gpu.memory_clock_hz}}};
}

DeviceReading read_reading(const json& v) {
    const auto& gpu = v.at("gpu");
    DeviceReading reading{v.at("host"),
                          v.at("device"),
                          v.at("name"),
                          v.at("uuid"),
                          v.at("nodes").get<std::vector<int>>(),
                          v.at("readings"),
                          {gpu.at(0), gpu.at(1), gpu.at(2), gpu.at(3), gpu.at(4), gpu.at(5)}};
    for (const int node : reading.nodes)
        if (node < 0) throw std::out_of_range(fmt::format("node {}", node));
    if (reading.readings < 1 || reading.gpu.busy > 1) throw std::out_of_range("no reading, or a share above 1");
    return reading;
}

}  // namespace

bool uses_gpus(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    return experiment.execution.compute == Compute::torch &&
           std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.device != "cpu"; });
}

std::vector<DeviceReading> devices_of(const Experiment& experiment, const RankSchedule& schedule, int rank,
                                      const std::string& host, const std::vector<Gpu>& gpus) {
    std::vector<DeviceReading> devices;
    for (const auto& gpu : gpus) {
        DeviceReading device{host, fmt::format("cuda:{}", gpu.index), gpu.name, gpu.uuid, {}, 0, {}};
        for (const int node : schedule.nodes_of(rank))
            if (experiment.topology.nodes[at(node)].device == device.device) device.nodes.push_back(node);
        if (!device.nodes.empty()) devices.push_back(std::move(device));
    }
    return devices;
}

std::string to_json_text(const DeviceReport& report) {
    json devices = json::array();
    for (const auto& reading : report.devices) devices.push_back(write_reading(reading));
    // Names and messages of a driver may not be UTF-8.
    return json{{"devices", std::move(devices)}, {"trouble", report.trouble}}.dump(-1, ' ', false,
                                                                                   json::error_handler_t::replace);
}

DeviceReport read_device_report(const std::string& text) {
    try {
        const auto v = json::parse(text);
        DeviceReport report{{}, v.at("trouble")};
        for (const auto& one : v.at("devices")) report.devices.push_back(read_reading(one));
        return report;
    } catch (const std::exception& error) {
        throw InputError("devices", std::string("a rank's readings of its GPUs cannot be read: ") + error.what(),
                         "all ranks must be of one build", "Rebuild them all, or report what was printed");
    }
}

DeviceReport join(const std::vector<DeviceReport>& of_ranks) {
    DeviceReport all;
    std::map<std::string, std::size_t> place;
    for (const auto& report : of_ranks) {
        if (all.trouble.empty()) all.trouble = report.trouble;
        for (const auto& device : report.devices) {
            const auto [found, is_new] = place.try_emplace(device.uuid, all.devices.size());
            if (is_new) {
                all.devices.push_back(device);
                continue;
            }
            auto& nodes = all.devices[found->second].nodes;
            nodes.insert(nodes.end(), device.nodes.begin(), device.nodes.end());
            std::sort(nodes.begin(), nodes.end());
        }
    }
    return all;
}

}  // namespace skippipe
