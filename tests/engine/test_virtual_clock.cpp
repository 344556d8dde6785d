// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <tuple>

#include "core/engine/cost_compute.h"
#include "core/engine/virtual_clock.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "core/planner/plan/validator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

Timeline execute(const Problem& problem, const Plan& plan) {
    CostCompute compute(problem, one_rank_schedule(problem.nodes(), plan));
    return VirtualDriver(problem, plan, compute).run_iteration();
}

std::vector<Span> sorted(std::vector<Span> spans) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::tie(a.start_s, a.kind, a.node, a.to_node, a.microbatch, a.end_s) <
               std::tie(b.start_s, b.kind, b.node, b.to_node, b.microbatch, b.end_s);
    });
    return spans;
}

}  // namespace

class TestVirtualClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hand_computed() {
        for (const auto& example : examples::all()) {
            const auto timeline = execute(example.problem, example.plan);
            QVERIFY2(timeline.complete == example.complete, example.name.c_str());
            if (!example.complete) continue;
            QVERIFY2(std::abs(timeline.makespan_s - example.makespan_s) <= 1e-12 * example.makespan_s,
                     example.name.c_str());
            QVERIFY2(std::abs(timeline.iteration_s - example.iteration_s) <= 1e-12 * example.iteration_s,
                     example.name.c_str());
        }
    }

    /// Evaluator and engine were written apart: every span of 1,000 random plans is the same, to the bit.
    void equals_the_evaluator() {
        int complete = 0, split = 0;
        for (std::uint64_t seed = 0; seed < 1000; ++seed) {
            const auto [problem, plan] = seed < 600 ? examples::random_plan(seed) : examples::uneven_plan(seed);
            QVERIFY(check_structure(problem, plan).empty());
            const auto expected = evaluate(problem, plan), executed = execute(problem, plan);
            QCOMPARE(executed.complete, expected.complete);
            if (!expected.complete) {
                QVERIFY(!expected.blocked.empty());
                continue;
            }
            ++complete;
            split += plan.split_backward ? 1 : 0;
            QVERIFY2(
                executed.makespan_s == expected.makespan_s && executed.iteration_s == expected.iteration_s,
                qPrintable(
                    QString("seed %1: %2 against %3").arg(seed).arg(executed.makespan_s).arg(expected.makespan_s)));
            QVERIFY2(sorted(executed.spans) == sorted(expected.spans), qPrintable(QString("seed %1").arg(seed)));
            const auto violations = check_plan(problem, plan, expected);
            QVERIFY2(violations.empty(), violations.empty() ? "" : violations.front().what.c_str());
        }
        QVERIFY2(complete > 500 && split > 50, "the random plans must exercise what they claim to");
    }

    /// With planned reductions and uplinks too, which pass the same queues as the messages.
    void reductions_equal_the_evaluators() {
        int complete = 0, shared = 0, uplinks = 0;
        for (std::uint64_t seed = 0; seed < 600; ++seed) {
            auto [problem, plan] = seed < 400 ? examples::random_plan(seed) : examples::uneven_plan(seed);
            problem.plan_reductions = true;
            problem.charge_all_reduce = false;
            Rng rng(seed, 3);
            if (problem.shared_links && seed % 3 != 0) problem = examples::with_uplinks(problem, rng);
            if (seed % 5 == 0) problem.plan_reductions = false;
            if (seed % 4 != 0) plan.reductions = examples::random_reductions(plan, rng);
            const auto expected = evaluate(problem, plan), executed = execute(problem, plan);
            QCOMPARE(executed.complete, expected.complete);
            if (!expected.complete) continue;
            ++complete;
            shared += problem.shared_links ? 1 : 0;
            uplinks += problem.has_uplinks() ? 1 : 0;
            QVERIFY2(
                executed.iteration_s == expected.iteration_s && executed.bytes == expected.bytes,
                qPrintable(
                    QString("seed %1: %2 against %3").arg(seed).arg(executed.iteration_s).arg(expected.iteration_s)));
            QVERIFY2(sorted(executed.spans) == sorted(expected.spans), qPrintable(QString("seed %1").arg(seed)));
        }
        QVERIFY2(complete > 300 && shared > 100 && uplinks > 60, "the random plans must exercise what they claim to");
    }

    /// A plan whose order is bound to the one it took runs in the same time, in both.
    void bound_to_its_own_order() {
        int checked = 0;
        for (std::uint64_t seed = 0; seed < 450; ++seed) {
            auto [problem, plan] = seed < 300 ? examples::random_plan(seed) : examples::uneven_plan(seed);
            const auto free = evaluate(problem, plan);
            if (!free.complete) continue;
            plan.order = executed_order(free, problem.nodes());
            QVERIFY(check_structure(problem, plan).empty());
            const auto expected = evaluate(problem, plan), executed = execute(problem, plan);
            QVERIFY(expected.complete && executed.complete);
            QCOMPARE(executed.makespan_s, expected.makespan_s);
            QVERIFY2(sorted(executed.spans) == sorted(expected.spans), qPrintable(QString("seed %1").arg(seed)));
            QVERIFY(check_plan(problem, plan, expected).empty());
            ++checked;
        }
        QVERIFY(checked > 100);
    }

    /// Two runs of one driver are the same: nothing is carried over from one iteration to the next.
    void iterations_repeat() {
        const auto [problem, plan] = examples::random_plan(3);
        CostCompute compute(problem, one_rank_schedule(problem.nodes(), plan));
        VirtualDriver driver(problem, plan, compute);
        const auto first = driver.run_iteration(), second = driver.run_iteration();
        QCOMPARE(first.makespan_s, second.makespan_s);
        QVERIFY(first.spans == second.spans);
    }
};

QTEST_APPLESS_MAIN(TestVirtualClock)
#include "test_virtual_clock.moc"
