// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace skippipe::kernels::reference {

namespace {

double inverse_rms(const double* x, std::size_t width, double epsilon) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[i] * x[i];
    return 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Where position i of a part (query 0, key 1, value 2) begins in qkv.
std::size_t at(const AttentionShape& shape, std::size_t i, std::size_t part, std::size_t head) {
    return ((i * 3 + part) * shape.heads + head) * shape.head_width;
}

double dot(const double* a, const double* b, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/// Probabilities of row i over the positions 0 .. i, and the log of the sum.
std::pair<std::vector<double>, double> probabilities(const double* qkv, const AttentionShape& shape, std::size_t i,
                                                     std::size_t head) {
    std::vector<double> p(i + 1);
    for (std::size_t j = 0; j <= i; ++j)
        p[j] = dot(qkv + at(shape, i, 0, head), qkv + at(shape, j, 1, head), shape.head_width);
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (auto& value : p) sum += value = std::exp(value - largest);
    for (auto& value : p) value /= sum;
    return {p, largest + std::log(sum)};
}

}  // namespace

void rms_norm(double* normed, const double* x, const double* weight, std::size_t rows, std::size_t width,
              double epsilon) {
    for (std::size_t row = 0; row < rows; ++row, normed += width, x += width) {
        const double factor = inverse_rms(x, width, epsilon);
        for (std::size_t i = 0; i < width; ++i) normed[i] = x[i] * factor * weight[i];
    }
}

void rms_norm_backward(double* dx, double* weight_gradient, const double* gradient, const double* x,
                       const double* weight, std::size_t rows, std::size_t width, double epsilon) {
    std::fill(weight_gradient, weight_gradient + width, 0.0);
    for (std::size_t row = 0; row < rows; ++row, dx += width, gradient += width, x += width) {
        const double factor = inverse_rms(x, width, epsilon);
        double product = 0;
        for (std::size_t i = 0; i < width; ++i) product += gradient[i] * weight[i] * x[i];
        for (std::size_t i = 0; i < width; ++i) {
            weight_gradient[i] += gradient[i] * x[i] * factor;
            dx[i] = factor * gradient[i] * weight[i] -
                    x[i] * factor * factor * factor * product / static_cast<double>(width);
        }
    }
}

void swiglu(double* out, const double* gate_up, std::size_t rows, std::size_t hidden) {
    for (std::size_t row = 0; row < rows; ++row, out += hidden, gate_up += 2 * hidden)
        for (std::size_t i = 0; i < hidden; ++i) out[i] = gate_up[i] * sigmoid(gate_up[i]) * gate_up[hidden + i];
}

void swiglu_backward(double* gate_up_gradient, const double* gradient, const double* gate_up, std::size_t rows,
                     std::size_t hidden) {
    for (std::size_t row = 0; row < rows;
         ++row, gradient += hidden, gate_up += 2 * hidden, gate_up_gradient += 2 * hidden)
        for (std::size_t i = 0; i < hidden; ++i) {
            const double gate = gate_up[i], up = gate_up[hidden + i], s = sigmoid(gate);
            gate_up_gradient[i] = gradient[i] * up * (s + gate * s * (1 - s));
            gate_up_gradient[hidden + i] = gradient[i] * gate * s;
        }
}

double cross_entropy(double* gradient, const double* logits, const std::int64_t* targets, std::size_t rows,
                     std::size_t vocabulary) {
    double loss = 0;
    for (std::size_t row = 0; row < rows; ++row, logits += vocabulary) {
        const double largest = *std::max_element(logits, logits + vocabulary);
        double sum = 0;
        for (std::size_t i = 0; i < vocabulary; ++i) sum += std::exp(logits[i] - largest);
        loss += std::log(sum) + largest - logits[targets[row]];
        if (!gradient) continue;
        for (std::size_t i = 0; i < vocabulary; ++i)
            gradient[row * vocabulary + i] = std::exp(logits[i] - largest) / sum;
        gradient[row * vocabulary + static_cast<std::size_t>(targets[row])] -= 1;
    }
    return loss;
}

void rotary(double* qkv, std::size_t rows, const RotaryShape& shape, double base, double query_scale, bool back) {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t part = 0; part < 2; ++part)
            for (std::size_t head = 0; head < shape.heads; ++head)
                for (std::size_t i = 0; i < shape.head_width; i += 2) {
                    double* pair = qkv + ((row * 3 + part) * shape.heads + head) * shape.head_width + i;
                    const double angle =
                        static_cast<double>(row % shape.sequence) *
                        std::pow(base, -static_cast<double>(i) / static_cast<double>(shape.head_width));
                    const double cosine = std::cos(angle), sine = back ? -std::sin(angle) : std::sin(angle),
                                 scale = part == 0 ? query_scale : 1;
                    const double a = pair[0], b = pair[1];
                    pair[0] = scale * (a * cosine - b * sine);
                    pair[1] = scale * (a * sine + b * cosine);
                }
}

void causal_attention(double* out, double* log_sums, const double* qkv, const AttentionShape& shape) {
    for (std::size_t head = 0; head < shape.heads; ++head)
        for (std::size_t i = 0; i < shape.sequence; ++i) {
            const auto [p, log_sum] = probabilities(qkv, shape, i, head);
            double* to = out + (i * shape.heads + head) * shape.head_width;
            std::fill(to, to + shape.head_width, 0.0);
            for (std::size_t j = 0; j <= i; ++j)
                for (std::size_t k = 0; k < shape.head_width; ++k) to[k] += p[j] * qkv[at(shape, j, 2, head) + k];
            if (log_sums) log_sums[head * shape.sequence + i] = log_sum;
        }
}

void causal_attention_backward(double* qkv_gradient, const double* out_gradient, const double* qkv,
                               const AttentionShape& shape) {
    std::fill(qkv_gradient, qkv_gradient + shape.sequence * 3 * shape.heads * shape.head_width, 0.0);
    for (std::size_t head = 0; head < shape.heads; ++head)
        for (std::size_t i = 0; i < shape.sequence; ++i) {
            const auto p = probabilities(qkv, shape, i, head).first;
            const double* gradient = out_gradient + (i * shape.heads + head) * shape.head_width;
            std::vector<double> slope(i + 1);
            double mean = 0;
            for (std::size_t j = 0; j <= i; ++j)
                mean += p[j] * (slope[j] = dot(gradient, qkv + at(shape, j, 2, head), shape.head_width));
            for (std::size_t j = 0; j <= i; ++j)
                for (std::size_t k = 0; k < shape.head_width; ++k) {
                    const double score_gradient = p[j] * (slope[j] - mean);
                    qkv_gradient[at(shape, i, 0, head) + k] += score_gradient * qkv[at(shape, j, 1, head) + k];
                    qkv_gradient[at(shape, j, 1, head) + k] += score_gradient * qkv[at(shape, i, 0, head) + k];
                    qkv_gradient[at(shape, j, 2, head) + k] += p[j] * gradient[k];
                }
        }
}

}  // namespace skippipe::kernels::reference
