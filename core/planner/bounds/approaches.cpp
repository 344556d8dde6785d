// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/approaches.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/planner/bounds/shortest_cycles.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::bounds {

namespace {

constexpr int most_apart = 300;

/// A microbatch's way forward, or the one back: it takes as long on each node as F, or B, and as the message it is.
class Legs {
public:
    Legs(const Problem& problem, bool forward) : problem_(problem), forward_(forward) {
        const auto stage_of = stages_given(problem);
        const double factor = forward ? 1 : problem.backward_factor;
        for (NodeIndex a = 0; a < problem.nodes(); ++a) {
            const bool starts = stage_of.empty() || stage_of[a] == 0;
            data_s.push_back(starts ? problem.forward_s(a, 0) * factor : infinite);
            inner_s.push_back(least_forward_s(problem, a, stage_of) * factor);
        }
    }
    /// Between two nodes, the first of which is nearer to the data node.
    double hop_s(NodeIndex near, NodeIndex far) const {
        return near == far ? infinite : seconds(forward_ ? problem_.hop(near, far) : problem_.hop(far, near));
    }
    double least_hop_s() const {
        const Hops& hops = problem_.hops;
        double least_s = infinite;
        for (int a = 0; a < hops.groups(); ++a)
            for (int b = 0; b < hops.groups(); ++b)
                if (a != b || hops.has_pairs(a, b)) least_s = std::min(least_s, seconds(hops.between(a, b)));
        return least_s;
    }

    PerNode<double> data_s, inner_s;  ///< on a node as data node, and as any other

private:
    double seconds(const Hop& hop) const {
        return hop.line == no_line ? infinite
                                   : arrival_seconds(0, hop.latency_s, problem_.overhead_s,
                                                     forward_ ? hop.seconds_per_forward : hop.seconds_per_backward);
    }

    const Problem& problem_;
    bool forward_;
};

std::vector<PerNode<double>> coarse_ways(const Legs& legs, int most_hops) {
    const double data_s = *std::min_element(legs.data_s.begin(), legs.data_s.end()),
                 inner_s = *std::min_element(legs.inner_s.begin(), legs.inner_s.end()), hop_s = legs.least_hop_s();
    std::vector<PerNode<double>> ways_s;
    for (int hops = 0; hops <= most_hops; ++hops)
        ways_s.emplace_back(legs.data_s.size(), data_s + hops * hop_s + (hops > 1 ? (hops - 1) * inner_s : 0));
    return ways_s;
}

/// By dynamic programming: of each node the best way to it, and the best one by another node before it.
std::vector<PerNode<double>> shortest_ways(const Legs& legs, int most_hops) {
    struct Way {
        double seconds = infinite;
        NodeIndex by = -1;
    };
    const std::size_t n = legs.data_s.size();
    PerNode<Way> best(n), other(n);
    std::vector<PerNode<double>> ways_s{legs.data_s};
    for (int hops = 1; hops <= most_hops; ++hops) {
        PerNode<Way> next(n), next_other(n);
        for (NodeIndex b = 0; at(b) < n; ++b)
            for (NodeIndex a = 0; at(a) < n; ++a) {
                const double to_s = hops == 1         ? legs.data_s[a]
                                    : best[a].by == b ? other[a].seconds + legs.inner_s[a]
                                                      : best[a].seconds + legs.inner_s[a];
                const Way way{to_s + legs.hop_s(a, b), a};
                if (way.seconds < next[b].seconds) {
                    next_other[b] = next[b];
                    next[b] = way;
                } else if (way.seconds < next_other[b].seconds) {
                    next_other[b] = way;
                }
            }
        best = std::move(next);
        other = std::move(next_other);
        PerNode<double>& seconds = ways_s.emplace_back(n);
        for (NodeIndex b = 0; at(b) < n; ++b) seconds[b] = best[b].seconds;
    }
    return ways_s;
}

std::vector<PerNode<double>> ways_s(const Problem& problem, int most_hops, bool forward) {
    const Legs legs(problem, forward);
    return problem.nodes() > most_apart ? coarse_ways(legs, most_hops) : shortest_ways(legs, most_hops);
}

/// The way there and back between two nodes, for an activation and a gradient; infinite where there is none.
double both_ways_s(const Problem& problem, const Hop& there, const Hop& back) {
    if (there.line == no_line || back.line == no_line) return infinite;
    return arrival_seconds(0, there.latency_s, problem.overhead_s, there.seconds_per_forward) +
           arrival_seconds(0, back.latency_s, problem.overhead_s, back.seconds_per_backward);
}

/// What one node more, or the data node with the loss, adds to what lies beyond a node.
struct Turns {
    explicit Turns(const Problem& problem) {
        const auto stage_of = stages_given(problem);
        const double factor = 1 + problem.backward_factor * (problem.split_backward ? 0.5 : 1);
        for (NodeIndex n = 0; n < problem.nodes(); ++n) {
            loss_s.push_back(stage_of.empty() || stage_of[n] == 0 ? problem.loss_s(n) : infinite);
            visit_s.push_back(least_forward_s(problem, n, stage_of) * factor);
        }
    }
    PerNode<double> loss_s, visit_s;
};

std::vector<PerNode<double>> coarse_beyond(const Problem& problem, int most_nodes) {
    const Turns turns(problem);
    const Hops& hops = problem.hops;
    double round_s = infinite;
    for (int a = 0; a < hops.groups(); ++a)
        for (int b = 0; b < hops.groups(); ++b)
            if (a != b || hops.has_pairs(a, b))
                round_s = std::min(round_s, both_ways_s(problem, hops.between(a, b), hops.between(b, a)));
    const double loss_s = *std::min_element(turns.loss_s.begin(), turns.loss_s.end()),
                 visit_s = *std::min_element(turns.visit_s.begin(), turns.visit_s.end());
    std::vector<PerNode<double>> beyond_s;
    for (int nodes = 0; nodes <= most_nodes; ++nodes)
        beyond_s.emplace_back(at(problem.nodes()), loss_s + round_s + (nodes > 0 ? nodes * (visit_s + round_s) : 0));
    return beyond_s;
}

std::vector<PerNode<double>> shortest_beyond(const Problem& problem, int most_nodes) {
    const Turns turns(problem);
    const int n = problem.nodes();
    std::vector<PerNode<double>> beyond_s;
    for (int nodes = 0; nodes <= most_nodes; ++nodes) {
        PerNode<double> next(at(n), infinite);
        for (NodeIndex x = 0; x < n; ++x)
            for (NodeIndex y = 0; y < n; ++y)
                if (x != y) {
                    const double there_s = nodes == 0 ? turns.loss_s[y] : turns.visit_s[y] + beyond_s.back()[y];
                    next[x] = std::min(next[x], both_ways_s(problem, problem.hop(x, y), problem.hop(y, x)) + there_s);
                }
        beyond_s.push_back(std::move(next));
    }
    return beyond_s;
}

}  // namespace

/// Before the stage a path has at most passed over as many stages a hop as CC3 lets it. What is left of the path after
/// the stage are stages behind it and, by swaps, some before it; what comes before it are stages before it and, if it
/// is reached by a swap itself, some behind.
HopRange hops_to(const Problem& problem, int length, StageIndex stage) {
    const auto& rules = problem.constraints;
    if (!rules.bounded_disorder) return {1, length - 1};
    const bool swaps = rules.max_swaps > 0 && rules.max_swap_distance > 0;
    const int behind = problem.stages - 1 - stage, step = rules.max_passed_over + 1;
    const int by_swaps = swaps ? std::min(rules.max_swaps, stage - 1) : 0;
    HopRange range;
    range.first = std::max({1, (stage + step - 1) / step, length - 1 - behind - by_swaps});
    range.last = std::min(length - 1, stage + (swaps ? std::min(rules.max_swap_distance, behind) : 0));
    range.last = std::min(length - 1, std::max(range.first, range.last));  // none: no path is long enough to visit it
    return range;
}

Approaches::Approaches(const Problem& problem, int most_hops)
    : before_s_(ways_s(problem, most_hops, true)),
      after_s_(ways_s(problem, most_hops, false)),
      beyond_s_(problem.nodes() > most_apart ? coarse_beyond(problem, most_hops)
                                             : shortest_beyond(problem, most_hops)) {}

}  // namespace skippipe::bounds
