// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/device_wire.h"

#include <limits>

namespace skippipe {

namespace {

/// int8's parts of a message: fp32 scales [rows, 1], then int8 [rows, width].
torch::Tensor scales_of(const torch::Tensor& bytes, std::int64_t rows) {
    return bytes.narrow(0, 0, 4 * rows).view(torch::kFloat32).view({rows, 1});
}
torch::Tensor codes_of(const torch::Tensor& bytes, std::int64_t rows, std::int64_t width) {
    return bytes.narrow(0, 4 * rows, rows * width).view(torch::kInt8).view({rows, width});
}

/// Largest |value| of each row / 127; NaN where a value is no finite number. Divided by a tensor: by a number a GPU
/// multiplies with what is only about its inverse.
torch::Tensor scales_for(const torch::Tensor& values) {
    const auto largest = values.abs().amax(1, true);
    const auto no_number = torch::full_like(largest, std::numeric_limits<float>::quiet_NaN());
    const auto finite = largest.le(std::numeric_limits<float>::max());
    return torch::where(finite, largest, no_number).div(torch::full_like(largest, 127));
}

torch::Tensor encoded_int8(const torch::Tensor& values, torch::Tensor* residual) {
    const auto rows = values.size(0), width = values.size(1);
    const auto all = residual ? values + residual->view({rows, width}) : values;
    const auto scales = scales_for(all), lost = scales.isnan();
    const auto inverse = torch::where(scales.gt(std::numeric_limits<float>::min()),
                                      torch::ones_like(scales).div(scales), torch::zeros_like(scales));
    const auto codes = torch::where(lost, torch::ones_like(all), all.mul(inverse).round_().clamp_(-127, 127));
    if (residual) {
        const auto owed = torch::where(lost, torch::zeros_like(all), all.sub(scales.mul(codes)));
        residual->copy_(owed.view(-1));
    }
    const auto bytes = torch::empty({rows * (4 + width)}, values.options().dtype(torch::kUInt8));
    scales_of(bytes, rows).copy_(scales);
    codes_of(bytes, rows, width).copy_(codes);
    return bytes;
}

torch::Tensor encoded_bf16(const torch::Tensor& values, torch::Tensor* residual) {
    const auto all = residual ? values.reshape(-1) + *residual : values.reshape(-1);
    const auto rounded = all.to(torch::kBFloat16);
    if (residual) residual->copy_(all.sub(rounded.to(torch::kFloat32)));
    return rounded.view(torch::kUInt8);
}

}  // namespace

torch::Tensor encoded_there(const torch::Tensor& values, WireType wire, torch::Tensor* residual) {
    torch::NoGradGuard no_gradient;
    switch (wire) {
        case WireType::int8: return encoded_int8(values, residual);
        case WireType::bf16: return encoded_bf16(values, residual);
        case WireType::fp32: break;
    }
    return values.reshape(-1).view(torch::kUInt8);
}

torch::Tensor decoded_there(const torch::Tensor& bytes, std::int64_t rows, std::int64_t width, WireType wire) {
    torch::NoGradGuard no_gradient;
    switch (wire) {
        case WireType::int8: return codes_of(bytes, rows, width).to(torch::kFloat32).mul_(scales_of(bytes, rows));
        case WireType::bf16: return bytes.view(torch::kBFloat16).view({rows, width}).to(torch::kFloat32);
        case WireType::fp32: break;
    }
    return bytes.view(torch::kFloat32).view({rows, width});
}

}  // namespace skippipe
