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
            std::map<int, std::optional<RankProgress>> told;
            told[0] = told[1] = RankProgress{cut.steps_done, {}, {}};
            const int length = static_cast<int>(plan.paths.front().nodes.size());
            for (const auto& open : cut.open)  // what runs comes to its end or is run by who goes on
                if (open.ready_s <= cut.at_s && (open.step > 0 || open.weight)) {
                    const auto& nodes = plan.paths[static_cast<std::size_t>(int{open.index})].nodes;
                    const int hop = open.step < length ? open.step : open.step == length ? 0 : 2 * length - open.step;
                    const int rank = rank_of[static_cast<std::size_t>(int{nodes[static_cast<std::size_t>(hop)]})];
                    if (rank < 2) told[rank]->open.push_back({open.index, open.step, open.weight});
                }
            ReplanRequest asked{.progress = join_progress(problem, everybody.plan, nullptr, told, rank_of, cut.at_s)};
            for (const auto& ring : everybody.plan.stages)
                for (const NodeIndex node : ring)
                    if (rank_of[at(node)] == 2)
                        asked.changes.push_back({.kind = NetworkChange::Kind::node_down, .node = node});
            ReplanController controller(RecoveryPolicy::reroute, 20'000);
            try {
                const auto rest = controller.recover(problem, everybody.plan, asked);
                const auto schedule = schedule_of_rest(everybody, {0, 1}, &rest);
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
};

QTEST_APPLESS_MAIN(TestRest)
#include "test_rest.moc"
