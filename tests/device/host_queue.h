// SPDX-License-Identifier: GPL-3.0-or-later
// A device that is made of this machine: a thread a queue, which does what is queued later, after random delays. Who
// does not wait for it reads what was there before, or, of memory that was given back, poison; ThreadSanitizer sees it
// as well.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/device/device_queue.h"

namespace skippipe::testing {

/// The device that calls from this thread go to.
inline std::string& current_device() {
    thread_local std::string identity;
    return identity;
}

class HostEvent final : public DeviceEvent {
public:
    bool done() const override {
        const std::lock_guard lock(mutex_);
        return reached_s_ > 0;
    }
    void wait() const override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return reached_s_ > 0; });
    }
    double reached_s() const override {
        const std::lock_guard lock(mutex_);
        return reached_s_;
    }
    void reach() {
        const std::lock_guard lock(mutex_);
        reached_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        changed_.notify_all();
    }

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    double reached_s_ = 0;
};

/// Memory of all devices, and of the host that they copy by themselves.
class KnownMemory {
public:
    static KnownMemory& all() {
        static KnownMemory known;
        return known;
    }
    void add(const std::byte* address, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        sizes_[address] = bytes;
    }
    void remove(const std::byte* address) {
        const std::lock_guard lock(mutex_);
        sizes_.erase(address);
    }
    bool has(const std::byte* address) {
        const std::lock_guard lock(mutex_);
        const auto behind = sizes_.upper_bound(address);
        if (behind == sizes_.begin()) return false;
        const auto& [begin, bytes] = *std::prev(behind);
        return address < begin + bytes;
    }

private:
    std::mutex mutex_;
    std::map<const std::byte*, std::size_t> sizes_;
};

struct HostQueueOptions {
    std::uint64_t seed = 1;
    int most_delay_us = 100;  ///< before each piece of work; some take twenty times as long
};

class HostQueue final : public DeviceQueue {
public:
    static constexpr int unwritten = 0xcd, poison = 0xff;  ///< floats of poison are NaN

    explicit HostQueue(std::string identity, HostQueueOptions options = {})
        : name_("host device " + identity),
          identity_(std::move(identity)),
          options_(options),
          rng_(options.seed),
          thread_([this] { run(); }) {}
    ~HostQueue() override {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
        for (const auto& [address, block] : memory_) KnownMemory::all().remove(address);
        for (const auto& [address, block] : staging_) KnownMemory::all().remove(address);
    }

    const std::string& name() const override { return name_; }
    const std::string& identity() const override { return identity_; }
    std::byte* allocate(std::size_t bytes) override {
        auto memory = std::make_unique<std::byte[]>(bytes + 1);
        std::memset(memory.get(), unwritten, bytes);
        auto* address = memory.get();
        KnownMemory::all().add(address, bytes + 1);
        const std::lock_guard lock(mutex_);
        memory_[address] = {std::move(memory), bytes, false};
        return address;
    }
    std::byte* allocate_host(std::size_t bytes) override {
        auto memory = std::make_unique<std::byte[]>(bytes + 1);
        auto* address = memory.get();
        KnownMemory::all().add(address, bytes + 1);
        const std::lock_guard lock(mutex_);
        staging_[address] = {std::move(memory), bytes, false};
        return address;
    }
    void free_host(std::byte* address) noexcept override {
        const std::lock_guard lock(mutex_);
        staging_.at(address).freed = true;
    }
    void free(std::byte* address) noexcept override {
        enqueue([this, address] {
            const std::lock_guard lock(mutex_);
            auto& block = memory_.at(address);
            std::memset(address, poison, block.size);
            block.freed = true;
        });
    }
    /// As CUDA does, it waits where it cannot copy by itself.
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        enqueue([to, from, bytes] { std::memcpy(to, from, bytes); });
        if (!KnownMemory::all().has(to) || !KnownMemory::all().has(from)) record()->wait();
    }
    EventPointer record() override {
        auto event = std::make_shared<HostEvent>();
        enqueue([event] { event->reach(); });
        return event;
    }
    void wait(const EventPointer& event) override {
        enqueue([event] { event->wait(); });
    }
    void make_current() override { current_device() = identity_; }
    void* native() override { return this; }

    /// What a library does on the queue; it may block.
    void enqueue(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        work_.push_back(std::move(work));
        changed_.notify_all();
    }
    /// Blocks that were written after they had been given back, and bytes that nobody gave back; with nothing queued.
    std::pair<int, std::size_t> damage() {
        record()->wait();
        const std::lock_guard lock(mutex_);
        int written = 0;
        std::size_t kept = 0;
        for (const auto& [address, block] : staging_)
            if (!block.freed) kept += block.size;
        for (const auto& [address, block] : memory_) {
            if (!block.freed) kept += block.size;
            if (block.freed &&
                !std::all_of(address, address + block.size, [](std::byte b) { return b == std::byte{poison}; }))
                ++written;
        }
        return {written, kept};
    }

private:
    struct Block {
        std::unique_ptr<std::byte[]> memory;  // kept to the end, so that what comes too late reads poison
        std::size_t size = 0;
        bool freed = false;
    };

    void run() {
        for (;;) {
            std::function<void()> work;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return stop_ || !work_.empty(); });
                if (work_.empty()) return;
                work = std::move(work_.front());
                work_.pop_front();
            }
            if (options_.most_delay_us > 0) delay();
            work();
        }
    }
    void delay() {
        auto microseconds = static_cast<int>(rng_.below(static_cast<std::uint32_t>(options_.most_delay_us) + 1));
        if (rng_.below(50) == 0) microseconds *= 20;
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    }

    std::string name_, identity_;
    HostQueueOptions options_;
    Rng rng_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    std::map<std::byte*, Block> memory_, staging_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace skippipe::testing
