// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/placement.h"

#include <algorithm>
#include <numeric>

#include "core/base/index.h"
#include "core/base/rng.h"

namespace skippipe::planners {

namespace {

struct Member {
    std::vector<NodeIndex> nodes;  ///< all nodes, stage after stage; those left out at the end
    double cost_s = 0;
};

class Genetic {
public:
    Genetic(const Problem& problem, const PlacementCost& cost, const GeneticBudget& budget, std::uint64_t seed)
        : problem_(problem), cost_(cost), budget_(budget), rng_(seed, 0xD7F), sizes_(stage_sizes(problem)) {
        int slot = 0;
        for (StageIndex s = 0; at(s) < sizes_.size(); ++s)
            for (int i = 0; i < sizes_[s]; ++i, ++slot) stage_of_slot_.push_back(s);
        while (slot++ < problem.nodes()) stage_of_slot_.push_back(-1);
        // Large problems: fewer exchanges a child, so that a child costs about the same.
        tries_ = std::max(2, 16 * 400 / std::max(400, problem.nodes() * problem.nodes()));
    }

    GeneticResult run(const std::function<bool(double)>& go_on) {
        const int population =
            static_cast<int>(std::min<std::int64_t>(budget_.population, std::max<std::int64_t>(2, budget_.offspring)));
        Member listed;
        listed.nodes.resize(at(problem_.nodes()));
        std::iota(listed.nodes.begin(), listed.nodes.end(), NodeIndex(0));
        for (int i = 0; i < population; ++i) {
            Member member = listed;
            if (i > 0) rng_.shuffle(member.nodes);
            member.cost_s = cost_of(member);
            members_.push_back(std::move(member));
        }
        std::int64_t done = 0;
        for (; done < budget_.offspring; ++done) {
            if (done % 64 == 0 && !go_on(static_cast<double>(done) / static_cast<double>(budget_.offspring))) break;
            breed();
        }
        const auto best = std::min_element(members_.begin(), members_.end(),
                                           [](const Member& a, const Member& b) { return a.cost_s < b.cost_s; });
        return {placement_of(best->nodes), done};
    }

private:
    Placement placement_of(const std::vector<NodeIndex>& nodes) {
        Placement placement(sizes_.size());
        for (std::size_t slot = 0; slot < nodes.size(); ++slot)
            if (stage_of_slot_[slot] >= 0) placement[stage_of_slot_[slot]].push_back(nodes[slot]);
        for (StageIndex s = 0; at(s) < placement.size(); ++s) order_ring(problem_, placement[s], s);
        return placement;
    }

    double cost_of(const Member& member) {
        scratch_.resize(sizes_.size());
        for (auto& stage : scratch_) stage.clear();
        for (std::size_t slot = 0; slot < member.nodes.size(); ++slot)
            if (stage_of_slot_[slot] >= 0) scratch_[stage_of_slot_[slot]].push_back(member.nodes[slot]);
        return cost_.seconds(scratch_);
    }

    const Member& parent() {
        const auto& a = members_[rng_.below(members_.size())];
        const auto& b = members_[rng_.below(members_.size())];
        return a.cost_s < b.cost_s ? a : b;
    }

    void breed() {
        const Member &mother = parent(), &father = parent();
        Member child = mother;
        PerNode<int> slot_of(child.nodes.size());
        for (std::size_t slot = 0; slot < child.nodes.size(); ++slot)
            slot_of[child.nodes[slot]] = static_cast<int>(slot);
        // A stretch of the father's stages; whoever stood there moves to where the newcomer came from.
        const std::size_t first = rng_.below(child.nodes.size()),
                          length = 1 + rng_.below(std::max<std::size_t>(1, child.nodes.size() / 2));
        for (std::size_t k = 0; k < length; ++k) {
            const std::size_t slot = (first + k) % child.nodes.size();
            const NodeIndex newcomer = father.nodes[slot], leaves = child.nodes[slot];
            const auto other = at(slot_of[newcomer]);
            std::swap(child.nodes[slot], child.nodes[other]);
            slot_of[newcomer] = static_cast<int>(slot);
            slot_of[leaves] = static_cast<int>(other);
        }
        child.cost_s = cost_of(child);
        improve(child);
        auto worst = members_.begin();
        for (auto member = members_.begin(); member != members_.end(); ++member) {
            if (member->cost_s == child.cost_s && member->nodes == child.nodes) return;
            if (member->cost_s > worst->cost_s) worst = member;
        }
        if (child.cost_s < worst->cost_s) *worst = std::move(child);
    }

    void improve(Member& member) {
        for (int k = 0; k < tries_; ++k) {
            const auto a = rng_.below(member.nodes.size()), b = rng_.below(member.nodes.size());
            if (stage_of_slot_[a] == stage_of_slot_[b]) continue;
            std::swap(member.nodes[a], member.nodes[b]);
            const double cost_s = cost_of(member);
            if (cost_s < member.cost_s)
                member.cost_s = cost_s;
            else
                std::swap(member.nodes[a], member.nodes[b]);
        }
    }

    const Problem& problem_;
    const PlacementCost& cost_;
    GeneticBudget budget_;
    Rng rng_;
    PerStage<int> sizes_;
    std::vector<StageIndex> stage_of_slot_;
    std::vector<Member> members_;
    Placement scratch_;
    int tries_ = 16;
};

}  // namespace

PlacementCost::PlacementCost(const Problem& problem, const Network& network, std::vector<double> flow)
    : problem_(problem), network_(network), flow_(std::move(flow)), visits_(at(problem.stages), 0) {
    for (StageIndex s = 0; s < problem.stages; ++s)
        for (StageIndex t = 0; t < problem.stages; ++t) visits_[t] += flow_[at(s * problem.stages + t)];
    visits_[0] = 1;
}

double PlacementCost::matched_s(const std::vector<NodeIndex>& from, const std::vector<NodeIndex>& to) const {
    // Every node of the larger side takes the nearest of the smaller one that has a place left.
    const bool swapped = from.size() < to.size();
    const auto &many = swapped ? to : from, &few = swapped ? from : to;
    const std::size_t places = (many.size() + few.size() - 1) / few.size();
    int used[64] = {};
    double sum_s = 0;
    for (const NodeIndex a : many) {
        double best_s = 1e300;
        std::size_t chosen = 0;
        for (std::size_t k = 0; k < few.size(); ++k) {
            if (k < 64 && at(used[k]) >= places) continue;
            const double seconds = swapped ? network_.round_s(few[k], a) : network_.round_s(a, few[k]);
            if (seconds < best_s) {
                best_s = seconds;
                chosen = k;
            }
        }
        if (chosen < 64) ++used[chosen];
        sum_s += best_s;
    }
    return sum_s / static_cast<double>(many.size());
}

double PlacementCost::seconds(const Placement& placement) const {
    double paths_s = 0, work_s = 0, reduce_s = 0;
    for (StageIndex s = 0; s < problem_.stages; ++s) {
        const auto& stage = placement[s];
        for (StageIndex t = 0; t < problem_.stages; ++t)
            if (const double share = flow_[at(s * problem_.stages + t)]; share > 0)
                paths_s += share * matched_s(stage, placement[t]);
        double rate = 0, fastest_s = 1e300;
        for (const NodeIndex n : stage) {
            const double node_s =
                problem_.forward_s(n, s) * (1 + problem_.backward_factor) + (s == 0 ? problem_.loss_s(n) : 0);
            rate += 1 / node_s;
            fastest_s = std::min(fastest_s, node_s);
        }
        paths_s += visits_[s] * static_cast<double>(stage.size()) / rate;
        work_s = std::max(work_s, visits_[s] * problem_.microbatches / rate);
        bool closed = true;
        if (problem_.charge_all_reduce)
            for (std::size_t i = 0; stage.size() > 1 && i < stage.size(); ++i)
                closed = closed && problem_.reachable(stage[i], stage[(i + 1) % stage.size()]);
        reduce_s = std::max(reduce_s, closed ? all_reduce_seconds(problem_, stage, s) : unreachable_s);
    }
    // A node holds M microbatches at once, so that paths follow one another T / (|stage 0| M) times.
    const double own = static_cast<double>(problem_.microbatches) / static_cast<double>(placement[0].size());
    const double memory = std::min<double>(own, problem_.memory[placement[0].front()]);
    return std::max(work_s, paths_s * own / memory) + 0.1 * paths_s + reduce_s;
}

std::vector<double> stage_flow(const Problem& problem, const std::vector<std::vector<StageIndex>>& sequences) {
    std::vector<double> flow(at(problem.stages * problem.stages), 0);
    for (const auto& sequence : sequences)
        for (std::size_t hop = 0; sequence.size() > 1 && hop < sequence.size(); ++hop)
            flow[at(sequence[hop] * problem.stages + sequence[(hop + 1) % sequence.size()])] +=
                1.0 / static_cast<double>(sequences.size());
    return flow;
}

Placement placement_in_order(const std::vector<NodeIndex>& nodes, const PerStage<int>& sizes) {
    Placement placement;
    auto next = nodes.begin();
    for (const int size : sizes) {
        placement.emplace_back(next, next + size);
        next += size;
    }
    return placement;
}

Placement listed_placement(const Problem& problem) {
    if (!problem.placement.empty()) return problem.placement;
    std::vector<NodeIndex> nodes(problem.node_ids.size());
    std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
    Placement placement = placement_in_order(nodes, stage_sizes(problem));
    for (StageIndex s = 0; at(s) < placement.size(); ++s) order_ring(problem, placement[s], s);
    return placement;
}

GeneticResult genetic_placement(const Problem& problem, const PlacementCost& cost, const GeneticBudget& budget,
                                std::uint64_t seed, const std::function<bool(double)>& go_on) {
    if (!problem.placement.empty()) return {problem.placement, 0};
    return Genetic(problem, cost, budget, seed).run(go_on);
}

}  // namespace skippipe::planners
