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

/// The kernels that OpenBLAS should take instead of its own choice, for OPENBLAS_CORETYPE, which it reads when it is
/// loaded: a processor that is newer than it gets the kernels for SSE3, 29 instead of 62 (AVX2) or
/// 140 GFLOP/s (AVX-512) on a core of a Xeon of 2023. "" where it chose well, was told what to take, or the processor
/// has no AVX2.
std::string better_blas_kernels();

/// Starts this program again with better_blas_kernels(), where there are any; to be called first in main with its
/// arguments. Returns where the choice was good, or where the program cannot start again: it is slow then.
void take_better_blas_kernels(char** arguments);

/// Name of OpenBLAS' kernels ("COOPERLAKE"); empty with another BLAS.
std::string blas_kernels();

}  // namespace skippipe
