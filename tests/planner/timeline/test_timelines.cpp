// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"

using namespace skippipe;

class TestTimelines : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hand_computed() {
        for (const auto& example : examples::all()) {
            const auto timeline = evaluate(example.problem, example.plan);
            QVERIFY2(timeline.complete == example.complete, example.name.c_str());
            if (!example.complete) {
                QCOMPARE(timeline.blocked.size(), std::size_t{2});
                QVERIFY(timeline.blocked[0].find("memory") != std::string::npos);
                continue;
            }
            QVERIFY2(std::abs(timeline.makespan_s - example.makespan_s) <= 1e-12 * example.makespan_s,
                     example.name.c_str());
            QVERIFY2(std::abs(timeline.iteration_s - example.iteration_s) <= 1e-12 * example.iteration_s,
                     example.name.c_str());
        }
    }

    void collision_span_by_span() {
        const auto example = examples::collision();
        const auto timeline = evaluate(example.problem, example.plan);
        const auto find = [&](SpanKind kind, NodeIndex node, MicrobatchIndex microbatch) {
            for (const auto& span : timeline.spans)
                if (span.kind == kind && span.node == node && span.microbatch == microbatch) return span;
            return Span{};
        };
        QCOMPARE(find(SpanKind::forward, 1, 0).start_s, 2.0);
        QCOMPARE(find(SpanKind::forward, 1, 1).end_s, 4.0);
        QCOMPARE(find(SpanKind::backward, 1, 1).ready_s, 6.5);
        QCOMPARE(find(SpanKind::backward, 1, 1).start_s, 7.5);
        QCOMPARE(find(SpanKind::loss, 0, 1).start_s, 5.0);
        QCOMPARE(find(SpanKind::backward, 0, 1).end_s, 12.5);
        QCOMPARE(timeline.busy_s, 2 * (1 + 0.5 + 2 + 1 + 2.0));
    }
};

QTEST_APPLESS_MAIN(TestTimelines)
#include "test_timelines.moc"
