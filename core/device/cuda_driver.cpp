// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cuda_driver.h"

#include <stdexcept>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/device/shared_library.h"

namespace skippipe {
namespace {

std::string words(const CudaDriver& driver, CudaResult result) {
    const char* text = nullptr;
    if (driver.error_string(result, &text) != cuda_success || text == nullptr) return fmt::format("error {}", result);
    return text;
}

CudaDriver open_driver() {
    const SharedLibrary library("device", {"libcuda.so.1"}, "the NVIDIA driver",
                                "Install the driver of this machine's GPU, or set the nodes' \"device\" to \"cpu\"");
    CudaDriver driver{};
    library.find(driver.init, "cuInit");
    library.find(driver.error_string, "cuGetErrorString");
    library.find(driver.device_count, "cuDeviceGetCount");
    library.find(driver.device, "cuDeviceGet");
    library.find(driver.device_name, "cuDeviceGetName");
    library.find(driver.device_memory, "cuDeviceTotalMem_v2");
    library.find(driver.device_uuid, "cuDeviceGetUuid");
    library.find(driver.retain_context, "cuDevicePrimaryCtxRetain");
    library.find(driver.set_context, "cuCtxSetCurrent");
    library.find(driver.make_stream, "cuStreamCreate");
    library.find(driver.destroy_stream, "cuStreamDestroy_v2");
    library.find(driver.synchronize_stream, "cuStreamSynchronize");
    library.find(driver.make_event, "cuEventCreate");
    library.find(driver.destroy_event, "cuEventDestroy_v2");
    library.find(driver.record_event, "cuEventRecord");
    library.find(driver.query_event, "cuEventQuery");
    library.find(driver.synchronize_event, "cuEventSynchronize");
    library.find(driver.elapsed_ms, "cuEventElapsedTime");
    library.find(driver.wait_event, "cuStreamWaitEvent");
    library.find(driver.allocate, "cuMemAllocAsync");
    library.find(driver.free, "cuMemFreeAsync");
    library.find(driver.allocate_host, "cuMemAllocHost_v2");
    library.find(driver.free_host, "cuMemFreeHost");
    library.find(driver.copy, "cuMemcpyAsync");
    if (const auto result = driver.init(0); result != cuda_success)
        throw InputError("device", "no GPU can be used", "the NVIDIA driver says: " + words(driver, result),
                         "Look at `nvidia-smi` and CUDA_VISIBLE_DEVICES, or set the nodes' \"device\" to \"cpu\"");
    return driver;
}

}  // namespace

const CudaDriver& cuda_driver() {
    static const CudaDriver driver = open_driver();
    return driver;
}

void require_cuda(const CudaDriver& driver, CudaResult result, const char* doing) {
    if (result != cuda_success)
        throw std::runtime_error(fmt::format("CUDA: cannot {}: {}", doing, words(driver, result)));
}

}  // namespace skippipe
