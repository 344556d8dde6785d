// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/nccl/lane.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"
#include "plugins/transports/nccl/lane_iteration.h"

namespace skippipe {

std::string LaneTask::name() const {
    switch (kind) {
        case Kind::send: return fmt::format("transfer {} to rank {}", transfer.number, peer);
        case Kind::receive: return fmt::format("transfer {} from rank {}", transfer.number, peer);
        case Kind::sum: return fmt::format("the sum of stage {}", stage);
    }
    return {};
}

std::vector<LaneTask> lane_tasks(const RankSchedule& schedule, int rank) {
    std::vector<LaneTask> tasks;
    for (const auto& step : lane_of(schedule, rank)) {
        if (step.is_sum()) {
            tasks.push_back({LaneTask::Kind::sum, {}, -1, step.stage, schedule.ranks_of_stage(step.stage)});
            continue;
        }
        const auto& transfer = schedule.transfers[step.transfer];
        const int from = schedule.rank_of[at(transfer.from_node)], to = schedule.rank_of[at(transfer.to_node)];
        const bool sends = from == rank;
        tasks.push_back({sends ? LaneTask::Kind::send : LaneTask::Kind::receive, transfer, sends ? to : from, -1, {}});
    }
    return tasks;
}

Lane::Lane(const NcclApi& api, std::shared_ptr<DeviceQueue> queue, NcclOptions options, std::function<double()> now_s)
    : api_(api), queue_(std::move(queue)), options_(options), now_s_(std::move(now_s)), thread_([this] { work(); }) {}

Lane::~Lane() {
    abort();
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Lane::abort() noexcept {
    aborted_ = true;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

void Lane::check() const {
    if (aborted_) throw Aborted();
}

void Lane::work() {
    queue_->make_current();
    for (;;) {
        std::function<void()> job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return job_ || stop_; });
            if (stop_) break;
            job = std::exchange(job_, nullptr);
        }
        run(job);
        const std::lock_guard lock(mutex_);
        busy_ = iterates_ = false;
        changed_.notify_all();
    }
    break_off();
}

void Lane::run(const std::function<void()>& job) {
    std::exception_ptr error;
    try {
        check();
        job();
    } catch (const NcclFailure&) {
        error = std::current_exception();
        wait_for_abort();
        if (aborted_) error = std::make_exception_ptr(Aborted());
    } catch (...) {
        error = std::current_exception();
    }
    if (!error) return;
    break_off();
    std::function<void(std::exception_ptr)> failed;
    {
        const std::lock_guard lock(mutex_);
        error_ = error;
        failed = std::exchange(failed_, nullptr);
    }
    if (failed && !aborted_) failed(error);
}

/// Who met a failure hears what it comes from.
void Lane::wait_for_abort() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(options_.lost_within_s),
                      [this] { return aborted_.load() || stop_; });
}

/// Nothing of this rank waits for another one any more; whether the queue has come to its end.
bool Lane::break_off() noexcept {
    all_ = nullptr;
    communicators_.clear();
    try {
        const auto rest = queue_->record();
        for (const double until_s = steady_s() + 0.5; !rest->done();) {
            if (steady_s() > until_s) return false;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return true;
    } catch (const std::exception&) {
        return true;  // the device failed: it does nothing more
    }
}

/// Runs what puts work into the queue that reads and writes `kept`. Where that fails, it is kept for as long as the
/// device may still work on it: for good, where it does not come to an end.
template <class Kept, class Work>
void Lane::keeping(Kept& kept, const Work& work) {
    try {
        work();
    } catch (...) {
        if (!break_off()) static_cast<void>(new Kept(std::move(kept)));
        throw;
    }
}

/// A job of the lane's thread, waited for.
void Lane::call(std::function<void()> job) {
    check();
    std::unique_lock lock(mutex_);
    job_ = std::move(job);
    busy_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !busy_; });
    if (auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void Lane::check_communicators() const {
    for (const auto& [ranks, communicator] : communicators_) communicator->check();
}

void Lane::wait_for(const EventPointer& event) const {
    for (const double until_s = steady_s() + options_.connect_within_s; !event->done();) {
        check();
        check_communicators();
        if (steady_s() > until_s)
            throw NcclFailure(fmt::format("nothing came through within {} s", options_.connect_within_s));
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    check_communicators();  // what NCCL gave up has come to its end as well
}

Communicator& Lane::communicator_of(const std::vector<int>& ranks) const {
    const auto found = communicators_.find(ranks);
    if (found == communicators_.end()) throw NcclFailure("these ranks are not connected");
    return *found->second;
}

void Lane::connect(const std::vector<int>& ranks, int rank, const NcclUniqueId& id) {
    call([&] {
        auto made = std::make_unique<Communicator>(api_, ranks, rank, id,
                                                   Patience{[this] { check(); }, options_.connect_within_s});
        if (communicators_.empty()) all_ = made.get();
        communicators_[ranks] = std::move(made);
    });
}

void Lane::warm_up(const std::vector<LaneTask>& transfers) {
    if (transfers.empty()) return;
    call([&] {
        DeviceMemory byte(queue_, 1);
        keeping(byte, [&] {
            for (const auto& task : transfers) {
                if (task.kind == LaneTask::Kind::send)
                    all_->send(byte.data(), 1, task.peer, queue_->native());
                else
                    all_->receive(byte.data(), 1, task.peer, queue_->native());
                wait_for(queue_->record());
            }
        });
    });
}

void Lane::begin(Calls calls) {
    check();
    const std::lock_guard lock(mutex_);
    bytes_.clear();
    for (const auto& task : tasks_)
        bytes_.push_back(task.kind == LaneTask::Kind::receive ? calls.bytes(task.transfer) : 0);
    ready_.clear();
    sums_.clear();
    error_ = nullptr;
    ended_ = false;
    busy_ = iterates_ = true;
    failed_ = calls.failed;
    job_ = [this, calls = std::move(calls)] {
        LaneIteration iteration(*this, calls);
        keeping(iteration.flights(), [&] { iteration.run(); });
    };
    changed_.notify_all();
}

void Lane::put(Delivery message) {
    check();
    const std::lock_guard lock(mutex_);
    const int number = message.transfer.number;
    ready_.insert_or_assign(number, std::move(message));
    changed_.notify_all();
}

void Lane::sum(const std::vector<int>& ranks, int stage, std::span<float> values) {
    check();
    std::unique_lock lock(mutex_);
    if (!iterates_) {
        lock.unlock();
        if (!values.empty()) call([&] { sum_now(communicator_of(ranks), values); });
        return;
    }
    sums_[stage] = {values, false};
    changed_.notify_all();
    changed_.wait(lock, [&] { return aborted_ || !iterates_ || sums_.at(stage).done; });
    const bool done = sums_.at(stage).done;
    sums_.erase(stage);  // its values are the caller's
    if (done) return;
    check();
    if (error_) std::rethrow_exception(error_);
    throw NcclFailure(fmt::format("the iteration ended before the sum of stage {}", stage));
}

/// Outside of an iteration.
void Lane::sum_now(Communicator& communicator, std::span<float> values) {
    const auto bytes = std::as_writable_bytes(values);
    std::pair kept(StagingMemory(queue_, bytes.size()), DeviceMemory(queue_, bytes.size()));
    auto& [host, device] = kept;
    std::memcpy(host.data(), bytes.data(), bytes.size());
    keeping(kept, [&] {
        queue_->copy(device.data(), host.data(), bytes.size());
        communicator.all_reduce(device.data(), values.size(), queue_->native());
        queue_->copy(host.data(), device.data(), bytes.size());
        wait_for(queue_->record());
    });
    std::memcpy(bytes.data(), host.data(), bytes.size());
}

void Lane::end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !busy_; });
    ready_.clear();
    failed_ = nullptr;
    if (auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
    lock.unlock();
    check();
}

}  // namespace skippipe
