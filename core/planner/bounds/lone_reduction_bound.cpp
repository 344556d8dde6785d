// SPDX-License-Identifier: GPL-3.0-or-later
// The least that a stage's planned reduction takes, however its pieces go.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/bounds/reduction_ways.h"

namespace skippipe {

namespace bounds {

namespace {

/// Of more replicas only some of the ways to group them are looked at.
constexpr int most_grouped = 7, most_cut = 12;

/// A line, or an uplink or downlink: what it carries at most until an instant.
struct Carrier {
    double bytes_per_s = 0;
    double latency_s = infinite;  ///< of anything, until it is there
    /// Of what goes to a root: until that is everywhere as a sum. Of what comes from one: until it can be here at all.
    double until_everywhere_s = infinite, until_here_s = infinite;

    void join(const Carrier& other) {
        bytes_per_s = std::max(bytes_per_s, other.bytes_per_s);
        latency_s = std::min(latency_s, other.latency_s);
        until_everywhere_s = std::min(until_everywhere_s, other.until_everywhere_s);
        until_here_s = std::min(until_here_s, other.until_here_s);
    }
};

/// Bytes in a time: to roots, from roots, and of both together.
struct Amounts {
    double up = 0, down = 0, both = 0, all = 0;
};

Amounts amounts_within(const std::vector<Carrier>& carriers, double time_s) {
    Amounts amounts;
    for (const Carrier& carrier : carriers) {
        const double all_s = std::max(0.0, time_s - carrier.latency_s),
                     up_s = std::max(0.0, time_s - carrier.until_everywhere_s),
                     down_s = std::max(0.0, all_s - carrier.until_here_s);
        if (std::isinf(carrier.bytes_per_s)) return {};  // a hop matrix
        amounts.up += carrier.bytes_per_s * up_s;
        amounts.down += carrier.bytes_per_s * down_s;
        amounts.both += carrier.bytes_per_s * std::min(all_s, up_s + down_s);
        amounts.all += carrier.bytes_per_s * all_s;
    }
    return amounts;
}

/// Replicas as groups, and what goes between them. A tree's way up joins all groups, and so does its way down: each
/// byte of a tree goes from group to group at least 2 (groups - 1) times, and crosses a cut once in each direction.
/// Each byte of an exchange goes from every replica to every one of another group.
class Groups {
public:
    Groups(const Problem& problem, const std::vector<NodeIndex>& nodes, double bytes)
        : problem_(problem), nodes_(nodes), bytes_(bytes), r_(nodes.size()), away_s_(latencies_s(problem, nodes)) {
        for (std::size_t u = 0; u < r_; ++u) {
            double to_s = 0, from_s = 0;
            for (std::size_t k = 0; k < r_; ++k) {
                to_s = std::max(to_s, away_s_[k * r_ + u]);
                from_s = std::max(from_s, away_s_[u * r_ + k]);
            }
            all_to_s_.push_back(to_s);
            all_from_s_.push_back(from_s);
        }
    }

    /// Of any piece: the farthest pair, over any others; of a tree the way to its root and on from there, of an
    /// exchange what each line is to carry.
    double piece_s() const {
        double tree_s = infinite;
        for (std::size_t u = 0; u < r_; ++u) tree_s = std::min(tree_s, all_to_s_[u] + all_from_s_[u]);
        return std::max(*std::max_element(away_s_.begin(), away_s_.end()), std::min(tree_s, exchange_s()));
    }

    /// No less than `least_s`, and what grouping them so proves.
    double bound_s(const std::vector<int>& group_of, double least_s) const {
        const int groups = 1 + *std::max_element(group_of.begin(), group_of.end());
        double seconds = least_s;
        for (const End end : {End::line, End::sender, End::receiver}) {
            if (end != End::line && !problem_.has_uplinks()) continue;
            const auto enough = groups == 2 ? cut(group_of, end) : grouped(group_of, groups, end);
            if (enough(seconds)) continue;
            double low_s = seconds, high_s = 2 * seconds + 1e-9;
            while (!enough(high_s)) {
                low_s = high_s;
                high_s *= 2;
            }
            while (high_s - low_s > 1e-3 * high_s) {
                const double middle_s = (low_s + high_s) / 2;
                (enough(middle_s) ? high_s : low_s) = middle_s;
            }
            seconds = low_s;
        }
        return seconds;
    }

private:
    enum class End { line, sender, receiver };
    using Enough = std::function<bool(double)>;

    /// Whether a time lets a share of the gradient go by trees and the rest by exchange. `trees`: bytes that trees can
    /// be of. Otherwise: so many bytes fit, of which each of a tree takes `tree_times` and each of an exchange
    /// `exchange_times`.
    bool shares_fit(double trees, double fit, double tree_times, double exchange_times) const {
        const double exchanged = std::max(0.0, 1 - trees / bytes_);
        return (1 - exchanged) * tree_times + exchanged * exchange_times <= fit / bytes_ * (1 + 1e-9);
    }

    /// Every line carries the whole gradient for each pair that shares it, every uplink for each other replica.
    double exchange_s() const {
        struct Load {
            double latency_s = infinite, pairs_s = 0;
        };
        std::map<int, Load> lines;
        double bound_s = 0;
        for (std::size_t a = 0; a < r_; ++a)
            for (std::size_t b = 0; b < r_; ++b) {
                const Hop& hop = problem_.hop(nodes_[a], nodes_[b]);
                if (a == b) continue;
                if (hop.line == no_line) return infinite;
                Load& load = lines[hop.line];
                load.pairs_s += bytes_ / hop.bandwidth_bytes_per_s;
                load.latency_s = std::min(load.latency_s, hop.latency_s + problem_.overhead_s);
            }
        for (const auto& [line, load] : lines) bound_s = std::max(bound_s, load.latency_s + load.pairs_s);
        if (!problem_.has_uplinks()) return bound_s;
        const double all = bytes_ * static_cast<double>(r_ - 1);
        for (const NodeIndex node : nodes_)
            bound_s = std::max({bound_s, all / problem_.up_bytes_per_s[node], all / problem_.down_bytes_per_s[node]});
        return bound_s;
    }

    Enough grouped(const std::vector<int>& group_of, int groups, End end) const {
        double pairs = 0;
        const auto apart = [&](std::size_t a, std::size_t b) { return group_of[a] != group_of[b]; };
        for (std::size_t a = 0; a < r_; ++a)
            for (std::size_t b = 0; b < r_; ++b) pairs += apart(a, b) ? 1 : 0;
        const double joins = groups - 1;
        return [=, this,
                all = carriers(
                    apart, [](std::size_t) { return true; }, end)](double time_s) {
            const Amounts may = amounts_within(all, time_s);
            const double trees = std::min({may.up / joins, may.down / joins, may.both / (2 * joins)});
            return shares_fit(trees, may.all, 2 * joins, pairs);
        };
    }

    Enough cut(const std::vector<int>& group_of, End end) const {
        const auto in_1 = static_cast<double>(std::count(group_of.begin(), group_of.end(), 1)),
                   pairs = in_1 * (static_cast<double>(r_) - in_1);
        std::vector<Carrier> ways[2][2];  // [from group][root in group]
        for (const int from : {0, 1})
            for (const int root : {0, 1})
                ways[from][root] =
                    carriers([&](std::size_t a, std::size_t b) { return group_of[a] == from && group_of[b] != from; },
                             [&](std::size_t u) { return group_of[u] == root; }, end);
        return [=, this](double time_s) {
            Amounts may[2][2];
            for (const int from : {0, 1})
                for (const int root : {0, 1}) may[from][root] = amounts_within(ways[from][root], time_s);
            double trees = 0;
            for (const int root : {0, 1}) trees += std::min(may[1 - root][root].up, may[root][root].down);
            for (const int from : {0, 1})
                if (!shares_fit(trees, may[from][0].all, 1, pairs)) return false;
            return true;
        };
    }

    /// What goes from one replica to another, of trees with such roots.
    template <class Rooted>
    Carrier carrier(std::size_t a, std::size_t b, const Rooted& rooted) const {
        const Hop& hop = problem_.hop(nodes_[a], nodes_[b]);
        Carrier carrier{hop.bandwidth_bytes_per_s, hop.latency_s + problem_.overhead_s, infinite, infinite};
        for (std::size_t u = 0; u < r_; ++u) {
            if (!rooted(u)) continue;
            carrier.until_everywhere_s =
                std::min(carrier.until_everywhere_s, carrier.latency_s + away_s_[b * r_ + u] + all_from_s_[u]);
            carrier.until_here_s = std::min(carrier.until_here_s, all_to_s_[u] + away_s_[u * r_ + a]);
        }
        return carrier;
    }

    /// The lines between those that `goes` names; instead of those of a node that its uplink (downlink) limits more,
    /// that.
    template <class Goes, class Rooted>
    std::vector<Carrier> carriers(const Goes& goes, const Rooted& rooted, End end) const {
        std::map<int, Carrier> lines, own;
        std::vector<Carrier> carriers;
        for (std::size_t x = 0; x < r_; ++x) {
            own.clear();
            for (std::size_t y = 0; y < r_; ++y) {
                const auto [a, b] = end == End::receiver ? std::pair(y, x) : std::pair(x, y);
                if (a == b || !goes(a, b) || !problem_.reachable(nodes_[a], nodes_[b])) continue;
                own[problem_.hop(nodes_[a], nodes_[b]).line].join(carrier(a, b, rooted));
            }
            Carrier whole;
            double rate = 0;
            for (const auto& [line, carrier] : own) {
                rate += carrier.bytes_per_s;
                whole.join(carrier);
            }
            whole.bytes_per_s = end == End::line       ? infinite
                                : end == End::receiver ? problem_.down_bytes_per_s[nodes_[x]]
                                                       : problem_.up_bytes_per_s[nodes_[x]];
            if (whole.bytes_per_s < rate)
                carriers.push_back(whole);
            else
                for (const auto& [line, carrier] : own) lines[line].join(carrier);
        }
        for (const auto& [line, carrier] : lines) carriers.push_back(carrier);
        return carriers;
    }

    const Problem& problem_;
    const std::vector<NodeIndex>& nodes_;
    double bytes_;
    std::size_t r_;
    std::vector<double> away_s_, all_to_s_, all_from_s_;
};

/// Calls `visit` with every way to group so many, each once, as the group of each (a restricted growth string).
template <class Visit>
void visit_groupings(std::vector<int>& group_of, std::size_t next, int groups, const Visit& visit) {
    if (next == group_of.size()) return visit(group_of);
    for (int g = 0; g <= groups; ++g) {
        group_of[next] = g;
        visit_groupings(group_of, next + 1, std::max(groups, g + 1), visit);
    }
}

/// Of many replicas those of one from the rest.
template <class Visit>
void visit_cuts(int replicas, const Visit& visit) {
    std::vector<int> group_of(at(replicas), 0);
    const bool all = replicas <= most_cut;
    const std::uint32_t cuts = all ? (1u << (replicas - 1)) - 1 : static_cast<std::uint32_t>(replicas);
    for (std::uint32_t cut = 1; cut <= cuts; ++cut) {
        for (int k = 0; k < replicas; ++k)
            group_of[at(k)] = all ? static_cast<int>(cut >> k & 1) : k + 1 == static_cast<int>(cut) ? 1 : 0;
        visit(group_of);
    }
}

double grouped_bound_s(const Groups& groups, int replicas) {
    double bound_s = groups.piece_s();
    std::vector<int> group_of(at(replicas), 0);
    const auto look = [&](const std::vector<int>& of) {
        if (*std::max_element(of.begin(), of.end()) > 0) bound_s = groups.bound_s(of, bound_s);
    };
    if (replicas <= most_grouped) {
        visit_groupings(group_of, 0, 0, look);
        return bound_s;
    }
    visit_cuts(replicas, look);
    // And from all apart on, the pair of groups joined that leaves the greatest bound.
    std::iota(group_of.begin(), group_of.end(), 0);
    look(group_of);
    for (int count = replicas; count > 2 && replicas <= most_cut; --count) {
        std::vector<int> best;
        double best_s = -1;
        for (int a = 0; a < count; ++a)
            for (int b = a + 1; b < count; ++b) {
                auto joined = group_of;
                for (int& g : joined) g = g == b ? a : g > b ? g - 1 : g;
                if (const double seconds = groups.bound_s(joined, 0); seconds > best_s) {
                    best_s = seconds;
                    best = std::move(joined);
                }
            }
        group_of = std::move(best);
        bound_s = std::max(bound_s, best_s);
    }
    return bound_s;
}

}  // namespace

}  // namespace bounds

double lone_reduction_bound_s(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage) {
    using namespace bounds;
    if (nodes.size() < 2) return 0;
    const double bytes = occupying_bytes(problem, stage);
    const Groups groups(problem, nodes, bytes);
    const double bound_s = bytes > 0 ? grouped_bound_s(groups, static_cast<int>(nodes.size())) : groups.piece_s();
    return bound_s < infinite ? bound_s * (1 - 1e-12) : 0;
}

}  // namespace skippipe
