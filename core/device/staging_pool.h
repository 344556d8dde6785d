// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <map>
#include <mutex>

#include "core/device/cuda_driver.h"

namespace skippipe {

/// Page-locked memory of the host, kept for the next who asks: to lock pages takes as long as to copy megabytes, and to
/// give them back waits for the whole GPU. From any thread.
class StagingPool {
public:
    explicit StagingPool(const CudaDriver& driver) : driver_(driver) {}
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    /// With the GPU's context current. Throws std::runtime_error with CUDA's words.
    std::byte* take(std::size_t bytes);
    void give(std::byte* address) noexcept;
    /// All of it, also what nobody gave back; with the context current.
    void free_all() noexcept;

private:
    const CudaDriver& driver_;
    std::mutex mutex_;
    std::map<std::byte*, std::size_t> sizes_;         ///< of all
    std::multimap<std::size_t, std::byte*> waiting_;  ///< by size
};

}  // namespace skippipe
