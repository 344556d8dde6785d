// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/plan_comparison.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/format.h"

namespace skippipe {
namespace {

using Names = std::vector<std::string>;

std::map<std::string, int> stages_of(const Problem& problem, const Plan& plan) {
    std::map<std::string, int> stages;
    for (const auto& id : problem.node_ids) stages[id] = NodeChange::in_no_stage;
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
        for (const NodeIndex node : plan.stages[StageIndex(int(s))])
            stages[problem.node_ids[at(node)]] = static_cast<int>(s);
    return stages;
}

/// By microbatch, the names of the nodes that it visits.
std::map<int, Names> ways_of(const Problem& problem, const Plan& plan) {
    std::map<int, Names> ways;
    for (const auto& path : plan.paths)
        for (const NodeIndex node : path.nodes) ways[path.microbatch].push_back(problem.node_ids[at(node)]);
    return ways;
}

struct StageCounts {
    int nodes = 0, blocks = 0, visits = 0;
};

std::vector<StageCounts> counts_of(const Problem& problem, const Plan& plan) {
    std::vector<StageCounts> counts(plan.stages.size());
    for (std::size_t s = 0; s < counts.size(); ++s) {
        counts[s].nodes = static_cast<int>(plan.stages[StageIndex(int(s))].size());
        counts[s].blocks = s < plan.blocks.size() ? plan.blocks[StageIndex(int(s))] : 0;
    }
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    for (const auto& path : plan.paths)
        for (const NodeIndex node : path.nodes)
            if (const int stage = stage_of[node]; stage >= 0) ++counts[static_cast<std::size_t>(stage)].visits;
    return counts;
}

/// Each node's order of operations, by name.
std::map<std::string, std::vector<Operation>> orders_of(const Problem& problem, const Plan& plan) {
    std::map<std::string, std::vector<Operation>> orders;
    for (std::size_t n = 0; n < plan.order.size(); ++n) orders[problem.node_ids[n]] = plan.order[NodeIndex(int(n))];
    return orders;
}

}  // namespace

PlanComparison compare_plans(const Problem& a, const Plan& plan_a, const Problem& b, const Plan& plan_b) {
    PlanComparison difference;
    const auto stages_a = stages_of(a, plan_a), stages_b = stages_of(b, plan_b);
    const auto stage_in = [](const std::map<std::string, int>& stages, const std::string& node) {
        const auto found = stages.find(node);
        return found == stages.end() ? NodeChange::not_there : found->second;
    };
    Names all = a.node_ids;
    for (const auto& id : b.node_ids)
        if (!stages_a.contains(id)) all.push_back(id);
    for (const auto& id : all)
        if (const NodeChange change{id, stage_in(stages_a, id), stage_in(stages_b, id)};
            change.stage_a != change.stage_b)
            difference.nodes.push_back(change);
    const auto counts_a = counts_of(a, plan_a), counts_b = counts_of(b, plan_b);
    for (std::size_t s = 0; s < std::max(counts_a.size(), counts_b.size()); ++s) {
        const auto one = s < counts_a.size() ? counts_a[s] : StageCounts{};
        const auto two = s < counts_b.size() ? counts_b[s] : StageCounts{};
        difference.stages.push_back(
            {static_cast<int>(s), one.nodes, two.nodes, one.blocks, two.blocks, one.visits, two.visits});
    }
    const auto ways_a = ways_of(a, plan_a), ways_b = ways_of(b, plan_b);
    difference.microbatches_a = static_cast<int>(ways_a.size());
    difference.microbatches_b = static_cast<int>(ways_b.size());
    for (const auto& [microbatch, way] : ways_a) {
        const auto other = ways_b.find(microbatch);
        if (other == ways_b.end()) continue;
        difference.same_paths += other->second == way;
        difference.same_stages += std::equal(
            way.begin(), way.end(), other->second.begin(), other->second.end(),
            [&](const std::string& x, const std::string& y) { return stage_in(stages_a, x) == stage_in(stages_b, y); });
    }
    difference.same_orders = orders_of(a, plan_a) == orders_of(b, plan_b);
    return difference;
}

namespace {

/// Fields of a thing, as words.
using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(const Node& node) {
    Fields fields{{"region", node.region},
                  {"time per sample and block", format_seconds(node.seconds_per_sample_per_block)},
                  {"device", node.device}};
    if (node.memory_microbatches)
        fields.emplace_back("memory", fmt::format("{} microbatches", *node.memory_microbatches));
    if (node.memory_bytes) fields.emplace_back("memory", format_si(*node.memory_bytes, "B"));
    if (node.up_bytes_per_s) fields.emplace_back("uplink", format_si(*node.up_bytes_per_s, "B/s"));
    if (node.down_bytes_per_s) fields.emplace_back("downlink", format_si(*node.down_bytes_per_s, "B/s"));
    return fields;
}

Fields fields_of(const Link& link) {
    return {{"latency", format_seconds(link.latency_s)},
            {"bandwidth", format_si(link.bandwidth_bytes_per_s, "B/s")},
            {"direction", link.both_ways ? "both ways" : "one way"}};
}

std::string value_of(const Fields& fields, const std::string& name) {
    for (const auto& [field, value] : fields)
        if (field == name) return value;
    return {};
}

/// Things with their names, as the network has them.
template <class Thing>
using Things = std::vector<std::pair<std::string, const Thing*>>;

template <class Thing>
void add_changes(std::vector<NetworkChange>& changes, const Things<Thing>& a, const Things<Thing>& b,
                 const char* there) {
    std::map<std::string, std::pair<const Thing*, const Thing*>> both;
    Names order;
    order.reserve(a.size() + b.size());
    const auto place_of = [&](const std::string& name) -> std::pair<const Thing*, const Thing*>& {
        const auto [place, is_new] = both.try_emplace(name);
        if (is_new) order.push_back(name);
        return place->second;
    };
    for (const auto& [name, thing] : a) place_of(name).first = thing;
    for (const auto& [name, thing] : b) place_of(name).second = thing;
    for (const auto& name : order) {
        const auto& pair = both[name];
        if (pair.first == nullptr || pair.second == nullptr) {
            changes.push_back({name, {}, pair.first != nullptr ? there : "", pair.second != nullptr ? there : ""});
            continue;
        }
        const Fields one = fields_of(*pair.first), two = fields_of(*pair.second);
        Names names;
        for (const auto* fields : {&one, &two})
            for (const auto& [field, value] : *fields)
                if (std::find(names.begin(), names.end(), field) == names.end()) names.push_back(field);
        for (const auto& field : names)
            if (value_of(one, field) != value_of(two, field))
                changes.push_back({name, field, value_of(one, field), value_of(two, field)});
    }
}

Things<Link> named_links(const Topology& t) {
    Things<Link> links;
    links.reserve(t.links.size());
    for (const auto& link : t.links) {
        const bool turn = link.both_ways && link.to < link.from;
        links.emplace_back(turn ? link.to + " to " + link.from : link.from + " to " + link.to, &link);
    }
    return links;
}

Things<Node> named_nodes(const Topology& t) {
    Things<Node> nodes;
    nodes.reserve(t.nodes.size());
    for (const auto& node : t.nodes) nodes.emplace_back(node.id, &node);
    return nodes;
}

}  // namespace

std::vector<NetworkChange> network_difference(const Topology& a, const Topology& b) {
    std::vector<NetworkChange> changes;
    add_changes(changes, named_nodes(a), named_nodes(b), "a node");
    add_changes(changes, named_links(a), named_links(b), "a link");
    return changes;
}

}  // namespace skippipe
