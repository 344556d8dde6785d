// SPDX-License-Identifier: GPL-3.0-or-later
// CUDA's queue against a driver in memory: which stream its events are recorded on.
#include <QTest>

#include <chrono>
#include <set>
#include <vector>

#include "core/base/fault.h"
#include "core/device/cuda_driver.h"
#include "core/device/cuda_queue.h"

using namespace skippipe;

namespace {

/// What the driver was asked for.
struct Asked {
    std::set<void*> streams;  ///< that are there
    std::vector<void*> recorded_on;
    int events = 0;
    void* context = nullptr;
    std::set<void*> locked;  ///< memory of the host
    int times_locked = 0;
    bool may_lock = true;
} asked;

CudaDriver driver_in_memory() {
    CudaDriver driver{};
    driver.error_string = [](CudaResult, const char** text) { return *text = "it is broken", cuda_success; };
    driver.device_count = [](int* count) { return *count = 1, cuda_success; };
    driver.device = [](CudaDevice* device, int) { return *device = 0, cuda_success; };
    driver.device_name = [](char* name, int, CudaDevice) { return *name = '\0', cuda_success; };
    driver.device_memory = [](std::size_t* bytes, CudaDevice) { return *bytes = 80, cuda_success; };
    driver.device_uuid = [](CudaUuid* uuid, CudaDevice) { return *uuid = {}, cuda_success; };
    driver.retain_context = [](void** context, CudaDevice) { return *context = &asked, cuda_success; };
    driver.set_context = [](void* context) { return asked.context = context, cuda_success; };
    driver.make_stream = [](void** stream, unsigned) {
        *stream = new char;
        return asked.streams.insert(*stream), cuda_success;
    };
    driver.destroy_stream = [](void* stream) {
        asked.streams.erase(stream);
        delete static_cast<char*>(stream);
        return cuda_success;
    };
    driver.synchronize_stream = [](void*) { return cuda_success; };
    driver.make_event = [](void** event, unsigned) { return *event = new char, ++asked.events, cuda_success; };
    driver.destroy_event = [](void* event) {
        delete static_cast<char*>(event);
        return --asked.events, cuda_success;
    };
    driver.record_event = [](void*, void* stream) { return asked.recorded_on.push_back(stream), cuda_success; };
    driver.query_event = [](void*) { return cuda_not_ready; };
    driver.synchronize_event = [](void*) { return cuda_success; };
    driver.allocate_host = [](void** memory, std::size_t bytes) {
        if (!asked.may_lock) return 2;
        ++asked.times_locked;
        *memory = new char[bytes];
        return asked.locked.insert(*memory), cuda_success;
    };
    driver.free_host = [](void* memory) {
        asked.locked.erase(memory);
        delete[] static_cast<char*>(memory);
        return cuda_success;
    };
    driver.elapsed_ms = [](float* ms, void*, void*) { return *ms = 1500, cuda_success; };
    return driver;
}

}  // namespace

class TestCudaQueue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { asked = {}; }

    void a_stream_of_its_own_goes_with_it() {
        const auto driver = driver_in_memory();
        {
            const auto queue = make_cuda_queue(driver, 0);
            QCOMPARE(asked.streams.size(), std::size_t{1});
            queue->record();
            QCOMPARE(asked.recorded_on.back(), *asked.streams.begin());
            QCOMPARE(queue->native(), *asked.streams.begin());
        }
        QVERIFY(asked.streams.empty());
        QCOMPARE(asked.events, 0);
    }

    /// LibTorch's operations are before what is recorded there.
    void the_standard_stream_is_nobody_s() {
        const auto driver = driver_in_memory();
        {
            const auto queue = make_cuda_queue(driver, 0, CudaStream::standard);
            QVERIFY(asked.streams.empty());
            const auto event = queue->record();
            QCOMPARE(asked.recorded_on.back(), nullptr);
            QVERIFY(!event->done());
            event->wait();
            asked.context = nullptr;
            queue->make_current();
            QCOMPARE(asked.context, static_cast<void*>(&asked));
        }
        QCOMPARE(asked.events, 0);
    }

    void an_event_is_told_by_the_host_s_clock() {
        const auto driver = driver_in_memory();
        const auto now_s = [] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        };
        const double before_s = now_s();
        const auto queue = make_cuda_queue(driver, 0);
        const double after_s = now_s();
        const double reached_s = queue->record()->reached_s();  // 1.5 s after the reference
        QVERIFY(reached_s >= before_s + 1.5 && reached_s <= after_s + 1.5);
    }

    /// Locked once, used again by whoever needs no more, given back with the queue, from any thread.
    void memory_for_copies_is_used_again() {
        const auto driver = driver_in_memory();
        std::shared_ptr<DeviceQueue> queue = make_cuda_queue(driver, 0);
        const auto* first = StagingMemory(queue, 5000).data();
        {
            const StagingMemory same(queue, 8000), other(queue, 8192), larger(queue, 8193);
            QCOMPARE(same.data(), first);
            QVERIFY(other.data() != first);
            QCOMPARE(asked.times_locked, 3);
        }
        asked.may_lock = false;
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, StagingMemory(queue, 1 << 20));
        QCOMPARE(asked.locked.size(), std::size_t{3});
        asked.context = nullptr;
        queue.reset();
        QCOMPARE(asked.context, static_cast<void*>(&asked));
        QVERIFY(asked.locked.empty());
    }

    void another_gpu_is_not_there() {
        const auto driver = driver_in_memory();
        QVERIFY_THROWS_EXCEPTION(InputError, make_cuda_queue(driver, 1));
    }
};

QTEST_GUILESS_MAIN(TestCudaQueue)
#include "test_cuda_queue.moc"
