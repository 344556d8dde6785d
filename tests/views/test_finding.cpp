// SPDX-License-Identifier: GPL-3.0-or-later
// Finding spans and waits by words: what fits, what it sums up to, and how it stands out.
#include <QLabel>
#include <QtTest>

#include "tests/views/two_iterations.h"
#include "views/theme/theme.h"
#include "views/timeline/find_bar.h"
#include "views/timeline/painter.h"

using namespace skippipe;

namespace {

/// A point within that lane's work, beside numbers.
QColor at(TimelineView& view, double time_s, int lane) {
    const QPoint there = view.place_of(time_s, lane).toPoint();
    return view.grab().toImage().pixelColor(there.x() + 9, there.y() + 6);
}

/// The same where nothing stands out.
QColor at_rest(double time_s, int lane) {
    ShownTimeline shown(two_iterations(), {932, 120});
    return at(shown.view, time_s, lane);
}

QColor faint_stage(int stage) { return QColor::fromRgb(mix(theme().surface, theme().stage(stage), faint).rgb()); }

}  // namespace

class TestFinding : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void queries_are_read_and_faults_named() {
        std::string fault;
        const auto query = read_query("backward m12 node-3 >100ms <2s stage 4 iteration 3", fault);
        QVERIFY(fault.empty());
        QCOMPARE(query.kinds.front(), SpanKind::backward);
        QCOMPARE(query.microbatch, std::optional<int>(12));
        QCOMPARE(query.stage, std::optional<int>(4));
        QCOMPARE(query.iteration, std::optional<int>(2));
        QCOMPARE(query.node, std::string("node-3"));
        QCOMPARE(query.least_s, 0.1);
        QCOMPARE(query.most_s, 2.0);
        QCOMPARE(read_query("memory link", fault).causes, (std::vector{IdleCause::memory, IdleCause::link}));
        QCOMPARE(read_query("idle", fault).causes.size(), idle_causes);
        const auto waits = read_query("n3 waiting", fault);
        QVERIFY(fault.empty() && waits.node == "n3" && waits.causes.size() == idle_causes);
        for (const char* words : {"waiting for the link", "link waiting", "waiting for a link"})
            QCOMPARE(read_query(words, fault).causes, std::vector{IdleCause::link});
        QCOMPARE(read_query("waiting its turn", fault).causes, std::vector{IdleCause::order});
        QCOMPARE(read_query("a", fault).node, std::string("a"));
        read_query("node-1 node-2", fault);
        QCOMPARE(fault, std::string("node-2"));
        read_query(">fast", fault);
        QCOMPARE(fault, std::string(">fast"));
        QVERIFY(read_query("", fault) == SpanQuery{} && fault.empty());
    }

    void what_is_found_is_summed_up() {
        const auto data = two_iterations();
        std::string fault;
        const auto find = [&](const char* words) { return find_spans(*data, read_query(words, fault)); };
        const auto forwards = find("forward");
        QCOMPARE(forwards.spans.size(), std::size_t{12});
        QVERIFY(std::is_sorted(forwards.spans.begin(), forwards.spans.end(),
                               [](const Found& a, const Found& b) { return a.start_s < b.start_s; }));
        QVERIFY(std::abs(forwards.total_s - 6 * (1 + 1.1)) < 1e-9);
        QVERIFY(std::abs(forwards.mean_s - 1.05) < 1e-9 && std::abs(forwards.least_s - 1) < 1e-9);
        QCOMPARE(forwards.bars.front() + forwards.bars.back(), std::size_t{12});
        QCOMPARE(find("m4").spans.size(), std::size_t{4});
        QCOMPARE(find("m4 iteration 2").spans.size(), std::size_t{2});
        QCOMPARE(find("stage 1 backward").spans.size(), std::size_t{4});
        QCOMPARE(find("a >1.05s").spans.size(), std::size_t{0});
        QCOMPARE(find(">1.05s").spans.size(), std::size_t{10});
        const auto waits = find("memory b");
        QCOMPARE(waits.spans.size(), std::size_t{1});
        QCOMPARE(waits.spans[0], (Found{1, 1.5, 2, -1}));
        QCOMPARE(find("memory iteration 2").spans.size(), std::size_t{0});
        QCOMPARE(find("reduction").median_s, 0.0);
    }

    void the_bar_steps_through_what_it_found() {
        TimeZoom zoom;
        QWidget window;
        auto* view = new TimelineView(zoom, false, &window);
        auto* bar = new FindBar(*view, &window);
        window.resize(900, 300);
        view->setGeometry(0, 40, 900, 260);
        bar->setGeometry(0, 0, 900, 40);
        const auto data = two_iterations();
        zoom.set_extent(data->extent_s());
        view->set_data(data);
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        bar->open();
        auto* line = bar->findChild<QLineEdit*>("find");
        QTest::keyClicks(line, "memory");
        QTRY_VERIFY(bar->found() != nullptr);
        QVERIFY2(bar->words().startsWith("2 found, "), qPrintable(bar->words()));
        QTest::keyClick(line, Qt::Key_Return);
        QVERIFY(view->selected_gap() && view->selected_lane() == 0);
        QVERIFY(bar->words().startsWith("1 of 2"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(view->selected_lane(), 1);
        QTest::keyClick(line, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(view->selected_lane(), 0);
        // A node's whole name finds the node, and its spans.
        QSignalSpy nodes(view, &TimelineView::lane_activated);
        const QString name = QString::fromStdString(data->lanes()[1].name);
        line->setText(name + " backward");
        bar->look();
        QCOMPARE(nodes.size(), 0);
        line->setText(name);
        bar->look();
        QCOMPARE(nodes.size(), 1);
        QCOMPARE(nodes[0][0].toInt(), 1);
        QVERIFY(!bar->found()->spans.empty());
        line->setText("m1 two three");
        bar->look();
        QVERIFY2(bar->words().contains("three"), qPrintable(bar->words()));
        QTest::keyClick(line, Qt::Key_Escape);
        QVERIFY(!bar->isVisible());
    }

    /// The first step goes to what is next to what one sees, not to the run's first; nothing is before its start.
    void finding_begins_with_what_is_in_sight() {
        ShownTimeline shown(two_iterations(), {932, 200});
        FindBar bar(shown.view);
        bar.resize(700, 40);
        bar.show();
        const auto steps_to = [&](double begin_s, double end_s, int by) {
            shown.zoom.show(begin_s, end_s);
            bar.look_for("forward a");
            bar.step(by);
            return shown.view.selected().span->start_s;
        };
        QCOMPARE(steps_to(10, 16, +1), 11.0);
        QCOMPARE(steps_to(10, 16, -1), 15.0);
        QCOMPARE(steps_to(16, 21, +1), 0.0);  // none is left: from the first one on
        QVERIFY2(shown.zoom.begin() == 0 && shown.zoom.end() == 5, "as wide as it was");
        QCOMPARE(steps_to(0, 1, -1), 0.0);
        const auto* words = bar.findChild<QLabel*>("found_words");
        bar.look_for({});
        QVERIFY2(words->toolTip().startsWith("A kind (backward), "), "whole where there is no room for it");
        bar.look_for("forward");
        const auto bars = bar.findChild<FoundHistogram*>();
        QVERIFY2(bars->width() > 16 * 6 + 40, "its ends are told");
    }

    /// All else is faint then: what is looked for is seen without stepping through it.
    void what_is_found_stands_out() {
        ShownTimeline shown(two_iterations(), {932, 120});
        TimelineView& view = shown.view;
        std::string fault;
        const auto find = [&](const char* words) {
            view.set_found(std::make_shared<FoundSpans>(find_spans(*shown.data, read_query(words, fault))));
        };
        const QColor own = at(view, 0.5, 1), waits = at(view, 1.75, 1);
        QCOMPARE(own, theme().stage(1));
        find("backward");
        QVERIFY(at(view, 0.5, 1) != own);
        QCOMPARE(at(view, 0.5, 1), faint_stage(1));
        QCOMPARE(at(view, 6.5, 1), at_rest(6.5, 1));
        QVERIFY(at(view, 1.75, 1) != waits);
        find("memory b");
        QVERIFY(at(view, 6.5, 1) != at_rest(6.5, 1));
        QCOMPARE(at(view, 1.75, 1), waits);
        // What is selected on the way through what was found leaves the rest of it as it is.
        find("a");
        Selection selected;
        selected.microbatch = 3;
        view.set_marked(selected);
        QCOMPARE(at(view, 0.5, 0), theme().stage(0));
        find("nothing-of-this-name");
        QCOMPARE(at(view, 0.5, 0), faint_stage(0));
        QCOMPARE(at(view, 6.5, 0), at_rest(6.5, 0));
    }

    void what_is_selected_stands_out() {
        ShownTimeline shown(two_iterations(), {932, 120});
        Selection selected;
        selected.stage = 1;
        shown.view.set_marked(selected);
        QCOMPARE(at(shown.view, 0.5, 1), theme().stage(1));
        QCOMPARE(at(shown.view, 0.5, 0), faint_stage(0));
        QVERIFY(at(shown.view, 1.75, 0) != at_rest(1.75, 0));  // what another stage waits for is no matter
        QCOMPARE(at(shown.view, 1.75, 1), at_rest(1.75, 1));
        selected.stage.reset();
        selected.microbatch = 1;
        shown.view.set_marked(selected);
        QCOMPARE(at(shown.view, 2.3, 1), theme().stage(1));
        QCOMPARE(at(shown.view, 0.5, 1), faint_stage(1));
        shown.view.set_marked({});
        QCOMPARE(at(shown.view, 0.5, 1), theme().stage(1));
    }

    /// Of a selected link its transfers stand out, and nothing else does; a node's whole name is that node alone.
    void what_goes_over_a_link_stands_out() {
        const auto data = two_iterations();
        SpanQuery query;
        query.ways = {{1, 0}, {0, 1}};
        const SpanFilter filter(*data, query);
        LaneSpan span;
        span.kind = SpanKind::transfer_backward;
        span.to_node = 1;
        QVERIFY(filter.fits(0, span) && !filter.fits(1, span));
        span.kind = SpanKind::forward;
        QVERIFY(!filter.fits(0, span));
        QVERIFY(!filter.concerns(0, *data->gap_at(0, 1.75)));
        ShownTimeline shown(data, {932, 120});
        shown.view.set_marked({.links = {{"a", "b"}}}, query.ways);
        QCOMPARE(at(shown.view, 0.5, 0), faint_stage(0));
        shown.view.set_marked({});
        QCOMPARE(at(shown.view, 0.5, 0), theme().stage(0));

        TimelineData named;
        named.set_lanes({"n1", "n10", "n2"});
        std::string fault;
        const SpanFilter whole(named, read_query("n1", fault)), part(named, read_query("n", fault));
        QVERIFY(whole.fits(0, span) && !whole.fits(1, span) && part.fits(1, span) && part.fits(2, span));
    }

    /// A selected node stands out with whom it waits for, one that hardly holds it up does not.
    void a_node_stands_out_with_whom_it_waits_for() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b", "c", "d"});
        for (int lane = 0; lane < 4; ++lane)
            data->add(Span{SpanKind::forward, NodeIndex(lane), -1, StageIndex(0), MicrobatchIndex(0), 0, 0, 2, 0}, 0, 0,
                      lane);
        const auto wait = [&](double begin_s, double end_s, IdleCause cause, int other) {
            IdleGap gap{NodeIndex(0), cause, begin_s, end_s, MicrobatchIndex(0)};
            gap.other = NodeIndex(other);
            data->add(gap, 0);
        };
        wait(2, 8, IdleCause::replica, 1);
        wait(8, 8.5, IdleCause::link, 2);
        wait(8.5, 10, IdleCause::fill_drain, 3);
        data->set_iterations({{0, 10, 10}});
        data->finish();
        QCOMPARE(with_awaited(*data, {0}, 0, 10), (std::vector{0, 1}));
        QCOMPARE(with_awaited(*data, {0}, 7.8, 10), (std::vector{0, 2}));
        QCOMPARE(with_awaited(*data, {3}, 0, 10), (std::vector{3}));
        QCOMPARE(with_awaited(*data, {0}, 0, 10, 7), (std::vector{0}));  // shorter waits do not count
        QCOMPARE(with_awaited(*data, std::vector<int>(13, 0), 0, 10), std::vector<int>(13, 0));
        ShownTimeline shown(data, {932, 220});
        Selection selected;
        selected.nodes = {"a"};
        shown.view.set_marked(selected);
        for (const int lane : {0, 1}) QCOMPARE(at(shown.view, 0.5, lane), theme().stage(0));
        for (const int lane : {2, 3}) QCOMPARE(at(shown.view, 0.5, lane), faint_stage(0));
        selected.nodes = {"a", "c"};
        shown.view.set_marked(selected);
        QCOMPARE(at(shown.view, 0.5, 2), theme().stage(0));
        shown.view.set_marked({});
        QCOMPARE(at(shown.view, 0.5, 3), theme().stage(0));
    }
};

QTEST_MAIN(TestFinding)
#include "test_finding.moc"
