// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/devices/attached_devices.h"

#include <algorithm>
#include <exception>

#include <sys/utsname.h>

#include "views/document/selection.h"
#include "views/topology/devices.h"
#include "views/topology/edits.h"
#include "views/topology/layouts.h"

namespace skippipe {
namespace {

/// The known device whose name stands in the driver's as a word of its own ("NVIDIA A100-SXM4-80GB"); null: none.
const Device* known_device(const std::string& name) {
    auto words = " " + name + " ";
    std::replace(words.begin(), words.end(), '-', ' ');
    const auto found = std::find_if(devices().begin(), devices().end(), [&](const Device& device) {
        return words.find(" " + std::string(device.name) + " ") != std::string::npos;
    });
    return found == devices().end() ? nullptr : &*found;
}

Selection everything(const Topology& topology) {
    Selection all;
    for (const auto& node : topology.nodes) all.nodes.insert(node.id);
    for (const auto& region : topology.regions) all.regions.insert(region.id);
    return all;
}

}  // namespace

AttachedDevices look_for_devices(const GpuSource& source) {
    AttachedDevices found{source.attached(), {}, {}, {}};
    utsname system{};
    ::uname(&system);
    found.host = system.nodename;
    for (const auto& gpu : found.gpus.list) try {
            found.readings.push_back(source.read(gpu.uuid));
        } catch (const std::exception& error) {
            found.readings.emplace_back();
            found.trouble = error.what();
        }
    return found;
}

void put_on_device(Experiment& experiment, const std::set<std::string>& nodes, const std::string& device) {
    for (auto& node : experiment.topology.nodes)
        if (nodes.contains(node.id)) node.device = device;
}

void draw_attached(Experiment& experiment, const std::vector<Gpu>& gpus, const std::string& host) {
    if (gpus.empty()) return;
    auto& topology = experiment.topology;
    remove_selected(experiment, everything(topology));
    experiment.pipeline.placement.clear();
    experiment.pipeline.stage_sizes.clear();
    topology = {};
    topology.regions.push_back({host.empty() ? "here" : host});
    const std::size_t count = gpus.size();
    const std::size_t nodes = std::max(count, static_cast<std::size_t>(std::max(1, experiment.pipeline.stages)));
    std::vector<std::size_t> on(count);
    for (std::size_t i = 0; i < nodes; ++i) ++on[i * count / nodes];
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto& gpu = gpus[i * count / nodes];
        const auto share = static_cast<double>(on[i * count / nodes]);
        add_node(experiment, {}, topology.regions.front().id);
        auto& node = topology.nodes.back();
        node = {.id = node.id, .region = node.region};  // nothing of the one before
        if (const auto* device = known_device(gpu.name)) make_device(node, *device, experiment.model);
        node.seconds_per_sample_per_block *= share;
        node.memory_bytes = gpu.memory_bytes / share;
        node.device = "cuda:" + std::to_string(gpu.index);
    }
    keep_places(experiment);
}

}  // namespace skippipe
