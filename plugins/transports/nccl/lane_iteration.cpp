// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/nccl/lane_iteration.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/engine/envelope.h"
#include "core/planner/timeline/memory.h"

namespace skippipe {
namespace {

constexpr double shortest_pause_s = 20e-6, longest_pause_s = 500e-6;

}  // namespace

LaneIteration::LaneIteration(Lane& lane, const Lane::Calls& calls)
    : lane_(lane), calls_(calls), queue_(*lane.queue_), moved_at_s_(steady_s()), pause_s_(shortest_pause_s) {
    const auto& bytes = lane_.bytes_;
    ahead_ = posted_ahead(1, bytes.empty() ? 0.0 : static_cast<double>(*std::max_element(bytes.begin(), bytes.end())));
}

void LaneIteration::run() {
    while (next_ < lane_.tasks_.size() || !flights_.empty()) {
        lane_.check();
        const bool finished = finish_done(), issued = issue();
        rest(finished || issued);
    }
}

/// Waits a little where nothing moves: for an event of the device, or for what the host hands over.
void LaneIteration::rest(bool moved) {
    if (moved) {
        moved_at_s_ = steady_s();
        pause_s_ = shortest_pause_s;
        return;
    }
    lane_.check_communicators();
    if (flights_.empty()) moved_at_s_ = steady_s();
    if (steady_s() - moved_at_s_ > lane_.options_.stalled_after_s)
        throw NcclFailure(
            fmt::format("{} has not moved for {} s", flights_.front().task->name(), lane_.options_.stalled_after_s));
    std::unique_lock lock(lane_.mutex_);
    lane_.changed_.wait_for(lock, std::chrono::duration<double>(pause_s_));
    pause_s_ = std::min(2 * pause_s_, longest_pause_s);
}

/// A copy to or from other memory of the host may wait for all that is queued, and so for a peer that is dead.
Buffer LaneIteration::staged(std::size_t bytes) const {
    return Buffer(StagingMemory(lane_.queue_, bytes + Buffer::envelope_bytes));
}

/// What NCCL gives up ends in the queue as well, without its bytes: each event is believed after a look at the errors.
bool LaneIteration::finish_done() {
    std::size_t done = 0;
    while (done < flights_.size() && flights_[done].done->done()) ++done;
    if (done == 0) return false;
    lane_.check_communicators();
    for (; done > 0; --done) {
        auto flight = std::move(flights_.front());
        flights_.pop_front();
        finish(flight);
    }
    return true;
}

void LaneIteration::finish(Flight& flight) {
    const auto& task = *flight.task;
    if (task.kind == LaneTask::Kind::receive) {
        const auto& envelope = flight.host;
        const auto times = read_envelope(envelope.data() + envelope.size(), task.transfer, task.peer, lane_.now_s_());
        if (lane_.options_.keeps_on_device)
            calls_.deliver({task.transfer, times, Buffer(std::move(flight.device), flight.done)});
        else
            calls_.deliver({task.transfer, times, std::move(flight.host)});
    } else if (task.kind == LaneTask::Kind::sum) {
        const std::lock_guard lock(lane_.mutex_);
        const auto asked = lane_.sums_.find(task.stage);
        if (asked == lane_.sums_.end()) throw Aborted();  // nobody waits for it any more
        auto& sum = asked->second;
        std::memcpy(sum.values.data(), flight.host.data(), sum.values.size_bytes());
        sum.done = true;
        lane_.changed_.notify_all();
    }
}

/// The next task, or the next sends, where they can begin.
bool LaneIteration::issue() {
    if (next_ == lane_.tasks_.size() || flights_.size() >= ahead_) return false;
    const auto& task = lane_.tasks_[next_];
    switch (task.kind) {
        case LaneTask::Kind::receive: issue_receive(task); return true;
        case LaneTask::Kind::sum: return issue_sum(task);
        case LaneTask::Kind::send: break;
    }
    const auto count = sends_ready();
    if (count > 0) issue_sends(count);
    return count > 0;
}

/// Sends that are due one after the other and have all been handed over. Receives are not joined to them: who waits for
/// the first would wait for all.
std::size_t LaneIteration::sends_ready() const {
    const std::lock_guard lock(lane_.mutex_);
    std::size_t count = 0;
    for (std::size_t i = next_; i < lane_.tasks_.size() && flights_.size() + count < ahead_; ++i, ++count)
        if (const auto& task = lane_.tasks_[i];
            task.kind != LaneTask::Kind::send || !lane_.ready_.contains(task.transfer.number))
            break;
    return count;
}

void LaneIteration::issue_sends(std::size_t count) {
    const auto first = flights_.size();
    for (std::size_t i = 0; i < count; ++i) {
        auto& flight = flights_.emplace_back();
        flight.task = &lane_.tasks_[next_++];
        std::unique_lock lock(lane_.mutex_);
        auto message = std::move(lane_.ready_.at(flight.task->transfer.number));
        lane_.ready_.erase(flight.task->transfer.number);
        lock.unlock();
        load(flight, std::move(message));
    }
    lane_.all_->together([&] {
        for (std::size_t i = first; i < flights_.size(); ++i) {
            auto& flight = flights_[i];
            const bool on_device = flight.message.bytes.kind() == MemoryKind::device;
            lane_.all_->send(on_device ? flight.message.bytes.data() : flight.device.data(),
                             flight.message.bytes.size() + Buffer::envelope_bytes, flight.task->peer, queue_.native());
        }
    });
    const auto done = queue_.record();
    for (std::size_t i = first; i < flights_.size(); ++i) flights_[i].done = done;
}

/// Message and envelope onto the device, but for what is there.
void LaneIteration::load(Flight& flight, Delivery message) {
    if (message.bytes.data() == nullptr) message.bytes = Buffer(0);
    flight.message = std::move(message);
    auto& bytes = flight.message.bytes;
    if (bytes.kind() == MemoryKind::device) {
        flight.host = staged(0);
        write_envelope(flight.message, flight.host.envelope());
        queue_.wait(bytes.ready());
        queue_.copy(bytes.envelope(), flight.host.envelope(), Buffer::envelope_bytes);
        return;
    }
    const auto size = bytes.size() + Buffer::envelope_bytes;
    flight.host = staged(bytes.size());
    std::memcpy(flight.host.data(), bytes.data(), bytes.size());
    write_envelope(flight.message, flight.host.envelope());
    flight.device = DeviceMemory(lane_.queue_, size);
    queue_.copy(flight.device.data(), flight.host.data(), size);
}

void LaneIteration::issue_receive(const LaneTask& task) {
    auto& flight = flights_.emplace_back();
    flight.task = &task;
    const auto message = lane_.bytes_[next_++], size = message + Buffer::envelope_bytes;
    flight.device = DeviceMemory(lane_.queue_, size);
    lane_.all_->receive(flight.device.data(), size, task.peer, queue_.native());
    const auto kept = lane_.options_.keeps_on_device ? message : 0;
    flight.host = staged(message - kept);
    queue_.copy(flight.host.data(), flight.device.data() + kept, size - kept);
    flight.done = queue_.record();
}

/// False where nobody has asked for it yet. Where there is nothing to sum, its turn passes.
bool LaneIteration::issue_sum(const LaneTask& task) {
    auto& flight = flights_.emplace_back();
    {
        const std::lock_guard lock(lane_.mutex_);
        const auto asked = lane_.sums_.find(task.stage);
        const bool passes = asked == lane_.sums_.end() ? lane_.ended_ : asked->second.values.empty();
        if (asked == lane_.sums_.end() || passes) {
            flights_.pop_back();
            if (!passes) return false;
            if (asked != lane_.sums_.end()) asked->second.done = true;
            lane_.changed_.notify_all();
            ++next_;
            return true;
        }
        flight.host = staged(asked->second.values.size_bytes());
        std::memcpy(flight.host.data(), asked->second.values.data(), flight.host.size());
    }
    flight.task = &task;
    ++next_;
    flight.device = DeviceMemory(lane_.queue_, flight.host.size());
    queue_.copy(flight.device.data(), flight.host.data(), flight.host.size());
    lane_.communicator_of(task.ranks)
        .all_reduce(flight.device.data(), flight.host.size() / sizeof(float), queue_.native());
    queue_.copy(flight.host.data(), flight.device.data(), flight.host.size());
    flight.done = queue_.record();
    return true;
}

}  // namespace skippipe
