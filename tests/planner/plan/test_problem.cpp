// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

#include "core/experiment/io.h"
#include "core/planner/plan/problem.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

class TestProblem : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { sample_ = parse_experiment(samples::small()).experiment; }

    void lines_belong_to_nodes_regions_and_switches() {
        const Problem p = make_problem(sample_);
        QCOMPARE(line(p, 0, 3), std::string("a->d"));        // a link of its own
        QCOMPARE(line(p, 3, 0), std::string("east->west"));  // drawn one way only
        QCOMPARE(line(p, 0, 2), std::string("west->east"));
        QCOMPARE(p.hop(0, 2).line, p.hop(1, 3).line);  // shared by the pairs of two regions
        QCOMPARE(line(p, 0, 1), std::string("a->b"));  // a switch
        QVERIFY(p.hop(0, 1).line != p.hop(1, 0).line);
        QVERIFY(!p.reachable(2, 2));
        QCOMPARE(p.line_names.size(), std::size_t{3 + 4});
        const double bytes = 2 * 8 * 16 * 2;
        QCOMPARE(p.forward_bytes, bytes);
        QCOMPARE(p.hop(0, 3).seconds_per_forward, bytes / 2e7);
        QCOMPARE(p.hop(0, 3).latency_s, 0.04);
        QCOMPARE(p.hop(2, 0).seconds_per_backward, bytes / 1e7);
        QCOMPARE(p.hop(0, 1).bandwidth_bytes_per_s, 2147483648.0);
        QCOMPARE(p.overhead_s, 0.001);
        QVERIFY(p.shared_links && p.charge_all_reduce);
    }

    void a_regions_own_link_replaces_its_switch() {
        Experiment e = sample_;
        e.topology.links.push_back({"east", "east", 0.5, 1000});
        const Problem p = make_problem(e);
        QCOMPARE(p.hop(2, 3).latency_s, 0.5);
        QCOMPARE(p.hop(0, 1).latency_s, 0.001);
        QVERIFY(p.hop(2, 3).line != p.hop(3, 2).line);
    }

    void a_pair_without_a_line_is_unreachable() {
        Experiment e = sample_;
        e.topology.links[0].both_ways = false;
        const Problem p = make_problem(e);
        QVERIFY(p.reachable(1, 2));
        QVERIFY(!p.reachable(2, 1));
    }

    void a_matrix_is_unlimited_and_reduces_for_free() {
        Experiment e = sample_;
        e.topology.hop_matrix_s = {{0, 1, 2, 3}, {4, 0, 5, 6}, {7, 8, 0, 9}, {10, 11, 12, 0}};
        const Problem p = make_problem(e);
        QCOMPARE(p.hop(2, 1).latency_s, 8.0);
        QCOMPARE(p.hop(2, 1).seconds_per_forward, 0.0);
        QCOMPARE(p.hop(2, 1).seconds_per_backward, 0.0);
        QCOMPARE(p.overhead_s, 0.0);
        QVERIFY(!p.shared_links && !p.charge_all_reduce);
        QCOMPARE(p.line_names.size(), std::size_t{12});
    }

    /// They queue where lines do, and are the hop's own rate where nothing queues.
    void uplinks_and_downlinks() {
        Experiment e = sample_;
        QVERIFY(!make_problem(e).has_uplinks());
        e.topology.nodes[0].up_bytes_per_s = 5e6;
        e.topology.nodes[3].down_bytes_per_s = 1e6;
        const Problem shared = make_problem(e);
        QCOMPARE(shared.up_bytes_per_s, (std::vector<double>{5e6, INFINITY, INFINITY, INFINITY}));
        QCOMPARE(shared.down_bytes_per_s, (std::vector<double>{INFINITY, INFINITY, INFINITY, 1e6}));
        QCOMPARE(shared.hop(0, 3).bandwidth_bytes_per_s, 2e7);
        QCOMPARE(shared.alone_bytes_per_s(0, 3), 1e6);
        QCOMPARE(shared.line_names.size(), std::size_t{3 + 4 + 2 * 4});
        QCOMPARE(shared.line_names[7], std::string("uplink of a"));
        QCOMPARE(shared.line_names.back(), std::string("downlink of d"));
        QCOMPARE(shared.alone_bytes_per_s(0, 1), 5e6);
        QVERIFY(shared.experiment_hash != experiment_hash(sample_));
        e.costs.links = LinkRule::unlimited;
        const Problem unlimited = make_problem(e);
        QVERIFY(!unlimited.has_uplinks());
        QCOMPARE(unlimited.hop(0, 3).bandwidth_bytes_per_s, 1e6);
        QCOMPARE(unlimited.hop(0, 2).bandwidth_bytes_per_s, 5e6);
        QCOMPARE(unlimited.hop(0, 2).seconds_per_forward, unlimited.forward_bytes / 5e6);
        QCOMPARE(unlimited.hop(2, 3).bandwidth_bytes_per_s, 1e6);
        QCOMPARE(unlimited.hop(1, 2).bandwidth_bytes_per_s, 1e7);
        e.topology.hop_matrix_s = {{0, 1, 2, 3}, {4, 0, 5, 6}, {7, 8, 0, 9}, {10, 11, 12, 0}};
        QVERIFY(!make_problem(e).has_uplinks());
    }

    void numbers_follow_the_document() {
        const Problem p = make_problem(sample_);
        QCOMPARE(p.path_length, 2);
        QCOMPARE(p.memory, (std::vector<int>{3, 2, p.memory[2], 3}));
        QVERIFY(p.memory[2] > 3);
        QCOMPARE(p.blocks, (std::vector<int>{2, 2}));
        QCOMPARE(p.forward_s(2, 1), 2 * 2 * 0.02);
        QCOMPARE(p.gradient_bytes[0] - p.gradient_bytes[1], 4 * (2 * 256.0 * 16 + 16));
        QCOMPARE(p.experiment_hash, experiment_hash(sample_));
        Experiment e = sample_;
        e.pipeline.constraints.memory = MemoryRule::ignore;
        e.pipeline.placement = {{"d", "a"}, {"b", "c"}};
        e.costs.forward_bytes = 77;
        e.costs.gradient_bytes = {5, 6};
        const Problem other = make_problem(e);
        QCOMPARE(other.memory[1], unlimited_memory);
        QCOMPARE(other.placement, (std::vector<std::vector<NodeIndex>>{{3, 0}, {1, 2}}));
        QCOMPARE(other.backward_bytes, 77.0);
        QCOMPARE(other.gradient_bytes, (std::vector<double>{5, 6}));
    }

    /// Fewer bytes where planned reductions hand them on; a node that takes another's place still fetches weights.
    void gradients_follow_their_type() {
        Experiment e = sample_;
        e.costs.all_reduce = AllReduceRule::planned;
        const auto of = [&](WireType wire) {
            e.training.gradient_wire = wire;
            return make_problem(e);
        };
        const Problem exact = of(WireType::fp32);
        for (const auto& [wire, share] :
             {std::pair{WireType::fp32, 1.0}, {WireType::bf16, 0.5}, {WireType::int8, 1.015625 / 4}}) {
            const Problem p = of(wire);
            for (StageIndex s = 0; s < p.stages; ++s) {
                QCOMPARE(p.gradient_bytes[s], share * exact.gradient_bytes[s]);
                QCOMPARE(p.weight_bytes(s), exact.gradient_bytes[s]);
            }
        }
        e.costs.gradient_bytes = {5, 6};
        const Problem given = of(WireType::int8);
        QCOMPARE(given.gradient_bytes, (std::vector<double>{5, 6}));
        QCOMPARE(given.weight_bytes(StageIndex(1)), 6.0);
    }

    void planned_blocks_carry_times_gradients_and_memory() {
        Experiment e = sample_;
        e.model.blocks = 5;
        e.pipeline.plan_blocks = true;
        const Problem p = make_problem(e);
        QCOMPARE(p.blocks, (std::vector<int>{2, 3}));
        e.pipeline.blocks_per_stage = {4, 1};
        const Problem other = make_problem(e);
        const PlannedProblem planned(p, {4, 1});
        QCOMPARE(planned.get().blocks, other.blocks);
        QCOMPARE(planned.get().gradient_bytes, other.gradient_bytes);
        QCOMPARE(planned.get().memory, other.memory);
        QVERIFY(other.memory[2] != p.memory[2] && other.memory[0] == p.memory[0]);
        QCOMPARE(planned.get().forward_s(2, 0), other.forward_s(2, 0));
        QVERIFY(&PlannedProblem(p, p.blocks).get() == &p);
        Problem fixed = p;
        fixed.plan_blocks = false;
        QVERIFY(&PlannedProblem(fixed, {4, 1}).get() == &fixed);
    }

    void sizes_of_microbatches() {
        Experiment e = sample_;
        const Problem even = make_problem(e);
        QCOMPARE(even.relative_size(7), 1.0);
        e.pipeline.microbatch_sizes = {2, 5, 1};
        const Problem p = make_problem(e);
        QCOMPARE(p.samples, even.samples);
        QCOMPARE(p.samples_of(4), 5.0);
        QCOMPARE(p.relative_size(4), 5 / even.samples);
        QCOMPARE(p.smallest_size(), 1 / even.samples);
        QVERIFY(p.memory[2] < even.memory[2] && p.memory[2] > 0);  // the largest counts
        QVERIFY(p.experiment_hash != even.experiment_hash);
    }

    void faults_stop_it() {
        Experiment e = sample_;
        e.pipeline.microbatches = 5;
        e.model.vocabulary = 3;
        try {
            make_problem(e);
            QFAIL("no error");
        } catch (const InputError& error) {
            QCOMPARE(error.faults().size(), std::size_t{2});
        }
    }

    void the_authors_problem_is_theirs() {
        const Problem p =
            make_problem(load_experiment(samples::resources() / "experiments" / "authors-20.json").experiment);
        QCOMPARE(p.path_length, 4);
        QVERIFY(std::abs(p.forward_s(0, 3) - 1.76) < 1e-12);
        QCOMPARE(p.forward_bytes, 8.0 * 1024 * 1024 * 4);
        QCOMPARE(p.hop(0, 1).latency_s, 3.6591242236024843);
    }

    void sizes_even_out_the_load_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QVector<int>>("sizes");
        QTest::newRow("20") << "authors-20.json" << QVector<int>{5, 3, 3, 3, 3, 3};
        QTest::newRow("18") << "authors-18.json" << QVector<int>{6, 4, 4, 4};
        QTest::newRow("42") << "authors-42.json" << QVector<int>{7, 5, 5, 5, 5, 5, 5, 5};
        QTest::newRow("9") << "single-cluster.json" << QVector<int>{3, 2, 2, 2};
    }
    void sizes_even_out_the_load() {
        QFETCH(QString, file);
        QFETCH(QVector<int>, sizes);
        const Problem p =
            make_problem(load_experiment(samples::resources() / "experiments" / file.toStdString()).experiment);
        QCOMPARE(p.default_stage_sizes(), std::vector<int>(sizes.begin(), sizes.end()));
        QCOMPARE(p.stage_sizes, p.default_stage_sizes());
        QCOMPARE(sizes[0] * (p.path_length - 1) % (p.stages - 1), 0);  // CC2 is tight
        QCOMPARE(sizes[0] * (p.path_length - 1) / (p.stages - 1), sizes[1]);
    }

    void impossible_sizes_are_told() {
        Problem p;
        p.node_ids = {"a", "b", "c"};
        p.stages = 4;
        QVERIFY_EXCEPTION_THROWN(p.default_stage_sizes(), InputError);
        p.stages = 1;
        p.microbatches = 4;
        QVERIFY_EXCEPTION_THROWN(p.default_stage_sizes(), InputError);
        p.balance_data_nodes = false;
        QCOMPARE(p.default_stage_sizes(), std::vector<int>{3});
        p.stages = 3;
        p.path_length = 3;
        QCOMPARE(p.default_stage_sizes(), (std::vector<int>{1, 1, 1}));
    }

private:
    static std::string line(const Problem& p, NodeIndex a, NodeIndex b) {
        return p.line_names.at(static_cast<std::size_t>(p.hop(a, b).line));
    }

    Experiment sample_;
};

QTEST_APPLESS_MAIN(TestProblem)
#include "test_problem.moc"
