// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/nccl/communicator.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/engine/transport.h"

namespace skippipe {
namespace {

std::string words(const NcclApi& api, NcclComm* comm, NcclResult result, const char* doing) {
    const char* detail = api.last_error(comm);
    return fmt::format("NCCL cannot {}: {}{}{}", doing, api.error_string(result),
                       detail != nullptr && *detail != '\0' ? ": " : "", detail != nullptr ? detail : "");
}

}  // namespace

Communicator::Communicator(const NcclApi& api, std::vector<int> ranks, int rank, const NcclUniqueId& id,
                           Patience patience)
    : api_(api), ranks_(std::move(ranks)), patience_(std::move(patience)) {
    NcclConfig config;
    const auto result = api_.init(&comm_, static_cast<int>(ranks_.size()), id, place(rank), &config);
    try {
        begun(result, "connect the ranks");
    } catch (...) {
        if (comm_ != nullptr) api_.abort(comm_);
        throw;
    }
}

/// Not ncclCommDestroy, which waits for what is under way.
Communicator::~Communicator() { api_.abort(comm_); }

int Communicator::place(int rank) const {
    return static_cast<int>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
}

void Communicator::fail(NcclResult result, const char* doing) const {
    throw NcclFailure(words(api_, comm_, result, doing));
}

/// Until NCCL has taken it: making connections takes a while, and nothing else may be asked meanwhile.
void Communicator::begun(NcclResult result, const char* doing) {
    if (in_group_ && result == NcclResult::in_progress) return;
    const double until_s = steady_s() + patience_.seconds;
    while (result == NcclResult::in_progress) {
        patience_.check();
        const auto asked = api_.async_error(comm_, &result);
        if (asked != NcclResult::success) fail(asked, doing);
        if (result != NcclResult::in_progress) break;
        if (steady_s() > until_s)
            throw NcclFailure(fmt::format("NCCL cannot {}: it took longer than {} s", doing, patience_.seconds));
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (result != NcclResult::success) fail(result, doing);
}

void Communicator::together(const std::function<void()>& posts) {
    if (const auto result = api_.group_start(); result != NcclResult::success) fail(result, "begin a group");
    in_group_ = true;
    try {
        posts();
    } catch (...) {
        in_group_ = false;
        api_.group_end();
        throw;
    }
    in_group_ = false;
    begun(api_.group_end(), "end a group");
}

void Communicator::send(const std::byte* bytes, std::size_t count, int to_rank, void* stream) {
    begun(api_.send(bytes, count, NcclType::bytes, place(to_rank), comm_, stream), "send");
}

void Communicator::receive(std::byte* bytes, std::size_t count, int from_rank, void* stream) {
    begun(api_.receive(bytes, count, NcclType::bytes, place(from_rank), comm_, stream), "receive");
}

void Communicator::all_reduce(std::byte* values, std::size_t count, void* stream) {
    begun(api_.all_reduce(values, values, count, NcclType::float32, NcclOperation::sum, comm_, stream), "sum");
}

void Communicator::check() const {
    auto state = NcclResult::success;
    const auto asked = api_.async_error(comm_, &state);
    if (asked != NcclResult::success) fail(asked, "say how it is");
    if (state != NcclResult::success && state != NcclResult::in_progress) fail(state, "go on");
}

NcclUniqueId make_unique_id(const NcclApi& api) {
    NcclUniqueId id{};
    if (const auto result = api.unique_id(&id); result != NcclResult::success)
        throw NcclFailure(words(api, nullptr, result, "make an id"));
    return id;
}

}  // namespace skippipe
