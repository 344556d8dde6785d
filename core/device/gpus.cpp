// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/gpus.h"

#include <array>
#include <exception>

#include <fmt/format.h>

#include "core/device/cuda_driver.h"

namespace skippipe {
namespace {

std::string text_of(const CudaUuid& uuid) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

Gpu gpu_at(const CudaDriver& driver, int index) {
    CudaDevice device = 0;
    require_cuda(driver, driver.device(&device, index), "find a GPU");
    Gpu gpu{.index = index, .name = {}, .uuid = {}, .memory_bytes = 0, .free_bytes = {}};
    std::array<char, 256> name{};
    require_cuda(driver, driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device), "read its name");
    gpu.name = name.data();
    std::size_t bytes = 0;
    require_cuda(driver, driver.device_memory(&bytes, device), "read its memory");
    gpu.memory_bytes = static_cast<double>(bytes);
    CudaUuid uuid{};
    require_cuda(driver, driver.device_uuid(&uuid, device), "read its UUID");
    gpu.uuid = text_of(uuid);
    return gpu;
}

}  // namespace

std::vector<Gpu> list_gpus(const CudaDriver& driver) {
    int count = 0;
    require_cuda(driver, driver.device_count(&count), "count the GPUs");
    std::vector<Gpu> gpus;
    for (int index = 0; index < count; ++index) gpus.push_back(gpu_at(driver, index));
    return gpus;
}

AttachedGpus attached_gpus() {
    const char* remedy = "Look at `nvidia-smi` and CUDA_VISIBLE_DEVICES, or set the nodes' \"device\" to \"cpu\"";
    AttachedGpus found;
    try {
        found.list = list_gpus(cuda_driver());
        if (found.list.empty())
            found.none = {{"device", "no GPU is attached", "the NVIDIA driver is there and counts none", remedy}};
    } catch (const InputError& error) {
        found.none = error.faults();
    } catch (const std::exception& error) {
        found.none = {{"device", "no GPU can be used", error.what(), remedy}};
    }
    return found;
}

int device_number(const std::string& device, const std::string& pointer) {
    if (device == "cpu") return no_gpu;
    if (device == "cuda") return any_gpu;
    const bool numbered = device.size() > 5 && device.size() < 9 && device.starts_with("cuda:") &&
                          device.find_first_not_of("0123456789", 5) == std::string::npos;
    if (!numbered)
        throw InputError(pointer, fmt::format("unknown device \"{}\"", device), "a node's tensors live there",
                         "Use \"cpu\", \"cuda\" or \"cuda:N\"");
    return std::stoi(device.substr(5));
}

}  // namespace skippipe
