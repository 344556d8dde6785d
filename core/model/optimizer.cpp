// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/model/torch_compat.h"

namespace skippipe {

double learning_rate(const Training& training, int iteration) {
    if (iteration >= training.warmup_iterations) return training.learning_rate;
    return training.learning_rate * (iteration + 1) / training.warmup_iterations;
}

double total_norm(const std::vector<double>& squared_norms) {
    double sum = 0;
    for (const double squared : squared_norms)
        if (!(squared < 0)) sum += squared;
    return std::sqrt(sum);
}

std::vector<double> clip_factors(const Training& training, const std::vector<double>& squared_norms) {
    const auto factor = [&](double norm) { return norm > training.clip_norm ? training.clip_norm / norm : 1.0; };
    std::vector<double> factors(squared_norms.size(), 1.0);
    if (training.clip == ClipRule::global) std::fill(factors.begin(), factors.end(), factor(total_norm(squared_norms)));
    if (training.clip == ClipRule::per_stage)
        std::transform(squared_norms.begin(), squared_norms.end(), factors.begin(),
                       [&](double squared) { return factor(std::sqrt(std::max(squared, 0.0))); });
    return factors;
}

kernels::AdamW step_parameters(const Training& training, int iteration, long long step) {
    return {.learning_rate = learning_rate(training, iteration),
            .beta1 = training.beta1,
            .beta2 = training.beta2,
            .epsilon = training.epsilon,
            .weight_decay = training.weight_decay,
            .step = step};
}

void adamw_tensors(torch::Tensor weights, const torch::Tensor& gradient, torch::Tensor m, torch::Tensor v,
                   const kernels::AdamW& parameters) {
    torch::NoGradGuard no_gradient;
    const auto step = static_cast<double>(parameters.step);
    const auto scaled = gradient * parameters.gradient_scale;
    m.mul_(parameters.beta1).add_(scaled, 1 - parameters.beta1);
    v.mul_(parameters.beta2).addcmul_(scaled, scaled, 1 - parameters.beta2);
    const auto root = (v / (1 - std::pow(parameters.beta2, step))).sqrt_().add_(parameters.epsilon);
    weights.mul_(1 - parameters.learning_rate * parameters.weight_decay);
    weights.addcdiv_(m, root, -parameters.learning_rate / (1 - std::pow(parameters.beta1, step)));
}

}  // namespace skippipe
