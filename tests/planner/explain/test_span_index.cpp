// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

#include "core/planner/explain/span_index.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"

using namespace skippipe;

namespace {

/// An example's timeline and what is found in it.
struct Indexed {
    explicit Indexed(const examples::Example& example)
        : problem(example.problem), timeline(evaluate(problem, example.plan)), index(problem, timeline) {}

    const Span& span(SpanKind kind, NodeIndex node, MicrobatchIndex microbatch) const {
        for (const auto& span : timeline.spans)
            if (span.kind == kind && span.node == node && span.microbatch == microbatch) return span;
        throw std::runtime_error("no such span");
    }

    Problem problem;
    Timeline timeline;
    SpanIndex index;
};

}  // namespace

class TestSpanIndex : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void operations_of_a_node_by_start() {
        const Indexed collision(examples::collision());
        std::vector<double> starts;
        for (const Span* span : collision.index.busy(1)) starts.push_back(span->start_s);
        QCOMPARE(starts, (std::vector<double>{2, 3, 5.5, 7.5}));
        QCOMPARE(collision.index.end_s(), 12.5);
    }

    void inputs_come_from_the_operation_before() {
        const Indexed collision(examples::collision());
        const auto first = collision.index.input_source(collision.span(SpanKind::forward, 0, 0));
        QVERIFY(first.transfer == nullptr && first.before == nullptr);
        const auto gradient = collision.index.input_source(collision.span(SpanKind::backward, 1, 1));
        QVERIFY(gradient.transfer != nullptr && gradient.transfer->node == 0 && gradient.transfer->end_s == 6.5);
        QVERIFY(gradient.before == &collision.span(SpanKind::loss, 0, 1));
    }

    void a_wait_is_tiled_by_what_the_node_did() {
        const Indexed collision(examples::collision());
        const auto waits = collision.index.wait_intervals(collision.span(SpanKind::backward, 1, 1));
        QCOMPARE(waits.size(), std::size_t{1});
        QCOMPARE(waits[0].start_s, 6.5);
        QCOMPARE(waits[0].end_s, 7.5);
        QVERIFY(waits[0].running == &collision.span(SpanKind::backward, 1, 0));
        QVERIFY(collision.index.wait_intervals(collision.span(SpanKind::forward, 1, 0)).empty());

        const Indexed memory(examples::memory());
        const auto held = memory.index.wait_intervals(memory.span(SpanKind::forward, 1, 1));
        QCOMPARE(held.size(), std::size_t{2});  // the node is free, then runs B0
        QVERIFY(held[0].running == nullptr && held[0].start_s == 3 && held[0].end_s == 5.5);
        QVERIFY(held[1].running == &memory.span(SpanKind::backward, 1, 0) && held[1].end_s == 7.5);
    }

    /// TC1 counts from the start of F to the end of B.
    void memory() {
        const Indexed memory(examples::memory());
        QVERIFY(!memory.index.memory_is_full(1, 1.9));
        QVERIFY(memory.index.memory_is_full(1, 2) && memory.index.memory_is_full(1, 7.4));
        QVERIFY(memory.index.memory_is_full(1, 7.5));  // B0 frees it, F1 takes it at once
        QVERIFY(!memory.index.memory_is_full(0, 5));
        QVERIFY(!memory.index.memory_is_full(1, 17));
    }

    void ends_of_stages() {
        const Indexed reduced(examples::all_reduce());
        QCOMPARE(reduced.index.all_reduce(1), (std::pair{9.5, 21.5}));
        QCOMPARE(reduced.index.step(1), (std::pair{21.5, 21.75}));
        QCOMPARE(reduced.index.step(7), (std::pair{0.0, 0.0}));
        QCOMPARE(reduced.index.end_s(), 21.75);
    }

    /// A record may hold anything.
    void odd_spans_are_left_out() {
        const auto example = examples::collision();
        auto timeline = evaluate(example.problem, example.plan);
        const auto whole = timeline.spans.size();
        for (const auto& [node, start_s, end_s] :
             {std::tuple{7, 1.0, 2.0}, std::tuple{-1, 1.0, 2.0},
              std::tuple{0, std::numeric_limits<double>::quiet_NaN(), 2.0}, std::tuple{0, 50.0, 40.0}}) {
            Span odd{SpanKind::forward, NodeIndex(node)};
            odd.start_s = start_s;
            odd.end_s = end_s;
            timeline.spans.push_back(odd);
        }
        QCOMPARE(timeline.spans.size(), whole + 4);
        const SpanIndex index(example.problem, timeline);
        QCOMPARE(index.busy(0).size(), std::size_t{6});
        QCOMPARE(index.end_s(), 12.5);
    }
};

QTEST_APPLESS_MAIN(TestSpanIndex)
#include "test_span_index.moc"
