// SPDX-License-Identifier: GPL-3.0-or-later
// What an iteration and a token budget cost, by hand.
#include <QtTest>

#include <cmath>

#include "core/analysis/price.h"
#include "core/experiment/io.h"

using namespace skippipe;

namespace {

/// a and b in one region, c and d in none; one plan of two stages over three of them.
struct Scene {
    Scene() {
        for (const char* id : {"a", "b", "c", "d"}) e.topology.nodes.push_back({.id = id});
        e.topology.nodes[0].region = e.topology.nodes[1].region = "west";
        e.topology.nodes[1].price_per_hour = 7.2;
        e.prices = {.node_hour = 3.6, .gigabyte = 0.5, .tokens = 1e6};
        problem.node_ids = {"a", "b", "c", "d"};
        plan.stages = {{NodeIndex(0), NodeIndex(1)}, {NodeIndex(2)}};
        timeline.iteration_s = 10;
    }
    void transfer(int from, int to, double bytes) {
        Span span{.kind = SpanKind::transfer_forward, .node = NodeIndex(from), .to_node = NodeIndex(to)};
        span.bytes = bytes;
        timeline.spans.push_back(span);
    }
    IterationPrice price() const { return price_of(e, problem, plan, timeline); }

    Experiment e;
    Problem problem;
    Plan plan;
    Timeline timeline;
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b)); }

}  // namespace

class TestPrice : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nodes_that_the_plan_uses_are_paid_for() {
        const Scene s;
        // 3.6 + 7.2 + 3.6 an hour for 10 s; d is not used.
        QVERIFY(near(s.price().nodes, 14.4 * 10 / 3600));
        QVERIFY(near(s.price().traffic, 0));
    }

    void what_leaves_a_region_is_paid_for() {
        Scene s;
        s.transfer(0, 1, 8e9);  // within
        s.transfer(1, 2, 2e9);
        s.transfer(2, 0, 1e9);
        s.transfer(2, 3, 1e9);  // both stand in none
        QVERIFY(near(s.price().traffic, 0.5 * 4));
        Span sum{.kind = SpanKind::all_reduce, .node = NodeIndex(0), .stage = StageIndex(0)};
        sum.bytes = 6e9;
        s.timeline.spans.push_back(sum);
        QVERIFY2(near(s.price().traffic, 0.5 * 4), "a ring within a region");
        s.e.topology.nodes[1].region = "east";
        QVERIFY(near(s.price().traffic, 0.5 * (8 + 2 + 1 + 1 + 6)));
    }

    void a_budget_takes_whole_iterations() {
        Scene s;
        s.e.pipeline.microbatches = 3;
        s.e.pipeline.microbatch_samples = 2;
        s.e.model.sequence = 1000;
        const auto budget = budget_of(s.e, 10, s.price());  // 6,000 tokens an iteration
        QCOMPARE(budget.iterations, 167.0);
        QCOMPARE(budget.seconds, 1670.0);
        QVERIFY(near(budget.price, 167 * s.price().total()));
        s.e.pipeline.microbatch_sizes = {1, 1, 2};
        QCOMPARE(budget_of(s.e, 10, s.price()).iterations, 250.0);
        s.e.pipeline.microbatches = 6;  // the sizes twice
        QCOMPARE(budget_of(s.e, 10, s.price()).iterations, 125.0);
        s.e.prices.tokens = 0;
        QCOMPARE(budget_of(s.e, 10, s.price()).iterations, 0.0);
    }

    void prices_change_no_plan_and_are_kept() {
        Scene s;
        QVERIFY(has_prices(s.e) && !has_prices(Experiment{}));
        Experiment priceless = s.e;
        priceless.prices = {};
        priceless.topology.nodes[1].price_per_hour.reset();
        QCOMPARE(experiment_hash(s.e), experiment_hash(priceless));
        QVERIFY(parse_experiment(to_text(s.e)).experiment.prices == s.e.prices);
        QVERIFY(parse_experiment(to_text(s.e)).experiment.topology.nodes[1].price_per_hour == 7.2);
        s.e.prices = {};
        QVERIFY2(has_prices(s.e), "one node's own");
    }
};

QTEST_MAIN(TestPrice)
#include "test_price.moc"
