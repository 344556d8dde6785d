// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/device_attention.h"

#include <limits>

#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

/// [n, width] as [samples, heads, sequence, head width], and back: where the memory is as it was, nothing is copied.
torch::Tensor by_head(const torch::Tensor& rows, const AttentionShape& shape) {
    return rows.view({-1, shape.sequence, shape.heads, rows.size(1) / shape.heads}).transpose(1, 2);
}
torch::Tensor by_row(const torch::Tensor& heads) {
    return heads.transpose(1, 2).reshape({heads.size(0) * heads.size(2), heads.size(1) * heads.size(3)}).contiguous();
}

torch::Tensor part_of(const torch::Tensor& qkv, const AttentionShape& shape, int part) {
    const auto width = qkv.size(1) / 3;
    return qkv.view({-1, shape.sequence, 3, shape.heads, width / shape.heads}).select(2, part).transpose(1, 2);
}

[[maybe_unused]] torch::Tensor weights_of(const torch::Tensor& query, const torch::Tensor& key) {
    const auto scores = torch::matmul(query, key.transpose(2, 3));
    const auto length = scores.size(3);
    const auto mask = torch::full({length, length}, -std::numeric_limits<float>::infinity(), scores.options()).triu(1);
    return torch::softmax(scores + mask, -1);
}

}  // namespace

torch::Tensor device_attention(const torch::Tensor& qkv, const AttentionShape& shape, AttentionKept* kept) {
    const auto query = part_of(qkv, shape, 0), key = part_of(qkv, shape, 1), value = part_of(qkv, shape, 2);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    if (qkv.is_cuda()) {
        auto found = at::_scaled_dot_product_flash_attention(query, key, value, 0, true, false, 1.0);
        if (kept)
            *kept = {std::get<0>(found), std::get<1>(found), std::get<2>(found),
                     std::get<3>(found), std::get<6>(found), std::get<7>(found)};
        return by_row(std::get<0>(found));
    }
#endif
    const auto out =
        torch::matmul(weights_of(query.to(torch::kFloat32), key.to(torch::kFloat32)), value.to(torch::kFloat32))
            .to(qkv.scalar_type());
    if (kept) kept->out = out;
    return by_row(out);
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> device_attention_backward(const torch::Tensor& gradient,
                                                                                  const torch::Tensor& qkv,
                                                                                  const AttentionShape& shape,
                                                                                  const AttentionKept& kept) {
    const auto query = part_of(qkv, shape, 0), key = part_of(qkv, shape, 1), value = part_of(qkv, shape, 2);
    const auto slope = by_head(gradient, shape);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    if (qkv.is_cuda()) {
        const auto found = at::_scaled_dot_product_flash_attention_backward(
            slope, query, key, value, kept.out, kept.log_sums, kept.first_query, kept.first_key, shape.sequence,
            shape.sequence, 0, true, kept.random_state, kept.random_offset, 1.0);
        return {by_row(std::get<0>(found)), by_row(std::get<1>(found)), by_row(std::get<2>(found))};
    }
#endif
    const auto q = query.to(torch::kFloat32), k = key.to(torch::kFloat32), v = value.to(torch::kFloat32);
    const auto weights = weights_of(q, k), out_slope = slope.to(torch::kFloat32);
    const auto shares = (out_slope * kept.out.to(torch::kFloat32)).sum(-1, true);
    const auto of_scores = weights * (torch::matmul(out_slope, v.transpose(2, 3)) - shares);
    const auto rounded = [&](const torch::Tensor& t) { return by_row(t).to(qkv.scalar_type()); };
    return {rounded(torch::matmul(of_scores, k)), rounded(torch::matmul(of_scores.transpose(2, 3), q)),
            rounded(torch::matmul(weights.transpose(2, 3), out_slope))};
}

}  // namespace skippipe
