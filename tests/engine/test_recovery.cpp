// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes are lost in the middle of an iteration: the machines go on as the planner's simulation of the rest says, to the
// last tie, and no gradient is lost or counted twice.
#include <QTest>

#include <algorithm>

#include "core/base/index.h"
#include "core/engine/torture.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using Kind = NetworkChange::Kind;

namespace {

struct Scene {
    Problem problem;
    Plan plan;
    double iteration_s = 0;
};

}  // namespace

class TestRecovery : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;

    Scene scene(std::uint64_t seed) const {
        static const char* planners[] = {"skippipe", "1f1b", "zero-bubble", "dtfm-skip", "gpipe", "skippipe-no-tc2"};
        Scene s;
        s.problem = examples::random_problem(seed);
        Rng rng(seed, 5);
        PlanRequest request;
        request.seed = seed;
        request.steps = 100;
        s.plan = registry_.find(planners[rng.below(std::size(planners))])->plan(s.problem, request);
        s.iteration_s = evaluate(s.problem, s.plan).iteration_s;
        return s;
    }

    static Disturbance loss(NodeIndex node, double at_s, double delay_s = 0) {
        return {at_s, {.kind = Kind::node_down, .node = node}, at_s + delay_s};
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    /// What it took long to find: a result that an earlier loss had taken for good; memory that blocks a rest because
    /// something gets slower after it was planned.
    void what_torture_had_found() {
        for (const std::uint64_t seed : {109399, 441122, 1303899}) {
            auto scene = torture_scene(seed);  // with what it lost then
            std::erase_if(scene.disturbances, [](const Disturbance& d) { return d.change.of_line(); });
            for (auto& disturbance : scene.disturbances) disturbance.lives_on = false;
            const auto outcome = torture_iteration(scene);
            QVERIFY2(outcome.fault.empty(), outcome.fault.c_str());
        }
    }

    /// A link that is cut again while it is cut, where the reduction of a stage that no path visits would go over it; a
    /// plan without an order that a slower node brings to a standstill; a link that gets slower and slower for ever, or
    /// varies while it is cut; a link that was cut while nothing needed it, which what is planned after the next loss
    /// would go over; a node that gets slower without end.
    void what_torture_had_found_of_trainings() {
        for (const std::uint64_t seed : {6726, 6683, 11847, 23484, 63225, 77336, 83696, 96592, 125180, 152383, 295571})
            QCOMPARE(QString::fromStdString(torture_training(torture_document(seed)).fault), QString());
    }

    /// A coordinator that is lost before any iteration ends: training says that it gets no further.
    void a_training_that_gets_no_further_ends() {
        auto training = torture_document(0);
        training.experiment.failures = {{.kind = FailureKind::coordinator_loss, .rate_per_hour = 36'000.0}};
        const auto outcome = torture_training(training);
        QCOMPARE(QString::fromStdString(outcome.fault), QString());
        QVERIFY(outcome.abandoned);
        QCOMPARE(outcome.iterations, 0);
        QCOMPARE(outcome.went_back, 1000);
    }

    /// Random plans of every shape; `skippipe torture` runs more of them.
    void torture_finds_nothing() {
        const auto summary = torture(0, 1500);
        for (const auto& fault : summary.faults) qWarning("%s\n  %s", fault.fault.c_str(), command_of(fault).c_str());
        QVERIFY(summary.faults.empty());
        QCOMPARE(summary.seeds, 1500U);
        const auto& sum = summary.sum;
        qInfo(
            "%d recoveries, %d redone, %d dropped, %d moved, %d refused; %d iterations, %d back, %d setbacks, %d ended",
            sum.recoveries, sum.redone, sum.dropped, sum.moved, sum.refused, sum.iterations, sum.rejoined,
            sum.went_back, static_cast<int>(summary.trainings_ended));
        QVERIFY(sum.recoveries > 1000 && sum.redone > 1000 && summary.abandoned < 500 && sum.dropped > 100);
        QVERIFY(sum.moved > 1000 && sum.refused > 10);
        QVERIFY(sum.iterations > 3000 && sum.rejoined > 300 && sum.went_back > 100 && summary.trainings_ended < 750);
    }

    /// The same seed, the same end, whoever runs beside it.
    void a_training_repeats() {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const auto once = torture_training(torture_document(seed)),
                       again = torture_training(torture_document(seed));
            QVERIFY(once.end != 0 || once.iterations == 0);
            QCOMPARE(once.end, again.end);
            QCOMPARE(once.iterations, again.iterations);
        }
    }

    /// A failing one names the command that repeats it, and it is that case.
    void a_case_is_a_command() {
        const TortureCase part{.seed = 7, .training = true, .disturbances = {0, 2}, .microbatches = 3, .fault = {}};
        QCOMPARE(QString::fromStdString(command_of(part)),
                 QString("skippipe torture --seed 7 --training --only 0,2 --microbatches 3"));
        QCOMPARE(QString::fromStdString(command_of({.seed = 8, .training = false, .disturbances = {}, .fault = {}})),
                 QString("skippipe torture --seed 8 --calm"));
        const auto all = torture_case(11, false);
        QCOMPARE(all.disturbances.size(), torture_scene(11).disturbances.size());
        QCOMPARE(torture_scene(TortureCase{.seed = 11, .disturbances = {0}, .microbatches = 1, .fault = {}})
                     .plan.paths.size(),
                 std::size_t{1});
        QCOMPARE(torture_document(torture_case(11, true)).experiment.failures,
                 torture_document(11).experiment.failures);
    }

    /// What is planted in the protocol is found, and shrinks to one loss or two.
    void planted_faults_are_found_data() {
        QTest::addColumn<int>("which");
        QTest::newRow("a gradient that was lost is not computed again") << 0;
        QTest::newRow("an input that was lost is not sent again") << 1;
        QTest::newRow("a node forgets that it holds a microbatch") << 2;
        QTest::newRow("a backward that has run runs once more") << 3;
        QTest::newRow("a microbatch that is left out is not reported") << 4;
        QTest::newRow("gradients are summed another way") << 5;
        QTest::newRow("a node that goes to another stage gets nothing") << 6;
        QTest::newRow("it gets weights of the stage where it was") << 7;
        QTest::newRow("a stage steps twice") << 8;
        QTest::newRow("results are kept after the step") << 9;
        QTest::newRow("who only seemed lost is believed") << 10;
        QTest::newRow("a copy is left out of the step") << 11;
        QTest::newRow("who comes back gets nothing") << 12;
    }

    void planted_faults_are_found() {
        QFETCH(int, which);
        const auto plant = [which](Replan& rest) {
            auto& residual = rest.residual;
            const int steps = residual.steps(), length = residual.length;
            if (which == 0) {
                for (int i = 0; i < residual.count(); ++i)
                    for (int step = length + 1; step < steps; ++step) residual.redo[at(i * steps + step)] = 0;
            } else if (which == 1) {
                std::fill(residual.resend.begin(), residual.resend.end(), 0);
            } else if (which == 4) {
                for (int i = 0; residual.dropped > 0 && i < residual.count(); ++i)
                    if (residual.gone[at(i * steps)] != 0 && residual.begin[at(i)] == Residual::Begin::finished)
                        std::fill_n(residual.lost.begin() + i * length, length, 0);
            } else if (which == 5) {
                for (Pieces& pieces : rest.residual_plan.reductions)
                    if (!pieces.empty()) pieces = {{.form = PieceForm::exchange}};
            } else if (which > 5) {
                return;
            } else if (which == 2) {
                for (int& held : residual.held) held = std::max(0, held - 1);
            } else {
                for (int i = 0; i < residual.count(); ++i)
                    if (residual.begin[at(i)] == Residual::Begin::underway && residual.next_step[at(i)] > length + 1 &&
                        residual.resend[at(i)] != 0)
                        --residual.next_step[at(i)];
            }
        };
        const auto misplace = [which](std::vector<NodeMove>& moves) {
            if (which == 6) std::erase_if(moves, [](const NodeMove& move) { return move.stage >= 0; });
            if (which == 7)
                for (auto& move : moves) move.from = move.node;
        };
        TortureTampering tampering{.rest = plant, .moves = misplace};
        tampering.steps_twice = which == 8;
        tampering.believes_everybody = which == 10;
        tampering.books = which == 9    ? LedgerFault::keeps_results
                          : which == 11 ? LedgerFault::copy_left_out
                          : which == 12 ? LedgerFault::rejoins_with_nothing
                                        : LedgerFault::none;
        const auto summary = torture(0, 1500, {}, tampering);
        QVERIFY(!summary.faults.empty());
        const auto smallest = std::min_element(
            summary.faults.begin(), summary.faults.end(),
            [](const auto& a, const auto& b) { return a.disturbances.size() < b.disturbances.size(); });
        QVERIFY(smallest->disturbances.size() <= 2);
        QVERIFY(!torture_one(*smallest, tampering).fault.empty());
        QVERIFY(which < 8 || torture_one(*smallest).fault.empty());
    }

    void losses_data() {
        QTest::addColumn<int>("most");
        QTest::addColumn<double>("delay");
        QTest::addColumn<bool>("slower");
        QTest::newRow("one, known at once") << 1 << 0.0 << false;
        QTest::newRow("one, known later") << 1 << 0.3 << false;
        QTest::newRow("several, known at once") << 4 << 0.0 << false;
        QTest::newRow("several, each known later") << 4 << 0.2 << false;
        QTest::newRow("several, while others get slower") << 3 << 0.1 << true;
    }

    /// Nodes are lost at random instants; delays are shares of the iteration.
    void losses() {
        QFETCH(int, most);
        QFETCH(double, delay);
        QFETCH(bool, slower);
        int recovered = 0, redone = 0, abandoned = 0, twice = 0, bad = 0;
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            const auto s = scene(seed);
            Rng rng(seed, 9);
            std::vector<NodeIndex> nodes;
            for (NodeIndex n = 0; n < s.problem.nodes(); ++n) nodes.push_back(n);
            rng.shuffle(nodes);
            const auto count = std::min<std::size_t>(1 + rng.below(at(most)), nodes.size() - 1);
            std::vector<Disturbance> disturbances;
            for (std::size_t k = 0; k < count; ++k)
                disturbances.push_back(
                    loss(nodes[k], rng.uniform() * s.iteration_s, delay * rng.uniform() * s.iteration_s));
            if (slower)
                disturbances.push_back({rng.uniform() * s.iteration_s,
                                        {.kind = Kind::node_slower, .node = nodes.back(), .factor = 1.5},
                                        0});
            std::sort(disturbances.begin(), disturbances.end(),
                      [](const Disturbance& a, const Disturbance& b) { return a.at_s < b.at_s; });
            const auto outcome = torture_iteration({s.problem, s.plan, disturbances});
            if (!outcome.fault.empty()) qWarning("seed %d: %s", static_cast<int>(seed), outcome.fault.c_str());
            bad += outcome.fault.empty() ? 0 : 1;
            recovered += outcome.abandoned ? 0 : 1;
            abandoned += outcome.abandoned ? 1 : 0;
            redone += outcome.redone;
            twice += !outcome.abandoned && outcome.recoveries > 1 ? 1 : 0;
        }
        QCOMPARE(bad, 0);
        QVERIFY2(recovered > 100 && redone > 200 && (most == 1 || twice > 30),
                 qPrintable(QString("%1 recovered, %2 of them twice, %3 redone, %4 abandoned")
                                .arg(recovered)
                                .arg(twice)
                                .arg(redone)
                                .arg(abandoned)));
    }
};

QTEST_APPLESS_MAIN(TestRecovery)
#include "test_recovery.moc"
