// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the rules afresh (docs/semantics.md), apart from planners and evaluator, so that it can catch both.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/planner/plan/checks.h"

namespace skippipe {
namespace validation {

namespace {

void check_blocks(const Problem& problem, const Plan& plan, Violations& found) {
    const auto all = [](const PerStage<int>& blocks) { return std::accumulate(blocks.begin(), blocks.end(), 0LL); };
    if (!problem.plan_blocks && plan.blocks != problem.blocks)
        found.push_back({"structure", "the blocks of its stages are not those of the experiment"});
    if (!problem.plan_blocks) return;
    if (plan.blocks.size() != at(problem.stages))
        return found.push_back({"structure", fmt::format("blocks of {} stages, the experiment has {}",
                                                         plan.blocks.size(), problem.stages)});
    for (StageIndex s = 0; at(s) < plan.blocks.size(); ++s)
        if (plan.blocks[s] < 1)
            found.push_back({"structure", fmt::format("stage {} holds {} blocks, every stage holds at least one", s,
                                                      plan.blocks[s])});
    if (all(plan.blocks) != all(problem.blocks))
        found.push_back({"structure", fmt::format("its stages hold {} blocks, the model has {}", all(plan.blocks),
                                                  all(problem.blocks))});
}

}  // namespace

bool check_stages(const Problem& problem, const Plan& plan, Violations& found) {
    const auto before = found.size();
    if (static_cast<int>(plan.stages.size()) != problem.stages) {
        found.push_back({"structure",
                         fmt::format("the plan has {} stages, the experiment {}", plan.stages.size(), problem.stages)});
        return false;
    }
    PerNode<StageIndex> seen(at(problem.nodes()), -1);
    for (StageIndex s = 0; at(s) < plan.stages.size(); ++s) {
        if (plan.stages[s].empty()) found.push_back({"structure", fmt::format("stage {} has no node", s)});
        for (const NodeIndex node : plan.stages[s]) {
            if (node < 0 || node >= problem.nodes()) {
                found.push_back({"structure", fmt::format("stage {} names a node that does not exist", s)});
            } else if (seen[node] >= 0) {
                found.push_back(
                    {"structure", fmt::format("node {} stands in stages {} and {}", id(problem, node), seen[node], s)});
            } else {
                seen[node] = s;
            }
        }
    }
    check_blocks(problem, plan, found);
    return found.size() == before;
}

void check_path(const Problem& problem, const Path& path, const PerNode<StageIndex>& stage_of, Violations& found) {
    const auto say = [&](const char* rule, const std::string& what) {
        found.push_back({rule, fmt::format("microbatch {}: {}", path.microbatch, what)});
    };
    std::set<StageIndex> stages;
    for (std::size_t hop = 0; hop < path.nodes.size(); ++hop) {
        const NodeIndex node = path.nodes[hop];
        if (node < 0 || node >= problem.nodes() || stage_of[node] < 0)
            return say("structure", fmt::format("hop {} goes to a node that holds no stage", hop));
        const StageIndex stage = stage_of[node];
        if (hop == 0 && stage != 0)
            return say("CC1", fmt::format("starts on {}, which is no data node (stage {})", id(problem, node), stage));
        if (hop > 0 && stage == 0)
            return say("CC1", fmt::format("visits data node {} as a middle hop", id(problem, node)));
        if (!stages.insert(stage).second) return say("CC2", fmt::format("runs stage {} twice", stage));
    }
    const std::size_t length = path.nodes.size();
    for (std::size_t hop = 0; length > 1 && hop < length; ++hop) {
        const NodeIndex from = path.nodes[hop], to = path.nodes[(hop + 1) % length];
        if (!problem.reachable(from, to)) say("reach", problem.unlinked_words(from, to));
        if (!problem.reachable(to, from))
            say("reach", problem.unlinked_words(to, from) + ": the gradient cannot go back");
    }
}

std::map<NodeIndex, std::multiset<std::string>> expected_operations(const Plan& plan) {
    std::map<NodeIndex, std::multiset<std::string>> expected;
    for (const auto& path : plan.paths)
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop) {
            auto& mine = expected[path.nodes[hop]];
            const auto m = std::to_string(path.microbatch);
            mine.insert("F" + m);
            if (hop == 0) mine.insert("L" + m);
            if (!plan.split_backward) mine.insert("B" + m);
            if (plan.split_backward) mine.insert({"I" + m, "W" + m});
        }
    return expected;
}

void check_order(const Problem& problem, const Plan& plan, Violations& found) {
    if (plan.order.empty()) return;
    const auto expected = expected_operations(plan);
    for (NodeIndex node = 0; node < problem.nodes(); ++node) {
        std::multiset<std::string> given;
        if (at(node) < plan.order.size())
            for (const auto& operation : plan.order[node]) given.insert(to_string(operation));
        const auto mine = expected.find(node);
        const std::multiset<std::string> wanted = mine == expected.end() ? std::multiset<std::string>{} : mine->second;
        if (given == wanted) continue;
        std::vector<std::string> missing, surplus;
        std::set_difference(wanted.begin(), wanted.end(), given.begin(), given.end(), std::back_inserter(missing));
        std::set_difference(given.begin(), given.end(), wanted.begin(), wanted.end(), std::back_inserter(surplus));
        std::string what = fmt::format("order of {}:", id(problem, node));
        if (!missing.empty()) what += fmt::format(" lacks {}", fmt::join(missing, ", "));
        if (!surplus.empty())
            what += fmt::format("{} names {}, which it does not run or names twice", missing.empty() ? "" : ";",
                                fmt::join(surplus, ", "));
        found.push_back({"order", what});
    }
}

void check_rings(const Problem& problem, const Plan& plan, const PerNode<StageIndex>& stage_of, Violations& found) {
    if (!problem.charge_all_reduce) return;
    const auto visited = visited_stages(plan, stage_of);
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage) {
        const auto& ring = plan.stages[stage];
        for (std::size_t i = 0; visited[stage] != 0 && ring.size() > 1 && i < ring.size(); ++i) {
            const NodeIndex from = ring[i], to = ring[(i + 1) % ring.size()];
            if (!problem.reachable(from, to))
                found.push_back(
                    {"reach", fmt::format("all-reduce of stage {}: {}", stage, problem.unlinked_words(from, to))});
        }
    }
}

PerStage<char> visited_stages(const Plan& plan, const PerNode<StageIndex>& stage_of) {
    PerStage<char> visited(plan.stages.size(), 0);
    for (const auto& path : plan.paths)
        for (const NodeIndex node : path.nodes) visited[stage_of[node]] = 1;
    return visited;
}

void check_reductions(const Problem& problem, const Plan& plan, const PerStage<char>& visited, Violations& found) {
    if (!problem.plan_reductions) return;
    const auto say = [&](StageIndex stage, const char* rule, const std::string& what) {
        found.push_back({rule, fmt::format("reduction of stage {}: {}", stage, what)});
    };
    if (!plan.reductions.empty() && plan.reductions.size() != plan.stages.size())
        return found.push_back({"structure", fmt::format("reductions of {} stages, the plan has {}",
                                                         plan.reductions.size(), plan.stages.size())});
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage) {
        const auto& nodes = plan.stages[stage];
        const int replicas = static_cast<int>(nodes.size());
        const bool given = !plan.reductions.empty() && !plan.reductions[stage].empty();
        const Pieces pieces = given ? plan.reductions[stage] : default_pieces(replicas);
        if (const auto fault = fault_of(pieces, replicas); !fault.empty()) {
            say(stage, "structure", fault);
            continue;
        }
        std::set<std::pair<int, int>> missing;
        for (const Piece& piece : pieces)
            visit_transfers(piece, replicas, [&](int from, int to) {
                if (visited[stage] != 0 && !problem.reachable(nodes[at(from)], nodes[at(to)]))
                    missing.insert({from, to});
            });
        for (const auto& [from, to] : missing)
            say(stage, "reach", problem.unlinked_words(nodes[at(from)], nodes[at(to)]));
    }
}

}  // namespace validation

using namespace validation;

std::vector<Violation> check_structure(const Problem& problem, const Plan& plan) {
    Violations found;
    if (!check_stages(problem, plan, found)) return found;
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    if (static_cast<int>(plan.paths.size()) != problem.microbatches)
        found.push_back(
            {"structure", fmt::format("{} paths for {} microbatches", plan.paths.size(), problem.microbatches)});
    std::set<MicrobatchIndex> microbatches;
    std::set<std::size_t> lengths;
    for (const auto& path : plan.paths) {
        if (path.microbatch < 0 || !microbatches.insert(path.microbatch).second)
            found.push_back(
                {"structure", fmt::format("microbatch {} has two paths, or its number is negative", path.microbatch)});
        lengths.insert(path.nodes.size());
        check_path(problem, path, stage_of, found);
    }
    if (lengths.size() > 1 || lengths.count(0) > 0 || lengths.empty())
        found.push_back({"structure", "the paths are not all of one length of at least 1"});
    if (found.empty()) check_order(problem, plan, found);
    if (found.empty()) check_rings(problem, plan, stage_of, found);
    if (found.empty()) check_reductions(problem, plan, visited_stages(plan, stage_of), found);
    return found;
}

}  // namespace skippipe
