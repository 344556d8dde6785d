// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/device/nccl_api.h"

namespace skippipe {

/// NCCL says that something failed, or it takes too long.
class NcclFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Until when a thing may take: `check` throws where it is to end at once.
struct Patience {
    std::function<void()> check;
    double seconds = 60;
};

/// NCCL's communicator of some ranks, all of whose calls return at once: what they begin goes on in the queue. For one
/// thread.
class Communicator {
public:
    /// Every one of `ranks` (ascending) at once, with the same id. Waits for the others. Throws NcclFailure with
    /// NCCL's words where that fails or takes too long.
    Communicator(const NcclApi& api, std::vector<int> ranks, int rank, const NcclUniqueId& id, Patience patience);
    /// What is under way in it ends: on this rank nothing waits in the queue any more.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    const std::vector<int>& ranks() const { return ranks_; }

    /// What `posts` sends and receives is under way at once. Returns once it is in the queue.
    void together(const std::function<void()>& posts);
    void send(const std::byte* bytes, std::size_t count, int to_rank, void* stream);
    void receive(std::byte* bytes, std::size_t count, int from_rank, void* stream);
    /// Sums float32 in place.
    void all_reduce(std::byte* values, std::size_t count, void* stream);
    /// Throws NcclFailure where something that was under way has failed.
    void check() const;

private:
    int place(int rank) const;
    void begun(NcclResult result, const char* doing);
    [[noreturn]] void fail(NcclResult result, const char* doing) const;

    const NcclApi& api_;
    std::vector<int> ranks_;
    Patience patience_;
    NcclComm* comm_ = nullptr;
    bool in_group_ = false;
};

/// A new id, from one of those who will meet by it.
NcclUniqueId make_unique_id(const NcclApi& api);

}  // namespace skippipe
