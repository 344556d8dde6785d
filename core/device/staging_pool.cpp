// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/staging_pool.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace skippipe {

std::byte* StagingPool::take(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    const auto size = std::bit_ceil(std::max(bytes, page));
    const std::lock_guard lock(mutex_);
    if (const auto found = waiting_.find(size); found != waiting_.end()) {
        auto* address = found->second;
        waiting_.erase(found);
        return address;
    }
    void* memory = nullptr;
    require_cuda(driver_, driver_.allocate_host(&memory, size),
                 fmt::format("lock {} bytes of this machine's memory for copies", size).c_str());
    auto* address = static_cast<std::byte*>(memory);
    sizes_[address] = size;
    return address;
}

void StagingPool::give(std::byte* address) noexcept {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(sizes_.at(address), address);
}

void StagingPool::free_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, size] : sizes_) driver_.free_host(address);
    sizes_.clear();
    waiting_.clear();
}

}  // namespace skippipe
