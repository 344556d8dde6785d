// SPDX-License-Identifier: GPL-3.0-or-later
// The part of the CUDA driver's interface that is used, as a table of functions: libcuda.so.1 comes with the driver and
// is opened at run time. Types are those of its public interface; core/device/check/check_headers.cpp compares them
// where cuda.h is there.
#pragma once
#include <cstddef>

namespace skippipe {

/// CUresult: 0 is success.
using CudaResult = int;
constexpr CudaResult cuda_success = 0, cuda_not_ready = 600;
/// CUdevice, CUdeviceptr, CUuuid.
using CudaDevice = int;
using CudaAddress = unsigned long long;
struct CudaUuid {
    char bytes[16];
};

struct CudaDriver {
    CudaResult (*init)(unsigned flags);
    CudaResult (*error_string)(CudaResult, const char**);
    CudaResult (*device_count)(int*);
    CudaResult (*device)(CudaDevice*, int ordinal);
    CudaResult (*device_name)(char*, int length, CudaDevice);
    CudaResult (*device_memory)(std::size_t*, CudaDevice);
    CudaResult (*device_uuid)(CudaUuid*, CudaDevice);
    CudaResult (*retain_context)(void** context, CudaDevice);
    CudaResult (*set_context)(void* context);
    CudaResult (*make_stream)(void** stream, unsigned flags);
    CudaResult (*destroy_stream)(void* stream);
    CudaResult (*synchronize_stream)(void* stream);
    CudaResult (*make_event)(void** event, unsigned flags);
    CudaResult (*destroy_event)(void* event);
    CudaResult (*record_event)(void* event, void* stream);
    CudaResult (*query_event)(void* event);
    CudaResult (*synchronize_event)(void* event);
    CudaResult (*elapsed_ms)(float*, void* from_event, void* to_event);
    CudaResult (*wait_event)(void* stream, void* event, unsigned flags);
    CudaResult (*allocate)(CudaAddress*, std::size_t bytes, void* stream);
    CudaResult (*free)(CudaAddress, void* stream);
    CudaResult (*allocate_host)(void**, std::size_t bytes);
    CudaResult (*free_host)(void*);
    CudaResult (*copy)(CudaAddress to, CudaAddress from, std::size_t bytes, void* stream);
};

/// The driver of this machine, initialised once. Throws InputError at "device" where there is none, or it has no GPU
/// that it can use.
const CudaDriver& cuda_driver();

/// Throws std::runtime_error "CUDA: cannot `doing`: ..." where it is not success.
void require_cuda(const CudaDriver& driver, CudaResult result, const char* doing);

}  // namespace skippipe
