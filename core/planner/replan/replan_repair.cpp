// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/planner/replan/replan_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/experiment/counts.h"
#include "core/planner/plan/paths.h"

namespace skippipe {

namespace {

[[noreturn]] void refuse_memory(const Problem& problem, const ResidualPlan& plan) {
    NodeIndex tightest = 0;
    for (const auto& ring : plan.stages)
        for (const NodeIndex node : ring)
            if (problem.memory[node] < problem.memory[tightest]) tightest = node;
    throw InputError("replan", "memory blocks the rest: the microbatches underway wait for each other's (TC1)",
                     fmt::format("{} takes {} microbatches, and those on living nodes keep what they hold",
                                 problem.node_ids[tightest], problem.memory[tightest]),
                     "Let a node join the stage that lost one, or begin the iteration again without the lost node");
}

class Repair {
public:
    explicit Repair(ReplanState& state) : s_(state) {}

    void run() {
        auto nodes = s_.best.nodes;
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            if (!s_.finished(i)) pass_over_lost_stages(nodes, i);
        if (s_.request.losses == LossRule::pass_over) pass_over_lost_nodes(nodes);
        std::vector<std::pair<ReleaseIndex, int>> hops;
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            for (int hop = 0; !s_.finished(i) && hop < s_.length; ++hop)
                if (const NodeIndex node = s_.path(nodes, i)[hop]; !s_.living(node) && s_.forced(i, hop))
                    hops.emplace_back(i, hop);
        const auto dealt = hops.empty() ? std::vector<NodeIndex>{} : deal(nodes, hops);
        for (const auto& [i, hop] : hops) take_over(nodes, i, hop);
        s_.best.nodes = nodes;
        s_.best_s = s_.try_out(nodes);
        if (!dealt.empty()) {
            if (const double seconds = s_.try_out(dealt, s_.best_s); seconds < s_.best_s) s_.adopt(dealt, seconds);
        }
        try_siblings(hops);
        if (!std::isfinite(s_.best_s)) throttle();
    }

private:
    /// The plainest repair: the living siblings take over in turn. Empty where a line is missing.
    std::vector<NodeIndex> deal(std::vector<NodeIndex> nodes,
                                const std::vector<std::pair<ReleaseIndex, int>>& hops) const {
        PerStage<std::size_t> turn(at(s_.problem.stages), 0);
        for (const auto& [i, hop] : hops) {
            const StageIndex stage = s_.stage_of(s_.path(nodes, i)[hop]);
            const auto& ring = s_.best.stages[stage];
            if (ring.empty()) return {};
            const NodeIndex node = ring[turn[stage]++ % ring.size()];
            if (!std::isfinite(s_.cost_s(nodes, i, hop, node)) || s_.network().memory[node] <= 0) return {};
            s_.path(nodes, i)[hop] = node;
        }
        return nodes;
    }

    void take_over(std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop) {
        const NodeIndex lost = s_.path(nodes, i)[hop];
        const StageIndex stage = s_.stage_of(lost);
        const auto siblings = s_.best_siblings(nodes, i, hop, stage, lost, 1);
        if (!siblings.empty()) return s_.move(nodes, i, hop, siblings.front());
        if (s_.best.stages[stage].empty()) refuse_stage(stage, i);
        throw InputError("replan",
                         fmt::format("microbatch {}: no node of stage {} that is left can take over from {}",
                                     s_.residual.microbatches[i], stage, s_.name(lost)),
                         "the others have no line to and from its neighbours on the path, or no memory",
                         fmt::format("Draw a link to one of them, or let a node join stage {}", stage));
    }

    [[noreturn]] void refuse_stage(StageIndex stage, ReleaseIndex i) const {
        const bool passed = stage > 0 && s_.residual.next_step[i] > 0 && !s_.fresh(i);
        throw InputError(
            "replan",
            fmt::format("stage {} has no node left, and microbatch {} needs it", stage, s_.residual.microbatches[i]),
            stage == 0 ? std::string("stage 0 holds tokens, head and loss: no path passes over it")
            : passed   ? std::string("it is underway, and CC2, CC3 or what has run already leave it no other way")
                       : fmt::format("no path of {} stages within CC2 and CC3 passes over it", s_.length),
            fmt::format("Let a node join stage {}, or plan the iteration again without what has run", stage));
    }

    /// Moves forced microbatches among siblings for as long as the exact rest gets shorter.
    void try_siblings(const std::vector<std::pair<ReleaseIndex, int>>& hops) {
        for (bool better = true; better && !s_.spent(0.5);) {
            better = false;
            for (const auto& [i, hop] : hops) {
                const NodeIndex node = s_.path(s_.best.nodes, i)[hop];
                for (const NodeIndex sibling : s_.best_siblings(s_.best.nodes, i, hop, s_.stage_of(node), node, 3)) {
                    if (s_.spent(0.5)) return;
                    auto nodes = s_.best.nodes;
                    s_.path(nodes, i)[hop] = sibling;
                    const double seconds = s_.try_out(nodes, s_.best_s);
                    if (seconds >= s_.best_s) continue;
                    s_.adopt(nodes, seconds);
                    better = true;
                }
            }
        }
    }

    /// Where first come, first served deadlocks: only some microbatches at a time go forward, and what happens then
    /// becomes the order.
    void throttle() {
        PerNode<std::vector<int>> started;
        const int data_nodes = std::max(1, static_cast<int>(s_.best.stages[0].size()));
        for (const int window : {2 * data_nodes, data_nodes, 2, 1}) {
            ResidualPlan throttled = s_.best;
            throttled.window = window;
            const double seconds = s_.simulator().times(throttled, s_.best_s).iteration_s;
            if (seconds >= s_.best_s) continue;
            s_.best_s = seconds;
            started = s_.simulator().started();
        }
        if (started.empty()) refuse_memory(s_.network(), s_.best);
        s_.order.assign(at(s_.problem.nodes()), {});
        for (int n = 0; n < s_.problem.nodes(); ++n)
            for (const int id : started[n]) s_.order[n].push_back(s_.operation_of(id));
        s_.best_s = s_.try_out(s_.best.nodes);
    }

    // --- a stage without nodes
    // ----------------------------------------------------------------------------------------------------------

    void pass_over_lost_stages(std::vector<NodeIndex>& nodes, ReleaseIndex i) {
        for (int hop = 1; hop < s_.length; ++hop) {
            const NodeIndex lost = s_.path(nodes, i)[hop];
            const StageIndex stage = s_.stage_of(lost);
            if (s_.living(lost) || !s_.forced(i, hop) || !s_.best.stages[stage].empty()) continue;
            if (hop < s_.residual.fixed_hops(i) || !pass_over(nodes, i, hop)) refuse_stage(stage, i);
            hop = std::max(0, s_.residual.fixed_hops(i) - 1);  // the others may have changed places
        }
    }

    /// Where a path may; else siblings take over.
    void pass_over_lost_nodes(std::vector<NodeIndex>& nodes) {
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            for (int hop = std::max(1, s_.residual.fixed_hops(i)); !s_.finished(i) && hop < s_.length; ++hop)
                if (!s_.living(s_.path(nodes, i)[hop]) && s_.forced(i, hop)) pass_over(nodes, i, hop);
    }

    /// Another stage instead of the one at `hop`, wherever CC3 lets it stand after what is fixed, on the node that
    /// costs least.
    bool pass_over(std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop) {
        int left = 0;
        for (StageIndex s = 1; s < s_.problem.stages; ++s) left += s_.best.stages[s].empty() ? 0 : 1;
        const int cap = s_.problem.constraints.uniform_execution
                            ? uniform_cap(s_.problem.microbatches, s_.length, left + 1)
                            : s_.problem.microbatches;
        std::vector<NodeIndex> best;
        double best_s = infinite;
        const int first = std::max(1, s_.residual.fixed_hops(i));
        for (StageIndex s = 1; s < s_.problem.stages; ++s) {
            if (s_.best.stages[s].empty() || s_.visits[s] >= cap) continue;
            for (int place = first; place < s_.length; ++place) {
                std::vector<NodeIndex> way(s_.path(nodes, i), s_.path(nodes, i) + s_.length);
                std::vector<StageIndex> stages;
                way.erase(way.begin() + hop);
                way.insert(way.begin() + place, s_.best.stages[s].front());
                for (const NodeIndex node : way) stages.push_back(s_.stage_of(node));
                if (!allowed_sequence(s_.problem, stages)) continue;
                auto candidate = nodes;
                std::copy(way.begin(), way.end(), s_.path(candidate, i));
                const auto siblings = s_.best_siblings(candidate, i, place, s, -1, 1);
                if (siblings.empty()) continue;
                s_.path(candidate, i)[place] = way[at(place)] = siblings.front();
                const double seconds = s_.cost_s(candidate, i, place, siblings.front());
                if (seconds >= best_s || !connected(way)) continue;
                best_s = seconds;
                best = way;
            }
        }
        if (best.empty()) return false;
        --s_.visits[s_.stage_of(s_.path(nodes, i)[hop])];
        std::vector<char> forced(at(s_.length), 0);
        for (int k = 0; k < s_.length; ++k) {
            const NodeIndex node = best[at(k)];
            const NodeIndex* way = s_.path(nodes, i);
            if (std::find(way, way + s_.length, node) == way + s_.length) {
                ++s_.visits[s_.stage_of(node)];
                s_.load_s[node] += s_.work_s(i, k, node);
            }
            forced[at(k)] = !s_.living(node) && (s_.fresh(i) || k >= s_.residual.next_step[i] || s_.forced(i, k));
        }
        std::copy(best.begin(), best.end(), s_.path(nodes, i));
        std::copy(forced.begin(), forced.end(),
                  s_.residual.forced.begin() + static_cast<std::ptrdiff_t>(i) * s_.length);
        return true;
    }

    bool connected(const std::vector<NodeIndex>& way) const {
        for (std::size_t k = 0; k < way.size(); ++k) {
            const NodeIndex from = way[k], to = way[(k + 1) % way.size()];
            if (s_.living(from) && s_.living(to) && !std::isfinite(s_.round_s(from, to))) return false;
        }
        return true;
    }

    ReplanState& s_;
};

}  // namespace

void repair(ReplanState& state) { Repair(state).run(); }

}  // namespace skippipe
