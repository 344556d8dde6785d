// SPDX-License-Identifier: GPL-3.0-or-later
// What the timeline offers to find one's way: groups, causes, the overview, bookmarks, cards.
#include <QtTest>

#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"
#include "tests/views/two_iterations.h"
#include "views/plan/plan_service.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/counters.h"
#include "views/timeline/difference_table.h"
#include "views/timeline/follow.h"
#include "views/timeline/legend.h"
#include "views/timeline/painter.h"

using namespace skippipe;

namespace {

/// The spans and gaps of an example of docs/semantics.md.
std::shared_ptr<const TimelineData> lanes_of_example(const examples::Example& example) {
    const Timeline timeline = evaluate(example.problem, example.plan);
    return lanes_of(example.problem, example.plan, timeline, explain_idle(example.problem, example.plan, timeline));
}

const LaneSpan* work_at(const TimelineData& data, int lane, double time) { return data.work_at(lane, time); }

/// n0 to n39, each busy from 0 s to 10 s.
std::shared_ptr<const TimelineData> forty_lanes() {
    auto data = std::make_shared<TimelineData>();
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back("n" + std::to_string(i));
    data->set_lanes(names);
    for (int i = 0; i < 40; ++i)
        data->add(Span{SpanKind::forward, NodeIndex(i), -1, 0, MicrobatchIndex(i), 0, 0, 10, 0}, 0, 0, i);
    data->finish();
    return data;
}

}  // namespace

class TestTimelineWays : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// What steps back does so whole: its bars are faint and have no numbers.
    void what_steps_back_has_no_numbers() {
        apply_theme(*qApp, false);
        ShownTimeline shown(two_iterations(), {800, 300});
        shown.zoom.show(0, 10);
        shown.view.set_marked({.nodes = {"a"}});
        QTRY_VERIFY(shown.view.settled());
        const QImage picture = shown.view.grab().toImage();
        const auto loudest = [&](int lane) {
            double most = 0;
            const int middle = static_cast<int>(shown.view.place_of(0, lane).y());
            for (int y = middle - 4; y < middle + 6; ++y)
                for (double s = 0.1; s < 1; s += 0.02)
                    most = std::max(most,
                                    contrast(picture.pixelColor(static_cast<int>(shown.view.place_of(s, lane).x()), y),
                                             theme().surface));
            return most;
        };
        const double pale = contrast(theme().text_2, theme().surface);
        QVERIFY2(loudest(1) < pale / 2, qPrintable(QString::number(loudest(1))));
    }

    /// A lane's badge is of the plan in force at the moment that is shown, or at the left edge; the iteration says what
    /// changed.
    void badges_are_those_of_the_plan_in_force() {
        auto data = two_iterations();
        data->set_stage(0, 0);
        data->set_later_plans({{11, {1, -1}}});
        QCOMPARE(data->stage_at(0, 10.9), 0);
        QCOMPARE(data->stage_at(0, 11), 1);
        QCOMPARE(data->stage_at(1, 30), -1);
        QCOMPARE(data->last_stage_at(1, 30), 1);
        QCOMPARE(data->last_stage_at(0, 30), 1);
        ShownTimeline shown(data, {800, 300});
        const auto badge = [&](int lane) {
            const auto picture = shown.view.grab().toImage();
            return picture.pixelColor(10, static_cast<int>(shown.view.place_of(0, lane).y()));
        };
        const QColor first = badge(0), second = badge(1);
        QCOMPARE(first, theme().stage(0));
        QCOMPARE(second, theme().stage(1));
        shown.view.set_moment(15);
        QCOMPARE(badge(0), theme().stage(1));
        QVERIFY(badge(1) != second);
        shown.view.set_moment(5);
        QCOMPARE(badge(1), second);
        const QString second_iteration = plain(describe_iteration({1, 21, 10}, *data));
        QVERIFY2(second_iteration.contains(QString::fromUtf8("New plan, stages: a 0 → 1, b 1 → none")),
                 qPrintable(second_iteration));
        QVERIFY(!plain(describe_iteration({0, 10, 10}, *data)).contains("New plan"));
    }

    void lanes_stand_in_groups() {
        const auto groups = group_by_stage({2, 0, -1, 0});
        QCOMPARE(groups.size(), std::size_t{3});
        QCOMPARE(groups[0].name, std::string("Stage 0"));
        QCOMPARE(groups[0].lanes, (std::vector<int>{1, 3}));
        QCOMPARE(groups[2].name, std::string("Others"));
        QCOMPARE(group_lanes({"Tokyo", "", "Oslo", "Tokyo"}).front().lanes, (std::vector<int>{0, 3}));

        const LaneLayout open(4, groups, {});
        QCOMPARE(open.count(), 7);  // three heads
        QCOMPARE(open.row_of(1), 1);
        QCOMPARE(open.row_of(3), 2);
        QVERIFY(open.rows()[0].is_head());
        const LaneLayout closed(4, groups, {"Stage 0"});
        QCOMPARE(closed.count(), 5);
        QCOMPARE(closed.row_of(3), 0);
        QVERIFY(closed.is_collapsed(0) && !closed.is_collapsed(1));
        QCOMPARE(closed.lanes_between(0, 2), (std::vector<int>{1, 3, 0}));
        QCOMPARE(open.lanes_between(0, 2), (std::vector<int>{1, 3}));
        const LaneLayout pinned(4, groups, {"Stage 0"}, {3});
        QCOMPARE(pinned.row_of(3), 0);
        QCOMPARE(pinned.lanes_between(0, 1), (std::vector<int>{3, 1}));
        QCOMPARE(LaneLayout(3, {}, {}).row_of(2), 2);
    }

    /// Collision, from semantics.md: A: F0 2-3, F1 3-4, B0 5.5-7.5, B1 7.5-9.5; D: F0 0-1, F1 1-2, L0 4-4.5.
    void what_was_waited_for_is_found() {
        const auto data = lanes_of_example(examples::collision());
        const LaneSpan* forward = work_at(*data, 1, 2.5);
        QVERIFY(forward != nullptr && forward->microbatch == 0);
        const auto transfer = waited_for(*data, {1, forward});
        QVERIFY(transfer.span != nullptr);
        QCOMPARE(transfer.span->kind, SpanKind::transfer_forward);
        QCOMPARE(transfer.lane, 0);
        const auto source = waited_for(*data, transfer);
        QCOMPARE(source.span, work_at(*data, 0, 0.5));
        QVERIFY2(waited_for(*data, source).span == nullptr, "the first operation waited for nobody");
        QCOMPARE(way_of(*data, source).size(), std::size_t{9});  // F T F T L T B T B
        // A idles from 4 to 5.5 for the gradient of microbatch 0, whose loss D ran from 4 to 4.5.
        const LaneGap* gap = data->gap_at(1, 4.75);
        QVERIFY(gap != nullptr);
        QCOMPARE(waited_for(*data, 1, *data->gap_at(1, 5.25)).span->kind, SpanKind::transfer_backward);
        QCOMPARE(waited_for(*data, 1, *data->gap_at(1, 4.25)).span, work_at(*data, 0, 4.25));
        QCOMPARE(ended_by(*data, 1, *data->gap_at(1, 5.25)).span, work_at(*data, 1, 6));
    }

    /// Memory, from semantics.md: M = 1 on A, so that F1 waits there until B0 ends at 7.5.
    void memory_names_who_holds_and_who_frees_it() {
        const auto data = lanes_of_example(examples::memory());
        const LaneGap* held = nullptr;
        data->visit_gaps(1, 0, 100, 0, [&](const LaneGap& gap) {
            if (gap.cause == IdleCause::memory && held == nullptr) held = &gap;
        });
        QVERIFY(held != nullptr);
        const auto holders = memory_holders(*data, 1, *held);
        QCOMPARE(holders.microbatches, std::vector<int>{0});
        QCOMPARE(holders.freed_by, 0);
        const QString words = plain(describe_gap(*held, data->lanes()[1].name, *data));
        QVERIFY2(words.contains("held back the forward of microbatch 1") && words.contains("held by microbatches 0") &&
                     words.contains("freed by the backward of microbatch 0"),
                 qPrintable(words));
    }

    void enter_goes_to_the_cause_and_backspace_returns() {
        ShownTimeline shown(lanes_of_example(examples::collision()), {800, 200});
        auto& [zoom, view, data] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.place_of(4.25, 1).toPoint());
        QTRY_VERIFY(view.selected_gap().has_value());
        QCOMPARE(view.cause().span, data->work_at(0, 4.25));
        const QImage with_arrow = view.grab().toImage();
        int accent = 0;
        for (int y = 0; y < with_arrow.height(); ++y)
            for (int x = 0; x < with_arrow.width(); ++x) accent += with_arrow.pixelColor(x, y) == theme().accent;
        QVERIFY2(accent > 40, qPrintable(QString::number(accent)));
        const LaneGap before = *view.selected_gap();
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(view.selected().span, data->work_at(0, 4.25));
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(view.selected().span->kind, SpanKind::transfer_forward);
        QTest::keyClick(&view, Qt::Key_Backspace);
        QCOMPARE(view.selected().span, data->work_at(0, 4.25));
        QTest::keyClick(&view, Qt::Key_Backspace);
        QVERIFY(view.selected_gap() && view.selected_gap()->start_s == before.start_s);
        QTest::keyClick(&view, Qt::Key_Backspace);
        QVERIFY2(view.selected_gap().has_value(), "there is nothing further back");
    }

    void the_overview_shows_all_and_moves_what_is_in_sight() {
        const auto data = two_iterations();
        const auto busy = data->busy_profile({0}, 0, 20, 10);
        QCOMPARE(busy.size(), std::size_t{10});
        QCOMPARE(busy[0], 0.5f);         // 1 s of 2
        QCOMPARE(busy[5], 0.0f + 0.5f);  // 11 to 12
        double sum = 0;
        for (const float share : data->busy_profile({0, 1}, 0, 21, 137)) sum += share * 21 / 137 * 2;
        QVERIFY2(std::abs(sum - (10 + 11)) < 1e-4, qPrintable(QString::number(sum)));

        TimeZoom zoom;
        TimelineView view(zoom);
        view.set_overview(true);
        view.resize(932, 220);
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        zoom.show(0, 4);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const auto x_of = [&](double time) {
            return static_cast<int>(names_width + (932 - names_width) * time / zoom.extent());
        };
        QTest::mouseClick(&view, Qt::LeftButton, {}, {x_of(15), 10});
        QTRY_VERIFY(view.settled());
        QVERIFY(std::abs((zoom.begin() + zoom.end()) / 2 - 15) < 0.05);
        QVERIFY(!zoom.follows());
        QTest::mousePress(&view, Qt::LeftButton, {}, {x_of(zoom.end()), 10});
        QTest::mouseMove(&view, {x_of(19), 10});
        QTest::mouseRelease(&view, Qt::LeftButton, {}, {x_of(19), 10});
        QTRY_VERIFY(view.settled());
        QVERIFY2(std::abs(zoom.end() - 19) < 0.1 && std::abs(zoom.begin() - 13) < 0.1,
                 qPrintable(QString("%1 to %2").arg(zoom.begin()).arg(zoom.end())));
        // The iterations' ruler under the axis: a click shows one.
        const TimeScale scale{zoom.begin(), zoom.end(), names_width, 932};
        QTest::mouseClick(&view, Qt::LeftButton, {},
                          {static_cast<int>(scale.x(15)), static_cast<int>(overview_height + axis_height + 4)});
        QTRY_VERIFY(view.settled());
        QVERIFY(std::abs(zoom.begin() - 10.9) < 1e-9 && std::abs(zoom.end() - 21.1) < 1e-9);
    }

    void lost_time_is_selected_and_explained() {
        ShownTimeline shown(two_iterations(), {932, 220});
        auto& [zoom, view, data] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.place_of(10.5, 0).toPoint());
        QTRY_VERIFY(view.selected_lost().has_value());
        QCOMPARE(view.selected_lane(), -1);
        const QString words = plain(describe_lost_time(*view.selected_lost(), *data));
        for (const char* part :
             {"begun again: lost 1.00 s", "1 node lost", "Known 750 ms later, planned again in 500 ms"})
            QVERIFY2(words.contains(part), qPrintable(words));
        QTest::keyClick(&view, Qt::Key_Escape);
        QVERIFY(!view.selected_lost());
    }

    /// A microbatch that is selected by its number has its arrows, in the iteration of the moment shown.
    void a_microbatch_has_its_way() {
        ShownTimeline shown(two_iterations(), {932, 220});
        auto& view = shown.view;
        QVERIFY(view.way().empty());
        const auto goes = [&](int iteration) {
            return !view.way().empty() &&
                   std::all_of(view.way().begin(), view.way().end(), [&](const TimelineData::Place& place) {
                       return place.span->microbatch == 2 && place.span->iteration == iteration;
                   });
        };
        view.set_moment(4);
        view.set_marked({.microbatch = 2});
        QVERIFY(goes(0));
        view.set_moment(15);
        QVERIFY(goes(1));
        view.set_marked({});
        QVERIFY(view.way().empty());
    }

    void groups_collapse_and_sum_up() {
        ShownTimeline shown(two_iterations(), {932, 260});
        auto& [zoom, view, data] = shown;
        view.set_groups(group_by_stage({0, 1}));
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const double apart = view.place_of(0, 1).y() - view.place_of(0, 0).y();
        QCOMPARE(apart, 2 * usual_lane_height);  // a head between them
        QSignalSpy changed(&view, &TimelineView::layout_changed);
        QTest::mouseClick(&view, Qt::LeftButton, {},
                          {20, static_cast<int>(view.place_of(0, 0).y() - usual_lane_height)});
        QTRY_COMPARE(changed.count(), 1);
        QCOMPARE(view.place_of(0, 1).y() - view.place_of(0, 0).y(), 2 * usual_lane_height);  // its head, b's head, b
        QCOMPARE(view.layout_of_lanes().count(), 3);
        // An area over the collapsed head sums up its lanes.
        const QPoint from = view.place_of(0.1, 0).toPoint(), to = view.place_of(9.9, 0).toPoint();
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        QTest::mouseMove(&view, to);
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QTRY_VERIFY(view.area().has_value() && view.settled());
        QCOMPARE(view.area()->lanes, std::vector<int>{0});
        QVERIFY(view.area()->statistics.busy_s > 4);
        view.collapse_all(true);
        QCOMPARE(view.layout_of_lanes().count(), 2);
        view.collapse_all(false);
        QCOMPARE(view.layout_of_lanes().count(), 4);
    }

    void bookmarks_are_set_stepped_through_and_removed() {
        ShownTimeline shown(two_iterations(), {932, 220});
        auto& [zoom, view, data] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QSignalSpy changed(&view, &TimelineView::bookmarks_changed);
        zoom.show(4, 6);
        QTest::keyClick(&view, Qt::Key_B);
        zoom.show(14, 16);
        QTest::keyClick(&view, Qt::Key_B);
        QCOMPARE(view.bookmarks(), (std::vector<double>{5, 15}));
        QTest::keyClick(&view, Qt::Key_PageUp);
        QCOMPARE((zoom.begin() + zoom.end()) / 2, 5.0);
        QTest::keyClick(&view, Qt::Key_PageDown);
        QCOMPARE((zoom.begin() + zoom.end()) / 2, 15.0);
        QTest::keyClick(&view, Qt::Key_B);
        QCOMPARE(view.bookmarks(), std::vector<double>{5});
        QCOMPARE(changed.count(), 3);
    }

    /// While a run grows, new data come at any moment of a drag.
    void an_area_outlives_new_data_while_it_is_dragged() {
        ShownTimeline shown(two_iterations(), {932, 220});
        auto& [zoom, view, data] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const QPoint from = view.place_of(2, 0).toPoint(), to = view.place_of(8, 1).toPoint();
        const auto begin_drag = [&] {
            QTest::mousePress(&view, Qt::LeftButton, {}, from);
            QTest::mouseMove(&view, (from + to) / 2);
            QTest::mouseMove(&view, to);
            return QTest::qWaitFor([&] { return view.area().has_value() && view.settled(); });
        };
        QVERIFY(begin_drag());
        const auto dragged = *view.area();
        view.set_data(two_iterations());
        QVERIFY2(view.area() && view.area()->end == dragged.end, "the same run: it stays");
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QTRY_VERIFY(view.area() && view.area()->statistics.spans > 0);
        const auto spans = view.area()->statistics.spans;
        view.set_data(two_iterations());
        QVERIFY2(view.area() && view.area()->statistics.spans == spans, "and afterwards, with its sums");
        // Esc gives it up, in the middle of a drag too.
        QVERIFY(begin_drag());
        QTest::keyClick(&view, Qt::Key_Escape);
        QVERIFY(!view.area());
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QTRY_VERIFY(view.settled());
        QVERIFY(!view.area());
        // So does another run.
        QVERIFY(begin_drag());
        auto other = two_iterations();
        other->set_key(8);
        view.set_data(other);
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QTRY_VERIFY(view.settled());
        QVERIFY(!view.area());
    }

    void another_run_has_bookmarks_of_its_own() {
        ShownTimeline shown(two_iterations(), {932, 220});
        shown.view.set_bookmarks({5, 15});
        shown.view.set_data(two_iterations());
        QCOMPARE(shown.view.bookmarks().size(), 2U);
        auto other = two_iterations();
        other->set_key(8);
        shown.view.set_data(other);
        QVERIFY(shown.view.bookmarks().empty());
    }

    /// A key moves what is seen under a mouse that rests: its card would explain what is not there any more.
    void a_card_goes_when_a_key_moves_the_selection() {
        ShownTimeline shown(lanes_of_example(examples::collision()), {800, 200});
        auto& [zoom, view, data] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const QPoint place = view.place_of(2.5, 1).toPoint();
        QTest::mouseClick(&view, Qt::LeftButton, {}, place);
        QTRY_VERIFY(view.selected().span != nullptr && view.settled());
        QVERIFY(!view.words_at(place).isEmpty());
        QTest::keyClick(&view, Qt::Key_BracketRight);
        QTRY_VERIFY(view.settled());
        const QImage resting = view.grab().toImage();
        QTest::mouseMove(&view, QPoint(20, 190));  // below the lanes, where there is no card
        QTRY_VERIFY(view.settled());
        QCOMPARE(view.grab().toImage(), resting);
    }

    /// Shared line, from semantics.md: D and E hand over to A at 1 s, each occupies the line for 3 s, latency 0.5 s.
    void a_line_has_queue_wire_and_latency() {
        const auto example = examples::shared_line(true);
        const auto data = lanes_of_example(example);
        const auto lines = std::make_shared<const LineRows>(line_rows(*data, example.problem));
        QCOMPARE(lines->names.size(), std::size_t{2});  // all into A, all out of A
        const auto into = lines->ways.at({0, 2});
        QCOMPARE(lines->ways.at({1, 2}), into);
        QCOMPARE(into.latency_s, 0.5);
        const auto parts_at = [&](double time) {
            const auto place = transfer_on_line(*data, *lines, into.row, time, 100);
            return place.span == nullptr ? std::vector<double>{} : [&] {
                const auto p = line_parts(*place.span, into.latency_s);
                return std::vector<double>{double(place.lane), p.queue_s, p.wire_s, p.latency_s, p.arrival_s};
            }();
        };
        QCOMPARE(parts_at(2), (std::vector<double>{0, 1, 1, 4, 4.5}));
        QCOMPARE(parts_at(4.25), (std::vector<double>{1, 1, 4, 7, 7.5}));  // E's is on the wire, D's arrives
        QCOMPARE(parts_at(7.25), (std::vector<double>{1, 1, 4, 7, 7.5}));
        QVERIFY(parts_at(9).empty());

        ShownTimeline shown(data, {932, 240});
        auto& view = shown.view;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const int lanes = view.layout_of_lanes().count();
        QTRY_VERIFY(view.settled());
        const QImage without = view.grab().toImage();
        view.set_lines(lines);
        QCOMPARE(view.layout_of_lanes().count(), lanes + 2);
        QTRY_VERIFY(view.settled());
        QVERIFY(view.grab().toImage() != without);
        const QPointF at(view.place_of(5, 0).x(), view.place_of(5, 2).y() + (1 + into.row) * usual_lane_height);
        const QString words = plain(view.words_at(at));
        QVERIFY2(words.contains("3.00 s in the queue, 3.00 s on the wire, 500 ms latency"), qPrintable(words));
        QTest::mouseClick(&view, Qt::LeftButton, {}, at.toPoint());
        QTRY_VERIFY(view.selected().span != nullptr);
        QCOMPARE(view.selected().lane, 1);
        QVERIFY(is_on_line(view.selected().span->kind));
        view.set_lines(nullptr);
        QCOMPARE(view.layout_of_lanes().count(), lanes);
    }

    /// All-reduce, from semantics.md: stage 1 on A, B, C; 12 bytes over 4 bytes/s, but 2 on B to C.
    void a_charged_all_reduce_names_its_ring() {
        const auto example = examples::all_reduce();
        const Timeline timeline = evaluate(example.problem, example.plan);
        const auto idle = explain_idle(example.problem, example.plan, timeline);
        TimelineData data;
        data.set_lanes(example.problem.node_ids);
        for (int node = 1; node < 4; ++node) data.set_stage(node, 1);
        data.set_rings(
            std::make_shared<const std::vector<StageReduction>>(reductions_of(example.problem, example.plan)));
        for (const auto& gap : idle.gaps) data.add(gap, 0);
        data.finish();
        QString words;
        data.visit_gaps(1, 0, 100, 0, [&](const LaneGap& gap) {
            if (gap.cause == IdleCause::all_reduce) words = plain(describe_gap(gap, "A", data));
        });
        QVERIFY2(words.contains(QString::fromUtf8("ring A → B → C → A\nslowest B → C, ")), qPrintable(words));
        const auto* ring = data.ring_of(1);
        QVERIFY(ring != nullptr && words.contains(plain({duration(ring->edges[ring->slowest].seconds)})));
        QVERIFY(data.ring_of(0) == nullptr);
    }

    void gpus_have_a_counter_where_they_were_read() {
        auto data = two_iterations();
        data->set_gpu_use({{0, 10, {{{0}, 0.5F}, {{1}, 1.0F}}}});
        const auto both = counter_profile(*data, {0, 1}, 0, 20, 2);
        QCOMPARE(both[3], (std::vector<float>{0.75F, 0}));
        QCOMPARE(counter_profile(*data, {0}, 0, 10, 1)[3], std::vector<float>{0.5F});
        const auto height = [](std::shared_ptr<const TimelineData> shown) {
            TimeZoom zoom;
            TimelineView view(zoom);
            view.set_data(std::move(shown));
            const int before = view.height_for_all_lanes();
            view.set_counters(true);
            return view.height_for_all_lanes() - before;
        };
        QCOMPARE(height(data), int(4 * counter_height));
        QCOMPARE(height(two_iterations()), int(3 * counter_height));
    }

    void a_slower_node_is_found_against_the_plan() {
        const auto example = examples::collision();
        auto slower = example;
        slower.problem.seconds_per_sample_per_block[1] *= 1.5;
        const auto planned = lanes_of_example(example), done = lanes_of_example(slower);
        const Timeline timeline = evaluate(slower.problem, slower.plan);
        const IterationTime iteration{0, timeline.iteration_s, timeline.iteration_s};
        const auto differences = plan_differences(*planned, *done, iteration);
        QCOMPARE(differences.size(), done->span_count());
        for (const auto& one : differences)
            QVERIFY(std::abs(one.later_input_s + one.longer_wait_s + one.longer_s - one.later_s()) < 1e-6);
        QVERIFY2(std::is_sorted(differences.begin(), differences.end(),
                                [](const auto& a, const auto& b) { return std::abs(a.own_s()) > std::abs(b.own_s()); }),
                 "what adds most comes first");
        const auto backward = std::find_if(differences.begin(), differences.end(), [](const auto& one) {
            return one.lane == 1 && one.done.kind == SpanKind::backward && one.done.microbatch == 0;
        });
        QCOMPARE(backward->longer_s, 1.0);  // 3 s instead of 2
        QVERIFY2(difference_words(*backward).startsWith("took 1.00"), qPrintable(difference_words(*backward)));

        DifferenceTable table;
        table.show_iteration(*planned, *done, iteration);
        QVERIFY(table.table().rowCount() > 3);
        const QString slowest = QString(table.summary()).replace(QChar(0x2009), ' ');
        QVERIFY2(slowest.endsWith("on A: +3.00 s"), qPrintable(slowest));  // two forwards of 1 s, two backwards of 2 s
        QSignalSpy chosen(&table, &DifferenceTable::chosen);
        Q_EMIT table.findChild<QTableWidget*>()->cellClicked(0, 0);
        QCOMPARE(chosen.front().front().toLongLong(), qlonglong(differences.front().done.row));
        table.show_iteration(*planned, *planned, {0, example.iteration_s, example.iteration_s});
        QVERIFY2(table.summary().contains("went as planned"), qPrintable(table.summary()));
        table.show_iteration(*planned, *done, {5, 100, 10});
        QVERIFY2(table.summary().contains("not read yet"), qPrintable(table.summary()));
    }

    /// Lane a: F0 0-1, F1 2-3, F2 4-5, B3 6-7, B4 8-9 of each iteration; of lane b each 0.1 longer. Nobody frees 0
    /// to 2.
    void counters_add_up() {
        const auto data = two_iterations();
        const auto profile = counter_profile(*data, {0}, 0, 10, 10);
        const std::vector<float> held{1, 1, 2, 2, 3, 3, 3, 3, 3, 0};
        QCOMPARE(profile[0], held);
        const auto later = counter_profile(*data, {0}, 13, 15, 2);  // from within the second iteration
        QCOMPARE(later[0], (std::vector<float>{2, 2}));
        QCOMPARE(later[2], (std::vector<float>{1, 0}));
        const auto example = examples::collision();
        const auto lanes = lanes_of_example(example);  // A: F0 2-3, F1 3-4, B0 5.5-7.5, B1 7.5-9.5
        const auto both = counter_profile(*lanes, {1}, 0, 10, 20);
        QCOMPARE(both[0][3], 0.0F);
        QCOMPARE(both[0][5], 1.0F);
        QCOMPARE(both[0][14], 2.0F);
        QCOMPARE(both[0][15], 1.0F);
        QCOMPARE(both[0][18], 1.0F);
        QCOMPARE(both[0][19], 0.0F);
        TimelineData sent;
        sent.set_lanes({"a"});
        for (const double at : {1.0, 2.0}) {  // they overlap from 2 to 3
            Span span;
            span.kind = SpanKind::transfer_forward;
            span.node = span.to_node = 0;
            span.start_s = span.ready_s = at;
            span.end_s = at + 2;
            span.bytes = 100;
            sent.add(span, 0, 0, static_cast<std::int64_t>(at));
        }
        sent.finish();
        QCOMPARE(counter_profile(sent, {0}, 0, 5, 5)[1], (std::vector<float>{0, 50, 100, 50, 0}));
        QVERIFY(counter_profile(sent, {0}, 1, 1, 5)[1].empty());
    }

    void a_pinned_lane_stays_while_others_scroll() {
        ShownTimeline shown(forty_lanes(), {800, 300});
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.view.place_of(5, 3).toPoint());
        QTRY_COMPARE(shown.view.selected_lane(), 3);
        QTest::keyClick(&shown.view, Qt::Key_P);
        QCOMPARE(shown.view.pinned(), std::set<std::string>{"n3"});
        const double top = shown.view.place_of(5, 3).y(), first = shown.view.place_of(5, 0).y();
        QVERIFY(top < first);
        QTest::keyClick(&shown.view, Qt::Key_Down);
        QCOMPARE(shown.view.place_of(5, 3).y(), top);
        QVERIFY(shown.view.place_of(5, 0).y() < first);
        // What scrolled under it is not clicked there.
        QTest::keyClick(&shown.view, Qt::Key_Escape);
        QCOMPARE(shown.view.selected_lane(), -1);
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.view.place_of(5, 3).toPoint());
        QTRY_COMPARE(shown.view.selected_lane(), 3);
        QTest::keyClick(&shown.view, Qt::Key_P);
        QVERIFY(shown.view.pinned().empty());
    }

    /// What is drawn is said by a timeline of its own, drawn as all are: each kind of span, each cause of idling.
    void a_legend_is_drawn_as_timelines_are() {
        const auto data = legend_data();
        std::set<SpanKind> kinds;
        std::set<IdleCause> causes;
        for (const auto& lane : data->lanes()) {
            QVERIFY(!lane.name.empty());
            QCOMPARE(lane.work.size() + lane.transfers.size() + lane.gaps.size() + lane.down.size(), std::size_t{1});
            for (const auto& span : lane.work) kinds.insert(span.kind);
            for (const auto& span : lane.transfers) kinds.insert(span.kind);
            for (const auto& gap : lane.gaps) causes.insert(gap.cause);
        }
        QVERIFY(kinds.contains(SpanKind::backward) && kinds.contains(SpanKind::transfer_reduction));
        QCOMPARE(causes.size(), idle_causes - 1);  // a node that is down has a span
        QWidget window;
        auto* menu = legend_menu(&window);
        menu->popup({0, 0});
        auto* view = menu->findChild<TimelineView*>();
        QVERIFY(view != nullptr);
        QTRY_VERIFY(view->isVisible() && view->settled());
        QVERIFY2(view->height() >= view->height_for_all_lanes(), "all of it is seen");
        QVERIFY2(view->place_of(0.1, 0).x() > 200, "its words have room");
        const QImage drawn = view->grab().toImage();
        std::set<QRgb> colours;
        for (int lane = 0; lane < static_cast<int>(data->lanes().size()); ++lane)
            colours.insert(drawn.pixel(view->place_of(0.5, lane).toPoint()));
        QVERIFY2(colours.size() >= 5, qPrintable(QString::number(colours.size())));
        menu->close();
    }

    /// A handle at the right edge says that there are more lanes, and scrolls them.
    void the_handle_scrolls_the_lanes() {
        const LaneStack all{20, 10, 0, 10, 0}, more{20, 10, 50, 40, 0};
        QVERIFY2(all.handle(120).height == 0 && all.handle(121).height == 0, "all are seen");
        QCOMPARE(more.handle(220).height, 100.0);         // 20 of 40 lanes
        QCOMPARE(more.handle(220).top, 20 + 100 * 0.25);  // 50 of 200 pixels
        QCOMPARE(more.scroll_after(25, 220), 100.0);      // a quarter of its way
        QCOMPARE(more.scroll_after(1e6, 220), 200.0);
        ShownTimeline shown(forty_lanes(), {800, 300});
        auto& view = shown.view;
        QVERIFY(view.place_of(5, 39).y() > 300);
        const QPoint from(796, static_cast<int>(view.place_of(5, 0).y())), to(796, 299);
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        QTest::qWait(30);
        QTest::mouseMove(&view, (from + to) / 2);
        QTest::qWait(30);
        QTest::mouseMove(&view, to);
        QTRY_VERIFY2(view.place_of(5, 39).y() < 300, qPrintable(QString::number(view.place_of(5, 39).y())));
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QTest::qWait(30);
        QVERIFY(!view.area() && view.selected_lane() == -1);
    }

    void the_moment_is_dragged_on_the_axis() {
        ShownTimeline shown(two_iterations(), {800, 300});
        QSignalSpy moved(&shown.view, &TimelineView::moment_moved);
        const auto axis = [&](double seconds) {
            return QPoint(static_cast<int>(shown.view.place_of(seconds, 0).x()), 10);
        };
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, axis(5));
        QTest::qWait(50);
        QCOMPARE(moved.size(), 0);  // nobody shows a moment
        shown.view.set_moment(2.0);
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, axis(5));
        QTRY_COMPARE(moved.size(), 1);
        QVERIFY(std::abs(moved[0][0].toDouble() - 5) < 0.1);
        QVERIFY(!shown.view.area());
    }

    /// The handle of the moment strikes no time out: that one is left out while it is there.
    void the_moment_covers_no_time() {
        apply_theme(*qApp, false);
        ShownTimeline shown(two_iterations(), {800, 300});
        auto& view = shown.view;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const double second = (view.place_of(20, 0).x() - view.place_of(10, 0).x()) / 10;
        const auto inked = [&] {
            const QImage picture = view.grab().toImage();
            const double ratio = picture.devicePixelRatio();
            int count = 0;
            for (int x = 4; x < 12; ++x)  // where the time of 10 s begins
                for (int y = 4; y < axis_height - 6; ++y)
                    count += picture.pixelColor((QPointF(view.place_of(10, 0).x() + x, y) * ratio).toPoint()) !=
                             theme().surface_2;
            return count;
        };
        QTRY_VERIFY(view.settled());
        QVERIFY(inked() > 0);
        view.set_moment(10 + 20 / second);  // over its end
        QTRY_VERIFY(view.settled());
        QCOMPARE(inked(), 0);
        view.set_moment(14);
        QTRY_VERIFY(view.settled());
        QVERIFY(inked() > 0);
    }

    void a_card_never_covers_what_it_explains() {
        const Box room{0, 0, 800, 400};
        int fit = 0;
        for (double x = 0; x < 800; x += 37)
            for (double y = 0; y < 380; y += 23)
                for (double width : {3.0, 90.0, 500.0})
                    for (double height : {28.0, 120.0}) {
                        const Box about{x, y, std::min(x + width, 800.0), std::min(y + height, 400.0)};
                        const Box card = place_card(about, 260, 130, x + 12, room);
                        // What the arrow leads to is free as well, where there is room beside it.
                        const Box end{x - 30, about.y1 + 20, x + 30, about.y1 + 38};
                        const Box aside = place_card(about, 260, 130, x + 12, room, {end});
                        QVERIFY(!aside.meets(about) || card.meets(about));
                        if (about.y1 <= 264 || about.y0 >= 136)
                            QVERIFY(!aside.meets(end) || (end.x0 - room.x0 < 266 && room.x1 - end.x1 < 266));
                        QVERIFY(card.x0 >= 0 && card.x1 <= 800 && card.y0 >= 0 && card.y1 <= 400);
                        const bool can = about.y0 >= 136 || about.y1 <= 264 || about.x0 >= 266 || about.x1 <= 534;
                        if (!can) continue;
                        QVERIFY(!card.meets(about));
                        ++fit;
                    }
        QVERIFY(fit > 1000);
        // Of several that stay free none is covered where one place of the four is free of all.
        const Box about{300, 180, 360, 200}, below{0, 210, 800, 230}, right{370, 150, 800, 179};
        const Box card = place_card(about, 260, 130, 312, room, {below, right});
        QVERIFY(!card.meets(about) && !card.meets(below) && !card.meets(right));
    }

    /// What a wait under the mouse waited for stays in sight, with its lane where there is room for that.
    void a_card_leaves_the_lane_of_the_cause_free() {
        ShownTimeline shown(lanes_of_example(examples::collision()), {800, 400});
        auto& [zoom, view, data] = shown;
        view.set_lane_height(150);
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QVERIFY(data->gap_at(0, 3.5) != nullptr);
        QCOMPARE(waited_for(*data, 0, *data->gap_at(0, 3.5)).lane, 1);
        QTRY_VERIFY(view.settled());
        const QImage before = view.grab().toImage();
        const QPoint place = view.place_of(3.5, 0).toPoint();
        QVERIFY(!view.words_at(place).isEmpty());
        QTest::mouseMove(&view, place);
        QTRY_VERIFY(view.settled() && view.grab().toImage() != before);
        const QImage with_card = view.grab().toImage();
        const double ratio = before.devicePixelRatio();
        const int lower = static_cast<int>((view.place_of(3.5, 1).y() - 0.6 * 150 + 1) * ratio);
        const QRect lane(0, lower, before.width(), static_cast<int>(148 * ratio));
        QCOMPARE(with_card.copy(lane), before.copy(lane));
    }

    /// An area that is summed up is tinted and framed, and its stretch of time is marked on the axis; an edge out of
    /// sight is not drawn where sight ends.
    void an_area_is_seen_with_its_bounds() {
        apply_theme(*qApp, false);
        ShownTimeline shown(two_iterations(), {932, 220});
        auto& [zoom, view, data] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const QPoint from = view.place_of(2, 0).toPoint(), to = view.place_of(8, 1).toPoint();
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        QTest::mouseMove(&view, (from + to) / 2);
        QTest::mouseMove(&view, to);
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QTRY_VERIFY(view.area() && view.settled());
        const auto is_accent = [&](double seconds, double y) {
            const QColor there = view.grab().toImage().pixelColor(QPointF(view.place_of(seconds, 0).x(), y).toPoint() *
                                                                  view.devicePixelRatio());
            return there.name() == theme().accent.name();
        };
        const double above = view.place_of(0, 0).y() - 0.6 * usual_lane_height,
                     below = view.place_of(0, 1).y() + 0.4 * usual_lane_height;
        QVERIFY2(is_accent(5, above) && is_accent(5, below - 1), "its upper and lower bounds");
        QVERIFY2(is_accent(5, axis_height - 2) && !is_accent(12, axis_height - 2), "on the axis");
        zoom.show(4, 6);
        QTRY_VERIFY(view.settled());
        QVERIFY2(!is_accent(4, (above + below) / 2), "it began before");
        zoom.show(12, 20);
        QTRY_VERIFY(view.settled());
        QVERIFY(!is_accent(15, above) && !is_accent(15, axis_height - 2));
    }
};

QTEST_MAIN(TestTimelineWays)
#include "test_timeline_ways.moc"
