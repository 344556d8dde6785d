// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks tell each other of an iteration that was interrupted: as values, without ranks.
#include <QTest>

#include "core/base/rng.h"
#include "core/engine/recovery.h"
#include "core/engine/rest.h"
#include "core/engine/transport.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/random_problems.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

RankProgress some_progress() {
    return {PerRelease<int>{3, 0},
            {0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
            {{.index = 0, .step = 3}, {.index = 1, .step = 2, .redo = true}}};
}

/// Whether a rank's words are refused as its own.
bool refused(const std::string& text) {
    try {
        read_progress(text, 3, 2, 2);
        return false;
    } catch (const PeerFault& fault) {
        return fault.rank() == 3;
    }
}

/// All but what is on its way is told, and the nodes of the last of three ranks are lost.
ReplanRequest without_rank_2(const Problem& problem, const RankSchedule& everybody, const IterationProgress& cut) {
    std::map<int, std::optional<RankProgress>> told;
    told[0] = told[1] = RankProgress{cut.steps_done, {}, {}};
    const int length = static_cast<int>(everybody.plan.paths.front().nodes.size());
    for (const auto& open : cut.open)  // what runs comes to its end or is run by who goes on
        if (open.ready_s <= cut.at_s && (open.step > 0 || open.weight)) {
            const auto& nodes = everybody.plan.paths[static_cast<std::size_t>(int{open.index})].nodes;
            const int hop = open.step < length ? open.step : open.step == length ? 0 : 2 * length - open.step;
            const int rank = everybody.rank_of[static_cast<std::size_t>(int{nodes[static_cast<std::size_t>(hop)]})];
            if (rank < 2) told[rank]->open.push_back({open.index, open.step, open.weight});
        }
    ReplanRequest asked{.progress = join_progress(problem, everybody.plan, nullptr, told, everybody.rank_of, cut.at_s)};
    for (const auto& ring : everybody.plan.stages)
        for (const NodeIndex node : ring)
            if (everybody.rank_of[at(node)] == 2)
                asked.changes.push_back({.kind = NetworkChange::Kind::node_down, .node = node});
    return asked;
}

std::vector<RankTransfer> reductions_in(const RankSchedule& schedule) {
    std::vector<RankTransfer> found;
    for (const auto& transfer : schedule.transfers)
        if (transfer.is_reduction()) found.push_back(transfer);
    return found;
}

}  // namespace

class TestRest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void progress_travels() { QVERIFY(read_progress(to_text(some_progress()), 3, 2, 2) == some_progress()); }

    void what_cannot_be_is_refused() {
        for (const char* text :
             {"", "[]", "{}", R"({"done": [1], "again": "", "open": []})",
              R"({"done": [1, 6], "again": "", "open": []})", R"({"done": [1, -1], "again": "", "open": []})",
              R"({"done": [1, 1], "again": "01", "open": []})",
              R"({"done": [1, 1], "again": "", "open": [[2, 0, false, false]]})",
              R"({"done": [1, 1], "again": "", "open": [[0, 5, false, false]]})",
              R"({"done": [1, 1], "again": "", "open": [[0, 1]]})", R"({"done": ["a", 1], "again": "", "open": []})"})
            QVERIFY2(refused(text), text);
        QVERIFY(!refused(R"({"done": [1, 5], "again": "", "open": [[0, 1, false, false]]})"));
    }

    /// An iteration is cut anywhere, all but what is on its way is told, and nodes of one rank are lost: the rest hands
    /// over what it needs, in an order that comes to its end, and every operation is there once.
    void rests_of_random_plans_end() {
        PlannerRegistry planners;
        register_planners(planners);
        static const char* names[] = {"skippipe", "1f1b", "zero-bubble", "gpipe"};
        int rests = 0, transfers = 0, none = 0;
        for (std::uint64_t seed = 0; seed < 150; ++seed) {
            const auto problem = examples::random_problem(seed);
            Rng rng(seed, 3);
            PlanRequest request;
            request.seed = seed;
            request.steps = 100;
            const auto plan = planners.find(names[rng.below(std::size(names))])->plan(problem, request);
            constexpr int ranks = 3;
            std::vector<int> rank_of;
            for (int n = 0; n < problem.nodes(); ++n) rank_of.push_back(n % ranks);
            const auto everybody = make_schedule(problem, plan, rank_of, ranks);
            const auto timeline = evaluate(problem, everybody.plan);
            const auto cut = progress_at(problem, everybody.plan, timeline, rng.uniform() * timeline.iteration_s);
            const auto asked = without_rank_2(problem, everybody, cut);
            ReplanController controller(RecoveryPolicy::reroute, 20'000);
            try {
                const auto rest = controller.recover(problem, everybody.plan, asked);
                const auto schedule = schedule_of_rest(problem, everybody, {0, 1}, &rest);
                ++rests;
                transfers += static_cast<int>(schedule.transfers.size());
                std::size_t left = 0;
                for (const auto count : *schedule.operations_left) left += count;
                QCOMPARE(left, rest.residual.operations_left());
                for (const auto& transfer : schedule.transfers) {
                    QVERIFY(rank_of[at(transfer.from_node)] < 2 && rank_of[at(transfer.to_node)] < 2);
                    QVERIFY(rank_of[at(transfer.from_node)] != rank_of[at(transfer.to_node)]);
                }
                const auto why = find_deadlock(problem, schedule, rest);
                QVERIFY2(!why, why.value_or("").c_str());
                auto without = schedule;  // an input that nobody hands over is found
                if (without.transfers.empty()) continue;
                without.transfers.front().operation.microbatch = MicrobatchIndex(9999);
                QVERIFY(find_deadlock(problem, without, rest).has_value());
            } catch (const InputError&) {
                ++none;  // memory blocks, or a stage has no node left that could be passed over
            }
        }
        QVERIFY2(rests > 60 && transfers > 300,
                 qPrintable(QString("%1 rests, %2 transfers, %3 none").arg(rests).arg(transfers).arg(none)));
    }

    /// Where reductions are planned a rest sums by the pieces that it has under the virtual clock; who has just come
    /// and does not know the rest posts the same transfers in the same order.
    void rests_sum_as_under_the_virtual_clock() {
        PlannerRegistry planners;
        register_planners(planners);
        int fewer = 0, kept = 0;
        for (std::uint64_t seed = 0; seed < 80; ++seed) {
            auto problem = examples::random_problem(seed);
            problem.charge_all_reduce = false;
            problem.plan_reductions = true;
            Rng rng(seed, 3);
            PlanRequest request;
            request.steps = 100;
            auto plan = planners.find("skippipe")->plan(problem, request);
            plan.reductions = examples::random_reductions(plan, rng);
            std::vector<int> rank_of;
            for (int n = 0; n < problem.nodes(); ++n) rank_of.push_back(n % 3);
            const auto everybody = make_schedule(problem, plan, rank_of, 3);
            const auto timeline = evaluate(problem, everybody.plan);
            const auto cut = progress_at(problem, everybody.plan, timeline, rng.uniform() * timeline.iteration_s);
            ReplanController controller(RecoveryPolicy::reroute, 20'000);
            try {
                const auto rest = controller.recover(problem, everybody.plan, without_rank_2(problem, everybody, cut));
                const auto schedule = schedule_of_rest(problem, everybody, {0, 1}, &rest);
                const auto why = find_deadlock(problem, schedule, rest);
                QVERIFY2(!why, why.value_or("").c_str());
                QVERIFY(reductions_in(schedule) ==
                        reductions_in(schedule_of_rest(problem, everybody, {0, 1}, nullptr)));
                for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage) {
                    const auto& pieces = rest.plan.reductions.at(at(stage));
                    if (schedule.plan.stages[stage].size() < 2 || pieces.empty()) continue;
                    QVERIFY(schedule.plan.stages[stage] == rest.plan.stages[stage]);
                    QVERIFY(schedule.pieces[stage] == pieces);
                    ++(rest.plan.stages[stage] == plan.stages[stage] ? kept : fewer);
                }
            } catch (const InputError&) {}  // a stage has no node left that could be passed over
        }
        QVERIFY2(fewer > 20 && kept > 10, qPrintable(QString("%1 with fewer, %2 kept").arg(fewer).arg(kept)));
    }
};

QTEST_APPLESS_MAIN(TestRest)
#include "test_rest.moc"
