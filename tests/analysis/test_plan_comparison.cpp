// SPDX-License-Identifier: GPL-3.0-or-later
// Two plans and two networks held against each other, by hand.
#include <QtTest>

#include "core/analysis/plan_comparison.h"
#include "tests/planner/examples.h"

using namespace skippipe;

namespace {

struct Two {
    Two() : a(examples::toy({"x", "y", "z"}, 2, 2, 2)), b(examples::toy({"z", "x", "w"}, 2, 2, 3)) {
        one.stages = {{0}, {1, 2}};
        one.blocks = {1, 1};
        one.paths = {{0, {0, 1}}, {1, {0, 2}}};
        // The same names stand elsewhere in the other network: w is new, y has gone.
        two.stages = {{1, 2}, {0}};
        two.blocks = {2, 1};
        two.paths = {{0, {2, 0}}, {1, {1, 0}}, {2, {1, 0}}};
    }
    Problem a, b;
    Plan one, two;
};

}  // namespace

class TestPlanComparison : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void plans() {
        const Two t;
        const auto d = compare_plans(t.a, t.one, t.b, t.two);
        const std::vector<NodeChange> nodes{{"y", 1, NodeChange::not_there}, {"w", NodeChange::not_there, 0}};
        QVERIFY(d.nodes == nodes);
        QCOMPARE(d.stages.size(), std::size_t{2});
        QVERIFY(d.stages[0].nodes_a == 1 && d.stages[0].nodes_b == 2 && d.stages[0].blocks_b == 2);
        QVERIFY(d.stages[0].visits_a == 2 && d.stages[0].visits_b == 3 && d.stages[1].visits_b == 3);
        QCOMPARE(d.microbatches_a, 2);
        QCOMPARE(d.microbatches_b, 3);
        QCOMPARE(d.same_paths, 1);   // microbatch 1: x, z in both
        QCOMPARE(d.same_stages, 2);  // microbatch 0 goes over other nodes of the same stages
    }

    void alike() {
        const Two t;
        const auto d = compare_plans(t.a, t.one, t.a, t.one);
        QVERIFY(d.nodes.empty() && d.same_orders);
        QVERIFY(!d.stages[0].differs() && !d.stages[1].differs());
        QCOMPARE(d.same_paths, 2);
        Plan ordered = t.one;
        ordered.order = {{}, {{OpKind::F, MicrobatchIndex(0)}}, {}};
        QVERIFY(!compare_plans(t.a, t.one, t.a, ordered).same_orders);
    }

    void networks() {
        Topology a;
        a.nodes = {{.id = "x", .region = "r"}, {.id = "y"}};
        a.links = {{"x", "y", 0.05, 1e9, true}};
        Topology b = a;
        b.nodes[0].x = 500;
        b.links[0] = {"y", "x", 0.05, 1e9, true};
        QVERIFY2(network_difference(a, b).empty(), "places, and how round a link is written");
        b.nodes[0].seconds_per_sample_per_block *= 2;
        b.nodes[1].memory_microbatches = 4;
        b.nodes.push_back({.id = "z"});
        b.links[0].latency_s = 0.1;
        const auto changes = network_difference(a, b);
        QCOMPARE(changes.size(), std::size_t{4});
        QVERIFY(changes[0].thing == "x" && changes[0].field == "time per sample and block" &&
                changes[0].value_a != changes[0].value_b);
        QVERIFY((changes[1] == NetworkChange{"y", "memory", "", "4 microbatches"}));
        QVERIFY((changes[2] == NetworkChange{"z", "", "", "a node"}));
        QVERIFY(changes[3].thing == "x to y" && changes[3].field == "latency");
        // As they are drawn: "n10" does not come before "n2".
        Topology slow = a, quick = a;
        slow.nodes = {{.id = "n2"}, {.id = "n10"}};
        quick.nodes = {{.id = "n10"}, {.id = "n2"}};
        for (auto& node : quick.nodes) node.seconds_per_sample_per_block /= 2;
        QCOMPARE(network_difference(slow, quick).front().thing, std::string("n2"));
        b.links.clear();
        QVERIFY((network_difference(a, b).back() == NetworkChange{"x to y", "", "a link", ""}));
    }
};

QTEST_MAIN(TestPlanComparison)
#include "test_plan_comparison.moc"
