// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/device/device_queue.h"
#include "core/engine/compute.h"

namespace skippipe {

/// As run_task, of work that only puts something into the device's queue: waits until the device is through with it.
/// Start and end are when the device came to it and when it had done it, by the queue's events, not when it was queued.
void run_on_device(const std::string& where, const std::function<void()>& work, const Completion& completed,
                   DeviceQueue& queue);

}  // namespace skippipe
