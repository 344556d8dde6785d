// SPDX-License-Identifier: GPL-3.0-or-later
// What is chosen in the Watch workspace stays chosen and in sight, stands out everywhere, and gives way to what is
// chosen next.
#include <QCheckBox>
#include <QSlider>
#include <QTableWidget>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"
#include "views/idle/idle_panel.h"
#include "views/timeline/cause_words.h"
#include "views/timeline/follow.h"
#include "views/window/link_details.h"

using namespace skippipe;

namespace {

/// The longest wait that waited for something, with its lane.
std::pair<int, LaneGap> longest_wait(const TimelineData& data, double begin_s, double end_s) {
    std::pair<int, LaneGap> longest{-1, {}};
    for (int lane = 0; lane < std::ssize(data.lanes()); ++lane)
        data.visit_gaps(lane, begin_s, end_s, 0, [&](const LaneGap& gap) {
            const bool longer = gap.end_s - gap.start_s > longest.second.end_s - longest.second.start_s;
            const bool is_in = gap.start_s >= begin_s && gap.end_s <= end_s;
            if (is_in && longer && waited_for(data, lane, gap).span != nullptr) longest = {lane, gap};
        });
    return longest;
}

/// A window that watches a run that goes on.
struct Live {
    Recorded recorded;
    Recorder recorder;
    RunId run;
    int done = 0;
    MainWindow window;

    explicit Live(const PlannerRegistry& planners)
        : recorded(planners),
          recorder(recorded.file),
          run(recorded.begin(recorder, recorded.experiment)),
          window(planners, recorded.file) {
        for (; done < 2; ++done) recorded.iterate(recorder, run, done);
        window.resize(1280, 800);
        window.show();
        window.show_workspace(MainWindow::watch);
        page().show_run(run);
    }
    WatchPage& page() { return window.watch_page(); }
    bool has_come() {
        const auto* data = page().timeline().data();
        return data != nullptr && !data->iterations().empty() && data->iterations().back().iteration + 1 == done;
    }
    bool come() {
        recorded.iterate(recorder, run, done++);
        return QTest::qWaitFor([&] { return has_come(); }, patient_ms);
    }
};

QPoint middle_of(const TimelineView& view, int lane, double start_s, double end_s) {
    return view.place_of((start_s + end_s) / 2, lane).toPoint();
}

}  // namespace

class TestWatchHolding : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// The map plays the newest iteration and the timeline follows it: a click ends both.
    void what_is_chosen_stays_while_a_run_goes_on() {
        Live live(planners_);
        auto& page = live.page();
        auto& timeline = page.timeline();
        QTRY_VERIFY_WITH_TIMEOUT(live.has_come() && page.replay().is_following(), patient_ms);
        auto* follow = page.findChild<QCheckBox*>();
        QVERIFY(follow->text() == "Follow" && follow->isChecked());
        const auto [begin_s, end_s] = timeline.in_sight();
        const auto [lane, gap] = longest_wait(*timeline.data(), begin_s, end_s);
        QVERIFY(lane >= 0);
        page.show_log();
        QTRY_VERIFY(timeline.settled());
        QTest::mouseClick(&timeline, Qt::LeftButton, {}, middle_of(timeline, lane, gap.start_s, gap.end_s));
        QTRY_VERIFY(timeline.selected_gap().has_value());
        QVERIFY2(!follow->isChecked() && !page.replay().is_following(), "it is looked at");
        QCOMPARE(page.findChild<QTabWidget*>("watch_details")->currentIndex(), 0);
        QVERIFY(live.come());
        QTRY_VERIFY(timeline.settled());
        QVERIFY(timeline.selected_gap() && timeline.selected_gap()->start_s == gap.start_s);
        QCOMPARE(timeline.in_sight(), std::pair(begin_s, end_s));
        for (const char* words : {"idles for", "Waited for"})
            QVERIFY2(selection_words(page).contains(words), qPrintable(selection_words(page)));
        timeline.setFocus();
        QTest::keyClick(&timeline, Qt::Key_Return);
        QVERIFY2(timeline.selected().span != nullptr, "Enter leads to what it waited for");
        QVERIFY(live.come());
        QVERIFY(timeline.selected().span != nullptr);
    }

    /// With the part of a reduction that was selected goes the stage that the map drew for it.
    void what_was_drawn_for_a_selection_goes_with_it() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto& timeline = page.timeline();
        const auto [lane, gap] = longest_wait(*timeline.data(), 0, recorded_iterations * recorded.length());
        timeline.go(Found{.lane = lane, .start_s = gap.start_s, .end_s = gap.end_s});
        Selection with_stage = window->selection().now();
        QCOMPARE(with_stage.nodes.size(), std::size_t{1});
        with_stage.stage = 0;
        window->selection().select(with_stage);
        QVERIFY(timeline.selected_gap().has_value());
        page.findChild<QSlider*>("replay")->setValue(1);
        QVERIFY(!timeline.selected_gap() && !window->selection().now().stage);
        QVERIFY2(!selection_words(page).contains("idles for"), qPrintable(selection_words(page)));
    }

    /// On the map whatever flows there, in the lanes by its transfers; the panel that tells of it does not lead to it.
    void a_selected_link_stands_out() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        const LinkKey key{"node-1", "node-2"};
        using Ways = std::vector<std::pair<int, int>>;
        const auto ways = ways_over({key}, recorded.experiment.topology, recorded.planned->problem);
        QCOMPARE(ways, (Ways{{0, 1}, {1, 0}}));
        QCOMPARE(ways_over({}, recorded.experiment.topology, recorded.planned->problem), Ways{});
        page.zoom().show_all();
        QTRY_VERIFY(page.timeline().settled());
        const QImage before = page.timeline().grab().toImage();
        window->selection().select({.links = {key}});
        QTRY_VERIFY(page.timeline().settled());
        QVERIFY2(page.timeline().grab().toImage() != before, "all else steps back");
        double link_z = 0, traffic_z = 0;
        for (const auto* item : page.network().scene_model().items()) {
            if (const auto* link = dynamic_cast<const LinkItem*>(item); link != nullptr && link->isSelected())
                link_z = link->zValue();
            if (dynamic_cast<const TrafficItem*>(item) != nullptr) traffic_z = item->zValue();
        }
        QVERIFY(link_z > traffic_z);
        const auto* label = page.findChild<QLabel*>("selected_span");
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("of the critical path"), patient_ms);
        QVERIFY2(!label->text().contains(QString::fromUtf8("href=\"link:node-1 ↔ node-2\"")),
                 qPrintable(label->text()));
    }

    /// An area takes the place of what was selected, and the causes are its.
    void an_area_replaces_the_selection() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto& timeline = page.timeline();
        page.zoom().show(0, recorded.length());
        const auto* title = page.idle().findChild<QLabel*>("why_idle");
        const auto& work = timeline.data()->work(1, 0);
        QTRY_VERIFY(timeline.settled());
        QTest::mouseClick(&timeline, Qt::LeftButton, {}, middle_of(timeline, 1, work.start_s, work.end_s));
        QTRY_VERIFY(timeline.selected().span != nullptr && window->selection().now().microbatch.has_value());
        QTest::mousePress(&timeline, Qt::LeftButton, {}, timeline.place_of(0, 0).toPoint() + QPoint(2, 0));
        QTest::mouseMove(&timeline, timeline.place_of(0.9 * recorded.length(), 1).toPoint());
        QTest::mouseRelease(&timeline, Qt::LeftButton, {}, timeline.place_of(0.9 * recorded.length(), 1).toPoint());
        QTRY_VERIFY(timeline.area().has_value());
        QTRY_VERIFY(selection_words(page).contains("Works"));
        QVERIFY(window->selection().now().empty() && timeline.selected().span == nullptr);
        QVERIFY2(timeline.cause().span == nullptr && timeline.way().empty(), "no arrows are left");
        QVERIFY2(!selection_words(page).contains("Waited for"), qPrintable(selection_words(page)));
        QVERIFY2(title->text().startsWith("Why 2 nodes idle") && title->text().endsWith("of the area"),
                 qPrintable(title->text()));
        QVERIFY2(page.findChild<QLabel*>("selected_span")->text().contains("data:image/png"), "hatched bars");
        timeline.setFocus();
        QTest::keyClick(&timeline, Qt::Key_Escape);
        QVERIFY2(title->text().endsWith("of the run"), qPrintable(title->text()));
    }

    /// A cause says what it means; a click finds its waits, of the node whose causes are shown, the next one nothing.
    void a_cause_leads_to_its_waits() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        const auto& table = page.idle().table();
        QVERIFY(table.rowCount() > 0);
        const auto click = [&] {
            QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualItemRect(table.item(0, 0)).center());
        };
        QVERIFY(!page.find_bar().isVisible());
        click();
        QVERIFY(page.find_bar().isVisible() && page.find_bar().found() != nullptr);
        const auto* found = page.find_bar().found();
        QVERIFY(!found->spans.empty() && found->query.causes.size() == 1);
        const QString tip = QTextDocumentFragment::fromHtml(table.item(0, 0)->toolTip()).toPlainText();
        QVERIFY2(tip.contains(cause_meaning(found->query.causes.front())), qPrintable(tip));
        QCOMPARE(table.selectionModel()->selectedRows().size(), 1);
        click();
        QVERIFY(!page.find_bar().isVisible() && table.selectionModel()->selectedRows().isEmpty());
        window->selection().select({.nodes = {"node-2"}});
        click();
        QVERIFY(page.find_bar().typed().endsWith(" node-2"));
        for (const auto& one : page.find_bar().found()->spans) QCOMPARE(one.lane, 1);
    }
};

QTEST_MAIN(TestWatchHolding)
#include "test_watch_holding.moc"
