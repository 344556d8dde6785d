// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the rules afresh (docs/semantics.md), apart from planners and evaluator, so that it can catch both.
#include "core/planner/replan/validate_residual.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/planner/plan/checks.h"

namespace skippipe {

using namespace validation;

namespace {

/// What ran after the cut against what had run before it.
class ResidualCheck {
public:
    ResidualCheck(const Problem& problem, const Plan& before, const IterationProgress& progress,
                  const std::set<NodeIndex>& lost, const Plan& after, const Timeline& rest)
        : problem_(problem),
          before_(before),
          progress_(progress),
          lost_(lost),
          after_(after),
          rest_(rest),
          length_(static_cast<int>(after.paths.front().nodes.size())) {
        for (const auto& span : rest.spans)
            if (is_compute(span.kind)) ran_[{span.microbatch, kind_of(span.kind), span.node}].push_back(&span);
        for (const auto& open : progress.open) {
            if (open.weight || open.running) open_.insert({open.index, open.step, open.weight});
            const bool here = open.running || open.ready_s <= progress.at_s;
            if (!open.weight && !open.redo && here) here_.insert(open.index);
        }
        pending_.insert(progress.redo.begin(), progress.redo.end());
    }

    void run(Violations& found) {
        for (const auto& span : rest_.spans) {
            if (!is_compute(span.kind) && !is_transfer(span.kind)) continue;
            if (lost_.contains(span.node) || (span.to_node >= 0 && lost_.contains(span.to_node)))
                found.push_back({"structure", fmt::format("{} of microbatch {} needs a node that is down",
                                                          to_string(span.kind), span.microbatch)});
            if (is_compute(span.kind) && (span.start_s < span.ready_s || span.end_s <= progress_.at_s))
                found.push_back(
                    {"structure", fmt::format("{} of microbatch {} began before its input arrived, or had ended",
                                              to_string(span.kind), span.microbatch)});
        }
        std::size_t expected = 0;
        for (std::size_t i = 0; i < after_.paths.size(); ++i) expected += check_microbatch(ReleaseIndex(i), found);
        std::size_t ran = 0;
        for (const auto& [operation, spans] : ran_) ran += spans.size();
        if (ran != expected)
            found.push_back({"structure", fmt::format("{} operations ran, {} were left", ran, expected)});
        check_nodes(problem_, after_, rest_, held_, Ran::rest, found);
    }

private:
    enum class Op { forward, loss, backward, weight };
    static Op kind_of(SpanKind kind) {
        return kind == SpanKind::forward           ? Op::forward
               : kind == SpanKind::loss            ? Op::loss
               : kind == SpanKind::weight_gradient ? Op::weight
                                                   : Op::backward;
    }

    /// Operations of a microbatch that must have run; finds what is missing, twice there, or moved without need.
    std::size_t check_microbatch(ReleaseIndex i, Violations& found) {
        const auto &was = before_.paths[at(i)].nodes, &is = after_.paths[at(i)].nodes;
        const MicrobatchIndex m = after_.paths[at(i)].microbatch;
        const int done = progress_.steps_done[i];
        std::size_t expected = 0;
        const Span* last = nullptr;
        const auto fault = [&](const std::string& what) {
            found.push_back({"structure", fmt::format("microbatch {}: {}", m, what)});
        };
        for (int step = 0; step <= 2 * length_; ++step) {
            const int hop = step < length_ ? step : step == length_ ? 0 : 2 * length_ - step;
            const NodeIndex node = is[at(hop)];
            const Op kind = step < length_ ? Op::forward : step == length_ ? Op::loss : Op::backward;
            const auto entry = ran_.find({m, kind, node});
            const std::size_t times = entry == ran_.end() ? 0 : entry->second.size();
            const bool was_lost = lost_.contains(was[at(hop)]), again = pending_.contains({i, step});
            const bool begun = (step < done && !again) || open_.contains({i, step, false});
            if (done == 2 * length_ + 1 && !was_lost && node != was[at(hop)])
                fault("had finished and has another path");
            if (begun && !was_lost && node != was[at(hop)])
                fault(
                    fmt::format("{} had run its hop {} and is no longer on its path", id(problem_, was[at(hop)]), hop));
            if (step < done && !was_lost && !again && times > 0)
                fault(fmt::format("ran again on {} what had ended there", id(problem_, node)));
            if (step >= done && times != 1)
                fault(fmt::format("step {} ran {} times on {}", step, times, id(problem_, node)));
            if (times > 1) fault(fmt::format("step {} ran {} times", step, times));
            expected += times;
            const Span* span = times > 0 ? entry->second.front() : nullptr;
            // What ran again gives the next step its input only where that had been lost.
            const bool follows = step > done || (step == done && (was_lost || !here_.contains(i)));
            if (follows && span != nullptr && last != nullptr && span->ready_s < last->end_s)
                fault(fmt::format("step {} began before the one before it had ended", step));
            last = span;
            if (step > length_) expected += check_backward(i, step, hop, times, was_lost, fault);
        }
        return expected;
    }

    /// A backward that runs needs its node's own forward; counts what a node holds, and the weight gradient where it is
    /// split.
    template <class Report>
    std::size_t check_backward(ReleaseIndex i, int step, int hop, std::size_t times, bool was_lost,
                               const Report& fault) {
        const MicrobatchIndex m = after_.paths[at(i)].microbatch;
        const NodeIndex node = after_.paths[at(i)].nodes[at(hop)];
        const int done = progress_.steps_done[i];
        const auto forward = ran_.find({m, Op::forward, node}), backward = ran_.find({m, Op::backward, node});
        const bool had_run = hop < done && !was_lost && !pending_.contains({i, hop});
        if (times > 0 && !had_run &&
            (forward == ran_.end() || forward->second.front()->end_s > backward->second.front()->start_s))
            fault(fmt::format("{} runs the backward without having run the forward", id(problem_, node)));
        const bool weight_open = open_.contains({i, step, true}) && !was_lost;
        if (had_run && (times > 0 || weight_open)) ++held_[node];
        if (!after_.split_backward) return 0;
        const auto weight = ran_.find({m, Op::weight, node});
        const std::size_t weights = weight == ran_.end() ? 0 : weight->second.size(),
                          wanted = times > 0 || weight_open ? 1 : 0;
        if (weights != wanted)
            fault(fmt::format("{} weight gradients on {}, {} are left", weights, id(problem_, node), wanted));
        return weights;
    }

    const Problem& problem_;
    const Plan& before_;
    const IterationProgress& progress_;
    const std::set<NodeIndex>& lost_;
    const Plan& after_;
    const Timeline& rest_;
    int length_;
    std::map<std::tuple<MicrobatchIndex, Op, NodeIndex>, std::vector<const Span*>> ran_;
    std::set<std::tuple<ReleaseIndex, int, bool>> open_;  ///< running, or a weight gradient still to run
    std::set<MicrobatchStep> pending_;                    ///< steps that were still to be redone
    std::set<ReleaseIndex> here_;                         ///< the input of the next step had arrived
    std::map<NodeIndex, int> held_;
};

/// Any stage that was visited and has not reduced, or of which something runs still, sums in the rest; a part is there
/// at its beginning at the earliest.
void check_sums(const Problem& problem, const IterationProgress& progress, const Plan& after, const Timeline& rest,
                Violations& found) {
    PerNode<double> own_part_s(problem.node_ids.size(), progress.at_s);
    PerNode<char> runs(problem.node_ids.size(), 0);
    for (const auto& span : rest.spans) {
        if (!is_compute(span.kind)) continue;
        runs[span.node] = 1;
        own_part_s[span.node] = std::max(own_part_s[span.node], span.end_s);
    }
    PerStage<Pieces> pieces(after.stages.size());
    for (StageIndex s = 0; at(s) < after.stages.size(); ++s) {
        const auto& nodes = after.stages[s];
        const bool reduced = !progress.stage_stepped_s.empty() && progress.stage_stepped_s[s] >= 0,
                   visited = progress.stage_end_s[s] >= 0;
        if (std::none_of(nodes.begin(), nodes.end(), [&](NodeIndex node) { return runs[node] != 0; }) &&
            (reduced || !visited))
            continue;
        if (!after.reductions.empty()) pieces[s] = after.reductions[s];
        if (pieces[s].empty()) pieces[s] = default_pieces(static_cast<int>(nodes.size()));
    }
    check_reduced(problem, after.stages, pieces, own_part_s, rest, found);
}

}  // namespace

std::vector<Violation> check_residual(const Problem& network, const Plan& before, const IterationProgress& progress,
                                      const std::vector<NodeIndex>& down, const Plan& after, const Timeline& rest) {
    Violations found;
    // Lost nodes stand in the paths of what they have finished.
    Plan whole = after;
    std::set<NodeIndex> lost(down.begin(), down.end());
    for (const auto& [node, stage] : progress.lost) {
        lost.insert(node);
        whole.stages[stage].push_back(node);
    }
    bool same_data_nodes = true;
    int living_stages = 0;
    for (StageIndex s = 0; at(s) < std::min(before.stages.size(), whole.stages.size()); ++s) {
        for (const NodeIndex node : before.stages[s])
            if (lost.contains(node)) whole.stages[s].push_back(node);
        if (s > 0)
            living_stages += after.stages[s].empty() ? 0 : 1;
        else
            same_data_nodes = after.stages[s] == before.stages[s];
    }
    same_data_nodes = same_data_nodes && std::none_of(progress.lost.begin(), progress.lost.end(),
                                                      [](const LostNode& lost_node) { return lost_node.stage == 0; });
    if (!check_stages(network, whole, found)) return found;
    const auto stage_of = stage_of_nodes(whole, network.nodes());
    for (StageIndex s = 0; at(s) < after.stages.size(); ++s)
        for (const NodeIndex node : after.stages[s])
            if (lost.contains(node))
                found.push_back({"structure", fmt::format("{} is down and stands in stage {}", id(network, node), s)});
    if (after.paths.size() != before.paths.size()) found.push_back({"structure", "microbatches were added or lost"});
    for (std::size_t i = 0; i < after.paths.size() && found.empty(); ++i) {
        if (after.paths[i].microbatch != before.paths[i].microbatch ||
            after.paths[i].nodes.size() != before.paths[i].nodes.size())
            found.push_back(
                {"structure", fmt::format("microbatch {} changed its place or length", after.paths[i].microbatch)});
        check_path(network, after.paths[i], stage_of, found);
    }
    if (!found.empty()) return found;
    check_order(network, whole, found);
    check_rings(network, after, stage_of, found);
    check_reductions(network, after, visited_stages(after, stage_of), found);
    const int length = static_cast<int>(after.paths.front().nodes.size());
    living_stages = std::max(1, living_stages);
    const int cap = (network.microbatches * (length - 1) + living_stages - 1) / living_stages;
    check_counts(network, whole, stage_of, length,
                 network.balance_data_nodes && same_data_nodes ? Shares::equal : Shares::any, cap, found);
    check_disorder(network, whole, stage_of, found);
    if (!rest.complete) found.push_back({"deadlock", "events run out before all operations ran"});
    const PlannedProblem planned(network, after.blocks);
    ResidualCheck(planned.get(), before, progress, lost, after, rest).run(found);
    if (network.plan_reductions && rest.complete) check_sums(planned.get(), progress, after, rest, found);
    return found;
}

}  // namespace skippipe
