// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes and links that get slower or vary under the wall clock: which, when, and that operations and transfers take
// that long.
#include <QTest>

#include <algorithm>
#include <limits>

#include "core/base/index.h"
#include "core/engine/cost_compute.h"
#include "core/engine/costs.h"
#include "core/engine/speed_failures.h"
#include "core/engine/trainer.h"
#include "core/engine/transport.h"
#include "core/experiment/io.h"
#include "plugins/planners/all.h"

using namespace skippipe;

namespace {

/// Five nodes in three stages, operations of 10 to 40 ms, 50 ms from west to east.
struct Scene {
    Scene() {
        PlannerRegistry planners;
        register_planners(planners);
        experiment = load_experiment(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json").experiment;
        experiment.training.iterations = 5;
        experiment.execution = {.clock = Clock::wall, .compute = Compute::cost, .shape_links = true};
        problem = make_problem(experiment);
        plan = planners.find("gpipe")->plan(problem, {.seed = 1, .steps = 50});
    }
    std::vector<SpeedChange> in_force(SpeedFailures& failures, int iteration, double network_s) const {
        return failures.in_force(iteration, network_s, plan.stages);
    }
    Experiment experiment;
    Problem problem;
    Plan plan;
};

struct Listener final : TrainingListener {
    std::vector<Timeline> timelines;
    std::vector<std::pair<int, std::vector<SpeedChange>>> told;
    void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
    void iterated(const IterationReport& report) override { timelines.push_back(*report.timeline); }
    void speeds_changed(int iteration, double, const std::vector<SpeedChange>& changes) override {
        told.emplace_back(iteration, changes);
    }
    /// Of spans that are meant, in iterations [from, until): the shortest, which what else the machine does lengthens
    /// least.
    template <class Is>
    double shortest_s(int from, int until, const Is& is) const {
        double shortest_s = std::numeric_limits<double>::infinity();
        for (int i = from; i < until; ++i)
            for (const auto& span : timelines[at(i)].spans)
                if (is(span)) shortest_s = std::min(shortest_s, span.end_s - span.start_s);
        return shortest_s;
    }
};

Listener trained(const Scene& s) {
    const auto schedule = make_schedule(s.problem, s.plan, std::vector<int>(at(s.problem.nodes()), 0), 1);
    CostCompute compute(s.problem, schedule, s.problem.nodes());
    LocalTransport transport;
    Listener listener;
    train(s.experiment, s.problem, schedule, compute, transport, &listener, nullptr);
    return listener;
}

}  // namespace

class TestSpeedFailures : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void what_is_in_force() {
        Scene s;
        s.experiment.failures = {
            {.kind = FailureKind::slow_down, .target = "c", .at_s = 9.5, .rejoin_after_s = 5, .factor = 3},
            {.kind = FailureKind::slow_down, .target = "d", .at_iteration = 3, .rejoin_after_s = 8, .factor = 2},
            {.kind = FailureKind::link_degraded, .target = "west->east", .at_iteration = 4, .factor = 10},
            {.kind = FailureKind::jitter, .target = "e", .at_s = 12, .factor = 0.5},
            {.kind = FailureKind::crash, .target = "a", .at_s = 0}};
        SpeedFailures failures(s.experiment, s.problem);
        const auto names = [&](int iteration, double network_s) {
            QStringList all;
            for (const auto& change : s.in_force(failures, iteration, network_s))
                all << QString::fromStdString(describe(change, s.problem));
            return all;
        };
        const QString c = "c takes 3 times as long", d = "d takes 2 times as long", e = "e varies by 50 %",
                      link = "the link west->east takes 10 times as long";
        QCOMPARE(names(0, 0), QStringList());
        QCOMPARE(names(1, 9.4), QStringList());
        QCOMPARE(names(2, 11), QStringList{c});
        QCOMPARE(names(3, 13), (QStringList{c, e, d}));
        QCOMPARE(names(3, 14), (QStringList{c, e, d}));  // it begins again
        QCOMPARE(names(4, 15), (QStringList{e, d, link}));
        QCOMPARE(names(5, 21.5), (QStringList{e, link}));
        // A run that goes on from a checkpoint, too, but for what it cannot know the end of.
        SpeedFailures resumed(s.experiment, s.problem);
        QCOMPARE(s.in_force(resumed, 5, 14).size(), std::size_t{3});  // c, e and the link
    }

    void by_chance_and_rate() {
        Scene s;
        s.experiment.failures = {
            {.kind = FailureKind::slow_down,
             .target = std::string(any_target),
             .probability_per_iteration = 0.25,
             .rejoin_after_s = 1},
            {.kind = FailureKind::slow_down, .target = "b", .rate_per_hour = 360, .rejoin_after_s = 1}};
        SpeedFailures failures(s.experiment, s.problem);
        int drawn = 0, of_rate = 0;
        for (int i = 0; i < 400; ++i)
            for (const auto& change : s.in_force(failures, i, 10.0 * i)) {
                QVERIFY(change.factor > 1);
                ++(change.index == 1 ? of_rate : drawn);
            }
        // Four of five draws name another node than b; one a 10 s that lasts 1 s is met in a tenth of the iterations.
        QVERIFY2(drawn > 50 && drawn < 120, qPrintable(QString::number(drawn)));
        QVERIFY2(of_rate > 25 && of_rate < 110, qPrintable(QString::number(of_rate)));
    }

    void as_text() {
        const Scene s;
        const std::vector<SpeedChange> changes{{false, 2, 3.5, 0, 0}, {true, 0, 1, 0.25, 18446744073709551615ULL}};
        QVERIFY(read_speed_changes(to_text(changes), s.problem) == changes);
        QVERIFY(read_speed_changes(to_text(std::vector<SpeedChange>{}), s.problem).empty());
        for (const char* bad : {"", "{", "[1]", "[[false,5,2,0,0]]", "[[false,-1,2,0,0]]", "[[true,1000,2,0,0]]",
                                "[[false,1,0,0,0]]", "[[false,1,-2,0,0]]", "[[false,1,2,-1,0]]", "[[false,1,2]]"})
            QVERIFY_THROWS_EXCEPTION(PeerFault, read_speed_changes(bad, s.problem));
    }

    void a_stretch_varies_and_never_shortens() {
        const std::vector<SpeedChange> changes{{false, 2, 1, 0.5, 7}, {false, 3, 2, 0, 0}};
        double sum = 0;
        int longer = 0;
        for (int i = 0; i < 1000; ++i) {
            const double stretch = stretch_of(changes, 2, {OpKind::F, 1}, i);
            QVERIFY(stretch >= 1);
            QCOMPARE(stretch_of(changes, 2, {OpKind::F, 1}, i), stretch);
            sum += stretch;
            longer += stretch > 1 ? 1 : 0;
        }
        QVERIFY(longer > 300 && longer < 500 && sum > 1100);
        QCOMPARE(stretch_of(changes, 3, {OpKind::F, 1}, 0), 2.0);
        QCOMPARE(stretch_of(changes, 1, {OpKind::F, 1}, 0), 1.0);
    }

    void a_node_that_gets_slower() {
        Scene s;
        const NodeIndex node = s.plan.stages[1].front();
        s.experiment.failures = {
            {.kind = FailureKind::slow_down, .target = s.problem.node_ids[at(node)], .at_iteration = 2, .factor = 6}};
        const auto heard = trained(s);
        const auto forward_of = [](NodeIndex of) {
            return [of](const Span& span) { return span.kind == SpanKind::forward && span.node == of; };
        };
        const NodeIndex other = s.plan.stages[2].front();
        const double drawn_s = operation_seconds(s.problem, {OpKind::F, 0}, node, 1),
                     others_s = operation_seconds(s.problem, {OpKind::F, 0}, other, 2);
        QVERIFY(heard.shortest_s(0, 2, forward_of(node)) < 3 * drawn_s);
        QVERIFY(heard.shortest_s(2, 5, forward_of(node)) >= 5.99 * drawn_s);
        QVERIFY(heard.shortest_s(2, 5, forward_of(other)) < 3 * others_s);
        QCOMPARE(heard.told.size(), std::size_t{1});
        QCOMPARE(heard.told[0].first, 2);
        QVERIFY((heard.told[0].second == std::vector<SpeedChange>{{false, node, 6, 0, 0}}));
    }

    /// For as long as it lasts: then it is as quick as before.
    void a_link_that_gets_slower() {
        Scene s;
        s.experiment.failures = {{.kind = FailureKind::link_degraded,
                                  .target = "west->east",
                                  .at_iteration = 2,
                                  .rejoin_after_s = 0.001,
                                  .factor = 6}};
        const auto heard = trained(s);
        const auto goes_over = [&](const char* line) {
            return [&s, line](const Span& span) {
                return (span.kind == SpanKind::transfer_forward || span.kind == SpanKind::transfer_backward) &&
                       s.problem.line_names[at(s.problem.hop(span.node, span.to_node).line)] == line;
            };
        };
        QVERIFY(heard.shortest_s(0, 2, goes_over("west->east")) < 0.15);
        QVERIFY(heard.shortest_s(2, 3, goes_over("west->east")) >= 0.299);
        QVERIFY(heard.shortest_s(2, 3, goes_over("east->west")) < 0.15);
        QVERIFY(heard.shortest_s(3, 5, goes_over("west->east")) < 0.15);
        QCOMPARE(heard.told.size(), std::size_t{2});
        QVERIFY(heard.told[1].first == 3 && heard.told[1].second.empty());
    }
};

QTEST_GUILESS_MAIN(TestSpeedFailures)
#include "test_speed_failures.moc"
