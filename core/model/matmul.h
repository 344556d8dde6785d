// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/experiment/document.h"

namespace skippipe {

/// A row-major fp32 matrix [rows, columns], or, `transposed`, the transpose of a stored [columns, rows].
struct MatrixView {
    const float* data = nullptr;
    std::int64_t rows = 0, columns = 0;
    bool transposed = false;
};

inline MatrixView transpose(const MatrixView& m) { return {m.data, m.columns, m.rows, !m.transposed}; }

/// c = a b, through LibTorch; c is stored [a.rows, b.columns] and overlaps neither. fp32 is BLAS; bf16 rounds a, b and
/// the product, sums in fp32 between, and is oneDNN.
void multiply(float* c, const MatrixView& a, const MatrixView& b, ProductType type = ProductType::fp32);
/// c += a b.
void multiply_add(float* c, const MatrixView& a, const MatrixView& b, ProductType type = ProductType::fp32);

}  // namespace skippipe
