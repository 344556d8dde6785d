// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/flat_plan.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "core/base/index.h"

namespace skippipe {

FlatPlan flatten(const Problem& problem, const Plan& plan) {
    FlatPlan flat;
    flat.length = plan.paths.empty() ? 1 : static_cast<int>(plan.paths.front().nodes.size());
    flat.split_backward = plan.split_backward;
    flat.stage_of = stage_of_nodes(plan, problem.nodes());
    for (const auto& path : plan.paths) {
        flat.microbatches.push_back(path.microbatch);
        flat.nodes.insert(flat.nodes.end(), path.nodes.begin(), path.nodes.end());
    }
    if (problem.plan_reductions) {
        flat.reductions = plan.reductions;
        flat.reductions.resize(plan.stages.size());
        for (StageIndex s = 0; at(s) < plan.stages.size(); ++s)
            if (flat.reductions[s].empty())
                flat.reductions[s] = default_pieces(static_cast<int>(plan.stages[s].size()));
    }
    if (plan.order.empty()) return flat;
    flat.order = packed_order(flat, plan.order);
    flat.order.resize(at(problem.nodes()));
    return flat;
}

PerNode<std::vector<std::uint32_t>> packed_order(const FlatPlan& flat, const PerNode<std::vector<Operation>>& order) {
    std::unordered_map<MicrobatchIndex, ReleaseIndex> index_of;
    for (ReleaseIndex i = 0; i < flat.count(); ++i) index_of[flat.microbatches[i]] = i;
    PerNode<std::vector<std::uint32_t>> packed(order.size());
    const int length = flat.length;
    for (NodeIndex n = 0; at(n) < order.size(); ++n)
        for (const auto& operation : order[n]) {
            const ReleaseIndex index = index_of.at(operation.microbatch);
            const NodeIndex* path = flat.path(index);
            const int hop = static_cast<int>(std::find(path, path + length, n) - path);
            if (hop == length) throw std::logic_error("order names an operation of another node");
            int step = operation.kind == OpKind::F ? hop : operation.kind == OpKind::L ? length : 2 * length - hop;
            if (operation.kind == OpKind::W) step |= weight_gradient_bit;
            packed[n].push_back(pack(index, step));
        }
    return packed;
}

// A line with a single sender is handed its transfers in the order in which that node runs.
std::vector<bool> contended_lines(const Problem& problem) {
    if (!problem.shared_links) return {};
    std::vector<bool> several(problem.line_names.size(), false);
    const Hops& hops = problem.hops;
    std::vector<int> sender(problem.line_names.size(), -1);  // as a group
    for (int a = 0; a < hops.groups(); ++a)
        for (int b = 0; b < hops.groups(); ++b) {
            const int line = hops.between(a, b).line;
            if (a == b || line == no_line) continue;  // pairs of a group have a line each
            if (hops.members(a) > 1 || (sender[at(line)] >= 0 && sender[at(line)] != a)) several[at(line)] = true;
            sender[at(line)] = a;
        }
    return several;
}

bool has_dedicated_lines(const Problem& problem) {
    if (problem.has_uplinks()) return false;
    const auto several = contended_lines(problem);
    return std::find(several.begin(), several.end(), true) == several.end();
}

}  // namespace skippipe
