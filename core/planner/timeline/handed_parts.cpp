// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/handed_parts.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>

#include "core/base/index.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe {

namespace {

/// Goes through a timeline's reductions once more, to tell which span is which piece's.
class Replay {
public:
    Replay(const Problem& problem, const Plan& plan, const PerStage<Pieces>& pieces, const Timeline& timeline) {
        machine_.prepare(problem, plan.stages, pieces);
        for (const auto& span : timeline.spans)
            if (span.kind == SpanKind::transfer_reduction)
                spans_[{span.node, span.to_node, span.stage}].push_back(&span);
        for (auto& [ends, spans] : spans_)
            std::stable_sort(spans.begin(), spans.end(),
                             [](const Span* a, const Span* b) { return a->ready_s < b->ready_s; });
        add_own_parts(problem, plan, pieces, timeline);
    }

    std::vector<PartTransfer> run() {
        for (; !events_.empty(); events_.pop()) {
            const auto [now_s, number, node, slot] = events_.top();
            const auto send = [&, now_s = now_s](NodeIndex from, NodeIndex to, StageIndex stage, double bytes,
                                                 std::uint32_t handed) {
                hand_over(from, to, stage, bytes, handed, now_s);
            };
            const auto whole = [](NodeIndex) {};
            if (node >= 0)
                machine_.own_part(NodeIndex(node), send, whole);
            else
                machine_.arrived(slot, send, whole);
        }
        return std::move(transfers_);
    }

private:
    /// Time, number, the node whose own part is there (-1: something arrives), the slot of what arrives.
    using Event = std::tuple<double, std::size_t, int, std::uint32_t>;

    /// At the end of a node's last operation; at 0 s where its stage is visited and it is not.
    void add_own_parts(const Problem& problem, const Plan& plan, const PerStage<Pieces>& pieces,
                       const Timeline& timeline) {
        PerNode<double> end_s(problem.node_ids.size(), 0);
        for (const auto& span : timeline.spans)
            if (is_compute(span.kind)) end_s[span.node] = std::max(end_s[span.node], span.end_s);
        for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage)
            for (const NodeIndex node : plan.stages[stage])
                if (!pieces[stage].empty()) events_.push({end_s[node], number_++, node, 0});
    }

    void hand_over(NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot, double now_s) {
        auto& spans = spans_[{from, to, stage}];
        if (spans.empty()) throw std::logic_error("the timeline lacks a transfer of a planned reduction");
        const double arrival_s = spans.front()->end_s;
        spans.pop_front();
        transfers_.push_back({from, to, now_s, arrival_s, bytes, slot, machine_.handed(slot)});
        events_.push({arrival_s, number_++, -1, slot});
    }

    ReductionMachine machine_;
    std::map<std::tuple<NodeIndex, NodeIndex, StageIndex>, std::deque<const Span*>> spans_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::size_t number_ = 0;
    std::vector<PartTransfer> transfers_;
};

}  // namespace

PerStage<Pieces> summed_pieces(const Problem& problem, const Plan& plan) {
    if (!problem.plan_reductions) return {};
    auto flat = flatten(problem, plan);
    PerStage<char> visited(plan.stages.size(), 0);
    for (const NodeIndex node : flat.nodes) visited[flat.stage_of[node]] = 1;
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage)
        if (visited[stage] == 0 || plan.stages[stage].size() < 2) flat.reductions[stage].clear();
    return std::move(flat.reductions);
}

std::vector<PartTransfer> handed_parts(const Problem& given, const Plan& plan, const PerStage<Pieces>& pieces,
                                       const Timeline& timeline) {
    if (pieces.empty()) return {};
    const PlannedProblem planned(given, plan.blocks);
    return Replay(planned.get(), plan, pieces, timeline).run();
}

}  // namespace skippipe
