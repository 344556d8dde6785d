// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>

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

bool prepare_blas() {
    // Looked up at run time: the BLAS is LibTorch's choice and need not be OpenBLAS.
    const auto parallel = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_parallel"));
    const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
    if (!parallel) return true;
    if (parallel() != 0 && set_threads) set_threads(1);
    return parallel() != 0;
}

}  // namespace skippipe
