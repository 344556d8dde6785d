// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/index.h"
#include "core/planner/replan/replan_state.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace skippipe {

namespace {

using Kind = NetworkChange::Kind;

class Improvement {
public:
    explicit Improvement(ReplanState& state) : s_(state) {}

    void run() {
        threshold_s_ = s_.request.threshold * (s_.best_s - s_.residual.at_s);
        for (const auto& change : s_.request.changes) {
            if (change.kind == Kind::node_joins) fill(change.node);
            if (change.kind == Kind::node_slower && change.factor > 1 && s_.living(change.node))
                relieve([&](const std::vector<NodeIndex>&, ReleaseIndex, int, NodeIndex node) {
                    return node == change.node;
                });
            if (change.kind == Kind::line_slower && change.factor > 1)
                relieve([&](const std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop, NodeIndex node) {
                    return crosses(change, nodes, i, hop, node);
                });
        }
        while (move_single() || exchange()) {}
    }

private:
    /// Data nodes are moved where that leaves them balanced, or need not be.
    int first_hop() const { return s_.may_unbalance() ? 0 : 1; }

    bool crosses(const NetworkChange& change, const std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop,
                 NodeIndex node) const {
        const int line = s_.network().hop(change.node, change.to).line;
        const NodeIndex before = s_.path(nodes, i)[(hop + s_.length - 1) % s_.length],
                        after = s_.path(nodes, i)[(hop + 1) % s_.length];
        for (const NodeIndex other : {before, after})
            if (other != node &&
                (s_.network().hop(other, node).line == line || s_.network().hop(node, other).line == line))
                return true;
        return false;
    }

    /// Adopts nodes that differ from the best where each path that changes is worth the threshold.
    bool accept(const std::vector<NodeIndex>& nodes) {
        if (s_.spent()) return false;
        int changed = 0;
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            changed += std::equal(s_.path(nodes, i), s_.path(nodes, i) + s_.length, s_.path(s_.best.nodes, i)) ? 0 : 1;
        if (changed == 0) return false;
        const double limit_s = s_.best_s - changed * threshold_s_;
        const double seconds = s_.try_out(nodes, limit_s);
        if (seconds >= limit_s) return false;
        s_.adopt(nodes, seconds);
        return true;
    }

    using Concerns = std::function<bool(const std::vector<NodeIndex>&, ReleaseIndex, int, NodeIndex)>;

    /// Takes microbatches off what has become slow: all that have not started, half of them, a quarter, ...
    void relieve(const Concerns& concerns) {
        std::vector<std::pair<ReleaseIndex, int>> hops;
        for (ReleaseIndex i(s_.residual.count() - 1); i >= 0; --i)
            for (int hop = first_hop(); s_.fresh(i) && hop < s_.length; ++hop)
                if (concerns(s_.best.nodes, i, hop, s_.path(s_.best.nodes, i)[hop])) hops.emplace_back(i, hop);
        for (std::size_t count = hops.size(); count > 0 && !s_.spent(); count /= 2) {
            auto nodes = s_.best.nodes;
            const auto load_s = s_.load_s;
            for (std::size_t k = 0; k < count; ++k) {
                const auto [i, hop] = hops[k];
                const NodeIndex node = s_.path(nodes, i)[hop];
                if (!concerns(nodes, i, hop, node)) continue;
                for (const NodeIndex sibling : s_.best_siblings(nodes, i, hop, s_.stage_of(node), node, 4)) {
                    if (concerns(nodes, i, hop, sibling)) continue;
                    s_.move(nodes, i, hop, sibling);
                    break;
                }
            }
            s_.load_s = load_s;
            if (accept(nodes)) return;
        }
    }

    /// Gives a node that has joined its share of what has not started, taken from the siblings with most to do.
    void fill(NodeIndex joined) {
        const StageIndex stage = s_.stage_of(joined);
        std::vector<std::pair<double, std::pair<ReleaseIndex, int>>> hops;
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            for (int hop = first_hop(); s_.fresh(i) && hop < s_.length; ++hop)
                if (const NodeIndex node = s_.path(s_.best.nodes, i)[hop];
                    s_.stage_of(node) == stage && node != joined &&
                    std::isfinite(s_.cost_s(s_.best.nodes, i, hop, joined)))
                    hops.push_back({-s_.load_s[node], {i, hop}});
        std::stable_sort(hops.begin(), hops.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t count = (hops.size() + 1) / 2; count > 0 && !s_.spent(); count /= 2) {
            auto nodes = s_.best.nodes;
            for (std::size_t k = 0; k < count; ++k)
                s_.path(nodes, hops[k].second.first)[hops[k].second.second] = joined;
            if (accept(nodes)) return;
        }
    }

    /// What has not started, the last to end first.
    std::vector<ReleaseIndex> late_first() {
        s_.try_out(s_.best.nodes);
        const auto end_s = s_.simulator().microbatch_end_s();
        std::vector<ReleaseIndex> late;
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            if (s_.fresh(i)) late.push_back(i);
        std::stable_sort(late.begin(), late.end(), [&](ReleaseIndex a, ReleaseIndex b) { return end_s[a] > end_s[b]; });
        return late;
    }

    /// One hop of one microbatch at a time goes to the siblings that cost least.
    bool move_single() {
        bool better = false;
        for (const ReleaseIndex i : late_first())
            for (int hop = first_hop(); hop < s_.length; ++hop) {
                const NodeIndex node = s_.path(s_.best.nodes, i)[hop];
                for (const NodeIndex sibling : s_.best_siblings(s_.best.nodes, i, hop, s_.stage_of(node), node, 2)) {
                    if (s_.spent()) return false;
                    auto nodes = s_.best.nodes;
                    s_.path(nodes, i)[hop] = sibling;
                    better = accept(nodes) || better;
                }
            }
        return better;
    }

    /// Two microbatches exchange their nodes of a stage, data nodes included: where both siblings have enough to do.
    bool exchange() {
        bool better = false;
        const auto late = late_first();
        for (const ReleaseIndex i : late)
            for (const ReleaseIndex j : late)
                for (int hop = 0; hop < s_.length; ++hop) {
                    if (s_.spent()) return false;
                    const NodeIndex a = s_.path(s_.best.nodes, i)[hop], b = s_.path(s_.best.nodes, j)[hop];
                    if (a == b || s_.stage_of(a) != s_.stage_of(b)) continue;
                    if (!std::isfinite(s_.cost_s(s_.best.nodes, i, hop, b)) ||
                        !std::isfinite(s_.cost_s(s_.best.nodes, j, hop, a)))
                        continue;
                    auto nodes = s_.best.nodes;
                    std::swap(s_.path(nodes, i)[hop], s_.path(nodes, j)[hop]);
                    better = accept(nodes) || better;
                }
        return better;
    }

    ReplanState& s_;
    double threshold_s_ = 0;
};

}  // namespace

void improve(ReplanState& state) { Improvement(state).run(); }

}  // namespace skippipe
