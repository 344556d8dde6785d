// SPDX-License-Identifier: GPL-3.0-or-later
// The network at a moment: loads, what is under way, and the slider that goes there.
#include <QtTest>

#include <QSlider>
#include <QToolButton>

#include "views/document/document.h"
#include "views/topology/edits.h"
#include "views/topology/scene.h"
#include "views/window/network_moment.h"
#include "views/window/replay_bar.h"

using namespace skippipe;

namespace {

/// a works 0 to 4, sends 100 bytes to b from 4 to 6, and 300 from 6 to 8; b works 6 to 8.
TimelineData small_run() {
    TimelineData data;
    data.set_lanes({"a", "b", "c"});
    const auto add = [&](SpanKind kind, NodeIndex node, NodeIndex to, double begin, double end, double bytes,
                         MicrobatchIndex microbatch) {
        Span span;
        span.kind = kind;
        span.node = node;
        span.to_node = to;
        span.microbatch = microbatch;
        span.start_s = begin;
        span.end_s = end;
        span.ready_s = begin - 0.5;
        span.bytes = bytes;
        static std::int64_t row = 0;
        data.add(span, 0, 0, ++row);
    };
    add(SpanKind::forward, 0, -1, 0, 4, 0, 7);
    add(SpanKind::transfer_forward, 0, 1, 4, 6, 100, 7);
    add(SpanKind::transfer_backward, 0, 1, 6, 8, 300, 3);
    add(SpanKind::forward, 1, -1, 6, 8, 0, 7);
    data.finish();
    return data;
}

}  // namespace

class TestTraffic : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_moment_says_who_works_and_what_is_under_way() {
        const auto data = small_run();
        const Traffic at_5 = traffic_at(data, 5, 0, 8);
        QCOMPARE(at_5.working(), 0);
        QCOMPARE(at_5.parcels.size(), 1U);
        QCOMPARE(at_5.parcels[0].share, 0.5);
        QCOMPARE(at_5.parcels[0].microbatch, 7);
        QCOMPARE(at_5.parcels[0].to, 1);
        QCOMPARE(at_5.busy, (std::vector<double>{0.5, 0.25, 0}));
        QCOMPARE(at_5.lines.size(), 1U);
        QCOMPARE(at_5.lines[0].bytes_per_s, 400.0 / 8);
        QCOMPARE(at_5.lines[0].queue_s, 0.5);
        QCOMPARE(traffic_words(at_5), QString("0 of 3 nodes work, 1 transfer under way"));
        const Traffic at_7 = traffic_at(data, 7, 5, 7);
        QCOMPARE(at_7.working(), 1);
        QCOMPARE(at_7.work[1]->microbatch, 7);
        QCOMPARE(at_7.parcels[0].kind, SpanKind::transfer_backward);
        QCOMPARE(at_7.lines[0].bytes_per_s, (50.0 + 150.0) / 2);  // halves of both
        QVERIFY(traffic_at(data, 100, 90, 100).lines.empty());
        QVERIFY(traffic_at({}, 0, 0, 0).names.empty());
    }

    void the_canvas_tells_what_is_under_the_mouse() {
        Document document;
        Experiment e;
        for (const char* id : {"a", "b", "c"}) e.topology.nodes.push_back({.id = id});
        for (std::size_t i = 0; i < 3; ++i) {
            e.topology.nodes[i].x = 300.0 * static_cast<double>(i);
            e.topology.nodes[i].y = 0;
        }
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        const auto data = small_run();
        scene.show_traffic(traffic_at(data, 7, 0, 8));
        TrafficItem* item = nullptr;
        for (auto* one : scene.items())
            if (auto* found = dynamic_cast<TrafficItem*>(one)) item = found;
        QVERIFY(item != nullptr && !item->is_empty());
        const QPointF a = scene.node("a")->pos(), b = scene.node("b")->pos();
        QVERIFY2(item->words_at(b).startsWith("b works 25"), qPrintable(item->words_at(b)));
        QVERIFY(item->words_at(b).contains("now: forward of microbatch 7"));
        const QPointF across(-(b - a).y(), (b - a).x());
        const QPointF middle = (a + b) / 2 + 4 * across / std::hypot(across.x(), across.y());
        QVERIFY2(item->words_at(middle).contains("under way: microbatch 3, 50"), qPrintable(item->words_at(middle)));
        QVERIFY(item->shape().contains(middle));
        QVERIFY(item->words_at(b + QPointF(0, 150)).isEmpty());
        selection.select({.microbatch = 7});  // its way is drawn instead
        QVERIFY(item->is_empty());
        selection.clear();
        QVERIFY(!item->is_empty());
    }

    void the_slider_goes_through_what_is_in_sight() {
        ReplayBar bar;
        bar.set_range(10, 30);
        QCOMPARE(bar.moment_s(), 30.0);
        QSignalSpy moved(&bar, &ReplayBar::moved);
        bar.set_moment(15);
        QCOMPARE(bar.moment_s(), 15.0);
        QCOMPARE(moved.size(), 0);
        bar.set_range(12, 40);
        QCOMPARE(bar.moment_s(), 15.0);  // it stays while it is in sight
        bar.set_range(20, 40);
        QCOMPARE(bar.moment_s(), 20.0);
        bar.set_moment(40);
        bar.set_range(20, 50);
        QCOMPARE(bar.moment_s(), 50.0);  // with what is newest
        bar.set_moment(30);
        bar.findChild<QSlider*>("replay")->setValue(10'000);
        QCOMPARE(moved.size(), 1);
        bar.findChild<QToolButton*>("replay_play")->click();
        QVERIFY(bar.is_playing());
        QCOMPARE(bar.moment_s(), 20.0);  // from the beginning
        QTRY_VERIFY(bar.moment_s() > 20.0);
        bar.findChild<QToolButton*>("replay_play")->click();
        QVERIFY(!bar.is_playing());
    }
};

QTEST_MAIN(TestTraffic)
#include "test_traffic.moc"
