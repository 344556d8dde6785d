// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/device_task.h"

namespace skippipe {

void run_on_device(const std::string& where, const std::function<void()>& work, const Completion& completed,
                   DeviceQueue& queue) {
    double start_s = 0, end_s = 0;
    const auto queued = [&] {
        queue.make_current();
        const auto begun = queue.record();
        work();
        const auto done = queue.record();
        done->wait();
        start_s = begun->reached_s();
        end_s = done->reached_s();
    };
    run_task(where, queued, [&](TaskEnd end) {
        if (!end.error) end.start_s = start_s, end.end_s = end_s;
        if (completed) completed(end);
    });
}

}  // namespace skippipe
