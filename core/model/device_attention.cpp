// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/device_attention.h"

#include <limits>
#include <utility>

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

torch::Tensor weights_of(const torch::Tensor& query, const torch::Tensor& key) {
    const auto scores = torch::matmul(query, key.transpose(2, 3));
    const auto length = scores.size(3);
    const auto mask = torch::full({length, length}, -std::numeric_limits<float>::infinity(), scores.options()).triu(1);
    return torch::softmax(scores + mask, -1);
}

}  // namespace

torch::Tensor device_attention(const torch::Tensor& qkv, const AttentionShape& shape, AttentionKept* kept) {
    const auto query = part_of(qkv, shape, 0), key = part_of(qkv, shape, 1), value = part_of(qkv, shape, 2);
    if (has_fused_attention && qkv.is_cuda()) {
        auto found = fused_attention(query, key, value);
        const auto out = by_row(found.out);
        if (kept) *kept = std::move(found);
        return out;
    }
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
    if (has_fused_attention && qkv.is_cuda()) {
        const auto [of_query, of_key, of_value] = fused_attention_backward(slope, query, key, value, kept);
        return {by_row(of_query), by_row(of_key), by_row(of_value)};
    }
    const auto q = query.to(torch::kFloat32), k = key.to(torch::kFloat32), v = value.to(torch::kFloat32);
    const auto weights = weights_of(q, k), out_slope = slope.to(torch::kFloat32);
    const auto shares = (out_slope * kept.out.to(torch::kFloat32)).sum(-1, true);
    const auto of_scores = weights * (torch::matmul(out_slope, v.transpose(2, 3)) - shares);
    const auto rounded = [&](const torch::Tensor& t) { return by_row(t).to(qkv.scalar_type()); };
    return {rounded(torch::matmul(of_scores, k)), rounded(torch::matmul(of_scores.transpose(2, 3), q)),
            rounded(torch::matmul(weights.transpose(2, 3), out_slope))};
}

}  // namespace skippipe
