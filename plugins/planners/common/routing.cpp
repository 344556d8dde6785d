// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/planner/plan/paths.h"
#include "plugins/planners/common/feasibility.h"

namespace skippipe::planners {

namespace {

/// Local search over exchanges that keep CC1-CC3. Cost: seconds of each path on an idle network, plus what unevenly
/// loaded nodes cost, plus unreachable_s for each missing line.
class Router {
public:
    Router(const Problem& problem, const Network& network, const RouteRules& rules, std::uint64_t seed,
           PlanCandidate& candidate)
        : problem_(problem),
          network_(network),
          rules_(rules),
          rng_(seed, 0x207),
          candidate_(candidate),
          length_(candidate.schedule.length) {
        loads_.assign(at(problem.nodes()), 0);
        // Even load costs nothing much; a node that carries too much delays what waits for it by its work each time.
        for (NodeIndex n = 0; n < problem.nodes(); ++n) {
            const StageIndex stage = candidate.schedule.stage_of[n];
            work_s_.push_back(stage < 0 ? 0 : problem.forward_s(n, stage) * (1 + problem.backward_factor));
            fair_.push_back(0);
        }
    }

    void run(const std::vector<std::vector<StageIndex>>& sequences) {
        set_fair(sequences);
        const auto& data_nodes = candidate_.stages[0];
        const int least = std::accumulate(data_nodes.begin(), data_nodes.end(), unlimited_memory,
                                          [&](int m, NodeIndex node) { return std::min(m, problem_.memory[node]); });
        waves_ = std::ceil(static_cast<double>(count()) / static_cast<double>(data_nodes.size()) / least);
        const auto starts = data_nodes_in_turn(problem_, candidate_.stages);
        for (ReleaseIndex i = 0; i < count(); ++i) first_path(i, sequences[at(i)], starts[at(i)]);
        if (length_ > 1) improve();
    }

private:
    int count() const { return candidate_.schedule.count(); }
    ReleaseIndex any() { return ReleaseIndex(rng_.below(at(count()))); }
    NodeIndex* path(ReleaseIndex index) { return candidate_.schedule.path(index); }
    StageIndex stage_of(NodeIndex node) const { return candidate_.schedule.stage_of[node]; }

    void set_fair(const std::vector<std::vector<StageIndex>>& sequences) {
        PerStage<int> visits(candidate_.stages.size(), 0);
        for (const auto& sequence : sequences)
            for (const StageIndex stage : sequence) ++visits[stage];
        for (StageIndex s = 0; at(s) < candidate_.stages.size(); ++s) {
            double rate = 0;
            for (const NodeIndex n : candidate_.stages[s]) rate += rules_.aware ? 1 / work_s_[n] : 1;
            for (const NodeIndex n : candidate_.stages[s])
                fair_[n] = visits[s] * (rules_.aware ? 1 / work_s_[n] : 1) / rate;
        }
    }

    double hop_s(NodeIndex from, NodeIndex to) const {
        const double seconds = network_.round_s(from, to);
        return rules_.aware || seconds >= unreachable_s ? seconds : 0;
    }

    /// What the node costs when it carries `load` microbatches.
    double load_s(NodeIndex node, int load) const {
        const double over = load - fair_[node];
        const double weight = rules_.aware ? work_s_[node] : 1;
        if (rules_.balanced) return weight * over * over + (rules_.aware ? load * work_s_[node] : 0);
        // Collisions ignored: nothing to lose below what memory (TC1) lets through in as many waves as the data nodes
        // need.
        const double free = std::max({fair_[node], waves_ * problem_.memory[node], 1.0});
        return load * weight + (load > free ? 4 * weight * (load - free) * (load - free) : 0);
    }
    double add_s(NodeIndex node) const { return load_s(node, loads_[node] + 1) - load_s(node, loads_[node]); }

    /// The cheapest nodes for a sequence of stages, by dynamic programming along it.
    void first_path(ReleaseIndex index, const std::vector<StageIndex>& sequence, NodeIndex start) {
        std::vector<std::vector<double>> cost(at(length_));
        std::vector<std::vector<int>> from(at(length_));
        std::vector<NodeIndex> origin{start};
        cost[0].assign(1, 0.0);
        const std::vector<NodeIndex>* before = &origin;
        for (int hop = 1; hop < length_; ++hop) {
            const auto& nodes = candidate_.stages[sequence[at(hop)]];
            cost[at(hop)].assign(nodes.size(), 1e300);
            from[at(hop)].assign(nodes.size(), 0);
            for (std::size_t k = 0; k < nodes.size(); ++k) {
                for (std::size_t b = 0; b < before->size(); ++b) {
                    const double seconds = cost[at(hop - 1)][b] + hop_s((*before)[b], nodes[k]);
                    if (seconds >= cost[at(hop)][k]) continue;
                    cost[at(hop)][k] = seconds;
                    from[at(hop)][k] = static_cast<int>(b);
                }
                cost[at(hop)][k] += add_s(nodes[k]);
            }
            before = &nodes;
        }
        NodeIndex* nodes = path(index);
        nodes[0] = start;
        ++loads_[start];
        std::size_t best = 0;
        for (std::size_t k = 1; k < before->size(); ++k)
            if (cost[at(length_ - 1)][k] + hop_s((*before)[k], start) <
                cost[at(length_ - 1)][best] + hop_s((*before)[best], start))
                best = k;
        for (int hop = length_ - 1; hop > 0; --hop) {
            nodes[hop] = candidate_.stages[sequence[at(hop)]][best];
            ++loads_[nodes[hop]];
            best = at(from[at(hop)][best]);
        }
    }

    double path_s(ReleaseIndex index) {
        const NodeIndex* nodes = path(index);
        double seconds = hop_s(nodes[length_ - 1], nodes[0]);
        for (int hop = 1; hop < length_; ++hop) seconds += hop_s(nodes[hop - 1], nodes[hop]);
        return seconds;
    }

    bool allowed(ReleaseIndex index) {
        PathProgress progress;
        const NodeIndex* nodes = path(index);
        std::uint64_t seen[16] = {};
        for (int hop = 1; hop < length_; ++hop) {
            const StageIndex stage = stage_of(nodes[hop]);
            auto& word = seen[(stage >> 6) & 15];
            if ((word >> (stage & 63) & 1) != 0 || !advance(problem_.constraints, progress, stage)) return false;
            word |= std::uint64_t{1} << (stage & 63);
        }
        return true;
    }

    void improve() {
        const std::int64_t trials =
            rules_.trials > 0 ? rules_.trials : static_cast<std::int64_t>(count()) * length_ * 300;
        std::int64_t limit = trials;
        bool complete = !rules_.aware && reaches_all();
        for (std::int64_t t = 0; t < limit && !complete; ++t) {
            const ReleaseIndex i = any();
            const int hop = 1 + static_cast<int>(rng_.below(at(length_ - 1)));
            switch (rng_.below(4)) {
                case 0: move_to_sibling(i, hop); break;
                case 1: exchange(i, 0, any(), 0); break;
                default: exchange(i, hop, any(), 1 + static_cast<int>(rng_.below(at(length_ - 1))));
            }
            if (t + 1 == trials && !reaches_all()) limit = 10 * trials;
            if (t >= trials || !rules_.aware) complete = t % 256 == 0 && reaches_all();
        }
    }

    bool reaches_all() {
        for (ReleaseIndex i = 0; i < count(); ++i)
            if (path_s(i) >= unreachable_s) return false;
        return true;
    }

    void move_to_sibling(ReleaseIndex i, int hop) {
        NodeIndex& node = path(i)[hop];
        const auto& siblings = candidate_.stages[stage_of(node)];
        const NodeIndex old = node, other = siblings[rng_.below(siblings.size())];
        if (other == old) return;
        const double before_s = path_s(i) + load_s(old, loads_[old]) - load_s(old, loads_[old] - 1);
        node = other;
        if (path_s(i) + add_s(other) < before_s) {
            --loads_[old];
            ++loads_[other];
        } else {
            node = old;
        }
    }

    void exchange(ReleaseIndex i, int a, ReleaseIndex j, int b) {
        if (i == j) return;
        NodeIndex &first = path(i)[a], &second = path(j)[b];
        if (first == second) return;
        const double before_s = path_s(i) + path_s(j);
        std::swap(first, second);
        if (!(path_s(i) + path_s(j) < before_s) || !allowed(i) || !allowed(j)) std::swap(first, second);
    }

    const Problem& problem_;
    const Network& network_;
    const RouteRules& rules_;
    Rng rng_;
    PlanCandidate& candidate_;
    int length_;
    PerNode<int> loads_;
    PerNode<double> work_s_, fair_;
    double waves_ = 1;  ///< in which the data nodes start their microbatches
};

}  // namespace

std::vector<NodeIndex> data_nodes_in_turn(const Problem& problem, const Placement& stages) {
    std::vector<NodeIndex> starts;
    for (int i = 0; i < problem.microbatches; ++i) starts.push_back(stages[0][at(i) % stages[0].size()]);
    return starts;
}

void route(const Problem& problem, const Network& network, const std::vector<std::vector<StageIndex>>& sequences,
           const RouteRules& rules, std::uint64_t seed, PlanCandidate& candidate) {
    auto shuffled = sequences;
    if (!rules.aware) Rng(seed, 0x5E9).shuffle(shuffled);
    Router(problem, network, rules, seed, candidate).run(shuffled);
    check_reach(problem, candidate);
}

}  // namespace skippipe::planners
