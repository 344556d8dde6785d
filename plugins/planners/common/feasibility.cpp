// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/feasibility.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/plan/paths.h"
#include "plugins/planners/common/reduction_starts.h"

namespace skippipe::planners {

void check_solvable(const Problem& problem) {
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        if (problem.memory[n] < 1)
            throw InputError(
                fmt::format("/topology/nodes/{}", n),
                fmt::format("node {} holds {} microbatches", problem.node_ids[n], problem.memory[n]),
                "a node must hold at least one while it works on it (TC1)",
                "Give it more memory, make stages or microbatches smaller, or set Memory (memory) to ignore");
}

namespace {

/// Groups of nodes that messages can get about in, there and back; a path never leaves one.
std::vector<std::vector<NodeIndex>> islands(const Problem& problem) {
    std::vector<std::vector<NodeIndex>> found;
    PerNode<bool> seen(at(problem.nodes()), false);
    for (NodeIndex first = 0; first < problem.nodes(); ++first) {
        if (seen[first]) continue;
        std::vector<NodeIndex> island{first};
        seen[first] = true;
        for (std::size_t k = 0; k < island.size(); ++k)
            for (NodeIndex b = 0; b < problem.nodes(); ++b)
                if (!seen[b] && problem.reachable(island[k], b) && problem.reachable(b, island[k])) {
                    seen[b] = true;
                    island.push_back(b);
                }
        std::sort(island.begin(), island.end());
        found.push_back(std::move(island));
    }
    return found;
}

/// "; the nodes fall into 2 groups without a link, both ways, between them: a, b | c, d"; empty where they do not.
std::string islands_text(const Problem& problem) {
    const auto groups = islands(problem);
    if (groups.size() < 2) return {};
    std::string text =
        fmt::format("; the nodes fall into {} groups without a link, both ways, between them: ", groups.size());
    for (std::size_t g = 0; g < groups.size() && g < 4; ++g) {
        if (g > 0) text += " | ";
        for (std::size_t k = 0; k < groups[g].size() && k < 4; ++k)
            text += (k > 0 ? ", " : "") + problem.node_ids[groups[g][k]];
        if (groups[g].size() > 4) text += fmt::format(" and {} more", groups[g].size() - 4);
    }
    return groups.size() > 4 ? text + " | ..." : text;
}

}  // namespace

void check_reach(const Problem& problem, const PlanCandidate& candidate) {
    const auto need = [&](NodeIndex from, NodeIndex to) {
        if (from == to || problem.reachable(from, to)) return;
        throw InputError("/topology/links", problem.unlinked_words(from, to),
                         "no paths were found that avoid this pair; messages go along one link, there and back" +
                             islands_text(problem),
                         "Draw a link between them (both ways), or change placement or stage sizes");
    };
    PerStage<bool> visited(candidate.stages.size(), false);
    for (ReleaseIndex i = 0; i < candidate.schedule.count(); ++i) {
        const NodeIndex* path = candidate.schedule.path(i);
        for (int hop = 0; hop < candidate.schedule.length; ++hop) {
            need(path[hop], path[(hop + 1) % candidate.schedule.length]);
            need(path[(hop + 1) % candidate.schedule.length], path[hop]);
            visited[candidate.schedule.stage_of[path[hop]]] = true;
        }
    }
    for (StageIndex s = 0; problem.plan_reductions && at(s) < candidate.stages.size(); ++s) {
        const auto& nodes = candidate.stages[s];
        for (const Piece& piece : candidate.schedule.reductions[s])
            if (visited[s])
                visit_transfers(piece, static_cast<int>(nodes.size()),
                                [&](int from, int to) { need(nodes[at(from)], nodes[at(to)]); });
    }
    if (!problem.charge_all_reduce) return;
    for (StageIndex s = 0; at(s) < candidate.stages.size(); ++s)
        for (std::size_t i = 0; visited[s] && i < candidate.stages[s].size(); ++i)
            need(candidate.stages[s][i], candidate.stages[s][(i + 1) % candidate.stages[s].size()]);
}

bool fits_stages(const Problem& problem, const FlatPlan& schedule, ReleaseIndex index) {
    const NodeIndex* path = schedule.path(index);
    const auto stage = [&](int hop) { return schedule.stage_of[path[hop]]; };
    PathProgress progress;
    std::uint64_t seen = 0;  // the stages, modulo 64
    for (int hop = 1; hop < schedule.length; ++hop) {
        const auto bit = std::uint64_t{1} << (stage(hop) % 64);
        for (int before = 1; (seen & bit) != 0 && before < hop; ++before)
            if (stage(before) == stage(hop)) return false;
        seen |= bit;
        if (!advance(problem.constraints, progress, stage(hop))) return false;
    }
    return true;
}

bool has_lines(const Problem& problem, const FlatPlan& schedule, ReleaseIndex index) {
    const NodeIndex* path = schedule.path(index);
    for (int hop = 0; schedule.length > 1 && hop < schedule.length; ++hop) {
        const NodeIndex next = path[(hop + 1) % schedule.length];
        if (!problem.reachable(path[hop], next) || !problem.reachable(next, path[hop])) return false;
    }
    return true;
}

bool fits_everywhere(const Problem& problem, const PlanCandidate& candidate) {
    for (ReleaseIndex i = 0; i < candidate.schedule.count(); ++i)
        if (!fits_stages(problem, candidate.schedule, i) || !has_lines(problem, candidate.schedule, i)) return false;
    return has_ring_lines(problem, candidate);
}

bool has_ring_lines(const Problem& problem, const PlanCandidate& candidate) {
    for (StageIndex s = 0; problem.plan_reductions && at(s) < candidate.stages.size(); ++s)
        if (!has_reduction_lines(problem, candidate.stages[s], candidate.schedule.reductions[s])) return false;
    if (!problem.charge_all_reduce) return true;
    for (const auto& ring : candidate.stages)
        for (std::size_t k = 0; ring.size() > 1 && k < ring.size(); ++k)
            if (!problem.reachable(ring[k], ring[(k + 1) % ring.size()])) return false;
    return true;
}

}  // namespace skippipe::planners
