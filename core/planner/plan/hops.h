// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <vector>

#include "core/base/index.h"

namespace skippipe {

inline constexpr int no_line = -1;

/// A way from one node to another. Times in seconds, bandwidth in bytes per second.
struct Hop {
    double latency_s = 0;
    double bandwidth_bytes_per_s = 1;
    double seconds_per_forward = 0;   ///< forward message bytes / bandwidth, of a microbatch of Problem::samples
    double seconds_per_backward = 0;  ///< backward message bytes / bandwidth, of the same
    int line = no_line;               ///< queue it shares (`links: shared`); no_line: unreachable

    /// Everything on it takes `factor` times as long.
    void slow(double factor) {
        latency_s *= factor;
        bandwidth_bytes_per_s /= factor;
        seconds_per_forward *= factor;
        seconds_per_backward *= factor;
    }
    bool operator==(const Hop&) const = default;
};

/// The ways between all pairs of nodes. Nodes that are alike are a group, whose ways to another group are kept once:
/// 400 regions of 25 nodes are 160,000 ways instead of 100 million. Between two groups all share one line; within a
/// group every pair has its own. Read and changed as [from x nodes + to]; whoever changes one way makes every node a
/// group of its own.
class Hops {
public:
    Hops() = default;
    /// Every node apart: of each pair [from x nodes + to].
    Hops(std::vector<Hop> pairs);  // NOLINT(google-explicit-constructor)
    /// `group_of`: of each node, from 0 on. `ways` [from x groups + to]; where a group has several nodes, its way to
    /// itself is that of its first pair, from whose line on the others are numbered, sender after sender. Throws
    /// std::logic_error where the sizes do not fit.
    Hops(std::vector<int> group_of, std::vector<Hop> ways);

    Hop of(NodeIndex from, NodeIndex to) const {
        const int a = group_of_[at(from)], b = group_of_[at(to)];
        Hop hop = ways_[at(a) * members_.size() + at(b)];
        if (a == b && members_[at(a)] > 1) {
            if (from == to) return {};
            if (hop.line != no_line) hop.line += line_within(at(from), at(to), members_[at(a)]);
        }
        return hop;
    }

    int nodes() const { return static_cast<int>(group_of_.size()); }
    std::size_t size() const { return group_of_.size() * group_of_.size(); }
    int groups() const { return static_cast<int>(members_.size()); }
    int group_of(NodeIndex node) const { return group_of_[at(node)]; }
    /// Place of a node in its group, from 0 on.
    int place_of(NodeIndex node) const { return place_of_[at(node)]; }
    int members(int group) const { return members_[at(group)]; }
    /// As all pairs of two groups have it; within a group of several nodes as its first pair.
    const Hop& between(int from, int to) const { return ways_[at(from) * members_.size() + at(to)]; }
    /// Some line from there is of one pair alone, since both are of one group.
    bool has_pairs(int from, int to) const { return from == to && members_[at(from)] > 1; }

    /// Whatever all ways have in common is changed without taking groups apart; `change` must not tell lines apart.
    template <typename Change>
    void change_alike(const Change& change) {
        for (Hop& way : ways_) change(way);
    }
    /// Changes the ways that go over a line.
    template <typename Change>
    void change_line(int line, const Change& change) {
        if (line == no_line) return;
        for (int a = 0; a < groups(); ++a) {
            const Hop& own = between(a, a);
            const int pairs = members(a) * (members(a) - 1);
            if (has_pairs(a, a) && own.line != no_line && line >= own.line && line < own.line + pairs) {
                take_apart();
                break;
            }
        }
        for (Hop& way : ways_)
            if (way.line == line) change(way);
    }

    Hop operator[](std::size_t pair) const {
        return of(NodeIndex(pair / group_of_.size()), NodeIndex(pair % group_of_.size()));
    }
    Hop& operator[](std::size_t pair) { return take_apart()[pair]; }
    auto begin() { return take_apart().begin(); }
    auto end() { return take_apart().end(); }

private:
    int line_within(std::size_t from, std::size_t to, int members) const {
        const int i = place_of_[from], j = place_of_[to];
        return i * (members - 1) + j - (j > i ? 1 : 0);
    }
    std::vector<Hop>& take_apart();

    std::vector<int> group_of_, place_of_, members_;  ///< of each node; of each group
    std::vector<Hop> ways_;
};

}  // namespace skippipe
