// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"

#include "kernels/cuda/rows.h"

namespace skippipe::kernels::cuda {
namespace {

// How many threads take a row was measured on an H200 (docs/figures.md).
constexpr int row_threads = 256, element_threads = 256;
constexpr int most_loss_threads = 1024;
/// rms_norm_backward: blocks, each with weight gradients of its own.
constexpr std::size_t norm_blocks = 1024;
constexpr int norm_threads = 1024;  ///< that a multiprocessor has room for
/// Enough to fill any card; each takes several rows where there are more. Of blocks of elements there are as many as it
/// takes: what runs out is replaced.
constexpr std::size_t most_blocks = 65536, most_element_blocks = std::size_t{1} << 30;

/// The threads that CUDA runs.
struct CudaBlock {
    __device__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }
    __device__ int index() const { return static_cast<int>(blockIdx.x); }
    __device__ int blocks() const { return static_cast<int>(gridDim.x); }
    __device__ void sync() const { __syncthreads(); }
    __device__ float shuffle_xor(float value, int mask) const { return __shfl_xor_sync(0xffffffffu, value, mask); }
    __device__ float* scratch() const {
        __shared__ float values[128];
        return values;
    }
};

/// As many values at once as the widths and addresses allow: 8, or 1.
template <int v>
struct Wide {
    static constexpr int value = v;
};
bool even(std::size_t n) { return n % 8 == 0; }
bool even(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }
template <class Work, class... Sizes>
int by_width(Work work, Sizes... sizes) {
    return (even(sizes) && ...) ? work(Wide<8>{}) : work(Wide<1>{});
}

template <int V>
__global__ void rms_norm_kernel(Bf16* normed, float* factors, float* sum, const float* x, const Bf16* added,
                                const float* weight, std::size_t rows, std::size_t width, float epsilon) {
    CudaBlock block;
    device::rms_norm<V>(block, normed, factors, sum, x, added, weight, rows, width, epsilon);
}
template <int V>
__global__ void __launch_bounds__(norm_threads)
    rms_norm_backward_kernel(float* dx, Bf16* rounded, Bf16* gradient, float* parts, const float* residual,
                             const float* x, const float* weight, const float* factors, std::size_t rows,
                             std::size_t width) {
    CudaBlock block;
    device::rms_norm_backward<V>(block, dx, rounded, gradient, parts, residual, x, weight, factors, rows, width);
}
__global__ void add_rows_kernel(float* to, const float* parts, std::size_t rows, std::size_t width) {
    CudaBlock block;
    device::add_rows(block, to, parts, rows, width);
}
template <int V, int kept>
__global__ void __launch_bounds__(most_loss_threads)
    softmax_cross_entropy_kernel(Bf16* logits, float* losses, const std::int64_t* targets, std::size_t rows,
                                 std::size_t vocabulary) {
    CudaBlock block;
    device::softmax_cross_entropy<V, kept>(block, logits, losses, targets, rows, vocabulary);
}
template <int V>
__global__ void swiglu_kernel(Bf16* out, const Bf16* gate_up, std::size_t rows, std::size_t hidden) {
    CudaBlock block;
    device::swiglu<V>(block, out, gate_up, rows, hidden);
}
template <int V>
__global__ void swiglu_backward_kernel(Bf16* gate_up, Bf16* gradient, std::size_t rows, std::size_t hidden) {
    CudaBlock block;
    device::swiglu_backward<V>(block, gate_up, gradient, rows, hidden);
}
template <int P>
__global__ void rotary_kernel(Bf16* qkv, const float* table, std::size_t rows, RotaryShape shape, float query_scale) {
    CudaBlock block;
    device::rotary<P>(block, qkv, table, rows, shape, query_scale);
}
template <int P>
__global__ void rotary_backward_kernel(Bf16* qkv, const Bf16* query, const Bf16* key, const Bf16* value,
                                       const float* table, std::size_t rows, RotaryShape shape, float query_scale) {
    CudaBlock block;
    device::rotary_backward<P>(block, qkv, query, key, value, table, rows, shape, query_scale);
}
template <int V>
__global__ void adamw_kernel(float* weights, Bf16* working, const float* gradient, float* m, float* v, std::size_t n,
                             AdamWStep step) {
    CudaBlock block;
    device::adamw<V>(block, weights, working, gradient, m, v, n, step);
}
template <int V>
__global__ void accumulate_kernel(float* to, const Bf16* from, std::size_t n) {
    CudaBlock block;
    device::accumulate<V>(block, to, from, n);
}
template <int V>
__global__ void pack_kernel(Bf16* to, const float* from, float factor, std::size_t n) {
    CudaBlock block;
    device::pack<V>(block, to, from, factor, n);
}
template <int V>
__global__ void __launch_bounds__(row_threads, 4)
    encode_int8_kernel(std::int8_t* to, float* scales, const float* values, float* residual, std::size_t rows,
                       std::size_t width) {
    CudaBlock block;
    device::encode_int8<V>(block, to, scales, values, residual, rows, width);
}
template <int V>
__global__ void add_int8_kernel(float* to, const std::int8_t* from, const float* scales, std::size_t rows,
                                std::size_t width) {
    CudaBlock block;
    device::add_int8<V>(block, to, from, scales, rows, width);
}

unsigned blocks_of(std::size_t units) { return static_cast<unsigned>(units < most_blocks ? units : most_blocks); }
/// For elements of which each thread takes `each` at once.
unsigned blocks_of_elements(std::size_t n, int each) {
    const std::size_t threads = (n + static_cast<std::size_t>(each) - 1) / static_cast<std::size_t>(each);
    const std::size_t blocks = (threads + element_threads - 1) / element_threads;
    return static_cast<unsigned>(blocks < most_element_blocks ? blocks : most_element_blocks);
}

/// Threads for so many units, a warp at the least and `most` at the most.
int threads_for(std::size_t units, int most) {
    const std::size_t threads = (units + 31) / 32 * 32;
    return threads < static_cast<std::size_t>(most) ? static_cast<int>(threads > 0 ? threads : 32) : most;
}

/// Nothing is launched for no work: CUDA refuses grids without blocks.
template <class Kernel, class... Arguments>
int launch(unsigned blocks, int threads, Stream stream, Kernel kernel, Arguments... arguments) {
    if (blocks == 0) return 0;
    kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(arguments...);
    return static_cast<int>(cudaGetLastError());
}

/// Of a kernel that counts units of rows (device::for_rows).
template <class Kernel, class... Arguments>
int launch_rows(std::size_t rows, std::size_t units, Stream stream, Kernel kernel, Arguments... arguments) {
    if (units > 0 && rows > 0xffffffffu / units) return static_cast<int>(cudaErrorInvalidValue);
    return launch(blocks_of_elements(rows * units, 1), element_threads, stream, kernel, arguments...);
}

}  // namespace

bool runs_on(int card) {
    int major = 0;
    constexpr int least = 8;  // what these are compiled for
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, card) == cudaSuccess && major >= least;
}

int rms_norm(Bf16* normed, float* factors, float* sum, const float* x, const Bf16* added, const float* weight,
             std::size_t rows, std::size_t width, float epsilon, Stream stream) {
    return by_width(
        [&](auto v) {
            constexpr std::size_t each = decltype(v)::value;
            const std::size_t packs = width / each;  // a thread keeps two, where there are enough of them
            const int threads = threads_for(packs > 128 ? (packs + 1) / 2 : packs, row_threads);
            return launch(blocks_of(rows), threads, stream, rms_norm_kernel<decltype(v)::value>, normed, factors, sum,
                          x, added, weight, rows, width, epsilon);
        },
        width, normed, sum, x, added, weight);
}

std::size_t rms_norm_workspace(std::size_t width) { return norm_blocks * width; }

int rms_norm_backward(float* dx, Bf16* rounded, Bf16* gradient, float* weight_gradient, const float* residual,
                      const float* x, const float* weight, const float* factors, std::size_t rows, std::size_t width,
                      float* workspace, Stream stream) {
    if (rows == 0) return 0;
    // As many blocks as run at once: a last one that is left over would double the time.
    int card = 0, processors = 0;
    cudaGetDevice(&card);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, card);
    std::size_t blocks = 0;
    const int error = by_width(
        [&](auto v) {
            constexpr int each = decltype(v)::value;
            const int threads = threads_for(width / each, norm_threads);
            if (static_cast<std::size_t>(each * threads) < width) return static_cast<int>(cudaErrorInvalidValue);
            const auto at_once = static_cast<std::size_t>(norm_threads / threads * (processors > 0 ? processors : 1));
            blocks = at_once < norm_blocks ? at_once : norm_blocks;
            if (rows < blocks) blocks = rows;
            return launch(static_cast<unsigned>(blocks), threads, stream, rms_norm_backward_kernel<each>, dx, rounded,
                          gradient, workspace, residual, x, weight, factors, rows, width);
        },
        width, dx, rounded, gradient, residual, x, weight, workspace);
    if (error) return error;
    return launch(static_cast<unsigned>((width + 7) / 8), element_threads, stream, add_rows_kernel, weight_gradient,
                  static_cast<const float*>(workspace), blocks, width);
}

int softmax_cross_entropy(Bf16* logits, float* losses, const std::int64_t* targets, std::size_t rows,
                          std::size_t vocabulary, Stream stream) {
    return by_width(
        [&](auto v) {
            constexpr int each = decltype(v)::value;
            const std::size_t packs = (vocabulary + each - 1) / each;  // a thread keeps four, or eight where it is wide
            const bool wide = packs > 4 * row_threads;
            return launch(blocks_of(rows), threads_for((packs + 3) / (wide ? 8 : 4), most_loss_threads), stream,
                          wide ? softmax_cross_entropy_kernel<each, 8> : softmax_cross_entropy_kernel<each, 4>, logits,
                          losses, targets, rows, vocabulary);
        },
        vocabulary, logits);
}

int swiglu(Bf16* out, const Bf16* gate_up, std::size_t rows, std::size_t hidden, Stream stream) {
    return by_width(
        [&](auto v) {
            return launch_rows(rows, hidden / v.value, stream, swiglu_kernel<decltype(v)::value>, out, gate_up, rows,
                               hidden);
        },
        hidden, out, gate_up);
}

int swiglu_backward(Bf16* gate_up, Bf16* gradient, std::size_t rows, std::size_t hidden, Stream stream) {
    return by_width(
        [&](auto v) {
            return launch_rows(rows, hidden / v.value, stream, swiglu_backward_kernel<decltype(v)::value>, gate_up,
                               gradient, rows, hidden);
        },
        hidden, gate_up, gradient);
}

int rotary(Bf16* qkv, const float* table, std::size_t rows, const RotaryShape& shape, float query_scale,
           Stream stream) {
    return by_width(
        [&](auto v) {
            constexpr int pairs = decltype(v)::value == 8 ? 4 : 1;
            return launch_rows(rows, shape.heads * shape.head_width / 2 / pairs, stream, rotary_kernel<pairs>, qkv,
                               table, rows, shape, query_scale);
        },
        shape.head_width, qkv, table);
}

int rotary_backward(Bf16* qkv, const Bf16* query, const Bf16* key, const Bf16* value, const float* table,
                    std::size_t rows, const RotaryShape& shape, float query_scale, Stream stream) {
    return by_width(
        [&](auto v) {
            constexpr int pairs = decltype(v)::value == 8 ? 4 : 1;
            return launch_rows(rows, shape.heads * shape.head_width / 2 / pairs, stream, rotary_backward_kernel<pairs>,
                               qkv, query, key, value, table, rows, shape, query_scale);
        },
        shape.head_width, qkv, query, key, value, table);
}

int adamw(float* weights, Bf16* working, const float* gradient, float* m, float* v, std::size_t n,
          const AdamWStep& step, Stream stream) {
    return by_width(
        [&](auto wide) {
            return launch(blocks_of_elements(n, wide.value), element_threads, stream,
                          adamw_kernel<decltype(wide)::value>, weights, working, gradient, m, v, n, step);
        },
        weights, working, gradient, m, v);
}

int accumulate(float* to, const Bf16* from, std::size_t n, Stream stream) {
    return by_width(
        [&](auto v) {
            return launch(blocks_of_elements(n, v.value), element_threads, stream,
                          accumulate_kernel<decltype(v)::value>, to, from, n);
        },
        to, from);
}

int pack(Bf16* to, const float* from, float factor, std::size_t n, Stream stream) {
    return by_width(
        [&](auto v) {
            return launch(blocks_of_elements(n, v.value), element_threads, stream, pack_kernel<decltype(v)::value>, to,
                          from, factor, n);
        },
        to, from);
}

int encode_int8(std::int8_t* to, float* scales, const float* values, float* residual, std::size_t rows,
                std::size_t width, Stream stream) {
    return by_width(
        [&](auto v) {
            return launch(blocks_of(rows), row_threads, stream, encode_int8_kernel<decltype(v)::value>, to, scales,
                          values, residual, rows, width);
        },
        width, to, values, residual);
}

int add_int8(float* to, const std::int8_t* from, const float* scales, std::size_t rows, std::size_t width,
             Stream stream) {
    return by_width(
        [&](auto v) {
            return launch_rows(rows, width / v.value, stream, add_int8_kernel<decltype(v)::value>, to, from, scales,
                               rows, width);
        },
        width, to, from);
}

}  // namespace skippipe::kernels::cuda
