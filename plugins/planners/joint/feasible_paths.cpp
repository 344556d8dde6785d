// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/feasible_paths.h"

#include <algorithm>
#include <numeric>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/planner/plan/paths.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/common/network.h"

namespace skippipe::planners::joint {

namespace {

constexpr int placements = 200, most_expansions = 4000;

class FeasiblePathSearch {
public:
    FeasiblePathSearch(const Problem& problem, Rng& rng) : problem_(problem), rng_(rng) {}

    std::optional<PlanCandidate> find(Placement stages) {
        if (problem_.charge_all_reduce)
            for (StageIndex s = 0; s < problem_.stages; ++s) order_ring(problem_, stages[s], s);
        candidate_ = make_candidate(problem_, stages, problem_.path_length);
        if (!has_ring_lines(problem_, candidate_)) return {};
        visits_.assign(at(problem_.stages), 0);
        cap_ =
            problem_.constraints.uniform_execution ? problem_.visits_cap(problem_.path_length) : problem_.microbatches;
        expansions_ = 0;
        const auto& data = stages[0];
        if (problem_.balance_data_nodes && problem_.microbatches % static_cast<int>(data.size()) != 0) return {};
        for (ReleaseIndex i = 0; i < problem_.microbatches; ++i) {
            candidate_.schedule.path(i)[0] = data[at(i) % data.size()];
            if (!extend(i, 1, PathProgress{})) return {};
        }
        return candidate_;
    }

private:
    bool both(NodeIndex a, NodeIndex b) const { return problem_.reachable(a, b) && problem_.reachable(b, a); }

    bool extend(ReleaseIndex index, int hop, PathProgress progress) {
        NodeIndex* path = candidate_.schedule.path(index);
        if (hop == problem_.path_length) return hop == 1 || both(path[hop - 1], path[0]);
        if (++expansions_ > most_expansions) return false;
        std::vector<NodeIndex> next;
        for (StageIndex s = 1; s < problem_.stages; ++s) {
            const auto seen = std::any_of(path + 1, path + hop,
                                          [&](NodeIndex node) { return candidate_.schedule.stage_of[node] == s; });
            if (!seen && visits_[s] < cap_)
                for (const NodeIndex node : candidate_.stages[s])
                    if (both(path[hop - 1], node)) next.push_back(node);
        }
        rng_.shuffle(next);
        // Stages that were visited less go first, so that the caps (CC2) are reached together.
        std::stable_sort(next.begin(), next.end(), [&](NodeIndex a, NodeIndex b) {
            return visits_[candidate_.schedule.stage_of[a]] < visits_[candidate_.schedule.stage_of[b]];
        });
        for (const NodeIndex node : next) {
            const StageIndex stage = candidate_.schedule.stage_of[node];
            PathProgress further = progress;
            if (!advance(problem_.constraints, further, stage)) continue;
            path[hop] = node;
            ++visits_[stage];
            if (extend(index, hop + 1, further)) return true;
            --visits_[stage];
        }
        return false;
    }

    const Problem& problem_;
    Rng& rng_;
    PlanCandidate candidate_;
    PerStage<int> visits_;
    int cap_ = 0, expansions_ = 0;
};

/// Nodes in a random order over the stages: as many as asked for, or one each and the rest anywhere or nowhere.
Placement random_placement(const Problem& problem, Rng& rng) {
    std::vector<NodeIndex> nodes(at(problem.nodes()));
    std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
    rng.shuffle(nodes);
    Placement stages(at(problem.stages));
    std::size_t next = 0;
    for (StageIndex s = 0; s < problem.stages; ++s) {
        const int size = problem.stage_sizes.empty() ? 1 : problem.stage_sizes[s];
        for (int k = 0; k < size && next < nodes.size(); ++k) stages[s].push_back(nodes[next++]);
    }
    while (problem.stage_sizes.empty() && next < nodes.size()) {
        const auto stage = rng.below(at(problem.stages) + 1);
        if (stage < stages.size()) stages[stage].push_back(nodes[next]);
        ++next;
    }
    return stages;
}

}  // namespace

std::optional<PlanCandidate> feasible_paths(const Problem& problem, std::uint64_t seed) {
    if (problem.nodes() < problem.stages) return {};
    Rng rng(seed, 7);
    FeasiblePathSearch finder(problem, rng);
    for (int k = 0; k < placements; ++k)
        if (auto found = finder.find(problem.placement.empty() ? random_placement(problem, rng) : problem.placement))
            return found;
    return {};
}

}  // namespace skippipe::planners::joint
