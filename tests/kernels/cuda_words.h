// SPDX-License-Identifier: GPL-3.0-or-later
// CUDA's words as far as kernels/cuda uses them, for a clang without a CUDA toolkit: it compiles the kernels to PTX
// then, and reads the launches. Declares only; nothing here runs.
#pragma once
#include <cstddef>

#include <__clang_cuda_builtin_vars.h>

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

__device__ float sqrtf(float);
__device__ float exp2f(float);
__device__ float logf(float);
__device__ float fabsf(float);
__device__ float fminf(float, float);
__device__ float fmaxf(float, float);
__device__ inline float __shfl_xor_sync(unsigned mask, float value, int lanes) {
    return __nvvm_shfl_sync_bfly_f32(mask, value, lanes, 0x1f);
}

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
using cudaStream_t = struct CUstream_st*;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrComputeCapabilityMajor = 75 };
cudaError_t cudaGetLastError();
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
extern "C" cudaError_t cudaConfigureCall(dim3 blocks, dim3 threads, std::size_t shared = 0,
                                         cudaStream_t stream = nullptr);
