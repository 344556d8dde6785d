// SPDX-License-Identifier: GPL-3.0-or-later
// What goes wrong while an iteration runs, and who decides how it goes on.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/replan/replan.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe {

/// Something that happens to the drawn network while an iteration runs: a node is lost, a line is cut, or either gets
/// slower or varies. What travels or waits at that instant, and on lost nodes and lines, is gone; what a slower node or
/// line has begun ends as it would have.
struct Disturbance {
    double at_s = 0;         ///< from the iteration's start; after all events of that instant
    NetworkChange change;    ///< anything but node_joins
    double detected_s = 0;   ///< node_down, line_cut: when the controller believes it, >= at_s
    std::uint64_t seed = 0;  ///< ..._varies: of what is drawn
    /// node_down: it lives, and is only believed to be lost, at `at_s` and by all: what it has under way comes after
    /// all, and nobody may count it.
    bool lives_on = false;

    bool loses() const {
        return change.kind == NetworkChange::Kind::node_down || change.kind == NetworkChange::Kind::line_cut;
    }
};

/// Whether `is(from, to)` holds for one of the ways that a plan's messages take: of `paths`, there and back, and of the
/// reductions of stages that paths visit, round their rings or by their pieces.
template <class Is>
bool any_way(const Problem& problem, const Plan& plan, bool paths, const Is& is) {
    bool any = false;
    const auto way = [&](NodeIndex from, NodeIndex to) { any = any || is(from, to); };
    std::vector<char> visited(problem.node_ids.size(), 0);
    for (const auto& path : plan.paths)
        for (std::size_t k = 0; k < path.nodes.size(); ++k) {
            const NodeIndex from = path.nodes[k], to = path.nodes[(k + 1) % path.nodes.size()];
            visited[at(from)] = 1;
            if (!paths || path.nodes.size() < 2) continue;
            way(from, to);
            way(to, from);
        }
    const auto pieces = problem.plan_reductions ? flatten(problem, plan).reductions : PerStage<Pieces>{};
    for (StageIndex s = 0; at(s) < plan.stages.size(); ++s) {
        const auto& nodes = plan.stages[s];
        if (std::none_of(nodes.begin(), nodes.end(), [&](NodeIndex node) { return visited[at(node)] != 0; })) continue;
        for (std::size_t k = 0; problem.charge_all_reduce && nodes.size() > 1 && k < nodes.size(); ++k)
            way(nodes[k], nodes[(k + 1) % nodes.size()]);
        if (at(s) >= pieces.size()) continue;
        for (const Piece& piece : pieces[s])
            visit_transfers(piece, static_cast<int>(nodes.size()),
                            [&](int from, int to) { way(nodes[at(from)], nodes[at(to)]); });
    }
    return any;
}

/// How an iteration went on after nodes were lost, or began again: after links were cut or, where neither is named,
/// since something got slower and the plan came to a standstill.
struct RecoveryReport {
    std::vector<int> nodes;  ///< those that were lost
    double lost_s = 0;       ///< when the first of them was, seconds from the iteration's start
    double detected_s = 0;   ///< when it was known, and planned again
    int redone_forwards = 0, redone_backwards = 0;
    int lost_gradients = 0;            ///< more backwards whose gradients are lost (below 0: fewer)
    int dropped = 0;                   ///< microbatches that are left out
    double lost_work_s = 0;            ///< that the lost nodes had worked in this iteration
    double replanning_s = 0;           ///< machine time that planning took
    std::vector<std::string> changes;  ///< one sentence each
    Faults abandoned;                  ///< why the iteration had to be begun again instead; then it was lost whole
    std::vector<std::string> links;    ///< those that were cut

    bool stands_still() const { return nodes.empty() && links.empty(); }
};

/// Nodes that came back between two iterations.
struct RejoinReport {
    std::vector<int> nodes;
    double refetching_s = 0;  ///< network time until all had weights and AdamW's state, or their stage had begun anew
};

/// "n5 back, with weights and AdamW's state after 0.21 s" for people.
std::string describe(const RejoinReport& report, const Problem& problem);

/// "n5, n7".
template <class Node>
std::string names_of(const std::vector<Node>& nodes, const Problem& problem) {
    std::string names;
    for (const Node node : nodes) names += (names.empty() ? "" : ", ") + problem.node_ids[at(node)];
    return names;
}

/// "n1->n2".
std::string name_of_line(const Problem& problem, const NetworkChange& change);

/// "n5 lost at 0.82 s, known 0.21 s later: ..." for people.
std::string describe(const RecoveryReport& report, const Problem& problem);
/// "4 forwards and 1 backward run again", and what else it cost.
std::string redone_words(int forwards, int backwards, int dropped, int lost_gradients);

/// Decides how an iteration goes on; from what it is given alone. One for all ranks.
class RecoveryController {
public:
    virtual ~RecoveryController() = default;
    /// A plan for the rest (replan). `network`: as it is now, with the plan's blocks. Throws InputError where no rest
    /// can be.
    virtual Replan recover(const Problem& network, const Plan& plan, const ReplanRequest& request) = 0;
};

/// The planner's own answer: siblings take over and what was lost runs again there, so that no gradient is lost for as
/// long as each stage keeps a node. With `replay` and `restart` there is no rest where one has none. `skip` and `drop`:
/// LossRule, and what lost nodes had added up is left out.
class ReplanController final : public RecoveryController {
public:
    /// `operations`: of ReplanRequest.
    explicit ReplanController(RecoveryPolicy policy = RecoveryPolicy::reroute, std::int64_t operations = 0)
        : policy_(policy), operations_(operations) {}
    Replan recover(const Problem& network, const Plan& plan, const ReplanRequest& request) override;

private:
    RecoveryPolicy policy_;
    std::int64_t operations_;
};

/// Policy `restart`: no iteration goes on.
class RestartController final : public RecoveryController {
public:
    Replan recover(const Problem& network, const Plan& plan, const ReplanRequest& request) override;
};

/// A plan with every node there, for when some are not: siblings do what those would have done. Throws InputError where
/// no plan can be.
Plan plan_without(const Problem& network, const Plan& base, const std::vector<NodeIndex>& absent,
                  RecoveryController& controller);

}  // namespace skippipe
