// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cuda_queue.h"

#include <chrono>
#include <cstdint>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/device/cuda_driver.h"
#include "core/device/gpus.h"
#include "core/device/staging_pool.h"

namespace skippipe {
namespace {

double host_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

CudaAddress address_of(const std::byte* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// CUDA's event, destroyed with it.
struct NativeEvent {
    explicit NativeEvent(const CudaDriver& of) : driver(of) {
        require_cuda(driver, driver.make_event(&event, 0), "make an event");
    }
    ~NativeEvent() { driver.destroy_event(event); }
    NativeEvent(const NativeEvent&) = delete;
    NativeEvent& operator=(const NativeEvent&) = delete;
    const CudaDriver& driver;
    void* event = nullptr;
};

/// An event whose time on the host's clock is known.
struct Reference {
    std::shared_ptr<NativeEvent> event;
    double at_s = 0;
};

class CudaEvent final : public DeviceEvent {
public:
    CudaEvent(const CudaDriver& driver, void* stream, Reference reference)
        : event_(driver), reference_(std::move(reference)) {
        require_cuda(driver, driver.record_event(event_.event, stream), "record an event");
    }
    bool done() const override {
        const auto result = event_.driver.query_event(event_.event);
        if (result == cuda_not_ready) return false;
        require_cuda(event_.driver, result, "do what was queued");
        return true;
    }
    void wait() const override {
        require_cuda(event_.driver, event_.driver.synchronize_event(event_.event), "do what was queued");
    }
    double reached_s() const override {
        float ms = 0;
        require_cuda(event_.driver, event_.driver.elapsed_ms(&ms, reference_.event->event, event_.event),
                     "read when an event was reached");
        return reference_.at_s + 1e-3 * ms;
    }
    void* native() const { return event_.event; }

private:
    NativeEvent event_;
    Reference reference_;
};

class CudaQueue final : public DeviceQueue {
public:
    CudaQueue(const CudaDriver& driver, const Gpu& gpu, CudaStream which)
        : driver_(driver),
          name_(fmt::format("cuda:{} ({})", gpu.index, gpu.name)),
          identity_(gpu.uuid),
          staging_(driver) {
        CudaDevice device = 0;
        require_cuda(driver_, driver_.device(&device, gpu.index), "find the GPU");
        require_cuda(driver_, driver_.retain_context(&context_, device), "use the GPU");
        make_current();
        constexpr unsigned beside_the_default_stream = 1;
        if (which == CudaStream::own)
            require_cuda(driver_, driver_.make_stream(&stream_, beside_the_default_stream), "make a stream");
        set_reference();
    }
    /// The context is the process's.
    ~CudaQueue() override {
        driver_.set_context(context_);
        driver_.synchronize_stream(stream_);
        staging_.free_all();
        if (stream_ != nullptr) driver_.destroy_stream(stream_);
    }

    const std::string& name() const override { return name_; }
    const std::string& identity() const override { return identity_; }
    std::byte* allocate(std::size_t bytes) override {
        CudaAddress address = 0;
        require_cuda(driver_, driver_.allocate(&address, bytes > 0 ? bytes : 1, stream_),
                     fmt::format("allocate {} bytes on {}", bytes, name_).c_str());
        return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
    }
    void free(std::byte* address) noexcept override { driver_.free(address_of(address), stream_); }
    std::byte* allocate_host(std::size_t bytes) override {
        make_current();
        return staging_.take(bytes);
    }
    void free_host(std::byte* address) noexcept override { staging_.give(address); }
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        if (bytes > 0) require_cuda(driver_, driver_.copy(address_of(to), address_of(from), bytes, stream_), "copy");
    }
    /// The float of elapsed_ms has 24 bits: after some minutes it would count whole microseconds only.
    EventPointer record() override {
        if (host_s() - reference_.at_s > 60) set_reference();
        return std::make_shared<CudaEvent>(driver_, stream_, reference_);
    }
    void wait(const EventPointer& event) override {
        if (const auto* cuda = dynamic_cast<const CudaEvent*>(event.get()))
            require_cuda(driver_, driver_.wait_event(stream_, cuda->native(), 0), "wait for an event");
        else
            event->wait();
    }
    void make_current() override { require_cuda(driver_, driver_.set_context(context_), "use the GPU"); }
    void* native() override { return stream_; }

private:
    /// On a stream of its own, where nothing is in its way: the host's clock is read as it is reached.
    void set_reference() {
        constexpr unsigned beside_the_default_stream = 1;
        void* idle = nullptr;
        require_cuda(driver_, driver_.make_stream(&idle, beside_the_default_stream), "make a stream");
        auto event = std::make_shared<NativeEvent>(driver_);
        const auto recorded = driver_.record_event(event->event, idle);
        const auto reached = driver_.synchronize_event(event->event);
        const double now_s = host_s();
        driver_.destroy_stream(idle);
        require_cuda(driver_, recorded, "record an event");
        require_cuda(driver_, reached, "reach an event");
        reference_ = {std::move(event), now_s};
    }

    const CudaDriver& driver_;
    std::string name_, identity_;
    StagingPool staging_;
    void* context_ = nullptr;
    void* stream_ = nullptr;  ///< null: the standard one
    Reference reference_;
};

}  // namespace

std::shared_ptr<DeviceQueue> make_cuda_queue(const CudaDriver& driver, int index, CudaStream which) {
    const auto gpus = list_gpus(driver);
    if (index < 0 || index >= static_cast<int>(gpus.size()))
        throw InputError("device", fmt::format("\"cuda:{}\" is not there", index),
                         fmt::format("{} GPUs are attached", gpus.size()),
                         "Look at `nvidia-smi` and CUDA_VISIBLE_DEVICES");
    return std::make_shared<CudaQueue>(driver, gpus[static_cast<std::size_t>(index)], which);
}

}  // namespace skippipe
