// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/counts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace skippipe {

namespace {

__extension__ using Wide = __int128;

struct Decimal {
    std::int64_t digits = 0;
    int places = 0;  ///< value = digits / 10^places
};

/// The shortest decimal form of a double in [0, 1], exactly.
Decimal shortest_decimal(double value) {
    char text[64];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
    Decimal decimal;
    bool fraction = false;
    const char* c = text;
    for (; c != end && *c != 'e'; ++c) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        decimal.digits = decimal.digits * 10 + (*c - '0');
        if (fraction) ++decimal.places;
    }
    int exponent = 0;
    if (c != end) {
        ++c;
        if (c != end && *c == '+') ++c;
        std::from_chars(c, end, exponent);
    }
    decimal.places -= exponent;
    return decimal;
}

}  // namespace

int path_length(int stages, double skip_ratio) {
    if (!(skip_ratio > 0)) return stages;
    if (skip_ratio >= 1) return 0;
    const Decimal k = shortest_decimal(skip_ratio);
    if (k.places > 34) return stages;  // k has at most 17 digits, so this is less than 10^-17
    Wide scale = 1;
    for (int i = 0; i < k.places; ++i) scale *= 10;
    const Wide twice = 2 * (Wide{stages} * scale - Wide{stages} * k.digits) + scale;
    return static_cast<int>(twice / (2 * scale));
}

int uniform_cap(int microbatches, int path_length, int stages) {
    if (stages <= 1) return microbatches;
    const std::int64_t visits = std::int64_t{microbatches} * (path_length - 1);
    return static_cast<int>((visits + stages - 2) / (stages - 1));
}

std::vector<int> even_blocks(int blocks, int stages) {
    std::vector<int> shares(static_cast<std::size_t>(stages), blocks / stages);
    for (int s = stages - blocks % stages; s < stages; ++s) ++shares[static_cast<std::size_t>(s)];
    return shares;
}

std::vector<int> stage_blocks(const Experiment& experiment) {
    const auto& pipeline = experiment.pipeline;
    if (!pipeline.blocks_per_stage.empty()) return pipeline.blocks_per_stage;
    const int stages = std::max(1, pipeline.stages), blocks = experiment.model.blocks;
    if (pipeline.plan_blocks) return even_blocks(blocks, stages);
    return std::vector<int>(static_cast<std::size_t>(stages), blocks / stages);
}

int samples_of(const Pipeline& pipeline, int microbatch) {
    const auto& sizes = pipeline.microbatch_sizes;
    return sizes.empty() ? pipeline.microbatch_samples : sizes[static_cast<std::size_t>(microbatch) % sizes.size()];
}

int most_samples(const Pipeline& pipeline) {
    const auto& sizes = pipeline.microbatch_sizes;
    return sizes.empty() ? pipeline.microbatch_samples : *std::max_element(sizes.begin(), sizes.end());
}

bool queues_at_uplinks(const Experiment& experiment) {
    const auto& topology = experiment.topology;
    return experiment.costs.links == LinkRule::shared && topology.hop_matrix_s.empty() &&
           std::any_of(topology.nodes.begin(), topology.nodes.end(),
                       [](const Node& node) { return node.up_bytes_per_s || node.down_bytes_per_s; });
}

std::int64_t head_rows(const ModelSpec& model, std::int64_t tokens) {
    constexpr std::int64_t logits = 1 << 18, least_rows = 256;
    return std::clamp<std::int64_t>(std::max(logits / model.vocabulary, least_rows), 1, tokens);
}

bool keeps_inputs(const Experiment& experiment) {
    const auto& how = experiment.execution;
    return how.clock == Clock::virtual_time ? !experiment.failures.empty() : how.ranks > 1;
}

}  // namespace skippipe
