// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the rules afresh (docs/semantics.md, Reductions as transfers), apart from evaluator and engine.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "core/planner/plan/checks.h"

namespace skippipe::validation {

namespace {

/// Transfers between two replicas of as many bytes, which nothing tells apart.
struct Alike {
    std::vector<const Span*> ran;  ///< by hand-over
    std::vector<double> ready_s;   ///< of each that the pieces ask for, no later than its sender had it
};

class StageSums {
public:
    StageSums(const Problem& problem, StageIndex stage, const std::vector<NodeIndex>& nodes, const Pieces& pieces,
              const PerNode<double>& own_part_s, const std::vector<const Span*>& ran)
        : problem_(problem), stage_(stage), nodes_(nodes), own_s_(own_part_s) {
        for (const Span* span : ran) alike_[{span->node, span->to_node, span->bytes}].ran.push_back(span);
        for (auto& [key, alike] : alike_)
            std::sort(alike.ran.begin(), alike.ran.end(),
                      [](const Span* a, const Span* b) { return a->ready_s < b->ready_s; });
        for (const Piece& piece : pieces) follow(piece);
    }

    /// The first fault; "" where there is none.
    std::string fault() {
        for (auto& [key, alike] : alike_) {
            const auto& [from, to, bytes] = key;
            if (alike.ran.size() != alike.ready_s.size())
                return fmt::format("{} transfers of {:.6g} bytes from {} to {}, its pieces ask for {}",
                                   alike.ran.size(), bytes, id(problem_, from), id(problem_, to), alike.ready_s.size());
            std::sort(alike.ready_s.begin(), alike.ready_s.end());
            // Infinite: what was to come before is at fault itself.
            for (std::size_t k = 0; k < alike.ran.size() && std::isfinite(alike.ready_s[k]); ++k)
                if (!is_after(alike.ran[k]->ready_s, alike.ready_s[k]))
                    return fmt::format("{} hands {:.6g} bytes to {} at {:.6g} s, before it has them",
                                       id(problem_, from), bytes, id(problem_, to), alike.ran[k]->ready_s);
        }
        return "";
    }

    static bool is_after(double later_s, double earlier_s) {
        return later_s >= earlier_s - 1e-9 * std::max(1.0, std::abs(earlier_s));
    }

private:
    /// A hand-over that its sender cannot make before `ready_s`; when it has arrived, at the earliest.
    double arrival_s(int from, int to, double bytes, double ready_s) {
        auto& alike = alike_[{nodes_[at(from)], nodes_[at(to)], bytes}];
        alike.ready_s.push_back(ready_s);
        double arrives_s = std::numeric_limits<double>::infinity();
        for (const Span* span : alike.ran)
            if (is_after(span->ready_s, ready_s)) arrives_s = std::min(arrives_s, span->end_s);
        return arrives_s;
    }

    void follow(const Piece& piece) {
        const double bytes = piece.share * problem_.gradient_bytes[stage_];
        const int replicas = static_cast<int>(nodes_.size());
        std::vector<double> part_s;
        for (const NodeIndex node : nodes_) part_s.push_back(own_s_[node]);
        if (piece.form == PieceForm::exchange)
            return visit_transfers(piece, replicas,
                                   [&](int from, int to) { arrival_s(from, to, bytes, part_s[at(from)]); });
        auto up = below(piece.up, piece.root);
        std::reverse(up.begin(), up.end());
        for (const int child : up) {
            const int parent = piece.up[at(child)];
            part_s[at(parent)] = std::max(part_s[at(parent)], arrival_s(child, parent, bytes, part_s[at(child)]));
        }
        std::vector<double> sum_s(at(replicas), part_s[at(piece.root)]);
        for (const int child : below(piece.down, piece.root))
            sum_s[at(child)] = arrival_s(piece.down[at(child)], child, bytes, sum_s[at(piece.down[at(child)])]);
    }

    /// All replicas but the root, each after its parent.
    static std::vector<int> below(const std::vector<int>& parents, int root) {
        std::vector<std::vector<int>> children(parents.size());
        for (int replica = 0; at(replica) < parents.size(); ++replica)
            if (replica != root) children[at(parents[at(replica)])].push_back(replica);
        std::vector<int> order = children[at(root)];
        for (std::size_t next = 0; next < order.size(); ++next) {
            const auto& more = children[at(order[next])];
            order.insert(order.end(), more.begin(), more.end());
        }
        return order;
    }

    const Problem& problem_;
    StageIndex stage_;
    const std::vector<NodeIndex>& nodes_;
    const PerNode<double>& own_s_;
    std::map<std::tuple<NodeIndex, NodeIndex, double>, Alike> alike_;
};

}  // namespace

void check_reduced(const Problem& problem, const PerStage<std::vector<NodeIndex>>& stages,
                   const PerStage<Pieces>& pieces, const PerNode<double>& own_part_s, const Timeline& timeline,
                   Violations& found) {
    PerStage<std::vector<const Span*>> ran(stages.size());
    PerNode<double> sums_s = own_part_s;
    const auto say = [&](StageIndex stage, const std::string& what) {
        found.push_back({"structure", fmt::format("reduction of stage {}: {}", stage, what)});
    };
    for (const auto& span : timeline.spans) {
        if (span.kind != SpanKind::transfer_reduction) continue;
        if (span.stage < 0 || at(span.stage) >= stages.size())
            return found.push_back({"structure", fmt::format("a gradient of stage {}, which is none", span.stage)});
        ran[span.stage].push_back(&span);
        sums_s[span.to_node] = std::max(sums_s[span.to_node], span.end_s);
    }
    for (StageIndex stage = 0; at(stage) < stages.size(); ++stage)
        if (const auto fault = StageSums(problem, stage, stages[stage], pieces[stage], own_part_s, ran[stage]).fault();
            !fault.empty())
            say(stage, fault);
    for (const auto& span : timeline.spans)
        if (span.kind == SpanKind::step && !pieces[span.stage].empty() && span.node >= 0 &&
            !StageSums::is_after(span.start_s, sums_s[span.node]))
            say(span.stage,
                fmt::format("{} steps at {:.6g} s, before it has all sums", id(problem, span.node), span.start_s));
}

}  // namespace skippipe::validation
