// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/engine/calibrate.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"

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
    for (const int node : nodes)
        probe.nodes.push_back({node, {forward_s, 0.1}, {2.5 * forward_s, 0}, {node < 2 ? 0.5 * forward_s : 0, 0}});
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
        const Plan plan{.stages = {{0, 1}, {2, 3}},
                        .blocks = {2, 2},
                        .paths = {{0, {0, 2}}, {1, {1, 3}}, {2, {0, 2}}, {3, {1, 3}}}};
        const auto problem = make_problem(experiment);
        const auto schedule = make_schedule(problem, plan, {0, 1, 0, 1}, 2);
        const auto measured = measured_experiment(
            experiment, schedule, {probe_of(0, {0, 2}, 0.4), probe_of(1, {1, 3}, 0.8)}, false, "2026-01-31T12:00:00Z");
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
        const auto speeds = measured_experiment(
            experiment, schedule, {probe_of(0, {0, 2}, 0.4), probe_of(1, {1, 3}, 0.8)}, true, "2026-01-31T12:00:00Z");
        auto expected = experiment.topology;
        for (std::size_t n = 0; n < expected.nodes.size(); ++n)
            expected.nodes[n].seconds_per_sample_per_block = measured.topology.nodes[n].seconds_per_sample_per_block;
        expected.measured_at = "2026-01-31T12:00:00Z";
        QVERIFY(speeds.topology == expected);
        QCOMPARE(speeds.costs.backward_factor, 2.5);
    }

    /// An iteration's work beside its arithmetic is its messages', where that is more than sending them one by one
    /// takes; the slowest rank's step counts.
    void work_of_messages_and_steps() {
        auto experiment = two_by_two();
        experiment.model = {.blocks = 4, .width = 64, .heads = 4, .vocabulary = 256, .sequence = 32};
        const Plan plan{.stages = {{0, 1}, {2, 3}},
                        .blocks = {2, 2},
                        .paths = {{0, {0, 3}}, {1, {1, 2}}, {2, {0, 3}}, {3, {1, 2}}}};
        const auto problem = make_problem(experiment);
        const auto schedule = make_schedule(problem, plan, {0, 1, 0, 1}, 2);
        QCOMPARE(static_cast<int>(schedule.transfers.size()), 16);
        std::vector<RankProbe> ranks{probe_of(0, {0, 2}, 0.4), probe_of(1, {1, 3}, 0.8)};
        for (auto& rank : ranks) {
            rank.links[0].cpu_s = 1e-4;
            rank.links[0].cpu_s_per_byte = 1e-9;
            rank.step_s = {rank.links[0].from == 0 ? 0.02 : 0.03, 0};
        }
        const auto costs = [&](double each_cpu_s) {
            for (auto& rank : ranks) rank.iteration_cpu_s = each_cpu_s;
            return measured_experiment(experiment, schedule, ranks, true, "2026-01-31T12:00:00Z").costs;
        };
        QCOMPARE(costs(0).transfer_cpu_s, 1e-4);
        QCOMPARE(costs(0).step_seconds, 0.03);
        const double bytes = (problem.forward_bytes + problem.backward_bytes) / 2;
        QVERIFY(bytes > 0);
        QCOMPARE(costs(0.08).transfer_cpu_s, 0.16 / 16 - 1e-9 * bytes);
        QCOMPARE(costs(0.08).transfer_cpu_s_per_byte, 1e-9);
    }

    /// Where reductions are planned, some of the messages are parts and sums, as large as they travel.
    void work_of_parts_and_sums() {
        auto experiment = two_by_two();
        experiment.model = {.blocks = 4, .width = 64, .heads = 4, .vocabulary = 256, .sequence = 32};
        experiment.costs.all_reduce = AllReduceRule::planned;
        experiment.training.gradient_wire = WireType::int8;
        Plan plan{.stages = {{0, 1}, {2, 3}},
                  .blocks = {2, 2},
                  .paths = {{0, {0, 3}}, {1, {1, 2}}, {2, {0, 3}}, {3, {1, 2}}}};
        plan.reductions = {{star_piece(2, 0, 0.25), star_piece(2, 1, 0.75)}, {star_piece(2, 0, 1)}};
        const auto problem = make_problem(experiment);
        const auto schedule = make_schedule(problem, plan, {0, 1, 0, 1}, 2);
        QCOMPARE(static_cast<int>(schedule.transfers.size()), 16 + 6);
        std::vector<RankProbe> ranks{probe_of(0, {0, 2}, 0.4), probe_of(1, {1, 3}, 0.8)};
        for (auto& rank : ranks) {
            rank.links[0].cpu_s_per_byte = 1e-9;
            rank.iteration_cpu_s = 0.08;
            rank.reduction_cpu_s_per_byte = 2e-9;
        }
        const auto costs = measured_experiment(experiment, schedule, ranks, true, "2026-01-31T12:00:00Z").costs;
        QCOMPARE(costs.reduction_cpu_s_per_byte, 2e-9);
        const double bytes = 8 * (problem.forward_bytes + problem.backward_bytes) +
                             2 * (problem.gradient_bytes[0] + problem.gradient_bytes[1]);
        QCOMPARE(costs.transfer_cpu_s, (0.16 - 1e-9 * bytes) / 22);
    }

    /// To two others at once a connection carries less than the links to them one by one: that is its uplink.
    void connections_become_uplinks() {
        auto experiment = two_by_two();
        experiment.topology.nodes[3].down_bytes_per_s = 5;  // drawn, and not found
        const Plan plan{.stages = {{0, 1}, {2, 3}},
                        .blocks = {2, 2},
                        .paths = {{0, {0, 2}}, {1, {1, 3}}, {2, {0, 2}}, {3, {1, 3}}}};
        const auto schedule = make_schedule(make_problem(experiment), plan, {0, 1, 2, 2}, 3);
        std::vector<RankProbe> ranks{probe_of(0, {0}, 0.4), probe_of(1, {1}, 0.4), probe_of(2, {2, 3}, 0.4)};
        for (int from = 0; from < 3; ++from) {
            ranks[static_cast<std::size_t>(from)].links.clear();
            for (int to = 0; to < 3; ++to)
                if (from != to)
                    ranks[static_cast<std::size_t>(from)].links.push_back(
                        {from, to, {0.001, 0}, {from == 2 ? 4e6 : 1e6, 0}, {{64, 0.001}}});
        }
        ranks[0].connection = {{1, 2}, {1.4e6, 0}, {5e6, 0}};  // of 2e6 sent, 5e6 received one by one
        ranks[1].connection = {{2, 0}, {1.6e6, 0}, {3e6, 0}};
        ranks[2].connection = {{0}, {1e5, 0}, {1e5, 0}};  // one other: the link itself
        const auto nodes =
            measured_experiment(experiment, schedule, ranks, false, "2026-01-31T12:00:00Z").topology.nodes;
        QVERIFY(nodes[0].up_bytes_per_s == 1.4e6 && !nodes[0].down_bytes_per_s);
        QVERIFY(!nodes[1].up_bytes_per_s && nodes[1].down_bytes_per_s == 3e6);
        for (const std::size_t other : {2u, 3u})
            QVERIFY(!nodes[other].up_bytes_per_s && !nodes[other].down_bytes_per_s);
        const auto kept = measured_experiment(experiment, schedule, ranks, true, "2026-01-31T12:00:00Z");
        QVERIFY(!kept.topology.nodes[0].up_bytes_per_s && kept.topology.nodes[3].down_bytes_per_s == 5);
    }

    void a_probe_travels_as_text() {
        auto probe = probe_of(1, {1, 3}, 0.25);
        probe.step_s = {0.01, 0.002};
        probe.iteration_cpu_s = 0.125;
        probe.reduction_cpu_s_per_byte = 3e-9;
        QCOMPARE(parse_rank_probe(to_json_text(probe)).reduction_cpu_s_per_byte, 3e-9);
        QCOMPARE(parse_rank_probe(to_json_text(probe)).iteration_cpu_s, 0.125);
        QCOMPARE(parse_rank_probe(to_json_text(probe)).step_s.spread, 0.002);
        probe.connection = {{0, 2}, {2e6, 1e5}, {3e6, 2e5}};
        QCOMPARE(parse_rank_probe(to_json_text(probe)).connection.peers, std::vector<int>({0, 2}));
        QCOMPARE(parse_rank_probe(to_json_text(probe)).connection.down_bytes_per_s.spread, 2e5);
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
