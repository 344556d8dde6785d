// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/part.h"

#include <utility>

namespace skippipe {

namespace {

template <class T>
PerNode<T> entries(const PerNode<T>& whole, const std::vector<NodeIndex>& nodes) {
    PerNode<T> part;
    if (whole.empty()) return part;
    for (const NodeIndex n : nodes) part.push_back(whole[n]);
    return part;
}

/// Node n of every stage and path becomes number_of[n].
void renumber(const PerNode<NodeIndex>& number_of, Plan& plan) {
    for (auto& ring : plan.stages)
        for (NodeIndex& node : ring) node = number_of[node];
    for (auto& path : plan.paths)
        for (NodeIndex& node : path.nodes) node = number_of[node];
}

}  // namespace

Problem with_nodes(const Problem& whole, const std::vector<NodeIndex>& nodes) {
    Problem part = whole;
    part.node_ids = entries(whole.node_ids, nodes);
    part.seconds_per_sample_per_block = entries(whole.seconds_per_sample_per_block, nodes);
    part.memory = entries(whole.memory, nodes);
    part.memory_bytes = entries(whole.memory_bytes, nodes);
    part.up_bytes_per_s = entries(whole.up_bytes_per_s, nodes);
    part.down_bytes_per_s = entries(whole.down_bytes_per_s, nodes);
    std::vector<Hop> pairs;
    pairs.reserve(nodes.size() * nodes.size());
    for (const NodeIndex from : nodes)
        for (const NodeIndex to : nodes) pairs.push_back(whole.hop(from, to));
    part.hops = std::move(pairs);
    if (whole.has_uplinks()) {  // their queues are the last ones, every uplink's and then every downlink's
        const std::size_t all = whole.node_ids.size(), lines = whole.line_names.size() - 2 * all;
        part.line_names.resize(lines);
        for (const std::size_t first : {lines, lines + all})
            for (const NodeIndex n : nodes) part.line_names.push_back(whole.line_names[first + at(n)]);
    }
    part.stage_sizes.clear();
    part.placement.clear();
    return part;
}

Plan plan_of_whole(const Problem& whole, const std::vector<NodeIndex>& nodes, Plan part) {
    PerNode<NodeIndex> number_of;
    for (const NodeIndex node : nodes) number_of.push_back(node);
    renumber(number_of, part);
    if (part.order.empty()) return part;
    PerNode<std::vector<Operation>> order(at(whole.nodes()));
    for (std::size_t n = 0; n < nodes.size() && n < part.order.size(); ++n)
        order[nodes[n]] = std::move(part.order[NodeIndex(n)]);
    part.order = std::move(order);
    return part;
}

Plan plan_of_part(const Problem& whole, const std::vector<NodeIndex>& nodes, Plan plan) {
    PerNode<NodeIndex> number_of(at(whole.nodes()), NodeIndex(-1));
    for (std::size_t n = 0; n < nodes.size(); ++n) number_of[nodes[n]] = NodeIndex(n);
    renumber(number_of, plan);
    if (plan.order.empty()) return plan;
    plan.order.resize(at(whole.nodes()));
    plan.order = entries(plan.order, nodes);
    return plan;
}

}  // namespace skippipe
