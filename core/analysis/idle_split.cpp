// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/idle_split.h"

#include <algorithm>
#include <numeric>

namespace skippipe {

double IdleSplit::idle() const { return std::accumulate(idle_s.begin(), idle_s.end(), 0.0); }

std::array<double, idle_causes> IdleSplit::shares() const {
    auto shares = idle_s;
    for (double& share : shares) share = whole_s() > 0 ? share / whole_s() : 0;
    return shares;
}

IdleCause IdleSplit::worst() const {
    return static_cast<IdleCause>(std::max_element(idle_s.begin(), idle_s.end()) - idle_s.begin());
}

IdleSplit& IdleSplit::operator+=(const IdleSplit& other) {
    busy_s += other.busy_s;
    for (std::size_t c = 0; c < idle_causes; ++c) idle_s[c] += other.idle_s[c];
    return *this;
}

std::vector<IdleSplit> split_nodes(const std::vector<std::array<double, idle_causes>>& node_idle_s,
                                   const std::vector<double>& node_busy_s) {
    std::vector<IdleSplit> nodes(std::max(node_idle_s.size(), node_busy_s.size()));
    for (std::size_t n = 0; n < node_idle_s.size(); ++n) nodes[n].idle_s = node_idle_s[n];
    for (std::size_t n = 0; n < node_busy_s.size(); ++n) nodes[n].busy_s = node_busy_s[n];
    return nodes;
}

std::vector<IdleSplit> split_stages(const std::vector<IdleSplit>& nodes, const std::vector<int>& stage_of_node) {
    std::vector<IdleSplit> stages;
    for (std::size_t n = 0; n < std::min(nodes.size(), stage_of_node.size()); ++n) {
        if (stage_of_node[n] < 0) continue;
        const auto stage = static_cast<std::size_t>(stage_of_node[n]);
        if (stage >= stages.size()) stages.resize(stage + 1);
        stages[stage] += nodes[n];
    }
    return stages;
}

IdleSplit sum_of(const std::vector<IdleSplit>& parts) {
    IdleSplit sum;
    for (const auto& part : parts) sum += part;
    return sum;
}

}  // namespace skippipe
