// SPDX-License-Identifier: GPL-3.0-or-later
// Why nodes idle, in the Watch workspace: causes, their bars and key, and what a newcomer asks.
#include <QComboBox>
#include <QElapsedTimer>
#include <QMenu>
#include <QTableWidget>
#include <QTextDocumentFragment>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"
#include "views/idle/idle_panel.h"
#include "views/runs/run_table.h"
#include "views/timeline/colours.h"

using namespace skippipe;

class TestWatchCauses : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// The longest bar reaches well into its track, be it 6 or 62 % of the time, and a tip says what a whole one is.
    void bars_of_causes_are_seen() {
        IdlePanel panel;
        panel.resize(420, 260);
        const auto* table = panel.findChild<QTableWidget*>();
        std::array<double, idle_causes> shares{};
        for (const auto& [longest, whole] : {std::pair{0.06, 0.1}, {0.19, 0.2}, {0.43, 0.5}, {0.62, 1.0}}) {
            shares[0] = 0.01, shares[3] = longest;
            panel.show_shares(QString("Why all nodes idle ").repeated(9), shares);  // lines that the scale parts anew
            QCOMPARE(table->rowCount(), 2);
            QCOMPARE(table->item(0, 1)->data(Qt::UserRole).toDouble(), longest / whole);
            QCOMPARE(table->item(1, 1)->data(Qt::UserRole).toDouble(), 0.01 / whole);
            QVERIFY2(plain(table->item(0, 1)->toolTip()).contains(QString("%1 %").arg(100 * whole)),
                     qPrintable(table->item(0, 1)->toolTip()));
        }
    }

    /// What the timeline draws is said beside it while no span or gap is selected.
    void a_legend_stands_where_nothing_is_selected() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        const auto* legend = page.findChild<QWidget*>("selection_legend");
        QVERIFY(legend != nullptr && legend->isVisible());
        const auto keys = legend->findChildren<TimelineView*>();  // work, and beside it waits
        QCOMPARE(keys.size(), qsizetype{2});
        const auto at = [legend](const TimelineView* key) { return key->mapTo(legend, QPoint()); };
        QCOMPARE(at(keys[0]).y(), at(keys[1]).y());
        QVERIFY(at(keys[1]).x() >= at(keys[0]).x() + keys[0]->width());
        const auto called = [](const TimelineView* key, const std::string& name) {
            const auto& lanes = key->data()->lanes();
            return std::any_of(lanes.begin(), lanes.end(), [&](const Lane& lane) { return lane.name == name; });
        };
        QVERIFY(called(keys[0], "Backward") && !called(keys[1], "Backward"));
        QVERIFY(called(keys[1], "Fill/drain") && !called(keys[0], "Fill/drain"));
        // They are coloured as the lanes are, and so is the key in the menu.
        auto* menu = page.findChild<QMenu*>("timeline_legend")->findChild<TimelineView*>();
        for (auto* choice : page.findChildren<QComboBox*>())
            if (choice->accessibleName() == "Colour by") choice->setCurrentIndex(static_cast<int>(ColourBy::cause));
        for (const auto* view :
             {&page.timeline(), static_cast<TimelineView*>(keys[0]), static_cast<TimelineView*>(keys[1]), menu})
            QCOMPARE(view->colour_by(), ColourBy::cause);
        const auto* hints = page.findChild<QLabel*>("selection_hints");
        QVERIFY2(
            hints->isVisible() && hints->mapTo(legend->parentWidget(), QPoint()).y() >= legend->geometry().bottom(),
            "keys are told below");
        window->selection().select({.nodes = {"node-2"}});
        QVERIFY2(legend->isVisible(), "no span is told of yet");
        auto& timeline = page.timeline();
        page.zoom().show(0, recorded.length());
        QTRY_VERIFY(timeline.settled());
        const auto& span = timeline.data()->work(1, 0);
        QTest::mouseClick(&timeline, Qt::LeftButton, {},
                          timeline.place_of((span.start_s + span.end_s) / 2, 1).toPoint());
        QTRY_VERIFY(!legend->isVisible());
        timeline.setFocus();
        QTest::keyClick(&timeline, Qt::Key_Escape);
        QTRY_VERIFY(legend->isVisible());
    }

    void idle_time_is_of_the_run_or_of_what_is_in_sight() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto* title = page.idle().findChild<QLabel*>();
        window->selection().select({.nodes = {"node-2"}});
        const QString of_run = title->text();
        QVERIFY2(of_run.startsWith("Why node-2 idles") && of_run.endsWith("of the run"), qPrintable(of_run));
        auto* in_sight = page.findChild<QToolButton*>("idle_scope");
        page.zoom().show(0, recorded_iterations * recorded.length());
        in_sight->menu()->actions()[1]->trigger();
        QCOMPARE(in_sight->text(), QString("In sight"));
        QCOMPARE(title->text(), QString(of_run).replace("of the run", "of the time in sight"));  // the same time
        const auto& work = page.timeline().data()->work(1, 0);
        page.zoom().show(work.start_s, work.end_s);
        QCOMPARE(plain(title->text()), QString("Why node-2 idles 0 % of the time in sight"));
        const auto* by_node = page.findChild<QTabWidget*>("idle_tabs")->widget(2)->findChild<QTableWidget*>();
        QCOMPARE(by_node->rowCount(), 4);
        in_sight->menu()->actions()[0]->trigger();
        QCOMPARE(title->text(), of_run);
    }

    /// In a narrow panel causes are called as in keys, so that bars have room; their tips have all their words.
    void bars_of_causes_have_room() {
        IdlePanel panel;
        panel.resize(500, 300);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        std::array<double, idle_causes> shares{};
        shares[static_cast<std::size_t>(IdleCause::replica)] = 0.16;
        panel.show_shares("Why", shares);
        const QString whole = cause_words(IdleCause::replica);
        QCOMPARE(panel.table().item(0, 0)->text(), whole);
        panel.resize(panel.minimumWidth(), 300);
        QTRY_COMPARE(panel.table().item(0, 0)->text(), QString("Replica"));
        const QString tip = QTextDocumentFragment::fromHtml(panel.table().item(0, 0)->toolTip()).toPlainText();
        QVERIFY2(tip.startsWith(whole), qPrintable(tip));
        QVERIFY2(panel.table().columnWidth(1) >= 90, qPrintable(QString::number(panel.table().columnWidth(1))));
        panel.resize(500, 300);
        QTRY_COMPARE(panel.table().item(0, 0)->text(), whole);
    }

    /// However low the panel is, no row is seen in part.
    void rows_of_causes_are_seen_whole() {
        IdlePanel panel;
        panel.resize(420, 400);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        std::array<double, idle_causes> shares{};
        shares.fill(0.02);
        panel.show_shares("Why", shares);
        const auto& table = panel.table();
        const auto rest = [&] {  // of what is seen, where not all are
            const int seen = table.viewport()->height(), high = table.rowHeight(0);
            return seen >= static_cast<int>(idle_causes) * high ? 0 : seen % high;
        };
        for (int height = 90; height < 240; height += 7) {
            panel.resize(420, height);
            QTRY_VERIFY2(rest() == 0, qPrintable(QString("%1 pixels: %2 left").arg(height).arg(rest())));
            QVERIFY(table.viewport()->height() >= table.rowHeight(0));
        }
        panel.resize(420, 400);
        QTRY_VERIFY2(table.viewport()->height() >= static_cast<int>(idle_causes) * table.rowHeight(0), "all again");
    }

    /// The scale of the bars is told where the title keeps its line beside it.
    void bars_of_causes_have_a_scale() {
        IdlePanel panel;
        panel.resize(400, 100);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto* scale = panel.findChild<QLabel*>("cause_scale");
        std::array<double, idle_causes> shares{};
        shares.fill(0.01);
        for (const double share : {0.05, 0.4}) {
            panel.show_nothing("None yet");
            QVERIFY(!scale->isVisible());
            shares[0] = share;
            panel.show_shares("Why", shares);
            QVERIFY(scale->isVisible());
            QCOMPARE(panel.table().rowCount(), static_cast<int>(idle_causes));
            QCOMPARE(plain(scale->text()), QString::fromUtf8(share < 0.1 ? "bars 0–10 %" : "bars 0–50 %"));
        }
        const auto* title = panel.findChild<QLabel*>("why_idle");
        panel.show_shares(QString("Why all nodes idle ").repeated(3), shares);
        const int needed = title->fontMetrics().horizontalAdvance(title->text()) + scale->sizeHint().width() + 80;
        panel.resize(needed, 100);
        QTRY_VERIFY(scale->isVisible());
        panel.resize(needed - 70, 100);
        QTRY_VERIFY(!scale->isVisible());
    }

    /// The legend has the causes that this run has, the longest first.
    void a_legend_has_the_causes_of_its_run() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.add(recorder, recorded.experiment);
        const auto window = watching(planners_, recorded, run);
        QVERIFY(window != nullptr);
        const auto& shares = window->feed().data(run)->idle_share;
        const auto* legend =
            window->watch_page().findChild<QWidget*>("selection_legend")->findChildren<TimelineView*>()[1];
        double before = 1;
        std::size_t causes = 0;
        for (const auto& lane : legend->data()->lanes())
            for (const auto& gap : lane.gaps) {
                const double share = shares[static_cast<std::size_t>(gap.cause)];
                QVERIFY(share > 0 && share <= before);
                before = share;
                ++causes;
            }
        QCOMPARE(causes, static_cast<std::size_t>(
                             std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0; })));
        QCOMPARE(legend->height() - legend->height_for_all_lanes(), 2);
    }

    /// All causes are read in a small window.
    void causes_are_whole_words_in_a_small_window() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment), {1024, 700});
        QVERIFY(window != nullptr);
        const auto& table = window->watch_page().idle().table();
        QTRY_VERIFY(table.rowCount() > 1 && table.isVisible());
        for (int row = 0; row < table.rowCount(); ++row) {
            const auto* item = table.item(row, 0);
            const int wide = table.fontMetrics().horizontalAdvance(item->text());
            QVERIFY2(wide <= table.columnWidth(0),
                     qPrintable(QString("%1: %2 of %3 pixels").arg(item->text()).arg(wide).arg(table.columnWidth(0))));
        }
        // In a large one bars begin beside the words, and take all the room that numbers leave.
        window->resize(2400, 1400);
        const int all = table.columnWidth(0) + table.columnWidth(1) + table.columnWidth(2);
        QTRY_VERIFY2(table.columnWidth(1) > 2 * table.columnWidth(0), qPrintable(QString::number(all)));
        QCOMPARE(table.columnWidth(0) + table.columnWidth(1) + table.columnWidth(2), table.viewport()->width());
    }

    void spans_that_were_given_up_are_told() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        Experiment thinned = recorded.experiment;
        thinned.execution.keep_spans = KeepSpans::newest;
        thinned.execution.keep_spans_of = 2;
        const RunId run = recorded.begin(recorder, thinned);
        recorder.keep_spans(run, {.newest = 2});
        for (int i = 0; i < recorded_iterations; ++i) recorded.iterate(recorder, run, i);
        recorder.finish(run, RunState::finished, {.iterations_done = recorded_iterations}, "{}");
        MainWindow window(planners_, recorded.file);
        window.show();
        window.show_workspace(MainWindow::watch);
        window.watch_page().show_run(run);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().data(run) != nullptr && !window.feed().is_loading(), patient_ms);
        QStringList words;
        for (const auto* label : window.watch_page().findChildren<QLabel*>()) words << label->text();
        QVERIFY2(words.join('\n').contains("4 iterations, spans of 2 of them kept"), qPrintable(words.join('\n')));
    }

    /// "Why does node 3 idle, and what would help?" and "which of these four runs is best, and what was different?", by
    /// mouse and keys from a window that has just opened: three inputs each.
    void newcomers_find_their_answers() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        for (int i = 0; i < 4; ++i) {
            Experiment other = recorded.experiment;
            other.training.learning_rate *= 1 + i;
            recorded.add(recorder, other, i == 2 ? 2.5 : 3 + 0.1 * i);
        }
        MainWindow window(planners_, recorded.file);
        window.resize(1280, 800);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QTRY_COMPARE_WITH_TIMEOUT(window.feed().runs().size(), 4U, patient_ms);
        QElapsedTimer clock;
        clock.start();
        QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
        auto& page = window.watch_page();
        QTRY_VERIFY_WITH_TIMEOUT(is_read(window, page.run()), patient_ms);
        QTRY_VERIFY(page.timeline().settled());
        QTest::mouseClick(&page.timeline(), Qt::LeftButton, {},
                          QPoint(60, page.timeline().place_of(0, 2).toPoint().y()));
        auto* title = page.idle().findChild<QLabel*>();
        QTRY_VERIFY2(title->text().startsWith("Why node-3 idles"), qPrintable(title->text()));
        QVERIFY(page.idle().table().rowCount() > 0);
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("node-3 twice as fast: "), patient_ms);
        qInfo("why a node idles and what would help: %lld ms of the window after 2 inputs", clock.restart());

        QTest::keyClick(&window, Qt::Key_3, Qt::ControlModifier);
        auto& compare = window.compare_page();
        auto& view = compare.list().view();
        const auto row = [&](int number) {
            return view.visualRect(view.model()->index(number, RunTable::name)).center();
        };
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, row(0));
        QTest::mouseClick(view.viewport(), Qt::LeftButton, Qt::ShiftModifier, row(3));
        QCOMPARE(compare.list().selected().size(), 4U);
        const auto* best = compare.findChild<HeadlineCards*>("best_run");
        QTRY_VERIFY2_WITH_TIMEOUT(best->text().startsWith("Run 3 is best. Lowest last validation loss."),
                                  qPrintable(best->text()), patient_ms);
        QVERIFY(best->text().contains("learning rate") && best->isVisible());
        qInfo("which of four runs is best and what differed: %lld ms of the window after 3 inputs", clock.elapsed());
    }
};

QTEST_MAIN(TestWatchCauses)
#include "test_watch_causes.moc"
