// SPDX-License-Identifier: GPL-3.0-or-later
// The GPUs of this machine as the window knows them, and what they make of a topology.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "core/device/gpu_source.h"
#include "core/experiment/document.h"

namespace skippipe {

/// What is attached, at one moment.
struct AttachedDevices {
    AttachedGpus gpus;
    std::vector<GpuReading> readings;  ///< of each GPU; what is not told is negative
    std::string trouble;               ///< why some told nothing; "": all did
    std::string host;
};

/// Opens the driver and NVML, which may take a second: for no window's thread.
AttachedDevices look_for_devices(const GpuSource& source);

/// Puts nodes on a device: "cpu", "cuda", "cuda:N".
void put_on_device(Experiment& experiment, const std::set<std::string>& nodes, const std::string& device);

/// Draws the GPUs in the place of all that is drawn: a region of this host with a node for each, or, where there are
/// fewer than stages, a node for each stage; nodes of one GPU share its memory and, in what is drawn, its speed. The
/// speed is that of the maker where it is known (devices.h), else a node's usual one; links are those of a region.
void draw_attached(Experiment& experiment, const std::vector<Gpu>& gpus, const std::string& host);

}  // namespace skippipe
