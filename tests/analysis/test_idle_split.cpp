// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <numeric>

#include "core/analysis/idle_mean.h"
#include "core/analysis/idle_split.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"

using namespace skippipe;

class TestIdleSplit : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Of iterations as they were done last.
    void means_over_iterations() {
        const auto shares_of = [](double fill, double link) {
            IdleMean::Shares shares{};
            shares[std::size_t(IdleCause::fill_drain)] = fill;
            shares[std::size_t(IdleCause::link)] = link;
            return shares;
        };
        IdleMean mean;
        QCOMPARE(mean.mean(), IdleMean::Shares{});
        mean.add(0, 2, shares_of(0.25, 0));
        mean.add(1, 2, shares_of(0.5, 0.5));
        mean.add(2, 2, shares_of(0.75, 0.25));
        QCOMPARE(mean.iterations(), 3);
        QCOMPARE(mean.mean(), shares_of(0.5, 0.25));
        mean.forget_from(1);  // the training went back
        QCOMPARE(mean.mean(), shares_of(0.25, 0));
        mean.add(1, 2, shares_of(0.75, 0.5));
        mean.add(1, 2, shares_of(0.25, 1));  // begun again
        QCOMPARE(mean.iterations(), 2);
        QCOMPARE(mean.mean(), shares_of(0.25, 0.5));
        mean.add(2, 4, shares_of(0.75, 0));  // as long as both
        QCOMPARE(mean.mean(), shares_of(0.5, 0.25));
    }

    /// Of every timeline of semantics.md: each node's parts are its iteration, stages and run their sums, to the
    /// nanosecond.
    void parts_add_up() {
        for (const auto& example : examples::all()) {
            const Timeline timeline = evaluate(example.problem, example.plan);
            if (!timeline.complete) continue;
            const IdleReport report = explain_idle(example.problem, example.plan, timeline);
            const auto nodes = split_nodes(report.node_seconds, report.node_busy_s);
            const auto stage_of = stage_of_nodes(example.plan, example.problem.nodes());
            std::vector<int> stages(stage_of.begin(), stage_of.end());
            int used = 0;
            for (std::size_t n = 0; n < nodes.size(); ++n) {
                if (stages[n] < 0) continue;
                ++used;
                QVERIFY2(std::abs(nodes[n].whole_s() - timeline.iteration_s) < 1e-9, example.name.c_str());
            }
            const auto by_stage = split_stages(nodes, stages);
            QCOMPARE(by_stage.size(), example.plan.stages.size());
            QVERIFY(std::abs(sum_of(by_stage).whole_s() - used * timeline.iteration_s) < 1e-9);
            QVERIFY(std::abs(sum_of(by_stage).idle_share() - timeline.idle_fraction()) < 1e-9);
        }
    }

    /// Collision: A works 6 of 12.5 s; it fills until its first activation, which the link brings from 1 to 2 s.
    void a_known_timeline() {
        const auto example = examples::collision();
        const Timeline timeline = evaluate(example.problem, example.plan);
        const auto report = explain_idle(example.problem, example.plan, timeline);
        const auto nodes = split_nodes(report.node_seconds, report.node_busy_s);
        QCOMPARE(nodes[1].busy_s, 6.0);
        QCOMPARE(nodes[1].idle(), 6.5);
        QCOMPARE(nodes[1].idle_share(), 0.52);
        QCOMPARE(nodes[1].worst(), IdleCause::fill_drain);
        const auto shares = nodes[1].shares();
        QVERIFY(std::abs(std::accumulate(shares.begin(), shares.end(), 0.0) - 0.52) < 1e-15);
        IdleSplit unused;  // works nothing, and idles all of its time
        unused.idle_s[0] = 3, unused.idle_s[1] = 1;
        QCOMPARE(unused.shares()[0], 0.75);
        QCOMPARE(IdleSplit{}.shares()[0], 0.0);
        QCOMPARE(split_stages({{1, {}}, {2, {}}, {4, {}}}, {1, 1, -1})[1].busy_s, 3.0);
    }
};

QTEST_GUILESS_MAIN(TestIdleSplit)
#include "test_idle_split.moc"
