// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/places_bound.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/planner/bounds/approaches.h"
#include "core/planner/bounds/shortest_cycles.h"

namespace skippipe::bounds {

namespace {

/// Of the bound to begin with, before the search for it ends.
constexpr int most_doublings = 4;

/// Refutes that an iteration takes no longer than a given time, for every placement.
class Places {
public:
    Places(const Problem& problem, int length, const Approaches& ways, const StageNeeds& needs)
        : problem_(problem),
          length_(length),
          needs_(needs),
          stage_of_(stages_given(problem)),
          ways_(ways),
          most_visits_(problem.constraints.uniform_execution ? problem.visits_cap(length) : problem.microbatches) {
        for (StageIndex s = 0; s < problem.stages; ++s)
            hops_.push_back(s == 0 ? HopRange{} : hops_to(problem, length, s));
        stage_ways_.resize(at(problem.stages));
        for (StageIndex s = 1; s < problem.stages; ++s) stage_ways_[s] = ways_at(s);
    }

    /// True: no plan ends its iteration by `time_s`. False: not shown.
    bool refuted(double time_s) {
        count_visits(time_s);
        return !problem_.placement.empty() ? given_stages_lack() : too_many_nodes() || overloaded();
    }

    PerNode<int> most_visits(double time_s) {
        count_visits(time_s);
        PerNode<int> most(at(problem_.nodes()), 0);
        for (StageIndex s = 1; s < problem_.stages; ++s)
            for (NodeIndex n = 0; n < problem_.nodes(); ++n) most[n] = std::max(most[n], visits_[s][n]);
        return most;
    }

private:
    /// Of prices; the fewer the more nodes there are, so that a bound does not take longer than a plan.
    int price_rounds() const { return std::clamp(400'000 / (problem_.nodes() * problem_.stages), 4, 400); }

    bool may_serve(NodeIndex node, StageIndex stage) const { return stage_of_.empty() || stage_of_[node] == stage; }

    /// Microbatches that a node may hold at a time.
    int places(NodeIndex node) const { return std::min({problem_.memory[node], problem_.microbatches, most_visits_}); }

    /// Of each stage and node: when a microbatch can be there, how long it takes back and how long it is held besides
    /// the work, by whatever number of hops; and what the node idles before the first B, and after the last F.
    struct Way {
        double before_s = 0, after_s = 0, beyond_s = 0, first_idle_s = 0, last_idle_s = 0;
    };
    PerNode<Way> ways_at(StageIndex stage) const {
        PerNode<Way> ways(at(problem_.nodes()));
        for (NodeIndex n = 0; n < problem_.nodes(); ++n)
            if (may_serve(n, stage))
                ways[n] = {least_of(stage, [&](int hops) { return ways_.before_s(hops, n); }),
                           least_of(stage, [&](int hops) { return ways_.after_s(hops, n); }),
                           least_of(stage, [&](int hops) { return ways_.beyond_s(length_ - 1 - hops, n); }),
                           least_idle_s(n, stage, {problem_.forward_s(n, stage), &Approaches::before_s}, places(n)),
                           least_idle_s(n, stage, {problem_.backward_s(n, stage), &Approaches::after_s}, places(n))};
        return ways;
    }
    /// Over all hops after which a microbatch may be there: two may be faster than one.
    template <typename Seconds>
    double least_of(StageIndex stage, const Seconds& seconds) const {
        double least_s = infinite;
        for (int hops = hops_[stage].first; hops <= hops_[stage].last; ++hops)
            least_s = std::min(least_s, seconds(hops));
        return least_s;
    }

    /// A node's two turns at a stage's visits: F, or, back in time from the end, the last operation.
    struct Turn {
        double own_s = 0;                                   ///< of the operation
        double (Approaches::*way_s)(int, NodeIndex) const;  ///< to the node after so many hops
    };

    /// The least that a node idles before the first of its B, or back in time after its last F: up to then it has run
    /// at most m of the other operation, of which the one whose B comes first could not start before its microbatch was
    /// there, by `hops` of them, nor that B before it came back. Tried for all numbers of operations before and after
    /// it and of hops.
    double least_idle_s(NodeIndex node, StageIndex stage, Turn turn, int m) const {
        const HopRange range = hops_[stage];
        const double begin_s = least_of(stage, [&](int hops) { return (ways_.*turn.way_s)(hops, node); });
        double least_s = infinite;
        for (int hops = range.first; hops <= range.last; ++hops) {
            const double beyond_s = ways_.beyond_s(length_ - 1 - hops, node);
            const double arrive_s = (ways_.*turn.way_s)(hops, node);
            if (!(arrive_s < infinite)) continue;
            // What comes before it delays it only from the first number on that lasts until it arrives, and what comes
            // after it does so the less, the fewer they are: the least is there.
            const double fill = std::min(std::floor((arrive_s - begin_s) / turn.own_s), m - 1.0);
            for (const int before : {static_cast<int>(fill), std::min(static_cast<int>(fill) + 1, m - 1)}) {
                const double start_s = std::max(arrive_s, begin_s + before * turn.own_s);
                const double back_s = start_s + turn.own_s + std::max(beyond_s, (m - 1 - before) * turn.own_s);
                least_s = std::min(least_s, back_s - begin_s - m * turn.own_s);
            }
        }
        return std::max(0.0, least_s);
    }

    /// How many visits of a stage a node can serve: from when a microbatch can be there, until those who need what it
    /// hands back are through, it runs one operation at a time and holds no more than it may. Of c >= m visits that
    /// each hold one of its m places for `held_s`, all holds together are at most the last m ends less the first m
    /// starts, as the (j + m)-th starts when the j-th that ends has; and these lie at least a last operation, and an F,
    /// apart. Of more than m, some B comes before the last F, so that it idles both before and after.
    int visits(NodeIndex node, StageIndex stage, double time_s) const {
        const Way& way = stage_ways_[stage][node];
        const bool split = problem_.split_backward;
        const double forward_s = problem_.forward_s(node, stage), backward_s = problem_.backward_s(node, stage);
        const double work_s = forward_s + backward_s, last_s = backward_s * (split ? 0.5 : 1);
        const double back_s = split ? 0 : way.after_s + needs_.finish_s;
        const double window_s = (time_s - way.before_s - std::max(back_s, needs_.reduce_s[stage])) * (1 + 1e-9);
        if (!(window_s >= work_s)) return 0;
        const int m = places(node);
        if (m < 1) return 0;
        const double idle_s = way.first_idle_s + (split || needs_.reduce_s[stage] > back_s ? 0 : way.last_idle_s);
        const double held_s = work_s + way.beyond_s;
        const double by_memory = (m * window_s - 0.5 * m * (m - 1) * (forward_s + last_s)) / held_s * (1 + 1e-9);
        const double beyond_m = std::floor(std::min((window_s - idle_s) / work_s, by_memory));
        return static_cast<int>(std::min(
            {std::floor(window_s / work_s), std::max<double>(m, beyond_m), static_cast<double>(most_visits_)}));
    }

    void count_visits(double time_s) {
        visits_.assign(at(problem_.stages), {});
        for (StageIndex s = 1; s < problem_.stages; ++s) {
            visits_[s].assign(at(problem_.nodes()), 0);
            for (NodeIndex n = 0; n < problem_.nodes(); ++n)
                if (may_serve(n, s)) visits_[s][n] = visits(n, s, time_s);
        }
    }

    bool given_stages_lack() const {
        double all = 0;
        for (StageIndex s = 1; s < problem_.stages; ++s) {
            const double served = std::accumulate(visits_[s].begin(), visits_[s].end(), 0.0);
            if (served < needs_.fewest_visits[s]) return true;
            all += std::min<double>(served, most_visits_);
        }
        return all < total_visits();
    }

    double total_visits() const { return static_cast<double>(problem_.microbatches) * (length_ - 1); }

    /// Whether a stage needs more nodes than it has, or all together more than there are: of its best ones so many that
    /// they can serve its visits.
    bool too_many_nodes() const {
        int all = 0;
        for (StageIndex s = 1; s < problem_.stages; ++s) {
            auto best = visits_[s];
            std::sort(best.begin(), best.end(), std::greater<>());
            int count = 0;
            double served = 0;
            while (at(count) < best.size() && (count == 0 || served < needs_.fewest_visits[s]))
                served += best[at(count++)];
            if (served < needs_.fewest_visits[s]) return true;
            if (!problem_.stage_sizes.empty() && count > problem_.stage_sizes[s]) return true;
            all += count;
        }
        return all > problem_.nodes() - needs_.data_nodes;
    }

    /// If there were a plan in time, then for any prices >= 0 of a stage's visits those that it makes would cost no
    /// more than those that its nodes can serve, each of one stage: at least the visits that each stage needs, the
    /// others where they are cheapest, against the most that each of as many nodes as there are besides data nodes can
    /// give. Prices that break this are looked for by a subgradient method.
    bool overloaded() const {
        PerStage<double> prices(at(problem_.stages), 1), slope(at(problem_.stages));
        std::vector<double> gives(at(problem_.nodes()));
        std::vector<StageIndex> serves(at(problem_.nodes()));
        std::vector<std::size_t> order(gives.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const std::size_t left = at(std::max(0, problem_.nodes() - needs_.data_nodes));
        const int rounds = price_rounds();
        for (int round = 0; round < rounds; ++round) {
            slope = cheapest_visits(prices);
            double excess = 0;
            for (StageIndex s = 1; s < problem_.stages; ++s) excess += prices[s] * slope[s];
            for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
                gives[at(n)] = 0;
                for (StageIndex s = 1; s < problem_.stages; ++s)
                    if (const double worth = prices[s] * visits_[s][n]; worth > gives[at(n)]) {
                        gives[at(n)] = worth;
                        serves[at(n)] = s;
                    }
            }
            std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(left), order.end(),
                             [&](std::size_t a, std::size_t b) { return gives[a] > gives[b]; });
            for (std::size_t k = 0; k < left; ++k) {
                excess -= gives[order[k]];
                if (gives[order[k]] > 0) slope[serves[order[k]]] -= visits_[serves[order[k]]][order[k]];
            }
            if (excess > 1e-9 * total_visits()) return true;
            const double step = 0.2 / std::sqrt(1.0 + round);
            double norm = 1e-30;
            for (StageIndex s = 1; s < problem_.stages; ++s) norm = std::max(norm, std::abs(slope[s]));
            for (StageIndex s = 1; s < problem_.stages; ++s)
                prices[s] = std::max(0.0, prices[s] + step * slope[s] / norm);
        }
        return false;
    }

    /// Of each stage, where every path takes the least expensive visits that CC2 leaves it.
    PerStage<double> cheapest_visits(const PerStage<double>& prices) const {
        PerStage<double> visits(at(problem_.stages), 0);
        std::vector<StageIndex> order;
        double left = total_visits();
        for (StageIndex s = 1; s < problem_.stages; ++s) {
            order.push_back(s);
            visits[s] = needs_.fewest_visits[s];
            left -= visits[s];
        }
        std::sort(order.begin(), order.end(), [&](StageIndex a, StageIndex b) { return prices[a] < prices[b]; });
        for (const StageIndex s : order) {
            const double more = std::clamp<double>(left, 0, std::max(0.0, most_visits_ - visits[s]));
            visits[s] += more;
            left -= more;
        }
        return visits;
    }

    const Problem& problem_;
    int length_;
    const StageNeeds& needs_;
    PerNode<StageIndex> stage_of_;
    const Approaches& ways_;
    int most_visits_;  ///< of a stage
    PerStage<HopRange> hops_;
    PerStage<PerNode<Way>> stage_ways_;
    PerStage<PerNode<int>> visits_;  ///< that a node can serve of a stage in the time looked at
};

}  // namespace

double places_bound_s(const Problem& problem, int length, const Approaches& ways, const StageNeeds& needs,
                      double from_s) {
    if (!(from_s > 0) || !(from_s < infinite)) return from_s;
    Places places(problem, length, ways, needs);
    double refuted_s = from_s, open_s = 2 * from_s;
    if (!places.refuted(from_s * (1 + 1e-6))) return from_s;
    for (int times = 0; times < most_doublings && places.refuted(open_s); ++times) {
        refuted_s = open_s;
        open_s *= 2;
    }
    for (int round = 0; round < 24; ++round) {
        const double middle_s = 0.5 * (refuted_s + open_s);
        (places.refuted(middle_s) ? refuted_s : open_s) = middle_s;
    }
    return refuted_s;
}

std::function<PerNode<int>(double)> visits_in_time(const Problem& problem, int length, const Approaches& ways,
                                                   const StageNeeds& needs) {
    return [places = std::make_shared<Places>(problem, length, ways, needs)](double time_s) {
        return places->most_visits(time_s);
    };
}

}  // namespace skippipe::bounds
