// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/price.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "core/analysis/accounting.h"
#include "core/experiment/counts.h"

namespace skippipe {
namespace {

constexpr double hour_s = 3600, gigabyte_bytes = 1e9;

}  // namespace

bool has_prices(const Experiment& experiment) {
    const auto& p = experiment.prices;
    return p.node_hour > 0 || p.gigabyte > 0 ||
           std::any_of(experiment.topology.nodes.begin(), experiment.topology.nodes.end(),
                       [](const Node& node) { return node.price_per_hour.value_or(0) > 0; });
}

IterationPrice price_of(const Experiment& experiment, const Problem& problem, const Plan& plan,
                        const Timeline& timeline) {
    std::unordered_map<std::string, const Node*> by_id;
    for (const auto& node : experiment.topology.nodes) by_id[node.id] = &node;
    const auto node_of = [&](NodeIndex index) -> const Node* {
        if (index < 0 || at(index) >= problem.node_ids.size()) return nullptr;
        const auto found = by_id.find(problem.node_ids[at(index)]);
        return found == by_id.end() ? nullptr : found->second;
    };
    IterationPrice price;
    for (const auto& stage : plan.stages)
        for (const NodeIndex index : stage)
            if (const Node* node = node_of(index))
                price.nodes +=
                    node->price_per_hour.value_or(experiment.prices.node_hour) * timeline.iteration_s / hour_s;
    double bytes = 0;
    for (const auto& span : timeline.spans) {
        if (span.bytes <= 0) continue;
        const Node* from = node_of(span.node);
        const Node* to = node_of(receiver_of(plan, span));
        if (from != nullptr && to != nullptr && from != to && (from->region.empty() || from->region != to->region))
            bytes += span.bytes;
    }
    price.traffic = experiment.prices.gigabyte * bytes / gigabyte_bytes;
    return price;
}

BudgetPrice budget_of(const Experiment& experiment, double iteration_s, const IterationPrice& price) {
    double samples = 0;
    for (int m = 0; m < experiment.pipeline.microbatches; ++m) samples += samples_of(experiment.pipeline, m);
    const double tokens = samples * experiment.model.sequence;
    if (experiment.prices.tokens <= 0 || tokens <= 0) return {};
    const double iterations = std::ceil(experiment.prices.tokens / tokens);
    return {iterations, iterations * iteration_s, iterations * price.total()};
}

}  // namespace skippipe
