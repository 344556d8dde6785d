// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gradient_feedback.h"

#include <algorithm>
#include <stdexcept>

#include "core/model/wire.h"
#include "kernels/vector.h"

namespace skippipe {

GradientFeedback::Node& GradientFeedback::begin(int node, std::int64_t stage_size) {
    auto& of = nodes_[node];
    of.owed.resize(static_cast<std::size_t>(stage_size), 0.0F);
    if (!of.pending) of.next = of.owed;
    of.pending = true;
    return of;
}

void GradientFeedback::give_up() {
    for (auto& [node, of] : nodes_) of.pending = false;
}

void GradientFeedback::encode(int node, std::int64_t stage_size, std::int64_t begin_at, const float* values,
                              std::int64_t size, std::byte* to) {
    auto& of = begin(node, stage_size);
    std::copy_n(of.owed.data() + begin_at, size, of.next.data() + begin_at);
    encode_gradient(to, values, size, WireType::int8, of.next.data() + begin_at);
}

void GradientFeedback::add_alone(int node, float* gradient, std::int64_t stage_size) {
    if (!nodes_.contains(node)) return;
    auto& of = begin(node, stage_size);
    kernels::sum_into(gradient, of.owed.data(), of.owed.size());
    std::fill(of.next.begin(), of.next.end(), 0.0F);
}

void GradientFeedback::commit(int node) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end() || !found->second.pending) return;
    found->second.owed.swap(found->second.next);
    found->second.pending = false;
}

const std::vector<float>* GradientFeedback::owed(int node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? nullptr : &found->second.owed;
}

void GradientFeedback::owe(int node, const std::vector<float>& values) {
    auto& of = begin(node, static_cast<std::int64_t>(values.size()));
    of.pending = false;
    kernels::sum_into(of.owed.data(), values.data(), values.size());
}

}  // namespace skippipe
