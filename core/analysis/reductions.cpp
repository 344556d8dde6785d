// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/reductions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/experiment/model_size.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {
namespace {

Pieces pieces_or_usual(const Pieces& pieces, int replicas) {
    return pieces.empty() ? default_pieces(replicas) : pieces;
}

/// Parts go up and sums come down; an exchange hands on parts alone.
void add_edges(const Piece& piece, int replicas, std::map<std::pair<int, int>, ReductionEdge>& edges) {
    for (int a = 0; a < replicas; ++a) {
        if (piece.form == PieceForm::exchange) {
            for (int b = 0; b < replicas; ++b)
                if (b != a) edges[{a, b}].up_share += piece.share;
        } else if (a != piece.root) {
            edges[{a, piece.up[at(a)]}].up_share += piece.share;
            edges[{piece.down[at(a)], a}].down_share += piece.share;
        }
    }
}

void find_slowest(StageReduction& reduction) {
    const auto slowest = std::max_element(reduction.edges.begin(), reduction.edges.end(),
                                          [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    if (slowest != reduction.edges.end()) reduction.slowest = at(slowest - reduction.edges.begin());
}

void add_ring(const Problem& problem, const std::vector<NodeIndex>& replicas, StageReduction& reduction) {
    const std::size_t r = replicas.size();
    const double rounds = static_cast<double>(r) - 1, share = rounds / static_cast<double>(r);
    for (std::size_t edge = 0; edge < r; ++edge)
        reduction.edges.push_back({replicas[edge], replicas[(edge + 1) % r], share, share,
                                   2 * share * problem.gradient_bytes[reduction.stage],
                                   2 * rounds * ring_edge_seconds(problem, replicas, edge, reduction.stage)});
}

/// A transfer that a plan asks for, and what it waits for.
struct Wanted {
    int piece = 0, from = 0, to = 0;
    bool down = false;
    bool own = false;                 ///< its sender's own part is in it
    std::vector<std::size_t> before;  ///< what its sender must have got
    std::optional<double> end_s;      ///< once it is found
    bool is_missing = false;          ///< nothing was timed that fits
};

/// Finds the transfers of one stage among those that were timed, in the order in which they were handed over.
class CargoFinder {
public:
    CargoFinder(const std::vector<NodeIndex>& replicas, const Pieces& pieces, double gradient_bytes,
                const std::vector<double>& own_part_s, const std::vector<ReductionTransfer>& transfers)
        : replicas_(replicas),
          pieces_(pieces),
          bytes_(gradient_bytes),
          own_s_(own_part_s),
          transfers_(transfers),
          cargo_(transfers.size()) {
        for (int piece = 0; piece < static_cast<int>(pieces_.size()); ++piece) want(piece);
        for (auto& wanted : wanted_) find_before(wanted);
    }

    std::vector<std::optional<ReductionCargo>> find() {
        for (Wanted* next = earliest(); next != nullptr; next = earliest()) take(*next, *ready_of(*next));
        return std::move(cargo_);
    }

private:
    int count() const { return static_cast<int>(replicas_.size()); }

    void want(int index) {
        const Piece& piece = pieces_[at(index)];
        for (int a = 0; a < count(); ++a) {
            if (piece.form == PieceForm::exchange) {
                for (int b = 0; b < count(); ++b)
                    if (b != a) wanted_.push_back({index, a, b, false, true, {}, {}, false});
            } else if (a != piece.root) {
                wanted_.push_back({index, a, piece.up[at(a)], false, true, {}, {}, false});
                const int parent = piece.down[at(a)];
                wanted_.push_back({index, parent, a, true, parent == piece.root, {}, {}, false});
            }
        }
    }

    /// Parts of its children, or the sum.
    void find_before(Wanted& wanted) const {
        if (pieces_[at(wanted.piece)].form == PieceForm::exchange) return;
        for (std::size_t i = 0; i < wanted_.size(); ++i)
            if (wanted_[i].piece == wanted.piece && wanted_[i].to == wanted.from && wanted_[i].down != wanted.own)
                wanted.before.push_back(i);
    }

    /// When its sender has it; nothing while that is not known.
    std::optional<double> ready_of(const Wanted& one) const {
        double ready_s = one.own ? own_s_[at(one.from)] : -std::numeric_limits<double>::infinity();
        for (const auto index : one.before) {
            if (!wanted_[index].end_s) return {};
            ready_s = std::max(ready_s, *wanted_[index].end_s);
        }
        return ready_s;
    }

    /// A sender takes the piece after its place first.
    int turn(const Wanted& one) const {
        const int pieces = static_cast<int>(pieces_.size());
        return ((one.piece - one.from - 1) % pieces + pieces) % pieces;
    }

    Wanted* earliest() {
        Wanted* best = nullptr;
        std::pair<double, int> least;
        for (auto& wanted : wanted_) {
            const auto ready_s = wanted.end_s || wanted.is_missing ? std::nullopt : ready_of(wanted);
            if (!ready_s) continue;
            const std::pair<double, int> now{*ready_s, turn(wanted)};
            if (best == nullptr || now < least) best = &wanted, least = now;
        }
        return best;
    }

    void take(Wanted& wanted, double ready_s) {
        const double bytes = pieces_[at(wanted.piece)].share * bytes_;
        const double rounding_s = 1e-9 * std::max(1.0, std::abs(ready_s));
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < transfers_.size(); ++i) {
            const auto& one = transfers_[i];
            if (cargo_[i] || one.from != replicas_[at(wanted.from)] || one.to != replicas_[at(wanted.to)] ||
                std::abs(one.bytes - bytes) > 1e-5 * std::max(1.0, bytes) ||
                std::abs(one.ready_s - ready_s) > rounding_s + 1e-6 * (one.end_s - one.ready_s))
                continue;
            if (!best || one.end_s < transfers_[*best].end_s) best = i;
        }
        wanted.is_missing = !best;
        if (!best) return;
        wanted.end_s = transfers_[*best].end_s;
        cargo_[*best] = describe(wanted);
    }

    ReductionCargo describe(const Wanted& wanted) const {
        const Piece& piece = pieces_[at(wanted.piece)];
        ReductionCargo cargo{wanted.piece, piece.share, piece.form, {}, wanted.down};
        for (int replica = 0; replica < count(); ++replica)
            if (wanted.down || replica == wanted.from ||
                (piece.form == PieceForm::tree && is_below(piece, replica, wanted.from)))
                cargo.summed.push_back(replicas_[at(replica)]);
        return cargo;
    }

    /// Whether its part goes up through that replica.
    static bool is_below(const Piece& piece, int replica, int other) {
        for (; replica != piece.root; replica = piece.up[at(replica)])
            if (replica == other) return true;
        return replica == other;
    }

    const std::vector<NodeIndex>& replicas_;
    const Pieces& pieces_;
    double bytes_;
    const std::vector<double>& own_s_;
    const std::vector<ReductionTransfer>& transfers_;
    std::vector<std::optional<ReductionCargo>> cargo_;
    std::vector<Wanted> wanted_;
};

}  // namespace

StageReduction reduction_of(const Problem& problem, const Plan& plan, StageIndex stage) {
    StageReduction reduction;
    reduction.stage = stage;
    reduction.planned = problem.plan_reductions;
    if (stage < 0 || at(stage) >= plan.stages.size()) return reduction;
    const auto& replicas = plan.stages[stage];
    const PlannedProblem planned(problem, plan.blocks);
    if (replicas.size() < 2 || at(stage) >= planned.get().gradient_bytes.size()) return reduction;
    if (!problem.plan_reductions) {
        if (problem.charge_all_reduce) add_ring(planned.get(), replicas, reduction);
        find_slowest(reduction);
        return reduction;
    }
    const int r = static_cast<int>(replicas.size());
    const Pieces pieces = pieces_or_usual(at(stage) < plan.reductions.size() ? plan.reductions[stage] : Pieces{}, r);
    std::map<std::pair<int, int>, ReductionEdge> edges;
    for (const auto& piece : pieces) add_edges(piece, r, edges);
    for (auto& [places, edge] : edges) {
        edge.from = replicas[at(places.first)];
        edge.to = replicas[at(places.second)];
        edge.bytes = (edge.up_share + edge.down_share) * planned.get().gradient_bytes[stage];
        const Hop& hop = problem.hop(edge.from, edge.to);
        edge.seconds = hop.latency_s + problem.overhead_s + edge.bytes / problem.alone_bytes_per_s(edge.from, edge.to);
        reduction.edges.push_back(edge);
    }
    find_slowest(reduction);
    return reduction;
}

std::vector<StageReduction> reductions_of(const Problem& problem, const Plan& plan) {
    std::vector<StageReduction> all;
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage)
        all.push_back(reduction_of(problem, plan, stage));
    return all;
}

std::vector<ReductionWhatIf> other_reductions(const Problem& problem, const Plan& plan, const Timeline& timeline,
                                              std::optional<WireType> wire) {
    std::vector<ReductionWhatIf> found;
    const PlannedProblem planned(problem, plan.blocks);
    bool any = false;
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage)
        any = any || (plan.stages[stage].size() > 1 && at(stage) < planned.get().gradient_bytes.size() &&
                      planned.get().gradient_bytes[stage] > 0);
    if (!any || !(timeline.iteration_s > 0)) return found;
    const AllReduceRule now = problem.plan_reductions     ? AllReduceRule::planned
                              : problem.charge_all_reduce ? AllReduceRule::charged
                                                          : AllReduceRule::free;
    const auto add = [&](const ReductionWhatIf& what, const Problem& other, const Plan& same) {
        if (!check_structure(other, same).empty()) return;
        const Timeline there = evaluate(other, same);
        auto& answer = found.emplace_back(what);
        answer.complete = there.complete;
        answer.iteration_s = there.iteration_s;
        answer.change = there.iteration_s / timeline.iteration_s - 1;
    };
    const auto try_rule = [&](AllReduceRule rule, PieceForm pieces) {
        Problem other = problem;
        other.plan_reductions = rule == AllReduceRule::planned;
        other.charge_all_reduce = rule == AllReduceRule::charged;
        Plan same = plan;
        same.reductions.clear();
        if (pieces == PieceForm::exchange)
            for (const auto& replicas : plan.stages)
                same.reductions.push_back(replicas.size() > 1 ? Pieces{{1, PieceForm::exchange, 0, {}, {}}} : Pieces{});
        add({.rule = rule, .pieces = pieces}, other, same);
    };
    for (const PieceForm pieces : {PieceForm::tree, PieceForm::exchange}) try_rule(AllReduceRule::planned, pieces);
    for (const AllReduceRule rule : {AllReduceRule::charged, AllReduceRule::free})
        if (rule != now) try_rule(rule, PieceForm::tree);
    for (const WireType other : {WireType::fp32, WireType::bf16, WireType::int8}) {
        if (!wire || !problem.plan_reductions || other == *wire) continue;
        Problem fewer = problem;
        for (double& bytes : fewer.gradient_bytes) bytes *= gradient_value_bytes(other) / gradient_value_bytes(*wire);
        add({.rule = now, .wire = other}, fewer, plan);
    }
    return found;
}

std::vector<std::optional<ReductionCargo>> cargo_of(const std::vector<NodeIndex>& replicas, const Pieces& pieces,
                                                    double gradient_bytes, const std::vector<double>& own_part_s,
                                                    const std::vector<ReductionTransfer>& transfers) {
    const Pieces planned = pieces_or_usual(pieces, static_cast<int>(replicas.size()));
    return CargoFinder(replicas, planned, gradient_bytes, own_part_s, transfers).find();
}

}  // namespace skippipe
