// SPDX-License-Identifier: GPL-3.0-or-later
// What the GPUs of all ranks said of themselves while an iteration ran, as ranks tell each other.
#pragma once
#include <string>
#include <vector>

#include "core/device/device_meter.h"
#include "core/device/gpu_source.h"
#include "core/engine/schedule.h"

namespace skippipe {

/// Of one rank or, joined, of all.
struct DeviceReport {
    std::vector<DeviceReading> devices;
    std::string trouble;  ///< why there are no readings any more, of the first rank that has none; "": there are
    bool operator==(const DeviceReport&) const = default;
};

/// Whether any node of a computing experiment is on a GPU. All ranks find the same.
bool uses_gpus(const Experiment& experiment);

/// The GPUs that the rank's nodes are on, without readings. `experiment`: with the devices that this rank's nodes were
/// dealt (devices.h).
std::vector<DeviceReading> devices_of(const Experiment& experiment, const RankSchedule& schedule, int rank,
                                      const std::string& host, const std::vector<Gpu>& gpus);

std::string to_json_text(const DeviceReport& report);
/// Throws InputError at "devices" where the text is no such report. Nodes are not negative; whether they are there is
/// for the caller to see.
DeviceReport read_device_report(const std::string& text);

/// One report of many: a GPU that several ranks use is told once, with the nodes of all of them.
DeviceReport join(const std::vector<DeviceReport>& of_ranks);

}  // namespace skippipe
