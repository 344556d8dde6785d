// SPDX-License-Identifier: GPL-3.0-or-later
// One order for everything that ranks with a lane each do: what it holds, and that its proof agrees with playing it.
#include <QTest>

#include <algorithm>
#include <map>
#include <set>

#include "core/engine/lane_order.h"
#include "core/engine/route_table.h"
#include "core/planner/timeline/reduction_machine.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

/// Plays a schedule by its words: a node runs its order, one after the other, each once its input is there; a lane does
/// its steps one after the other, each together with whom it concerns, once its source has run. Whether all is done in
/// the end does not depend on who is first.
class Play {
public:
    Play(const Problem& problem, const RankSchedule& schedule)
        : schedule_(schedule), routes_(schedule.plan), ran_(schedule.plan.order.size(), 0) {
        if (!schedule.pieces.empty()) machine_.prepare(problem, schedule.plan.stages, schedule.pieces);
        for (int rank = 0; rank < schedule.ranks; ++rank) lanes_.push_back(lane_of(schedule, rank));
        lane_done_.resize(lanes_.size());
        for (const auto& transfer : schedule.transfers)
            if (!transfer.is_reduction()) crosses_.insert({transfer.to_node, key(transfer.operation)});
        for (std::size_t node = 0; node < schedule.plan.order.size(); ++node)
            for (const auto& operation : schedule.plan.order[node])
                if (const auto next = routes_.after(operation, static_cast<int>(node)); next.node >= 0)
                    source_[{next.node, key(next.operation)}] = {static_cast<int>(node), operation};
    }

    bool ends() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t node = 0; node < ran_.size(); ++node) moved = run_node(node) || moved;
            for (std::size_t rank = 0; rank < lanes_.size(); ++rank) moved = run_lane(rank) || moved;
        }
        for (std::size_t node = 0; node < ran_.size(); ++node)
            if (ran_[node] < schedule_.plan.order[node].size()) return false;
        for (std::size_t rank = 0; rank < lanes_.size(); ++rank)
            if (lane_done_[rank] < lanes_[rank].size()) return false;
        return true;
    }

private:
    using Key = std::pair<int, int>;
    static Key key(const Operation& operation) { return {static_cast<int>(operation.kind), int{operation.microbatch}}; }

    bool has_run(int node, const Operation& operation) const {
        const auto& order = schedule_.plan.order[static_cast<std::size_t>(node)];
        return std::find(
                   order.begin(), order.begin() + static_cast<std::ptrdiff_t>(ran_[static_cast<std::size_t>(node)]),
                   operation) != order.begin() + static_cast<std::ptrdiff_t>(ran_[static_cast<std::size_t>(node)]);
    }
    bool run_node(std::size_t node) {
        const auto& order = schedule_.plan.order[node];
        if (ran_[node] == order.size()) return false;
        const std::pair input{static_cast<int>(node), key(order[ran_[node]])};
        const auto source = source_.find(input);
        if (source != source_.end() &&
            (crosses_.contains(input) ? !came_.contains(input) : !has_run(source->second.first, source->second.second)))
            return false;
        ++ran_[node];
        return true;
    }
    bool run_lane(std::size_t rank) {
        if (lane_done_[rank] == lanes_[rank].size()) return false;
        const auto step = lanes_[rank][lane_done_[rank]];
        std::vector<int> concerned;
        if (step.is_sum()) {
            concerned = schedule_.ranks_of_stage(step.stage);
            for (const NodeIndex node : schedule_.plan.stages[static_cast<std::size_t>(step.stage)])
                if (ran_[at(node)] < schedule_.plan.order[at(node)].size()) return false;
        } else {
            const auto& transfer = schedule_.transfers[step.transfer];
            concerned = {rank_of(transfer.from_node), rank_of(transfer.to_node)};
            if (!is_there(transfer)) return false;
        }
        for (const int other : concerned) {
            const auto& lane = lanes_[static_cast<std::size_t>(other)];
            const auto done = lane_done_[static_cast<std::size_t>(other)];
            if (done == lane.size() || lane[done] != step) return false;
        }
        for (const int other : concerned) ++lane_done_[static_cast<std::size_t>(other)];
        if (!step.is_sum()) {
            const auto& transfer = schedule_.transfers[step.transfer];
            if (transfer.is_reduction())
                came_parts_.insert({transfer.slot, transfer.from_node});
            else
                came_.insert({transfer.to_node, key(transfer.operation)});
        }
        return true;
    }
    /// What the transfer hands over is there to be handed over.
    bool is_there(const RankTransfer& transfer) const {
        if (!transfer.is_reduction()) {
            const auto source = source_.find({transfer.to_node, key(transfer.operation)});
            return source != source_.end() && has_run(source->second.first, source->second.second);
        }
        const auto part = machine_.handed(static_cast<std::uint32_t>(transfer.slot));
        const auto& nodes = schedule_.plan.stages[part.stage];
        const int sender = static_cast<int>(std::find(nodes.begin(), nodes.end(), transfer.from_node) - nodes.begin());
        return part.sum ? has_sum(part, sender) : has_part(part, sender);
    }
    /// Its own part, in a tree with those of its children.
    bool has_part(const HandedPart& of, int place) const {
        const auto& piece = schedule_.pieces[of.stage][at(of.piece)];
        const auto& nodes = schedule_.plan.stages[of.stage];
        if (ran_[at(nodes[at(place)])] < schedule_.plan.order[at(nodes[at(place)])].size()) return false;
        for (int child = 0; piece.form == PieceForm::tree && child < static_cast<int>(nodes.size()); ++child)
            if (child != piece.root && piece.up[at(child)] == place && !came(of, child, place, false) &&
                (rank_of(nodes[at(child)]) != rank_of(nodes[at(place)]) || !has_part(of, child)))
                return false;
        return true;
    }
    bool has_sum(const HandedPart& of, int place) const {
        const auto& piece = schedule_.pieces[of.stage][at(of.piece)];
        const auto& nodes = schedule_.plan.stages[of.stage];
        if (place == piece.root) return has_part(of, place);
        const int parent = piece.down[at(place)];
        return came(of, parent, place, true) ||
               (rank_of(nodes[at(parent)]) == rank_of(nodes[at(place)]) && has_sum(of, parent));
    }
    bool came(const HandedPart& of, int from, int to, bool sum) const {
        const auto& nodes = schedule_.plan.stages[of.stage];
        return std::any_of(came_parts_.begin(), came_parts_.end(), [&](const auto& one) {
            const auto part = machine_.handed(static_cast<std::uint32_t>(one.first));
            return part.stage == of.stage && part.piece == of.piece && part.place == to && part.sum == sum &&
                   one.second == nodes[at(from)];
        });
    }
    int rank_of(int node) const { return schedule_.rank_of[static_cast<std::size_t>(node)]; }

    const RankSchedule& schedule_;
    RouteTable routes_;
    std::vector<std::size_t> ran_, lane_done_;
    std::vector<std::vector<LaneStep>> lanes_;
    std::set<std::pair<int, Key>> crosses_, came_;
    ReductionMachine machine_;
    std::set<std::pair<int, int>> came_parts_;  ///< by slot and sender
    std::map<std::pair<int, Key>, std::pair<int, Operation>> source_;
};

std::vector<int> in_turns(const Plan& plan, int nodes, int ranks) {
    std::vector<int> rank_of(static_cast<std::size_t>(nodes), -1);
    int next = 0;
    for (const auto& stage : plan.stages)
        for (const int node : stage) rank_of[static_cast<std::size_t>(node)] = next++ % ranks;
    return rank_of;
}

RankSchedule lanes_for(const Problem& problem, const Plan& plan, int ranks) {
    return make_schedule(problem, plan, in_turns(plan, problem.nodes(), ranks), ranks, TransferOrder::lanes);
}

/// Random pieces of every form.
void plan_reductions(Problem& problem, Plan& plan, std::uint64_t seed) {
    problem.plan_reductions = true;
    problem.charge_all_reduce = false;
    Rng rng(seed, 3);
    plan.reductions = examples::random_reductions(plan, rng);
}

int reductions_in(const RankSchedule& schedule) {
    return static_cast<int>(std::count_if(schedule.transfers.begin(), schedule.transfers.end(),
                                          [](const RankTransfer& transfer) { return transfer.is_reduction(); }));
}

}  // namespace

class TestLanes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Each rank's lane is the common order without what does not concern it, and nothing is left out.
    void all_ranks_share_one_order() {
        int sums = 0, early = 0;
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const auto [problem, plan] = examples::random_plan(seed);
            if (!evaluate(problem, plan).complete || problem.nodes() < 3) continue;
            const auto schedule = lanes_for(problem, plan, 3);
            const auto order = lane_order(schedule);
            std::size_t transfers = 0;
            for (std::size_t i = 0; i < order.size(); ++i) {
                if (!order[i].is_sum()) {
                    QCOMPARE(order[i].transfer, transfers++);
                    continue;
                }
                ++sums;
                early += transfers < schedule.transfers.size();
                QVERIFY(schedule.ranks_of_stage(order[i].stage).size() > 1);
            }
            QCOMPARE(transfers, schedule.transfers.size());
            std::size_t ends = 0;
            for (int rank = 0; rank < 3; ++rank) {
                std::size_t next = 0;
                for (const auto& step : lane_of(schedule, rank)) {
                    while (next < order.size() && order[next] != step) ++next;
                    QVERIFY(next < order.size());
                    ends += step.is_sum() ? 0 : 1;
                }
            }
            QCOMPARE(ends, 2 * transfers);
        }
        QVERIFY2(sums > 20 && early > 5, qPrintable(QString("%1 sums, %2 before a transfer").arg(sums).arg(early)));
    }

    /// In every second one reductions are planned: their transfers stand in the one order, and no sums of stages.
    void what_plans_give_is_proved_and_ends() {
        int played = 0, pieces = 0;
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            auto [problem, plan] = seed % 2 == 0 ? examples::random_plan(seed) : examples::uneven_plan(seed);
            if (seed % 4 < 2) plan_reductions(problem, plan, seed);
            for (const int ranks : {2, 3}) {
                if (problem.nodes() < ranks || !evaluate(problem, plan).complete) continue;
                const auto schedule = lanes_for(problem, plan, ranks);
                const auto why = find_deadlock(problem, schedule);
                QVERIFY2(!why, why.value_or("").c_str());
                QVERIFY(Play(problem, schedule).ends());
                ++played;
                pieces += reductions_in(schedule);
                if (!problem.plan_reductions) continue;
                for (const auto& step : lane_order(schedule)) QVERIFY(!step.is_sum());
            }
        }
        QVERIFY2(played > 160 && pieces > 500, qPrintable(QString("%1, %2 transfers").arg(played).arg(pieces)));
    }

    /// Steps that changed places: the proof finds just what comes to no end when it is played.
    void the_proof_agrees_with_playing_it() {
        int stuck = 0, fine = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            auto [problem, plan] = examples::random_plan(seed);
            if (seed % 3 == 0) plan_reductions(problem, plan, seed);
            if (problem.nodes() < 3 || !evaluate(problem, plan).complete) continue;
            auto schedule = lanes_for(problem, plan, 3);
            if (schedule.transfers.size() < 2) continue;
            Rng rng(seed, 9);
            for (std::uint64_t swaps = 1 + rng.below(3); swaps > 0; --swaps) {
                const auto first = rng.below(schedule.transfers.size() - 1);
                std::swap(schedule.transfers[first], schedule.transfers[first + 1]);
            }
            if (!schedule.reduce_after.empty() && rng.below(2) == 0) {  // a sum before what leads to it
                auto& after = schedule.reduce_after;
                after[0] = rng.below(after[0] + 1);
            }
            const bool ends = Play(problem, schedule).ends();
            QCOMPARE(!find_deadlock(problem, schedule), ends);
            ++(ends ? fine : stuck);
        }
        QVERIFY2(stuck > 40 && fine > 40, qPrintable(QString("%1 stuck, %2 fine").arg(stuck).arg(fine)));
    }

    /// What pairs of connections can do, receives posted ahead, lanes may not.
    void lanes_need_more_than_pairs() {
        int differ = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            const auto [problem, plan] = examples::random_plan(seed);
            if (problem.nodes() < 3 || !evaluate(problem, plan).complete) continue;
            auto schedule = lanes_for(problem, plan, 3);
            if (schedule.transfers.size() < 2) continue;
            Rng rng(seed, 4);
            const auto first = rng.below(schedule.transfers.size() - 1);
            std::swap(schedule.transfers[first], schedule.transfers[first + 1]);
            auto pairs = schedule;
            pairs.transfer_order = TransferOrder::pairs;
            const bool by_pairs = !find_deadlock(problem, pairs), by_lanes = !find_deadlock(problem, schedule);
            QVERIFY(by_pairs || !by_lanes);
            differ += by_pairs && !by_lanes;
        }
        QVERIFY2(differ > 5, qPrintable(QString::number(differ)));
    }
};

QTEST_APPLESS_MAIN(TestLanes)
#include "test_lanes.moc"
