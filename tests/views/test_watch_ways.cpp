// SPDX-License-Identifier: GPL-3.0-or-later
// Watching as people do, by mouse and keys: what is selected, marked and asked of runs, told of them, and what can be
// done with them.
#include <QComboBox>
#include <QContextMenuEvent>
#include <QMenu>
#include <QSlider>
#include <QSplitter>
#include <QTableWidget>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"
#include "views/idle/idle_panel.h"
#include "views/idle/what_helps.h"
#include "views/runs/failure_panel.h"
#include "views/runs/run_table.h"
#include "views/timeline/colours.h"
#include "views/timeline/painter.h"
#include "views/timeline/span_table.h"
#include "views/theme/empty_note.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

using namespace skippipe;

class TestWatchWays : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// Esc in the timeline, and an empty click in the network, leave nothing selected in any workspace.
    void nothing_stays_selected_anywhere() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        window->document().start_new(recorded.experiment);
        QTRY_VERIFY_WITH_TIMEOUT(window->plans().ready() != nullptr, patient_ms);
        auto& page = window->watch_page();
        auto& timeline = page.timeline();
        const auto way_in_design = [&] {
            for (auto* item : window->design_page().canvas().scene_model().items())
                if (auto* way = dynamic_cast<PathItem*>(item); way != nullptr && !way->boundingRect().isEmpty())
                    return true;
            return false;
        };
        const auto select = [&] {
            page.zoom().show_all();
            timeline.setFocus();
            QTRY_VERIFY(timeline.settled());
            const auto& work = timeline.data()->work(1, 0);
            QTest::mouseClick(&timeline, Qt::LeftButton, {},
                              timeline.place_of((work.start_s + work.end_s) / 2, 1).toPoint());
            QTRY_COMPARE(window->selection().now().nodes, std::set<std::string>{"node-2"});
            QVERIFY(window->selection().now().microbatch.has_value());
            QVERIFY(way_in_design());
        };
        // The way fills the map, be it a corner of the network, and with it goes everything back into sight.
        const auto sees_everything = [&] {
            const auto& map = page.network();
            return map.mapToScene(map.viewport()->rect()).boundingRect().contains(map.scene_model().things_box());
        };
        const double zoom = page.network().transform().m11();
        QVERIFY(sees_everything());
        select();
        const QRectF way = page.network().scene_model().way_box();
        QVERIFY(!way.isEmpty());
        QVERIFY(page.network().mapToScene(page.network().viewport()->rect()).boundingRect().contains(way.center()));
        const double way_zoom = page.network().transform().m11();
        auto* title = page.idle().findChild<QLabel*>();
        QVERIFY2(title->text().contains("node-2"), qPrintable(title->text()));
        QTest::keyClick(&timeline, Qt::Key_Escape);
        QVERIFY(window->selection().now().empty());
        QVERIFY(!way_in_design());
        QVERIFY2(title->text().contains("all nodes"), qPrintable(title->text()));
        QVERIFY(sees_everything());
        QCOMPARE(page.network().transform().m11(), zoom);
        QVERIFY(way_zoom > zoom);
        select();
        QTest::mouseClick(page.network().viewport(), Qt::LeftButton, {}, {3, 3});
        QVERIFY(window->selection().now().empty() && timeline.selected().span == nullptr);
        QVERIFY(!way_in_design());
    }

    /// A link that is selected says what went over it, and names of links in the answer lead to them.
    void a_link_is_told_and_found() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto& timeline = page.timeline();
        page.findChild<QAction*>("show_lines")->setChecked(true);
        QVERIFY(timeline.lines() != nullptr);
        window->selection().select({.links = {{"node-1", "node-2"}}});
        for (const char* words : {"node-1 \u2194 node-2", "To node-2", "transfers, ", "busy "})
            QVERIFY2(selection_words(page).contains(QString::fromUtf8(words)), qPrintable(selection_words(page)));
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("Would help"), patient_ms);
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("of the critical path"), patient_ms);
        QTRY_VERIFY(timeline.settled());
        // The name of its line's lane is lit, and leads to it.
        const auto& ends = timeline.lines()->ends;
        const auto line = std::find(ends.begin(), ends.end(), LinkKey{"node-1", "node-2"}) - ends.begin();
        QVERIFY(line < std::ssize(ends));
        const double tall = timeline.place_of(0, 1).y() - timeline.place_of(0, 0).y();
        const QPoint name(4, static_cast<int>(timeline.place_of(0, 2).y() + (1 + line) * tall));
        const QImage lit = timeline.grab().toImage();
        window->selection().clear();
        QTRY_VERIFY(timeline.settled());
        QVERIFY(timeline.grab().toImage().pixelColor(name) != lit.pixelColor(name));
        QTest::mouseClick(&timeline, Qt::LeftButton, {}, name);
        QTRY_COMPARE(window->selection().now().links, (std::set<LinkKey>{{"node-1", "node-2"}}));
        auto* label = page.findChild<QLabel*>("selected_span");
        window->selection().clear();
        Q_EMIT label->linkActivated(QString::fromUtf8("link:node-2 \u2194 node-3"));
        QCOMPARE(window->selection().now().links, (std::set<LinkKey>{{"node-2", "node-3"}}));
    }

    /// The sums of an area, the longest wait first, go with the next selection, wherever that is made.
    void an_area_goes_with_the_next_selection() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto& timeline = page.timeline();
        page.zoom().show_all();
        QTRY_VERIFY(timeline.settled());
        const auto drag_over = [&] {
            QTest::mousePress(&timeline, Qt::LeftButton, {}, timeline.place_of(0, 0).toPoint() + QPoint(2, 0));
            QTest::mouseMove(&timeline, timeline.place_of(2 * recorded.length(), 2).toPoint());
            QTest::mouseRelease(&timeline, Qt::LeftButton, {}, timeline.place_of(2 * recorded.length(), 2).toPoint());
            return QTest::qWaitFor([&] { return timeline.area().has_value(); });
        };
        // While it is held it is summed up already.
        QTest::mousePress(&timeline, Qt::LeftButton, {}, timeline.place_of(0, 0).toPoint() + QPoint(2, 0));
        QTest::mouseMove(&timeline, timeline.place_of(recorded.length(), 1).toPoint());
        QTRY_VERIFY(timeline.area().has_value());
        QTest::mouseMove(&timeline, timeline.place_of(2 * recorded.length(), 2).toPoint());
        const auto sums = [&] {
            const auto& area = *timeline.area();
            return timeline.data()->statistics(area.lanes, area.begin, area.end);
        };
        QTRY_VERIFY(timeline.area()->lanes.size() == 3);
        QTRY_COMPARE(timeline.area()->statistics.spans, sums().spans);
        QTRY_VERIFY2(
            selection_words(page).contains("Operations\n" + QString::number(timeline.area()->statistics.spans)),
            qPrintable(selection_words(page)));
        QVERIFY(sums().spans > 0);
        const auto held = timeline.area()->statistics;
        QTest::mouseRelease(&timeline, Qt::LeftButton, {}, timeline.place_of(2 * recorded.length(), 2).toPoint());
        QTRY_VERIFY(timeline.settled());
        QCOMPARE(held.spans, timeline.area()->statistics.spans);
        QVERIFY(drag_over());
        QTRY_VERIFY2(selection_words(page).contains("Works"), qPrintable(selection_words(page)));
        const auto rows = area_details(*timeline.area()).rows;
        std::vector<double> shares;
        for (const auto& row : rows)
            if (row.share >= 0) shares.push_back(row.share);
        QVERIFY(shares.size() > 2 && std::is_sorted(shares.begin() + 1, shares.end(), std::greater<>()));
        QCOMPARE(*std::max_element(shares.begin(), shares.end()), 1.0);
        window->selection().select({.nodes = {"node-3"}});
        QVERIFY(!timeline.area());
        QVERIFY2(selection_words(page).contains("Serves"), qPrintable(selection_words(page)));
        QVERIFY(drag_over());
        window->selection().select({.stage = 1});
        QVERIFY(!timeline.area());
    }

    /// In a large window what the lanes do not need is given to what stands above them, unless somebody drew the edge.
    void a_large_window_is_used() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment), {1280, 800});
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto* rows = page.findChild<QSplitter*>("watch_rows");
        const auto upper = [&] { return rows->sizes().front(); };
        QCOMPARE(page.timeline().height_of_lane(), fit_lane_height);
        const auto all = [&] { return rows->sizes().front() + rows->sizes().back(); };
        QTRY_VERIFY2(upper() > 320, qPrintable(QString::number(upper())));  // three lanes need little
        window->resize(1280, 1600);
        QTRY_VERIFY2(std::abs(upper() - all() / 2) < 4 && all() > 1400, qPrintable(QString::number(upper())));
        const auto* tabs = page.findChild<QTabWidget*>("idle_tabs");
        const auto* by_stage = page.findChild<QTableWidget*>("idle_by_stage");
        QVERIFY(by_stage != nullptr);
        QTRY_VERIFY2(by_stage->isVisible() && page.idle().isVisible(), "causes, and below them stages");
        QVERIFY2(by_stage->height() <= by_stage->verticalHeader()->length() + 30, "its key stands below its last row");
        QTRY_VERIFY2(by_stage->viewport()->height() >= by_stage->verticalHeader()->length(),
                     qPrintable(QString("%1 of %2 pixels of all rows are seen")
                                    .arg(by_stage->viewport()->height())
                                    .arg(by_stage->verticalHeader()->length())));
        QVERIFY2(by_stage->rowHeight(0) > 28, qPrintable(QString::number(by_stage->rowHeight(0))));
        QVERIFY2(page.idle().table().rowHeight(0) > 28, qPrintable(QString::number(page.idle().table().rowHeight(0))));
        window->resize(1280, 800);
        QTRY_VERIFY2(upper() < 420, qPrintable(QString::number(upper())));
        QTRY_COMPARE(tabs->tabText(1), QString("By stage"));
        QCOMPARE(tabs->tabText(2), QString("By node"));
        // The panel beside the timeline grows with the window, within bounds.
        auto* across = page.findChild<QSplitter*>("watch_timeline");
        QCOMPARE(across->sizes().back(), 316);
        window->resize(2500, 800);
        QTRY_VERIFY2(across->sizes().back() > 440 && across->sizes().back() <= 480,
                     qPrintable(QString::number(across->sizes().back())));
        window->resize(1280, 800);
        QTRY_COMPARE(across->sizes().back(), 316);
        auto* edge = rows->handle(1);
        const QPoint from = edge->rect().center();
        QTest::mousePress(edge, Qt::LeftButton, {}, from);
        QTest::mouseMove(edge, from - QPoint(0, 60));
        QTest::mouseRelease(edge, Qt::LeftButton, {}, from - QPoint(0, 60));
        const int drawn = upper();
        window->resize(1280, 1600);
        QTRY_VERIFY(all() > 1400);
        QTest::qWait(50);
        QVERIFY2(upper() < drawn + 20, qPrintable(QString::number(upper())));
    }

    /// As many lanes are in sight as there are, while they can be read; of very many the others scroll.
    void lanes_fit_their_timeline() {
        TimeZoom zoom;
        TimelineView view(zoom);
        view.resize(900, 420);
        view.set_lane_height(fit_lane_height);
        const auto height_of = [&](int lanes) {
            const auto data = std::make_shared<TimelineData>();
            std::vector<std::string> names;
            for (int lane = 0; lane < lanes; ++lane) names.push_back("n" + std::to_string(lane));
            data->set_lanes(names);
            data->finish();
            view.set_data(data);
            return view.place_of(0, 1).y() - view.place_of(0, 0).y();
        };
        QCOMPARE(height_of(3), 56.0);
        QVERIFY2(height_of(20) * 20 <= view.height() && height_of(20) >= 18,
                 qPrintable(QString::number(height_of(20))));
        QCOMPARE(height_of(200), 13.0);
        view.set_lane_height(28);
        QCOMPARE(height_of(3), 28.0);
    }

    void lines_of_the_log_are_brief() {
        const auto line = [](const char* level) {
            return QString("2026-11-26T08:57:30.516+00:00 %1: validated: loss 5.57").arg(level);
        };
        QCOMPARE(read_log_line(line("info")), (LogLine{"08:57:30", "validated: loss 5.57"}));
        QCOMPARE(read_log_line(line("warning")), (LogLine{"08:57:30", "warning: validated: loss 5.57"}));
        QCOMPARE(read_log_line("  microbatch 3: a -> b"),
                 (LogLine{"", QString::fromUtf8("microbatch 3: a → b"), true}));
    }

    void the_timeline_stands_alone_by_a_key() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment), {1280, 800});
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        const int before = page.timeline().height();
        page.timeline().setFocus();
        QTest::keyClick(&page.timeline(), Qt::Key_T);
        QTRY_VERIFY(!page.network().isVisible() && page.timeline().height() > before + 200);
        auto* alone = page.findChild<QAction*>("timeline_alone");
        QVERIFY(alone != nullptr && alone->isChecked());
        alone->trigger();
        QTRY_VERIFY(page.network().isVisible() && page.timeline().height() < before + 60);
    }

    /// Of each run its own, after a restart too.
    void bookmarks_belong_to_a_run() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId a = recorded.add(recorder, recorded.experiment), b = recorded.add(recorder, recorded.experiment);
        const QString settings = recorded.folder.filePath("settings.ini");
        {
            const auto window = watching(planners_, recorded, a);
            QVERIFY(window != nullptr);
            window->remember_in(settings, {});
            auto& page = window->watch_page();
            page.zoom().show(1, 3);
            QTest::keyClick(&page.timeline(), Qt::Key_B);
            QCOMPARE(page.timeline().bookmarks(), std::vector<double>{2});
            page.show_run(b);
            QTRY_VERIFY_WITH_TIMEOUT(is_read(*window, b), patient_ms);
            QVERIFY(page.timeline().bookmarks().empty());
            page.show_run(a);
            QTRY_COMPARE_WITH_TIMEOUT(page.timeline().bookmarks(), std::vector<double>{2}, patient_ms);
        }
        const auto window = watching(planners_, recorded, a);
        QVERIFY(window != nullptr);
        window->remember_in(settings, {});
        QCOMPARE(window->watch_page().timeline().bookmarks(), std::vector<double>{2});
        QCOMPARE(RunBookmarks::from({"x", "7 now 1.5 2", "0 now 3", "8 now"}).words(), QStringList{"7 now 1.5 2"});
    }

    /// The newest iteration is played while the next one is awaited, until somebody looks at another moment; with
    /// reduced motion its loads stand there. Tables are of the iteration that the map shows.
    void a_run_that_goes_on_moves_on_its_map() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId over = recorded.add(recorder, recorded.experiment);
        Experiment fails = recorded.experiment;  // after all of this
        fails.failures.push_back({.kind = FailureKind::link_cut,
                                  .target = "node-1->node-2",
                                  .at_s = 1e6 * recorded.length(),
                                  .rejoin_after_s = recorded.length()});
        const RunId run = recorded.begin(recorder, fails);
        int done = 0;
        for (; done < 2; ++done) recorded.iterate(recorder, run, done);
        MainWindow window(planners_, recorded.file);
        window.resize(1280, 800);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        window.show_workspace(MainWindow::watch);
        auto& page = window.watch_page();
        page.show_run(run);
        auto& replay = page.replay();
        const double length = recorded.length();
        const auto& traffic = page.network().scene_model().traffic();
        bool moves = false;
        double furthest_s = 0;  // that was played
        connect(&replay, &ReplayBar::moved, this, [&] {
            moves = moves || !traffic.parcels.empty() || traffic.working() > 0;
            furthest_s = std::max(furthest_s, replay.moment_s());
        });
        QTRY_VERIFY_WITH_TIMEOUT(moves, patient_ms);
        QVERIFY2(page.zoom().follows(), "the timeline follows as it did");
        const auto come = [&] {
            recorded.iterate(recorder, run, done++);
            return QTest::qWaitFor([&] { return page.timeline().data()->iterations().back().iteration + 1 == done; },
                                   patient_ms);
        };
        QVERIFY(come());
        QTRY_VERIFY_WITH_TIMEOUT(furthest_s > (done - 1) * length, patient_ms);
        // Who takes the slider has it, also when the next one comes.
        auto* slider = page.findChild<QSlider*>("replay");
        slider->setValue(slider->maximum() / 2);
        QVERIFY(!replay.is_following());
        const double moment = replay.moment_s();
        QVERIFY(come());
        QVERIFY(!replay.is_following());
        QVERIFY(replay.moment_s() <= std::max(moment, page.zoom().begin()) + 1e-9);
        // At the newest again nothing moves where that is not wanted: loads are there, not the last instant.
        page.set_still(true);
        slider->setValue(slider->maximum());
        QVERIFY(traffic.is_mean && !replay.is_following());
        const auto words = [&] {
            QStringList all;
            for (const auto* label : replay.findChildren<QLabel*>()) all << label->text();
            return all.join('\n');
        };
        QVERIFY2(words().contains(QString("Iteration %1: nodes work").arg(done)), qPrintable(words()));
        page.set_still(false);
        page.zoom().set_follows(false);
        QVERIFY(!traffic.is_mean);
        page.zoom().set_follows(true);
        QVERIFY(replay.is_following());
        // What will befall the network has its room below it, and nothing moves as the run ends.
        QTRY_VERIFY_WITH_TIMEOUT(page.timeline().data() != nullptr, patient_ms);
        const auto* event = page.findChild<QLabel*>("replay_event");
        QVERIFY(event->isHidden() && event->sizePolicy().retainSizeWhenHidden());
        const auto height = page.network().height();
        recorder.finish(run, RunState::finished, {.iterations_done = done}, "{}");
        const auto has_ended = [&] { return window.feed().data(run)->info.state == RunState::finished; };
        QTRY_VERIFY_WITH_TIMEOUT(has_ended(), patient_ms);
        QCOMPARE(page.network().height(), height);
        page.show_run(over);
        QVERIFY(!replay.is_following());
        QTRY_VERIFY_WITH_TIMEOUT(page.timeline().data() != nullptr && is_read(window, over), patient_ms);
        QVERIFY2(!event->sizePolicy().retainSizeWhenHidden(), "nothing befell it");
        QTRY_VERIFY2(page.network().height() > height, "the map has that room");
        const auto* summary = page.findChild<QLabel*>("difference_summary");
        for (const int iteration : {1, 3}) {
            Q_EMIT page.timeline().moment_moved((iteration - 0.5) * length);
            QVERIFY2(summary->text().startsWith(QString("Iteration %1").arg(iteration)), qPrintable(summary->text()));
        }
    }

    /// A run that goes on has no empty line below its map where nothing is to befall it, until a node is told to fail.
    void a_run_without_failures_has_no_line_for_them() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.begin(recorder, recorded.experiment);
        recorded.iterate(recorder, run, 0);
        MainWindow window(planners_, recorded.file);
        window.show();
        window.show_workspace(MainWindow::watch);
        auto& page = window.watch_page();
        page.show_run(run);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().data(run) != nullptr && page.timeline().data() != nullptr, patient_ms);
        const auto* event = page.findChild<QLabel*>("replay_event");
        QVERIFY(event->isHidden() && !event->sizePolicy().retainSizeWhenHidden());
        page.fail_now("node-1", {});
        QVERIFY(event->sizePolicy().retainSizeWhenHidden());
    }

    /// What is selected may be out of sight: neither slider nor axis point at another moment, and the words say so.
    void a_moment_out_of_sight_has_no_marker() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        const auto& work = page.timeline().data()->work(1, 0);
        page.timeline().go({1, &work});
        const auto* slider = page.findChild<QSlider*>("replay");
        const auto words = [&] {
            QStringList all;
            for (const auto* label : page.replay().findChildren<QLabel*>()) all << label->text();
            return all.join('\n');
        };
        QVERIFY2(!slider->property("empty").toBool() && !words().contains("out of sight"), qPrintable(words()));
        page.zoom().show(2 * recorded.length(), 3 * recorded.length());
        QVERIFY2(slider->property("empty").toBool() && words().contains("out of sight"), qPrintable(words()));
        page.zoom().show_all();
        QVERIFY2(!slider->property("empty").toBool() && !words().contains("out of sight"), qPrintable(words()));
    }

    /// A lane has a menu: what it does has its key beside it.
    void a_lane_has_a_menu() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.add(recorder, recorded.experiment);
        const auto window = watching(planners_, recorded, run);
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto& timeline = page.timeline();
        page.zoom().show_all();
        QTRY_VERIFY(timeline.settled());
        const auto& span = timeline.data()->work(0, 0);
        const QPoint there = timeline.place_of((span.start_s + span.end_s) / 2, 0).toPoint();
        QContextMenuEvent asked(QContextMenuEvent::Mouse, there, timeline.mapToGlobal(there));
        QApplication::sendEvent(&timeline, &asked);
        QVERIFY(timeline.selected().span != nullptr && timeline.selected_lane() == 0);
        auto* menu = timeline.findChild<QMenu*>();
        QVERIFY(menu != nullptr);
        QAction *pin = nullptr, *alike = nullptr;
        QStringList entries;
        for (auto* action : menu->actions()) {
            entries << action->text();
            if (action->text().startsWith("Pin ")) pin = action;
            if (action->text().startsWith("Find all like it")) alike = action;
        }
        QVERIFY2(pin != nullptr && alike != nullptr && entries.contains("Group lanes"), qPrintable(entries.join(';')));
        QVERIFY(pin->text().endsWith("\tP"));
        for (const char* key : {"\tF", "\tHome", "\tB", "\t[", "\t]"})
            QVERIFY2(
                std::any_of(entries.begin(), entries.end(), [key](const QString& one) { return one.endsWith(key); }),
                key + 1);
        pin->trigger();
        QVERIFY(timeline.pinned().contains(timeline.data()->lanes()[0].name));
        alike->trigger();
        QVERIFY(page.find_bar().isVisible());
        QVERIFY(page.find_bar().found() != nullptr && !page.find_bar().found()->spans.empty());
        menu->close();
    }

    /// A run that is over opens where its nodes work, named in the bar; bars of causes are shares of the time; what a
    /// selected node has nothing to do with steps back, and its lane is tinted.
    void a_run_opens_at_work() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        Experiment placed = recorded.experiment;
        placed.topology.nodes[1].y += 150;  // no line is over another
        const RunId run = recorded.add(recorder, placed);
        const auto window = watching(planners_, recorded, run);
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        const auto& work = page.network().scene_model().traffic().work;
        QVERIFY(std::any_of(work.begin(), work.end(), [](const auto& one) { return one.has_value(); }));
        const double end_s = page.timeline().data()->extent_s();
        QVERIFY(page.findChild<ReplayBar*>()->moment_s() < end_s - 0.01 * recorded.length());
        QCOMPARE(window->bar().findChild<QLabel*>("subject")->text(), run_title(*window->feed().run(run)));
        const auto& table = page.idle().table();
        const double longest = table.item(0, 1)->data(Qt::UserRole).toDouble();
        const auto& shares = window->feed().data(run)->idle_share;
        const double most = *std::max_element(shares.begin(), shares.end());
        QVERIFY2(longest > most && longest < 1, "a part of a whole bar");
        const auto* scale = page.findChild<QLabel*>("cause_scale");
        QVERIFY(scale->isVisible());
        QCOMPARE(plain(scale->text()), QString::fromUtf8("bars 0–") + plain(whole_percent(most / longest)));
        const auto count = [](QWidget& where, const QColor& colour, int from = 0) {
            const QImage seen = where.grab().toImage();
            int found = 0;
            for (int y = 0; y < seen.height(); ++y)
                for (int x = from; x < seen.width(); ++x) found += seen.pixel(x, y) == colour.rgb();
            return found;
        };
        auto& network = *page.network().viewport();
        const QColor back = mix(theme().surface, theme().accent, 0.08),
                     tint = mix(theme().surface, theme().accent, 0.14);
        QVERIFY2(count(network, back) <= 3, "but for pixels that happen to be so");
        QCOMPARE(count(page.timeline(), tint), 0);
        window->selection().select({.nodes = {"node-1"}});
        QCoreApplication::processEvents();
        QVERIFY2(count(network, back) > 20, qPrintable(QString::number(count(network, back))));
        QTRY_VERIFY(count(page.timeline(), tint, page.timeline().width() / 2) > page.timeline().width());
    }

    /// What is selected in the timeline is marked in the tables of idle times, a node's stage as well; and a row
    /// selects.
    void tables_of_idle_times_follow_the_timeline() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto* tabs = page.findChild<QTabWidget*>("idle_tabs");
        auto* by_stage = page.findChild<QTableWidget*>("idle_by_stage");
        auto* by_node = tabs->widget(2)->findChild<QTableWidget*>();
        const auto marked = [](const QTableWidget* table) {
            const auto items = table->selectedItems();
            return items.isEmpty() ? QString{} : items.front()->text();
        };
        const auto& lane = page.timeline().data()->lanes()[1];
        page.timeline().choose_lane(1);
        QCOMPARE(marked(by_node), QString::fromStdString(lane.name));
        QCOMPARE(marked(by_stage), QString("Stage %1").arg(lane.stage));
        tabs->setCurrentIndex(2);
        const int row = by_node->row(by_node->findItems("node-3", Qt::MatchExactly).front());
        QTest::mouseClick(by_node->viewport(), Qt::LeftButton, {},
                          by_node->visualItemRect(by_node->item(row, 0)).center());
        QCOMPARE(window->selection().now().nodes, std::set<std::string>{"node-3"});
        window->selection().select({.stage = 0});
        QCOMPARE(marked(by_stage), QString("Stage 0"));
        window->selection().clear();
        QVERIFY(marked(by_stage).isEmpty() && marked(by_node).isEmpty());
    }

    /// A run is found by what its experiment is called; bars by colour say what the colours are; a node that is
    /// selected anywhere has its operations in the table.
    void runs_bars_and_tables_say_what_they_are() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.add(recorder, recorded.experiment);
        const auto window = watching(planners_, recorded, run);
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        bool listed = false;
        for (const auto* box : page.findChildren<QComboBox*>())
            listed = listed || box->currentText() == QString("Run %1, recorded, %2, finished")
                                                         .arg(run)
                                                         .arg(QString::fromStdString(recorded.planned->plan.planner));
        QVERIFY2(listed, "by its name and planner");
        const auto* by_node = page.findChild<QTabWidget*>("idle_tabs")->widget(2);
        const auto* legend = qobject_cast<const SplitTable*>(by_node);
        QVERIFY(legend != nullptr && legend->legend().words().startsWith("Works"));
        const auto idlest = split_nodes(window->feed().data(run)->node_idle_s, window->feed().data(run)->node_busy_s);
        double most = 0;
        for (const auto& one : idlest) most = std::max(most, one.idle_share());
        const QString finding = legend->findChild<QLabel*>("idles_most")->text();
        QVERIFY2(plain(finding).contains(plain("idles most, " + percent(most) + ": ")), qPrintable(finding));
        const auto sum =
            sum_of(split_nodes(window->feed().data(run)->node_idle_s, window->feed().data(run)->node_busy_s));
        const auto longest = std::max_element(sum.idle_s.begin(), sum.idle_s.end()) - sum.idle_s.begin();
        const auto cause = static_cast<IdleCause>(longest);
        QCOMPARE(legend->legend().entries()[1].words, short_cause_words(cause));
        for (const auto& entry : legend->legend().entries()) QVERIFY(!entry.picture.isNull());  // as the bars
        auto* table = page.findChild<QTableView*>("node_spans");
        page.findChild<QTabWidget*>("watch_details")->setCurrentIndex(1);
        QVERIFY2(!table->isVisible(), "an empty table says nothing");
        auto* note = page.findChild<QTabWidget*>("watch_details")->widget(1)->findChild<EmptyNote*>();
        note->button().click();
        const auto& chosen = window->selection().now().nodes;
        QCOMPARE(chosen.size(), std::size_t{1});
        QVERIFY2(finding.startsWith(QString::fromStdString(*chosen.begin())), "who idles most");
        window->selection().select({.nodes = {"node-2"}});
        QCOMPARE(legend->table().selectedItems().size(), qsizetype{3});  // cells of one row
        QCOMPARE(legend->table().selectedItems().front()->text(), QString("node-2"));
        QVERIFY(table->isVisible());
        QVERIFY2(table->model()->rowCount() > static_cast<int>(page.timeline().data()->work_count(1)), "waits too");
        // It begins where the timeline does.
        page.findChild<QTabWidget*>("watch_details")->setCurrentIndex(0);
        const auto& last = page.timeline().data()->iterations().back();
        page.zoom().show(last.begin_s(), last.end_s);
        page.findChild<QTabWidget*>("watch_details")->setCurrentIndex(1);
        const int top = table->rowAt(1);
        QVERIFY(top >= 0);
        // A wait may end with the iteration before.
        QVERIFY2(table->model()->index(top + 1, 0).data().toInt() == last.iteration + 1 ||
                     table->verticalScrollBar()->value() == table->verticalScrollBar()->maximum(),
                 qPrintable(QString::number(top)));
        QVERIFY(top > 0);
        // A click on a wait leads to it.
        auto* spans = qobject_cast<SpanTable*>(table->model());
        int wait = top;
        while (spans->gap(wait) == nullptr) ++wait;
        table->scrollTo(table->model()->index(wait, 1));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(wait, 1)).center());
        QVERIFY(page.timeline().selected_gap());
        QCOMPARE(page.timeline().selected_gap()->cause, spans->gap(wait)->cause);
        QVERIFY(page.timeline().selected_gap()->end_s <= spans->gap(wait)->end_s);
        // In a narrow panel all of it is whole.
        table->setFixedWidth(292);
        QTRY_COMPARE(table->horizontalScrollBar()->maximum(), 0);
        QCOMPARE(table->model()->index(0, 0).data().toString(), QString("1"));
        for (int c = 0; c < table->model()->columnCount(); ++c)
            QVERIFY(table->columnWidth(c) >
                    table->fontMetrics().horizontalAdvance(table->model()->index(top, c).data().toString()) + 8);
    }

    /// The network and the line below it tell what befell it then; nodes serve the stages that they had then.
    void a_moment_tells_losses_and_the_plan_of_then() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        Experiment cut = recorded.experiment;
        cut.failures.push_back({.kind = FailureKind::link_cut,
                                .target = "node-1->node-2",
                                .at_s = 0.5 * recorded.length(),
                                .rejoin_after_s = 0.25 * recorded.length()});
        const RunId run = recorded.begin(recorder, cut);
        Plan later = make_plan(recorded.experiment, *planners_.find("1f1b"), request_for(recorded.experiment))->plan;
        for (auto& path : later.paths) std::swap(path.nodes[1], path.nodes[2]);
        std::swap(later.stages[StageIndex(1)], later.stages[StageIndex(2)]);
        later.order = {};  // dispatch decides
        for (int i = 0; i < recorded_iterations; ++i) {
            if (i == 2) {
                recorder.plan(run, 2, to_json(later, recorded.planned->problem, nullptr).dump(), "for the test");
                recorder.metric(run, {0, 2, "nodes_lost", 1, 2.25 * recorded.length(), 1, 1});
                recorder.metric(run, {0, 2, "detection_s", 0.125, 2.25 * recorded.length(), 1, 1});
            }
            recorded.iterate(recorder, run, i);
        }
        recorder.finish(run, RunState::finished, {.iterations_done = recorded_iterations}, "{}");
        const auto window = watching(planners_, recorded, run);
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        page.zoom().show_all();
        const auto& planned = window->feed().data(run)->planned;
        QVERIFY(planned.size() == 2 && planned.at(0) && planned.at(2) && planned.at(0) != planned.at(2));
        QCOMPARE(planned_at(planned, 1), planned.at(0).get());
        QCOMPARE(planned_at(planned, 7), planned.at(2).get());
        QCOMPARE(planned_at({}, 7), nullptr);
        auto& scene = page.network().scene_model();
        const auto* event = page.findChild<QLabel*>("replay_event");
        const auto go_to = [&](double share) { Q_EMIT page.timeline().moment_moved(share * recorded.length()); };
        const int first = recorded.planned->plan.stages[StageIndex(1)].front() == NodeIndex(1) ? 1 : 2;
        go_to(0.25);
        QCOMPARE(scene.stage_of("node-2"), first);
        QVERIFY(event->isHidden());
        go_to(0.6);
        QVERIFY2(event->text().contains("node-1->node-2 is cut"), qPrintable(event->text()));
        go_to(1.5);
        QVERIFY(event->isHidden());
        go_to(2.5);
        QCOMPARE(scene.stage_of("node-2"), 3 - first);
        QVERIFY2(event->text().startsWith("1 node lost at"), qPrintable(event->text()));
        go_to(3.5);
        QVERIFY(event->isHidden());
        // Groups of lanes, and what would help, are of that plan too.
        for (auto* action : page.findChildren<QAction*>())
            if (action->text() == "By stage") action->trigger();
        const auto stage_of_lane = [&](int lane) {
            for (const auto& group : page.timeline().groups())
                if (std::find(group.lanes.begin(), group.lanes.end(), lane) != group.lanes.end())
                    return QString::fromStdString(group.name);
            return QString{};
        };
        QCOMPARE(stage_of_lane(1), QStringLiteral("Stage %1").arg(3 - first));
        window->selection().select({.nodes = {"node-2"}});
        const auto& problem = recorded.planned->problem;
        const Help help = what_helps(problem, later, "node-2");
        QVERIFY(!(help == what_helps(problem, recorded.planned->plan, "node-2")));
        const auto all_said = [&] {
            const QString said = selection_words(page);
            const auto is_said = [&](const QString& line) { return said.contains(plain(line)); };
            return is_said(help.limit) && std::all_of(help.changes.begin(), help.changes.end(), is_said);
        };
        QTRY_VERIFY2_WITH_TIMEOUT(all_said(), qPrintable(selection_words(page)), patient_ms);
        window->selection().clear();
        go_to(0.25);
        QCOMPARE(stage_of_lane(1), QStringLiteral("Stage %1").arg(first));
        QCOMPARE(scene.stage_of("node-2"), first);
    }

    /// However narrow the panel is by the time that somebody looks.
    void events_are_seen_whole() {
        QTabWidget tabs;
        auto* panel = new FailurePanel;
        tabs.addTab(new QWidget, "other");
        tabs.addTab(panel, "events");
        tabs.resize(900, 500);
        tabs.show();
        QVERIFY(QTest::qWaitForWindowExposed(&tabs));
        panel->show_events(1, {{.what = "n6 lost 30.8 s into the iteration, known 5.00 s later: 4 forwards and 1 "
                                        "backwards run again, planned again in 9.41 ms"}});
        tabs.resize(260, 500);
        tabs.setCurrentIndex(1);
        const auto& table = panel->events();
        const auto needed = [&] {
            const QRect room(0, 0, table.columnWidth(1) - 16, 10'000);
            return table.fontMetrics().boundingRect(room, Qt::TextWordWrap, table.item(0, 1)->text()).height();
        };
        QTRY_VERIFY2(table.rowHeight(0) >= needed() && needed() > 2 * table.fontMetrics().lineSpacing(),
                     qPrintable(QString("%1 of %2").arg(table.rowHeight(0)).arg(needed())));
    }

    /// What leads to a loss leads to its event, as a click on that does.
    void an_event_is_chosen_by_its_moment() {
        FailurePanel panel;
        const QSignalSpy chosen(&panel, &FailurePanel::chosen);
        panel.choose_event(7);
        QVERIFY2(chosen.isEmpty(), "nothing happened yet");
        panel.show_events(1, {{.network_s = 7, .what = "n6 lost"}, {.network_s = 200, .what = "another plan"}});
        panel.choose_event(7.5);
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen.front().front().toDouble(), 7.0);
        QCOMPARE(panel.events().currentRow(), 0);
    }

    /// Under the wall clock as everywhere.
    void what_losses_cost_is_told_by_the_runs_clock() {
        FailurePanel panel;
        LossAccount account;
        account.nodes = 1, account.lost_s = 3, account.detection_s = 2;
        const auto tips = [&] {
            QString all;
            for (int row = 0; row < panel.table().rowCount(); ++row)
                all += panel.table().item(row, 0)->toolTip() + '\n';
            return all;
        };
        panel.show_account(account, {}, RunClock::network);
        QCOMPARE(tips().count("network time"), 2);
        panel.show_account(account, {}, RunClock::wall);
        QVERIFY2(tips().count("wall-clock time") == 2 && !tips().contains("network"), qPrintable(tips()));
        const LostTime lost{.begin_s = 2, .end_s = 5};
        QVERIFY(describe_lost_time(lost, "Wall-clock time").join('\n').contains("of wall-clock time, from "));
    }

    /// A run that failed before its first iteration says why, everywhere, and nobody gives it advice.
    void a_failed_run_says_why() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.begin(recorder, recorded.experiment);
        recorder.finish(run, RunState::failed, {.error = "/execution/transport: two ranks are on one GPU"}, "{}");
        MainWindow window(planners_, recorded.file);
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(run) != nullptr, patient_ms);
        window.show_workspace(MainWindow::watch);
        auto& page = window.watch_page();
        page.show_run(run);
        const QString failed = QStringLiteral("Run %1 failed before its first iteration").arg(run);
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains(failed), patient_ms);
        QVERIFY(selection_words(page).contains("Transport: two ranks are on one GPU"));
        QVERIFY2(!selection_words(page).contains("Would help"), qPrintable(selection_words(page)));
        const auto labels = page.findChildren<QLabel*>();
        QCOMPARE(std::count_if(labels.begin(), labels.end(),
                               [&](const QLabel* label) { return label->isVisible() && label->text() == failed; }),
                 2);  // instead of curves and of causes
    }
};

QTEST_MAIN(TestWatchWays)
#include "test_watch_ways.moc"
