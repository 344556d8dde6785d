// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace skippipe {

/// Below this a matrix product runs on the reference BLAS (about 4), not on OpenBLAS (about 100 on one core of today).
inline constexpr double slow_blas_gflops = 15;

/// Speed of a 384 x 384 fp32 matrix product on the calling thread, in 1e9 operations a second; takes about 20 ms.
double measure_blas_gflops();

/// Makes the BLAS use one thread a call. False where it may not be called from two threads at once: OpenBLAS built
/// without threads (Debian's libopenblas0-serial) gives wrong products then.
bool prepare_blas();

/// Threads of one matrix product, where the BLAS is OpenBLAS with threads; prepare_blas sets 1.
void set_blas_threads(int threads);

/// Name of OpenBLAS' kernels ("COOPERLAKE"); empty with another BLAS.
std::string blas_kernels();

}  // namespace skippipe
