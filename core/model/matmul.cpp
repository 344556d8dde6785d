// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/matmul.h"

#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

torch::Tensor tensor_of(const float* data, std::int64_t rows, std::int64_t columns) {
    return torch::from_blob(const_cast<float*>(data), {rows, columns}, torch::kFloat32);
}

torch::Tensor tensor_of(const MatrixView& m) {
    return m.transposed ? tensor_of(m.data, m.columns, m.rows).t() : tensor_of(m.data, m.rows, m.columns);
}

torch::Tensor rounded(const MatrixView& m) { return tensor_of(m).to(torch::kBFloat16); }

}  // namespace

void multiply(float* c, const MatrixView& a, const MatrixView& b, ProductType type) {
    torch::NoGradGuard no_gradient;
    auto product = tensor_of(c, a.rows, b.columns);
    if (type == ProductType::bf16)
        product.copy_(torch::mm(rounded(a), rounded(b)));
    else
        torch::mm_out(product, tensor_of(a), tensor_of(b));
}

void multiply_add(float* c, const MatrixView& a, const MatrixView& b, ProductType type) {
    torch::NoGradGuard no_gradient;
    auto sum = tensor_of(c, a.rows, b.columns);
    if (type == ProductType::bf16)
        sum.add_(torch::mm(rounded(a), rounded(b)));
    else
        torch::addmm_out(sum, sum, tensor_of(a), tensor_of(b));
}

}  // namespace skippipe
