// SPDX-License-Identifier: GPL-3.0-or-later
// The seam to devices: where bytes live, on which queue work runs, and when it is done. CUDA fills it (cuda_queue.h);
// tests fill it with a host device that is as asynchronous (tests/device/host_queue.h).
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace skippipe {

enum class MemoryKind { host, device };

/// A point of a queue's work.
class DeviceEvent {
public:
    virtual ~DeviceEvent() = default;
    /// Whether all that was queued before it is done. Throws std::runtime_error where the device failed.
    virtual bool done() const = 0;
    /// Waits, on the calling thread, until it is.
    virtual void wait() const = 0;
    /// Once it is done: when that was, in seconds of steady_s(). Never when it was queued, or asked for.
    virtual double reached_s() const = 0;
};
using EventPointer = std::shared_ptr<const DeviceEvent>;

/// Work that a device does one after the other, beside the host and other queues: every call only queues it. What it
/// reads and writes must live, and stay as it is, until an event that was recorded after it is done. For one thread at
/// a time.
class DeviceQueue {
public:
    virtual ~DeviceQueue() = default;

    /// The device, for people: "cuda:1 (NVIDIA H200)".
    virtual const std::string& name() const = 0;
    /// Of the device itself: the same in every process that uses it, and no other's.
    virtual const std::string& identity() const = 0;

    /// Bytes of the device, not cleared; to be used by what is queued from now on.
    virtual std::byte* allocate(std::size_t bytes) = 0;
    /// Given back once what is queued here is done.
    virtual void free(std::byte* address) noexcept = 0;
    /// Bytes of the host that the device reads and writes by itself (CUDA: page-locked); not cleared. From any thread.
    virtual std::byte* allocate_host(std::size_t bytes) = 0;
    /// Nothing that is queued may use it any more. From any thread.
    virtual void free_host(std::byte* address) noexcept = 0;
    /// Between any two kinds of memory. With memory of the host that is not from allocate_host() it may wait until all
    /// that is queued is done: never where another rank may be waited for.
    virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
    /// An event behind all that is queued here.
    virtual EventPointer record() = 0;
    /// What is queued here from now on begins after the event, of any queue.
    virtual void wait(const EventPointer& event) = 0;

    /// Calls of libraries that work on the device go to it from the calling thread.
    virtual void make_current() = 0;
    /// What such a library takes as its queue: CUDA's stream.
    virtual void* native() = 0;
};

/// Bytes that a queue gave, and takes back with this.
template <auto allocate, auto free>
class QueueMemory {
public:
    QueueMemory() = default;
    QueueMemory(std::shared_ptr<DeviceQueue> queue, std::size_t bytes)
        : queue_(std::move(queue)), data_((queue_.get()->*allocate)(bytes)), size_(bytes) {}
    QueueMemory(QueueMemory&& other) noexcept
        : queue_(std::move(other.queue_)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    QueueMemory& operator=(QueueMemory&& other) noexcept {
        std::swap(queue_, other.queue_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~QueueMemory() {
        if (data_ != nullptr) (queue_.get()->*free)(data_);
    }
    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    std::shared_ptr<DeviceQueue> queue_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Bytes of a device, not to be read or written by the host; given back in the order of their queue.
using DeviceMemory = QueueMemory<&DeviceQueue::allocate, &DeviceQueue::free>;
/// Bytes of the host for copies to and from a device; given back at once.
using StagingMemory = QueueMemory<&DeviceQueue::allocate_host, &DeviceQueue::free_host>;

}  // namespace skippipe
