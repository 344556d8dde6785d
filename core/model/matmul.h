// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

namespace skippipe {

/// A row-major fp32 matrix [rows, columns], or, `transposed`, the transpose of a stored [columns, rows].
struct MatrixView {
    const float* data = nullptr;
    std::int64_t rows = 0, columns = 0;
    bool transposed = false;
};

inline MatrixView transpose(const MatrixView& m) { return {m.data, m.columns, m.rows, !m.transposed}; }

/// c = a b, through LibTorch's BLAS; c is stored [a.rows, b.columns] and overlaps neither.
void multiply(float* c, const MatrixView& a, const MatrixView& b);
/// c += a b.
void multiply_add(float* c, const MatrixView& a, const MatrixView& b);

}  // namespace skippipe
