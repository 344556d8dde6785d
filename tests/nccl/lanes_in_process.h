// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads, each with a host device and a lane over the fake NCCL.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "plugins/transports/nccl/nccl.h"
#include "tests/device/host_queue.h"
#include "tests/nccl/fake_nccl.h"

namespace skippipe::testing {

inline std::string device_of(int rank) { return "gpu-" + std::to_string(rank); }

inline std::shared_ptr<HostQueue> queue_of(int rank, std::uint64_t seed = 1, int most_delay_us = 20) {
    return std::make_shared<HostQueue>(device_of(rank),
                                       HostQueueOptions{seed + 100 * static_cast<std::uint64_t>(rank), most_delay_us});
}

/// The table, for as long as the program lives.
inline const NcclApi& fake_table() {
    static const NcclApi api = fake_nccl();
    return api;
}

}  // namespace skippipe::testing
