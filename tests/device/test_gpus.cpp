// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cstring>

#include "core/device/cuda_driver.h"
#include "core/device/gpus.h"
#include "core/device/nccl_api.h"
#include "core/device/shared_library.h"

using namespace skippipe;

namespace {

/// A driver of two GPUs.
CudaDriver two_gpus() {
    CudaDriver driver{};
    driver.error_string = [](CudaResult, const char** text) { return *text = "it is broken", cuda_success; };
    driver.device_count = [](int* count) { return *count = 2, cuda_success; };
    driver.device = [](CudaDevice* device, int ordinal) { return *device = 40 + ordinal, cuda_success; };
    driver.device_name = [](char* name, int length, CudaDevice device) {
        std::snprintf(name, static_cast<std::size_t>(length), "Card %d", device);
        return cuda_success;
    };
    driver.device_memory = [](std::size_t* bytes, CudaDevice device) {
        return *bytes = static_cast<std::size_t>(device) << 30, cuda_success;
    };
    driver.device_uuid = [](CudaUuid* uuid, CudaDevice device) {
        for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(device + i + 100);
        return cuda_success;
    };
    return driver;
}

}  // namespace

class TestGpus : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void what_the_driver_says() {
        const auto gpus = list_gpus(two_gpus());
        QCOMPARE(gpus.size(), std::size_t{2});
        QCOMPARE(gpus[1], (Gpu{1, "Card 41", "GPU-8d8e8f90-9192-9394-9596-9798999a9b9c", 41.0 * (1 << 30)}));
    }

    void what_it_cannot_say_is_told_in_its_words() {
        auto driver = two_gpus();
        driver.device_memory = [](std::size_t*, CudaDevice) { return 999; };
        try {
            list_gpus(driver);
            QFAIL("it listed them");
        } catch (const std::runtime_error& error) {
            QVERIFY2(QString(error.what()).contains("read its memory: it is broken"), error.what());
        }
    }

    /// With GPUs or without: one of both is said.
    void this_machine() {
        const auto found = attached_gpus();
        QCOMPARE(found.list.empty(), !found.none.empty());
        if (found.list.empty())
            QVERIFY(!found.none.front().what.empty() && !found.none.front().why.empty() &&
                    !found.none.front().remedy.empty());
    }

    void numbers_of_devices() {
        QCOMPARE(device_number("cpu", "/x"), no_gpu);
        QCOMPARE(device_number("cuda", "/x"), any_gpu);
        QCOMPARE(device_number("cuda:12", "/x"), 12);
        for (const char* wrong : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:9999"})
            QVERIFY_THROWS_EXCEPTION(InputError, device_number(wrong, "/x"));
    }

    void a_library_that_is_missing_or_too_old_is_named() {
        try {
            const SharedLibrary library("/there", {"libnowhere.so.7", "libneither.so"}, "Nothing", "Install it");
            QFAIL("it was opened");
        } catch (const InputError& error) {
            const auto& fault = error.faults().front();
            QCOMPARE(fault.pointer, std::string("/there"));
            QCOMPARE(fault.what, std::string("Nothing is missing"));
            QVERIFY(QString::fromStdString(fault.why).contains("libnowhere.so.7"));
            QVERIFY(QString::fromStdString(fault.why).contains("libneither.so"));
        }
        const SharedLibrary library("/there", {"libm.so.6"}, "Mathematics", "Install it");
        double (*cosine)(double) = nullptr;
        library.find(cosine, "cos");
        QCOMPARE(cosine(0), 1.0);
        try {
            library.find(cosine, "cosine_of_the_future");
            QFAIL("it was found");
        } catch (const InputError& error) {
            QVERIFY(QString(error.what()).contains("libm.so.6 has no cosine_of_the_future"));
        }
    }
};

QTEST_GUILESS_MAIN(TestGpus)
#include "test_gpus.moc"
