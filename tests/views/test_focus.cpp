// SPDX-License-Identifier: GPL-3.0-or-later
// Who works without a mouse: what has the keys is seen, and keys of views are as their user chose.
#include <QCheckBox>
#include <QListWidget>
#include <QSlider>
#include <QTabBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTreeWidget>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/theme/theme.h"
#include "views/window/main_window.h"

using namespace skippipe;

namespace {

QWidget* made(const QString& kind) {
    if (kind == "check box") return new QCheckBox("Check");
    if (kind == "tabs") {
        auto* bar = new QTabBar;
        bar->addTab("One");
        bar->addTab("Two");
        return bar;
    }
    if (kind == "list") {
        auto* list = new QListWidget;
        list->addItem("One");
        return list;
    }
    if (kind == "table") return new QTableWidget(2, 2);
    if (kind == "tree") return new QTreeWidget;
    if (kind == "slider") return new QSlider(Qt::Horizontal);
    if (kind == "button") return new QPushButton("Button");
    return new QLineEdit("Text");
}

}  // namespace

class TestFocus : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() {
        register_planners(planners_);
        apply_theme(*qApp, false);
    }

    void what_has_the_keys_is_seen_data() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"check box", "tabs", "list", "table", "tree", "slider", "button", "line"})
            QTest::newRow(kind) << kind;
    }
    void what_has_the_keys_is_seen() {
        QFETCH(QString, kind);
        QWidget window;
        auto* column = new QVBoxLayout(&window);
        QWidget *one = made(kind), *other = made(kind);
        column->addWidget(one);
        column->addWidget(other);
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        other->setFocus();
        const QImage without = one->grab().toImage();
        one->setFocus();
        QVERIFY(one->hasFocus());
        QVERIFY(one->grab().toImage() != without);
    }

    /// Pause by the mouse, then Space: the keys stay with Pause, which has been told, and do not go on to Stop.
    void keys_do_not_go_on_to_another_button() {
        Document document;
        TopBar bar(document, planners_);
        bar.show();
        QVERIFY(QTest::qWaitForWindowActive(&bar));
        QSignalSpy paused(&bar, &TopBar::pause_requested), resumed(&bar, &TopBar::resume_requested),
            stopped(&bar, &TopBar::stop_requested), possible(&bar, &TopBar::possible_changed);
        bar.set_pause(TopBar::Pause::pause, false);
        bar.set_stop(true);
        QVERIFY(possible.size() >= 2);
        QTest::mouseClick(&bar.pause_button(), Qt::LeftButton);
        QCOMPARE(paused.size(), 1);
        bar.set_pause(TopBar::Pause::pause, true);
        QVERIFY(bar.pause_button().hasFocus());
        QTest::keyClick(bar.focusWidget(), Qt::Key_Space);
        QCOMPARE(paused.size() + resumed.size() + stopped.size(), 1);
        bar.set_pause(TopBar::Pause::resume, false);
        QTest::keyClick(bar.focusWidget(), Qt::Key_Space);
        QCOMPARE(resumed.size(), 1);
        // The run is over: no button has the keys.
        bar.set_pause(TopBar::Pause::impossible, false);
        QVERIFY(!bar.stop_button().hasFocus() && !bar.launch_button().hasFocus());
        QTest::keyClick(bar.focusWidget(), Qt::Key_Space);
        QVERIFY(stopped.isEmpty());
    }

    /// What can do nothing is pale in the menu as well, and not found by its name.
    void entries_of_the_menu_are_as_their_buttons() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        const auto can = [&](const QString& words) {
            for (const auto* action : window.actions())
                if (action->text() == words) return action->isEnabled();
            return false;
        };
        QVERIFY(!can("Stop after this iteration") && !can("Pause or resume"));
        window.bar().set_stop(true);
        QVERIFY(can("Stop after this iteration"));
        window.bar().set_pause(TopBar::Pause::pause, false);
        QVERIFY(can("Pause or resume"));
        window.bar().set_stop(false);
        QVERIFY(!can("Stop after this iteration"));
    }

    void canvas_and_timelines_have_a_frame() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(three_linked_nodes());
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        auto& page = window.design_page();
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        for (QWidget* view : {static_cast<QWidget*>(&page.canvas()), static_cast<QWidget*>(&page.plan_timeline()),
                              static_cast<QWidget*>(&page.failure_axis())}) {
            window.bar().planner_link().setFocus();
            const auto corner = [&] { return view->grab().toImage().pixelColor(0, view->height() / 2); };
            QTRY_VERIFY(corner() != theme().accent);
            view->setFocus();
            QTRY_COMPARE(corner(), theme().accent);
        }
    }

    void keys_of_views_are_as_chosen() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(three_linked_nodes());
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        const auto action = [&](const QString& scope, const QString& words) {
            for (const auto& binding : window.keys().all())
                if (binding.scope == scope && binding.action->text() == words) return binding.action.data();
            return static_cast<QAction*>(nullptr);
        };
        auto& canvas = window.design_page().canvas();
        canvas.setFocus();
        window.selection().select({.nodes = {"node-1"}});
        const auto x = [&] { return window.document().experiment().topology.nodes[0].x; };
        auto* right = action("Canvas", "Nudge right");
        QVERIFY(right != nullptr);
        QTest::keyClick(&canvas, Qt::Key_Right);
        QCOMPARE(x(), grid);
        QCOMPARE(window.keys().set(right, QKeySequence(Qt::Key_J)), QString());
        QTest::keyClick(&canvas, Qt::Key_Right);
        QCOMPARE(x(), grid);  // no longer
        QTest::keyClick(&canvas, Qt::Key_J);
        QCOMPARE(x(), 2 * grid);
        QTest::keyClick(&canvas, Qt::Key_J, Qt::ShiftModifier);
        QCOMPARE(x(), 7 * grid);
        QVERIFY2(!window.keys().set(right, QKeySequence(Qt::Key_N)).isEmpty(), "the canvas has that for a node");
        window.keys().reset();
        QTest::keyClick(&canvas, Qt::Key_Right);
        QCOMPARE(x(), 8 * grid);

        auto& axis = window.design_page().failure_axis();
        axis.setFocus();
        QCOMPARE(window.keys().set(action("Failures", "Add a crash"), QKeySequence(Qt::Key_C)), QString());
        QTest::keyClick(&axis, Qt::Key_C);
        QCOMPARE(window.document().experiment().failures.size(), std::size_t{1});
        QVERIFY(action("Timeline", "Zoom in") != nullptr);
    }
};

QTEST_MAIN(TestFocus)
#include "test_focus.moc"
