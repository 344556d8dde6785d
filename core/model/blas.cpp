// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/blas.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/model/torch_compat.h"

namespace skippipe {

double measure_blas_gflops() {
    torch::NoGradGuard no_gradient;
    constexpr int size = 384;
    const auto a = torch::full({size, size}, 0.5f), b = torch::full({size, size}, 0.25f);
    auto product = torch::empty({size, size});
    torch::mm_out(product, a, b);
    double best_s = 1e9;
    for (int repeat = 0; repeat < 4; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        torch::mm_out(product, a, b);
        best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return 2.0 * size * size * size / best_s * 1e-9;
}

// Looked up at run time: the BLAS is LibTorch's choice and need not be OpenBLAS.
void set_blas_threads(int threads) {
    if (const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(threads);
}

bool prepare_blas() {
    const auto parallel = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_parallel"));
    if (!parallel) return true;
    if (parallel() != 0) set_blas_threads(1);
    return parallel() != 0;
}

std::string better_blas_kernels() {
#ifdef __x86_64__
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_avx2 && blas_kernels() == "Prescott" && !std::getenv("OPENBLAS_CORETYPE"))
        return has_avx512 ? "SkylakeX" : "Haswell";
#endif
    return "";
}

std::string blas_kernels() {
    const auto name = reinterpret_cast<char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    return name ? name() : "";
}

void take_better_blas_kernels(char** arguments) {
    if (const auto kernels = better_blas_kernels();
        !kernels.empty() && ::setenv("OPENBLAS_CORETYPE", kernels.c_str(), 1) == 0)
        ::execv("/proc/self/exe", arguments);
}

}  // namespace skippipe
