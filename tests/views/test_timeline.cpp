// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QtTest>

#include "views/curves/curve_data.h"
#include "views/theme/theme.h"
#include "views/theme/ticks.h"
#include "views/timeline/painter.h"

using namespace skippipe;

namespace {

/// Lanes of back-to-back spans of `length` seconds with as much rest.
std::shared_ptr<TimelineData> regular(int lanes, int spans_a_lane, double length) {
    auto data = std::make_shared<TimelineData>();
    std::vector<std::string> names;
    for (int i = 0; i < lanes; ++i) names.push_back("n" + std::to_string(i));
    data->set_lanes(names);
    std::int64_t row = 0;
    for (int lane = 0; lane < lanes; ++lane)
        for (int i = 0; i < spans_a_lane; ++i) {
            Span span{i % 2 ? SpanKind::backward : SpanKind::forward,
                      NodeIndex(lane),
                      -1,
                      StageIndex(lane % 6),
                      MicrobatchIndex(i % 30),
                      0,
                      2 * i * length,
                      (2 * i + 1) * length,
                      0};
            data->add(span, 0, 0, row++);
            data->add(IdleGap{NodeIndex(lane), IdleCause::activation, (2 * i + 1) * length, (2 * i + 2) * length}, 0);
        }
    data->finish();
    return data;
}

Span down(int node, double start_s, double end_s) {
    return {SpanKind::down, NodeIndex(node), -1, 0, -1, start_s, start_s, end_s, 0};
}

/// Iterations of 10 s in two parts. a is lost at 14 s, known at 15 s, and back for the fourth; b is lost with the third
/// iteration, which was begun again for it at 22 s.
std::shared_ptr<TimelineData> with_losses() {
    auto first = std::make_shared<TimelineData>(), rest = std::make_shared<TimelineData>();
    for (auto* data : {first.get(), rest.get()}) data->set_lanes({"a", "b"});
    first->add(Span{SpanKind::forward, 0, -1, 0, 0, 0, 0, 10, 0}, 0, 0, 0);
    first->add(down(0, 4, 10), 1, 10, 1);
    first->add(IdleGap{0, IdleCause::node_down, 4, 9}, 10);
    first->add(IdleGap{0, IdleCause::node_down, 9, 10}, 10);
    rest->add(down(0, 0, 10), 2, 22, 2);
    rest->add(down(1, 0, 10), 2, 22, 3);
    rest->add(down(1, 0, 10), 3, 32, 4);
    rest->add(Span{SpanKind::forward, 0, -1, 0, 1, 0, 0, 10, 0}, 3, 32, 5);
    first->finish();
    rest->finish();
    rest->set_parts({first});
    rest->set_losses({{.iteration = 1,
                       .nodes = 1,
                       .begin_s = 14,
                       .end_s = 15,
                       .detection_s = 1,
                       .replanning_s = 0.25,
                       .recovery_s = {},
                       .redone_operations = 5,
                       .lost_gradients = 2},
                      {.iteration = 2,
                       .nodes = 1,
                       .begin_s = 20.5,
                       .end_s = 22,
                       .detection_s = 1.5,
                       .recovery_s = {},
                       .begun_again = true}});
    rest->set_refetches({{3, 0.125}});
    return rest;
}

/// a holds stage 0; b and c hold stage 1 and sum its 12 bytes at c: b is done at 12 s, c at 10 s.
std::shared_ptr<TimelineData> with_reduction() {
    auto data = std::make_shared<TimelineData>();
    data->set_lanes({"a", "b", "c"});
    data->add(Span{SpanKind::forward, 0, -1, 0, 0, 0, 0, 2, 0}, 0, 0, 0);
    data->add(Span{SpanKind::backward, 1, -1, 1, 0, 8, 8, 12, 0}, 0, 0, 1);
    data->add(Span{SpanKind::backward, 2, -1, 1, 1, 7, 7, 10, 0}, 0, 0, 2);
    data->add(Span{SpanKind::transfer_reduction, 1, 2, 1, -1, 12, 12, 15, 12}, 0, 0, 3);
    data->add(Span{SpanKind::transfer_reduction, 2, 1, 1, -1, 15, 15.5, 18.5, 12}, 0, 0, 4);
    data->add(IdleGap{2, IdleCause::all_reduce, 10, 15, -1, 1, 1}, 0);
    data->add(IdleGap{1, IdleCause::all_reduce, 12, 18.5, -1, 2, 2}, 0);
    data->set_reductions(std::make_shared<PlannedReductions>(
        PlannedReductions{{{0}, {1, 2}}, {{}, {star_piece(2, 1, 1)}}, {0, 12}, {"b->a", "Oregon->LA", "uplink of c"}}));
    data->finish();
    return data;
}

struct Seen {
    std::size_t exact = 0, folded = 0, folds = 0;
    double busy_s = 0;
};

Seen look(const TimelineData& data, double begin, double end, double least) {
    Seen seen;
    data.visit_work(
        0, begin, end, least, [&](const LaneSpan& s) { ++seen.exact, seen.busy_s += s.end_s - s.start_s; },
        [&](const Fold& f) { seen.folded += f.count, ++seen.folds, seen.busy_s += f.busy * (f.end_s - f.start_s); });
    return seen;
}

}  // namespace

class TestTimeline : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// What a span is packed into holds the largest experiment, of a record that was written to for a month.
    void a_packed_span_holds_the_largest_numbers() {
        TimelineData data;
        data.set_lanes(std::vector<std::string>(1, "a"));
        const std::int64_t row = 50'000LL * 3600 * 24 * 30;
        data.add(Span{SpanKind::weight_gradient, 0, -1, StageIndex(1023), MicrobatchIndex(999'999), 1, 2, 3, 0},
                 2'000'000'000, 0, row);
        data.add(Span{SpanKind::transfer_reduction, 0, NodeIndex(9'999), StageIndex(1023), -1, 1, 2, 3, 8}, 0, 0,
                 row + 1);
        data.finish();
        const LaneSpan &work = data.work(0, 0), &transfer = data.lanes()[0].transfers[0];
        QCOMPARE(std::int64_t(work.row), row);
        QCOMPARE(int(work.microbatch), 999'999);
        QCOMPARE(int(work.stage), 1023);
        QCOMPARE(work.iteration, 2'000'000'000);
        QVERIFY(work.kind == SpanKind::weight_gradient && transfer.kind == SpanKind::transfer_reduction);
        QCOMPARE(int(transfer.to_node), 9'999);
        QCOMPARE(int(transfer.microbatch), -1);
        QCOMPARE(data.find(row + 1).span, &transfer);
    }

    void time_and_pixels_are_inverse() {
        const TimeScale scale{10, 30, 100, 500};
        QCOMPARE(scale.x(10), 100.0);
        QCOMPARE(scale.x(30), 500.0);
        QCOMPARE(scale.time(scale.x(17.25)), 17.25);
        QCOMPARE(scale.tick_step(90), 5.0);
        QCOMPARE(ticks_between(scale.begin, scale.end, 5).front(), 10.0);
        const LaneStack lanes{22, 28, 0, 4};
        QCOMPARE(lanes.lane_at(21), -1);
        QCOMPARE(lanes.lane_at(22 + 28), 1);
        QCOMPARE(lanes.lane_at(22 + 4 * 28), -1);
        QCOMPARE(lanes.clamp_scroll(1e9, 72), 4 * 28 - 50.0);
    }

    void zoom_keeps_the_time_under_the_cursor() {
        TimeZoom zoom;
        zoom.set_extent(100);
        zoom.zoom_at(25, 0.5);
        QCOMPARE(zoom.end() - zoom.begin(), 50.0);
        QCOMPARE((25 - zoom.begin()) / 50, 0.25);
        zoom.set_follows(true);
        const double before = zoom.end();
        zoom.set_extent(110);
        QCOMPARE(zoom.end(), before + 10);
        zoom.set_follows(false);
        zoom.set_extent(130);
        QCOMPARE(zoom.end(), before + 10);
    }

    void panning_ends_where_the_run_does() {
        TimeZoom zoom;
        zoom.set_extent(100);
        zoom.show(40, 60);
        zoom.pan(1000);
        QCOMPARE(std::pair(zoom.begin(), zoom.end()), std::pair(80.0, 100.0));
        zoom.pan(-1000);
        QCOMPARE(std::pair(zoom.begin(), zoom.end()), std::pair(0.0, 20.0));
        zoom.show(-5, 105);  // an edge beside all of it stays
        zoom.pan(3);
        QCOMPARE(std::pair(zoom.begin(), zoom.end()), std::pair(-5.0, 105.0));
    }

    /// A run that has just begun has all of it in sight; as it grows, iterations stay as wide, until all is asked for.
    void following_does_not_squeeze_a_run_that_grows() {
        TimeZoom zoom;
        zoom.set_follows(true);
        zoom.set_extent(1);
        zoom.follow_within(2);
        zoom.set_extent(1.5);
        QCOMPARE(zoom.begin(), 0.0);
        zoom.set_extent(5);
        QCOMPARE(zoom.begin(), 3.0);
        QCOMPARE(zoom.end(), 5.0);
        zoom.show_all();
        zoom.set_extent(8);
        QCOMPARE(zoom.begin(), 0.0);
        QCOMPARE(zoom.end(), 8.0);
    }

    /// However far back somebody looked: the newest comes into sight, and stays there.
    void following_keeps_the_newest_in_sight() {
        TimeZoom zoom;
        zoom.set_extent(100);
        zoom.show(20, 40);
        zoom.set_extent(120);
        QCOMPARE(std::pair(zoom.begin(), zoom.end()), std::pair(20.0, 40.0));
        QSignalSpy told(&zoom, &TimeZoom::follow_changed);
        zoom.set_follows(true);
        QCOMPARE(std::pair(zoom.begin(), zoom.end()), std::pair(100.0, 120.0));
        QCOMPARE(told.size(), 1);
        zoom.show(60, 70);
        zoom.set_extent(121);
        QCOMPARE(std::pair(zoom.begin(), zoom.end()), std::pair(111.0, 121.0));
        // Where time ends before what was in sight, that comes back, as wide as it was.
        TimeZoom shorter;
        shorter.set_extent(1000);
        shorter.show(900, 1000);
        QVERIFY(!shorter.follows());
        QSignalSpy changed(&shorter, &TimeZoom::changed);
        shorter.set_extent(100);
        QCOMPARE(changed.size(), 1);
        QVERIFY2(shorter.begin() < 100, "nothing of what there is was in sight");
        QVERIFY(std::abs(shorter.begin() - 10) < 1e-9 && std::abs(shorter.end() - 110) < 1e-9);  // a tenth beyond
    }

    /// Lanes are of no height that patterns repeat in, and yet a cause has the same one in each.
    void a_cause_looks_the_same_in_every_lane() {
        apply_theme(*qApp, false);
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b", "c"});
        for (int lane = 0; lane < 3; ++lane)
            for (int k = 0; k < 4; ++k) {
                constexpr IdleCause causes[] = {IdleCause::memory, IdleCause::all_reduce, IdleCause::replica,
                                                IdleCause::collision};
                data->add(IdleGap{.node = NodeIndex(lane), .cause = causes[k], .start_s = 1.0 * k, .end_s = k + 1.0},
                          0);
            }
        data->finish();
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(800, 200);
        view.set_lane_height(27);
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
        QTRY_VERIFY(view.settled());
        const QImage picture = view.grab().toImage();
        const auto lane_of = [&](int lane) {
            const int middle = static_cast<int>(view.place_of(0, lane).y());
            return picture.copy(static_cast<int>(view.place_of(0, lane).x()) + 2, middle - 5, 600, 10);
        };
        QVERIFY(lane_of(0) == lane_of(1));
        QVERIFY(lane_of(0) == lane_of(2));
    }

    void every_span_is_seen_once_folded_or_not() {
        const auto data = regular(1, 10'000, 0.01);
        const Seen near = look(*data, 1, 2, 0.001), far = look(*data, 0, 200, 0.5);
        QCOMPARE(near.folded, std::size_t{0});
        QCOMPARE(near.exact, std::size_t{50});
        QCOMPARE(far.folded + far.exact, std::size_t{10'000});
        QVERIFY(far.folds < 500);
        QVERIFY(std::abs(far.busy_s - 100) < 1e-6);  // folding loses no work
    }

    void a_long_span_among_short_ones_stands_alone() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a"});
        for (int i = 0; i < 10; ++i)
            data->add(Span{SpanKind::forward, 0, -1, 0, MicrobatchIndex(i), 0, i * 0.01, i * 0.01 + 0.005, 0}, 0, 0, i);
        data->add(Span{SpanKind::backward, 0, -1, 0, 10, 0, 0.1, 9, 0}, 0, 0, 10);
        data->finish();
        const Seen seen = look(*data, 0, 10, 1);
        QCOMPARE(seen.exact, std::size_t{1});
        QCOMPARE(seen.folded, std::size_t{10});
    }

    void spans_may_come_in_any_order() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a"});
        for (int i : {5, 1, 3})
            data->add(Span{SpanKind::forward, 0, -1, 0, MicrobatchIndex(i), 0, i * 1.0, i + 0.5, 0}, 0, 0, i);
        data->finish();
        for (int i : {4, 0, 2})
            data->add(Span{SpanKind::forward, 0, -1, 0, MicrobatchIndex(i), 0, i * 1.0, i + 0.5, 0}, 0, 0, i);
        data->finish();
        for (int i = 0; i < 6; ++i) QCOMPARE(data->lanes()[0].work[static_cast<std::size_t>(i)].row, std::int64_t{i});
        QCOMPARE(data->lanes()[0].worked_before(data->lanes()[0].work.size()).first, 3.0);
        QCOMPARE(data->work_at(0, 3.2)->row, std::int64_t{3});
        QVERIFY(data->work_at(0, 3.7) == nullptr);
    }

    /// A run that was read in three stretches looks as if it had been read at once.
    void parts_are_one_timeline() {
        TimelineData whole;
        std::vector<std::shared_ptr<TimelineData>> parts;
        whole.set_lanes({"a", "b"});
        for (int iteration = 0; iteration < 3; ++iteration) {
            parts.push_back(std::make_shared<TimelineData>());
            parts.back()->set_lanes({"a", "b"});
            for (auto* data : {&whole, parts.back().get()}) {
                std::int64_t row = 10 * iteration;
                for (int i = 0; i < 3; ++i) {
                    data->add(Span{SpanKind::forward, 0, -1, 0, MicrobatchIndex(i), 0, 2.0 * i, 2 * i + 1.0, 0},
                              iteration, 10 * iteration, row++);
                    data->add(
                        Span{SpanKind::transfer_forward, 0, 1, 0, MicrobatchIndex(i), 0, 2 * i + 1.0, 2 * i + 3.0, 0},
                        iteration, 10 * iteration, row++);
                }
                data->add(IdleGap{0, IdleCause::link, 1, 2}, 10 * iteration);
                data->finish();
            }
        }
        auto joined = std::make_shared<TimelineData>(*parts[2]);
        joined->set_parts({parts[0], parts[1]});
        QCOMPARE(joined->span_count(), whole.span_count());
        QCOMPARE(joined->extent_s(), whole.extent_s());
        QCOMPARE(joined->work_count(0), std::size_t{9});
        for (std::size_t i = 0; i < 9; ++i) QCOMPARE(joined->work(0, i).row, whole.work(0, i).row);
        for (const double time : {0.5, 1.5, 4.5, 10.5, 11.5, 13.5, 24.5, 29.0}) {
            const auto row = [](const LaneSpan* span) { return span != nullptr ? span->row : -1; };
            QCOMPARE(row(joined->work_at(0, time)), row(whole.work_at(0, time)));
            QCOMPARE(row(joined->transfer_at(0, time)), row(whole.transfer_at(0, time)));
            QCOMPARE(joined->gap_at(0, time) != nullptr, whole.gap_at(0, time) != nullptr);
        }
        for (const auto& [begin, end] : {std::pair{0.0, 40.0}, {9.0, 12.5}, {20.0, 21.0}}) {
            QCOMPARE(look(*joined, begin, end, 0.1).exact, look(whole, begin, end, 0.1).exact);
            const auto a = joined->statistics(0, 1, begin, end), b = whole.statistics(0, 1, begin, end);
            QCOMPARE(a.busy_s, b.busy_s);
            QCOMPARE(a.transfers, b.transfers);
            QCOMPARE(a.seconds, b.seconds);
            QVERIFY(a.idle_s == b.idle_s);
        }
        for (const bool forth : {true, false}) {
            auto a = joined->find(forth ? 0 : 24), b = whole.find(forth ? 0 : 24);
            for (int i = 0; i < 10; ++i) {
                QCOMPARE(a.span != nullptr, b.span != nullptr);
                if (a.span == nullptr) break;
                QCOMPARE(a.span->row, b.span->row);
                a = joined->neighbour_in_lane(a, forth ? 1 : -1), b = whole.neighbour_in_lane(b, forth ? 1 : -1);
            }
        }
        const auto hop = joined->neighbour_hop(joined->find(12), +1);
        QCOMPARE(hop.span->row, std::int64_t{13});
    }

    void hops_follow_the_microbatch() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b"});
        data->add(Span{SpanKind::forward, 0, -1, 0, 7, 0, 0, 1, 0}, 0, 0, 1);
        data->add(Span{SpanKind::transfer_forward, 0, 1, 0, 7, 1, 1, 2, 8}, 0, 0, 2);
        data->add(Span{SpanKind::forward, 1, -1, 1, 7, 2, 2, 3, 0}, 0, 0, 3);
        data->add(Span{SpanKind::forward, 1, -1, 1, 8, 2, 3, 4, 0}, 0, 0, 4);
        data->finish();
        auto place = data->find(1);
        for (std::int64_t row : {2, 3}) {
            place = data->neighbour_hop(place, +1);
            QVERIFY(place.span != nullptr);
            QCOMPARE(place.span->row, row);
        }
        QVERIFY(data->neighbour_hop(place, +1).span == nullptr);
        QCOMPARE(data->neighbour_in_lane(place, +1).span->row, std::int64_t{4});
    }

    void an_area_sums_up() {
        const auto data = regular(3, 10, 1);
        const auto sum = data->statistics(0, 1, 0.5, 2.5);
        QCOMPARE(sum.seconds, 4.0);
        QCOMPARE(sum.busy_s, 2 * (0.5 + 0.5));
        QCOMPARE(sum.idle_s[static_cast<std::size_t>(IdleCause::activation)], 2 * 1.0);
    }

    void it_is_drawn_clicked_and_walked() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(800, 200);
        const auto data = regular(2, 4, 1);
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const QImage picture = view.grab().toImage();
        const QColor forward = theme().stage(0), found = picture.pixelColor(view.place_of(0.25, 0).toPoint());
        QCOMPARE(found, forward);
        QVERIFY(picture.pixelColor(view.place_of(2.25, 0).toPoint()) != forward);  // backward is a step darker
        QSignalSpy spy(&view, &TimelineView::selected_changed);
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.place_of(2.5, 1).toPoint());
        QTRY_VERIFY(view.settled() && spy.count() > 0);
        QVERIFY(view.selected().span != nullptr);
        QCOMPARE(view.selected().lane, 1);
        QCOMPARE(view.selected().span->start_s, 2.0);
        QTest::keyClick(&view, Qt::Key_Period);
        QCOMPARE(view.selected().span->start_s, 4.0);
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.place_of(1.5, 0).toPoint());
        QTRY_VERIFY(view.selected_gap().has_value());
        QTest::keyClick(&view, Qt::Key_Escape);
        QVERIFY(!view.selected_gap());
        const double width = zoom.end() - zoom.begin();
        QTest::keyClick(&view, Qt::Key_W);
        QVERIFY(zoom.end() - zoom.begin() < width);
    }

    void a_reduction_has_a_hue_and_says_what_it_carries() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(800, 200);
        const auto data = with_reduction();
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const auto on_line = [&](double seconds, int lane) {
            return QPointF(view.place_of(seconds, lane).x(),
                           view.place_of(0, lane).y() - lane_height * 0.6 +
                               transfer_row(SpanKind::transfer_reduction, lane_height));
        };
        QCOMPARE(view.grab().toImage().pixelColor(on_line(13, 1).toPoint()), theme().reduction);
        const auto card = [&](double seconds, int lane) {
            return view.words_at(on_line(seconds, lane)).join('\n').replace(QChar(0x2009), ' ');
        };
        for (const char* words : {"Reduction of stage 1, b to c", "piece 1 of 1, 100 % of the gradient, by a tree",
                                  "the part of b", "iteration 1", "12.0 B", "3.00 s, from"})
            QVERIFY2(card(13, 1).contains(words), qPrintable(card(13, 1)));
        QVERIFY2(card(16, 2).contains("the result, on its way back: the sum of b, c"), qPrintable(card(16, 2)));
        QVERIFY2(card(16, 2).contains("500 ms in the line's queue"), qPrintable(card(16, 2)));
        QTest::mouseClick(&view, Qt::LeftButton, {}, on_line(16, 2).toPoint());
        QTRY_VERIFY(view.selected().span != nullptr);
        QCOMPARE(view.selected().span->kind, SpanKind::transfer_reduction);
        QCOMPARE(data->longest_reduction(0, 20).span, view.selected().span);  // its queue counts
        QCOMPARE(data->statistics(1, 1, 0, 20).bytes, 12.0);
        const auto first = describe_gap(*data->gap_at(2, 12), "c", *data);
        QVERIFY(first.contains("for what b sends") && first.contains(QString::fromUtf8("over Oregon → LA")));
        const auto second = describe_gap(*data->gap_at(1, 13), "b", *data);
        QVERIFY(second.contains("for what c sends") && second.contains("over uplink of c"));
        QSignalSpy spy(&view, &TimelineView::stage_activated);
        QTest::mouseClick(&view, Qt::LeftButton, {}, QPoint(16, qRound(view.place_of(0, 1).y())));
        QTRY_COMPARE(spy.count(), 1);
        QCOMPARE(spy.front().front().toInt(), 1);
    }

    void an_outage_lasts_over_iterations() {
        const auto data = with_losses();
        std::vector<Outage> seen;
        data->visit_outages(0, 0, 50, [&](const Outage& outage) { seen.push_back(outage); });
        QCOMPARE(seen.size(), std::size_t{1});
        QCOMPARE(seen[0].start_s, 14.0);
        QCOMPARE(seen[0].end_s, 32.0);
        QCOMPARE(seen[0].last_iteration, 2);
        QVERIFY(!data->outage_at(0, 13.9) && !data->outage_at(0, 32.0));
        QCOMPARE(data->outage_at(0, 31.9)->start_s, 14.0);
        QVERIFY2(data->outage_at(0, 21.0).has_value(), "between two iterations it is down as well");
        QCOMPARE(data->extent_s(), 42.0);
        QCOMPARE(data->span_count(), std::size_t{2});  // what was done; an outage is none of it
    }

    void a_card_says_what_a_loss_did() {
        const auto data = with_losses();
        const QString a = describe_outage(*data->outage_at(0, 20), 0, *data).join('\n').replace(QChar(0x2009), ' ');
        for (const char* words : {"a lost since 14.0 s, back at 32.0 s", "iteration 2", "Known 1.00 s later",
                                  "planned again in 250 ms", "5 operations run again", "2 gradients lost"})
            QVERIFY2(a.contains(words), qPrintable(a));
        const QString b = describe_outage(*data->outage_at(1, 40), 1, *data).join('\n').replace(QChar(0x2009), ' ');
        for (const char* words : {"b lost since 20.5 s, not back yet", "The iteration was begun again"})
            QVERIFY2(b.contains(words), qPrintable(b));
        QVERIFY2(!b.contains("operations"), qPrintable(b));
        QVERIFY2(a.contains("fetched again in 125 ms") && !b.contains("fetched"), qPrintable(a + b));
        // Ranks met anew: in the same iteration, or before it was begun again.
        Loss loss = data->losses().front();
        loss.recovery_s = 6;
        const QString goes_on = describe_loss(loss).join('\n').replace(QChar(0x2009), ' ');
        for (const char* words : {"Training went on 6.00 s after", "5 operations run again", "2 gradients lost"})
            QVERIFY2(goes_on.contains(words), qPrintable(goes_on));
        loss.begun_again = true;
        const QString again = describe_loss(loss).join('\n').replace(QChar(0x2009), ' ');
        QVERIFY2(again.contains("The next iteration began 6.00 s after") && again.contains("begun again") &&
                     !again.contains("operations") && !again.contains("gradient"),
                 qPrintable(again));
        QCOMPARE(describe_gap(*data->gap_at(0, 19.5), "a", *data), describe_outage(*data->outage_at(0, 20), 0, *data));
    }

    void an_outage_is_red_and_says_so() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(800, 100);
        const auto data = with_losses();
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QImage picture = view.grab().toImage();
        const auto at = [&](double seconds, int lane) {
            return picture.pixelColor(view.place_of(seconds, lane).toPoint());
        };
        const auto has_full_red = [&](double from_s, double to_s) {
            for (double x = view.place_of(from_s, 0).x(); x < view.place_of(to_s, 0).x(); ++x)
                if (picture.pixelColor(static_cast<int>(x), static_cast<int>(view.place_of(0, 0).y())) == theme().bad)
                    return true;
            return false;
        };
        QVERIFY2(has_full_red(14.1, 14.9), "until it is known");
        QVERIFY2(!has_full_red(22, 32), "then pale");
        const auto is_red = [&](const QColor& c) { return c.red() > c.green() + 20 && c.red() > c.blue() + 15; };
        for (const double seconds : {22.0, 25.0, 31.0})
            QVERIFY2(is_red(at(seconds, 0)), qPrintable(at(seconds, 0).name()));
        QVERIFY(!is_red(at(13.5, 0)));
        QCOMPARE(at(2, 0), theme().stage(0));
        for (const double seconds : {14.5, 21.0})
            QCOMPARE(picture.pixelColor(static_cast<int>(view.place_of(seconds, 0).x()), int(axis_height) - 3),
                     theme().bad);  // marked on the axis
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.place_of(25, 0).toPoint());
        QTRY_VERIFY(view.selected_gap().has_value());
        QCOMPARE(view.selected_gap()->start_s, 14.0);
        QCOMPARE(view.selected_gap()->end_s, 32.0);
    }

    /// On the axis, with its words; and the words of time in which nothing ran say what happened then.
    void what_happened_stands_on_the_axis() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(1200, 100);
        const auto data = with_losses();
        const std::string long_words(100, 'x');
        data->set_lost_times({{40, 46, 4, LostTime::Why::waited}});
        data->set_events({{.iteration = 3, .kind = RunEvent::Kind::back, .network_s = 32, .what = "a back"},
                          {.iteration = 4,
                           .kind = RunEvent::Kind::lost,
                           .network_s = 41,
                           .lasted_s = 5,
                           .what = "the link b->a lost " + long_words}});
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const QPointF there(view.place_of(32, 0).x(), axis_height / 2);
        QVERIFY2(view.words_at(there).contains("a back"), qPrintable(view.words_at(there).join('\n')));
        QVERIFY(!view.words_at(there + QPointF(40, 0)).contains("a back"));
        QCOMPARE(view.grab().toImage().pixelColor(static_cast<int>(there.x()), int(axis_height) - 3), theme().good);
        const auto lost = describe_lost_time(data->lost_times()[0], *data);
        QCOMPARE(lost.mid(4), QStringList({"the link b->a lost", QString::fromStdString(long_words)}));
    }

    void time_that_is_lost_is_red_over_all_lanes() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(1200, 100);
        const auto data = with_losses();
        data->set_lost_times({{20, 22, 2, LostTime::Why::begun_again}, {32, 32.05, 3, LostTime::Why::waited}});
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const auto red_share = [&](double from_s, double to_s, int lane) {
            const QImage picture = view.grab().toImage();
            int red = 0, all = 0;
            for (double x = view.place_of(from_s, lane).x() + 1; x < view.place_of(to_s, lane).x() - 1; ++x, ++all) {
                const QColor c = picture.pixelColor(static_cast<int>(x), static_cast<int>(view.place_of(0, lane).y()));
                red += c.red() > c.green() + 15 && c.red() > c.blue() + 10;
            }
            return static_cast<double>(red) / std::max(all, 1);
        };
        QVERIFY2(red_share(20, 22, 1) == 1, "b was there, and did nothing that counts");
        QVERIFY2(red_share(10.5, 19.5, 1) == 0, "before it is as ever");
        QVERIFY(data->lost_at(21) != nullptr && data->lost_at(19.99) == nullptr && data->lost_at(22) == nullptr);
        const auto words = [](const LostTime& lost) {
            return describe_lost_time(lost).join('\n').replace(QChar(0x2009), ' ');
        };
        QCOMPARE(view.words_at(view.place_of(21, 1)), describe_lost_time(data->lost_times()[0], *data));
        QVERIFY2(view.words_at(view.place_of(21, 0)).front().startsWith("a lost since"), "who was not there says so");
        QVERIFY(view.words_at(view.place_of(15, 1)).isEmpty());
        QVERIFY2(words(data->lost_times()[0]).startsWith("Iteration 3 was begun again: lost 2.00 s\n"),
                 qPrintable(words(data->lost_times()[0])));
        const QString back = words({10, 55, 1, LostTime::Why::went_back, 3});
        QVERIFY2(back.contains("before iteration 2: lost 45.0 s") && back.contains("3 iterations are done again"),
                 qPrintable(back));
        zoom.show(20, 22);
        QVERIFY2(red_share(20.1, 20.5, 1) == 1, "and so from near");
    }

    void a_hundred_thousand_spans_are_quick() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(1580, 900);
        const auto data = regular(20, 5000, 0.01);
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.build_frame();
        double best = 1e9;
        for (int i = 0; i < 5; ++i) view.build_frame(), best = std::min(best, view.last_build_ms());
        qInfo("frame of %zu spans up to the draw call: %.2f ms", data->span_count(), best);
        QVERIFY(best < 5 * 16);
    }

    void spikes_survive_downsampling() {
        std::vector<CurvePoint> points;
        for (int i = 0; i < 100'000; ++i) points.push_back({static_cast<double>(i), std::sin(i * 0.001)});
        points[54'321].y = 100;
        points[77'777].y = -100;
        const auto kept = downsample(points, 500);
        QVERIFY(kept.size() <= 2000);
        QVERIFY(std::find(kept.begin(), kept.end(), points[54'321]) != kept.end());
        QVERIFY(std::find(kept.begin(), kept.end(), points[77'777]) != kept.end());
        QVERIFY(kept.back() == points.back());
        QVERIFY(std::is_sorted(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
    }
};

QTEST_MAIN(TestTimeline)
#include "test_timeline.moc"
