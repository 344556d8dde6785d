// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/engine/calibrate.h"
#include "core/experiment/io.h"
#include "core/planner/evaluator.h"

using namespace skippipe;

namespace {

Experiment two_by_two() {
    Experiment e;
    e.topology.regions = {{"here"}};
    for (const char* id : {"a", "b", "c", "d"}) e.topology.nodes.push_back({.id = id, .region = "here"});
    e.model.blocks = 4;
    e.pipeline = {.stages = 2, .microbatches = 4, .microbatch_samples = 2};
    return e;
}

RankProbe probe_of(int rank, std::vector<int> nodes, double forward_s) {
    RankProbe probe{.host = "here", .cores = 2};
    for (const int node : nodes) probe.nodes.push_back({node, {forward_s, 0.1}, {2.5 * forward_s, 0}, {node < 2 ? 0.5 * forward_s : 0, 0}});
    probe.links.push_back({rank, 1 - rank, {0.001 * (1 + rank), 0}, {1e6 * (1 + rank), 0}, {{64, 0.001}}});
    probe.handover_s = {5e-5, 0};
    probe.copy_bytes_per_s = 8e9;
    return probe;
}

}  // namespace

class TestCalibrate : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void median_and_spread() {
        const auto m = summarize({5, 1, 3, 2, 4});
        QCOMPARE(m.median, 3.0);
        QCOMPARE(m.spread, 1.0);
        QCOMPARE(summarize({}).median, 0.0);
    }

    void measured_values_take_the_place_of_drawn_ones() {
        const auto experiment = two_by_two();
        const Plan plan{.stages = {{0, 1}, {2, 3}}, .blocks = {2, 2}, .paths = {{0, {0, 2}}, {1, {1, 3}}, {2, {0, 2}}, {3, {1, 3}}}};
        const auto problem = make_problem(experiment);
        const auto schedule = make_schedule(problem, plan, {0, 1, 0, 1}, 2);
        const auto measured = measured_experiment(experiment, schedule, {probe_of(0, {0, 2}, 0.4), probe_of(1, {1, 3}, 0.8)}, false, "2026-01-31T12:00:00Z");
        QCOMPARE(measured.topology.nodes[0].seconds_per_sample_per_block, 0.1);
        QCOMPARE(measured.topology.nodes[3].seconds_per_sample_per_block, 0.2);
        QCOMPARE(measured.costs.backward_factor, 2.5);
        QCOMPARE(measured.costs.loss_factor, 0.5);
        QCOMPARE(measured.topology.measured_at, std::string("2026-01-31T12:00:00Z"));
        // What the planner sees: the link of each direction between nodes of two ranks, hand-over and copy inside one.
        const auto drawn = make_problem(measured);
        QCOMPARE(drawn.hop(0, 3).latency_s, 0.001);
        QCOMPARE(drawn.hop(3, 0).latency_s, 0.002);
        QCOMPARE(drawn.hop(3, 0).bandwidth_bytes_per_s, 2e6);
        QCOMPARE(drawn.hop(0, 2).latency_s, 5e-5);
        QCOMPARE(drawn.forward_s(1, 0), 0.8);
        QVERIFY(parse_experiment(to_text(measured)).faults.empty());
        // Links that are simulated or shaped stay as drawn, and nodes where they are.
        const auto speeds = measured_experiment(experiment, schedule, {probe_of(0, {0, 2}, 0.4), probe_of(1, {1, 3}, 0.8)}, true, "2026-01-31T12:00:00Z");
        auto expected = experiment.topology;
        for (std::size_t n = 0; n < expected.nodes.size(); ++n) expected.nodes[n].seconds_per_sample_per_block = measured.topology.nodes[n].seconds_per_sample_per_block;
        expected.measured_at = "2026-01-31T12:00:00Z";
        QVERIFY(speeds.topology == expected);
        QCOMPARE(speeds.costs.backward_factor, 2.5);
    }

    void a_probe_travels_as_text() {
        const auto probe = probe_of(1, {1, 3}, 0.25);
        const auto again = parse_rank_probe(to_json_text(probe));
        QCOMPARE(to_json_text(again), to_json_text(probe));
        QVERIFY_THROWS_EXCEPTION(InputError, parse_rank_probe("{\"host\": 7}"));
        QVERIFY_THROWS_EXCEPTION(InputError, parse_rank_probe("nonsense"));
    }

    void handing_over_takes_microseconds() {
        const auto handover = measure_handover();
        QVERIFY(handover.median > 1e-7 && handover.median < 0.05);
        QVERIFY(measure_copy_bytes_per_s() > 1e7);
    }
};

QTEST_GUILESS_MAIN(TestCalibrate)
#include "test_calibrate.moc"
