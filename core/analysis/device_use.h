// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <set>
#include <vector>

#include "core/record/record.h"

namespace skippipe {

/// Each GPU over all these iterations, by host and device: means over all readings, of memory in use the most; nodes of
/// any of them.
std::vector<DeviceReading> device_use(const std::vector<RecordedDevices>& iterations);

/// Those on which any of the nodes sat.
std::vector<DeviceReading> devices_of_nodes(const std::vector<DeviceReading>& devices, const std::set<int>& nodes);

}  // namespace skippipe
