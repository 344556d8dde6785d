// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"

#include "kernels/cuda/rows.h"

namespace skippipe::kernels::cuda {
namespace {

constexpr int row_threads = 256, element_threads = 256, chunks = 64;
/// Enough to fill any card; each takes several rows or elements where there are more.
constexpr std::size_t most_blocks = 4096;

/// The threads that CUDA runs.
struct CudaBlock {
    __device__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }
    __device__ int index() const { return static_cast<int>(blockIdx.x); }
    __device__ int blocks() const { return static_cast<int>(gridDim.x); }
    __device__ void sync() const { __syncthreads(); }
    __device__ float shuffle_xor(float value, int mask) const { return __shfl_xor_sync(0xffffffffu, value, mask); }
    __device__ float* scratch() const {
        __shared__ float values[64];
        return values;
    }
};

__global__ void rms_norm_kernel(Bf16* normed, float* factors, Bf16* sum, const Bf16* x, const Bf16* weight,
                                std::size_t rows, std::size_t width, float epsilon) {
    CudaBlock block;
    device::rms_norm(block, normed, factors, sum, x, weight, rows, width, epsilon);
}
__global__ void weight_parts_kernel(float* parts, const Bf16* gradient, const Bf16* x, const float* factors,
                                    std::size_t rows, std::size_t width) {
    CudaBlock block;
    device::rms_norm_weight_parts(block, parts, gradient, x, factors, rows, width, chunks);
}
__global__ void add_rows_kernel(float* to, const float* parts, std::size_t rows, std::size_t width) {
    CudaBlock block;
    device::add_rows(block, to, parts, rows, width);
}
__global__ void rms_norm_backward_kernel(Bf16* dx, Bf16* gradient, const Bf16* residual, const Bf16* x,
                                         const Bf16* weight, const float* factors, std::size_t rows,
                                         std::size_t width) {
    CudaBlock block;
    device::rms_norm_backward(block, dx, gradient, residual, x, weight, factors, rows, width);
}
__global__ void softmax_cross_entropy_kernel(Bf16* logits, float* losses, const std::int64_t* targets, std::size_t rows,
                                             std::size_t vocabulary) {
    CudaBlock block;
    device::softmax_cross_entropy(block, logits, losses, targets, rows, vocabulary);
}
__global__ void swiglu_kernel(Bf16* out, const Bf16* gate_up, std::size_t rows, std::size_t hidden) {
    CudaBlock block;
    device::swiglu(block, out, gate_up, rows, hidden);
}
__global__ void swiglu_backward_kernel(Bf16* gate_up, Bf16* gradient, std::size_t rows, std::size_t hidden) {
    CudaBlock block;
    device::swiglu_backward(block, gate_up, gradient, rows, hidden);
}
__global__ void rotary_kernel(Bf16* qkv, const float* table, std::size_t rows, RotaryShape shape, float query_scale,
                              bool back) {
    CudaBlock block;
    device::rotary(block, qkv, table, rows, shape, query_scale, back);
}
__global__ void adamw_kernel(float* weights, Bf16* working, const float* gradient, float* m, float* v, std::size_t n,
                             AdamWStep step) {
    CudaBlock block;
    device::adamw(block, weights, working, gradient, m, v, n, step);
}
__global__ void accumulate_kernel(float* to, const Bf16* from, std::size_t n) {
    CudaBlock block;
    device::accumulate(block, to, from, n);
}
__global__ void pack_kernel(Bf16* to, const float* from, float factor, std::size_t n) {
    CudaBlock block;
    device::pack(block, to, from, factor, n);
}
__global__ void encode_int8_kernel(std::int8_t* to, float* scales, const float* values, float* residual,
                                   std::size_t rows, std::size_t width) {
    CudaBlock block;
    device::encode_int8(block, to, scales, values, residual, rows, width);
}
__global__ void add_int8_kernel(float* to, const std::int8_t* from, const float* scales, std::size_t rows,
                                std::size_t width) {
    CudaBlock block;
    device::add_int8(block, to, from, scales, rows, width);
}

unsigned blocks_of(std::size_t units) { return static_cast<unsigned>(units < most_blocks ? units : most_blocks); }
unsigned blocks_of_elements(std::size_t n) { return blocks_of((n + element_threads - 1) / element_threads); }

/// Nothing is launched for no work: CUDA refuses grids without blocks.
template <class Kernel, class... Arguments>
int launch(unsigned blocks, int threads, Stream stream, Kernel kernel, Arguments... arguments) {
    if (blocks == 0) return 0;
    kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(arguments...);
    return static_cast<int>(cudaGetLastError());
}

}  // namespace

int rms_norm(Bf16* normed, float* factors, Bf16* sum, const Bf16* x, const Bf16* weight, std::size_t rows,
             std::size_t width, float epsilon, Stream stream) {
    return launch(blocks_of(rows), row_threads, stream, rms_norm_kernel, normed, factors, sum, x, weight, rows, width,
                  epsilon);
}

std::size_t rms_norm_workspace(std::size_t, std::size_t width) { return chunks * width; }

int rms_norm_backward(Bf16* dx, Bf16* gradient, float* weight_gradient, const Bf16* residual, const Bf16* x,
                      const Bf16* weight, const float* factors, std::size_t rows, std::size_t width, float* workspace,
                      Stream stream) {
    const std::size_t tiles = (width + row_threads - 1) / row_threads;
    if (const int error = launch(blocks_of(rows ? chunks * tiles : 0), row_threads, stream, weight_parts_kernel,
                                 workspace, gradient, x, factors, rows, width))
        return error;
    if (const int error = launch(blocks_of_elements(rows ? width : 0), element_threads, stream, add_rows_kernel,
                                 weight_gradient, workspace, std::size_t{chunks}, width))
        return error;
    return launch(blocks_of(rows), row_threads, stream, rms_norm_backward_kernel, dx, gradient, residual, x, weight,
                  factors, rows, width);
}

int softmax_cross_entropy(Bf16* logits, float* losses, const std::int64_t* targets, std::size_t rows,
                          std::size_t vocabulary, Stream stream) {
    return launch(blocks_of(rows), row_threads, stream, softmax_cross_entropy_kernel, logits, losses, targets, rows,
                  vocabulary);
}

int swiglu(Bf16* out, const Bf16* gate_up, std::size_t rows, std::size_t hidden, Stream stream) {
    return launch(blocks_of_elements(rows * hidden), element_threads, stream, swiglu_kernel, out, gate_up, rows,
                  hidden);
}

int swiglu_backward(Bf16* gate_up, Bf16* gradient, std::size_t rows, std::size_t hidden, Stream stream) {
    return launch(blocks_of_elements(rows * hidden), element_threads, stream, swiglu_backward_kernel, gate_up, gradient,
                  rows, hidden);
}

int rotary(Bf16* qkv, const float* table, std::size_t rows, const RotaryShape& shape, float query_scale, bool back,
           Stream stream) {
    return launch(blocks_of_elements(rows * shape.heads * shape.head_width), element_threads, stream, rotary_kernel,
                  qkv, table, rows, shape, query_scale, back);
}

int adamw(float* weights, Bf16* working, const float* gradient, float* m, float* v, std::size_t n,
          const AdamWStep& step, Stream stream) {
    return launch(blocks_of_elements(n), element_threads, stream, adamw_kernel, weights, working, gradient, m, v, n,
                  step);
}

int accumulate(float* to, const Bf16* from, std::size_t n, Stream stream) {
    return launch(blocks_of_elements(n), element_threads, stream, accumulate_kernel, to, from, n);
}

int pack(Bf16* to, const float* from, float factor, std::size_t n, Stream stream) {
    return launch(blocks_of_elements(n), element_threads, stream, pack_kernel, to, from, factor, n);
}

int encode_int8(std::int8_t* to, float* scales, const float* values, float* residual, std::size_t rows,
                std::size_t width, Stream stream) {
    return launch(blocks_of(rows), row_threads, stream, encode_int8_kernel, to, scales, values, residual, rows, width);
}

int add_int8(float* to, const std::int8_t* from, const float* scales, std::size_t rows, std::size_t width,
             Stream stream) {
    return launch(blocks_of_elements(rows * width), element_threads, stream, add_int8_kernel, to, from, scales, rows,
                  width);
}

}  // namespace skippipe::kernels::cuda
