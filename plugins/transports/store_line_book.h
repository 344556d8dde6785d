// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/engine/shaping.h"

namespace skippipe {

class RunStore;

/// Lines whose free time all ranks keep in the store. Throws PeerFault where it is no time, Aborted where its
/// connection is stopped.
class StoreLineBook final : public LineBook {
public:
    StoreLineBook(std::shared_ptr<RunStore> store, int rank) : store_(std::move(store)), rank_(rank) {}
    double reserve(int line, double earliest_s, double occupied_s) override;

private:
    std::mutex mutex_;
    std::shared_ptr<RunStore> store_;
    int rank_;
    std::uint64_t bookings_ = 0;
    std::map<int, std::vector<std::uint8_t>> known_;
};

}  // namespace skippipe
