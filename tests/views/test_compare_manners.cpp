// SPDX-License-Identifier: GPL-3.0-or-later
// What Compare owes to who reads it: runs look like no stage, what is compared unasked is told, and what can be done
// with runs is at one place in all tabs.
#include <QLabel>
#include <QPushButton>
#include <QToolTip>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"
#include "views/runs/run_marks.h"
#include "views/runs/run_table.h"
#include "views/theme/theme.h"

using namespace skippipe;

namespace {

/// How much of a picture has that colour.
double share_of(const QPixmap& picture, const QColor& colour) {
    const QImage image = picture.toImage();
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) == colour ? 1 : 0;
    return static_cast<double>(count) / (static_cast<double>(image.width()) * image.height());
}

QRect on_screen(const QWidget& widget) { return {widget.mapToGlobal(QPoint(0, 0)), widget.size()}; }

}  // namespace

class TestCompareManners : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() {
        register_planners(planners_);
        apply_theme(*qApp, false);
    }

    /// Beside stages, which are filled, a run is framed and has its name within.
    void runs_are_framed_where_stages_are_filled() {
        const QColor own = run_pen(3, 1).color();
        QVERIFY(share_of(run_chip(3), own) > 0.02);
        QVERIFY2(share_of(run_chip(3), own) < 0.3, "it is no field of the colour");
        QVERIFY(run_chip(300).width() > run_chip(3).width());
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId a = recorded.add(recorder, recorded.experiment), b = recorded.add(recorder, recorded.experiment);
        const auto window = comparing(planners_, recorded, {a, b});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        page.tabs().setCurrentIndex(4);
        QCOMPARE(page.tabs().tabText(4), QString("Timelines"));
        QStringList named;
        for (const auto* label : page.findChildren<QLabel*>())
            if (!label->pixmap().isNull() && label->accessibleName().startsWith("Run "))
                named << label->accessibleName();
        QCOMPARE(named, (QStringList{QString("Run %1").arg(a), QString("Run %1").arg(b)}));
    }

    /// Whoever chose nothing is told what is compared, until something is chosen.
    void what_is_compared_unasked_is_told() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        for (int i = 0; i < 5; ++i) recorded.add(recorder, recorded.experiment);
        MainWindow window(planners_, recorded.file);
        window.resize(1280, 800);
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().runs().size() == 5, patient_ms);
        window.show_workspace(MainWindow::compare);
        const auto told = [&] { return window.bar().findChild<QLabel*>("subject")->text(); };
        QCOMPARE(told(), QString("4 runs compared: the newest of recorded"));
        window.show_workspace(MainWindow::watch);
        window.show_workspace(MainWindow::compare);
        QVERIFY2(told().contains("the newest"), "nobody has chosen yet");
        const auto before = window.compare_page().list().selected();
        window.compare_page().list().select({before[0], before[1]});
        QCOMPARE(told(), QString("2 runs compared"));
        MainWindow other(planners_, recorded.file);
        other.show();
        QTRY_VERIFY_WITH_TIMEOUT(other.feed().runs().size() == 5, patient_ms);
        other.show_workspace(MainWindow::compare);
        const auto* head = other.bar().findChild<QLabel*>("subject");
        QVERIFY(head->text().contains("the newest"));
        const RunId newest = recorded.add(recorder, recorded.experiment);
        other.feed().poll();
        QTRY_VERIFY_WITH_TIMEOUT(other.feed().run(newest) != nullptr, patient_ms);
        QCOMPARE(head->text(), QString("4 runs compared"));  // they are not the newest any more
        window.compare_page().list().select(before);
        QCOMPARE(told(), QString("4 runs compared"));
        const auto run = [](RunId id, const char* name) {
            RunInfo info;
            info.id = id;
            info.name = name;
            return info;
        };
        const std::vector<RunInfo> runs{run(9, "churn"), run(8, "quick"), run(2, "churn")};
        QCOMPARE(preselected_words(runs, {9, 8}), QString("2 runs compared: the newest"));
        QCOMPARE(preselected_words(runs, {9, 8, 2}, 2), QString("3 runs compared: the newest and the baseline"));
        QCOMPARE(preselected_words(runs, {9, 2}, 2), QString("2 runs compared: the newest of churn and the baseline"));
        QCOMPARE(preselected_words(runs, {9, 8}, 8), QString("2 runs compared: the newest"));  // it is one of them
    }

    /// A report is asked for from every tab, at one place; without runs the button says what it needs.
    void a_report_is_at_hand_in_all_tabs() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId a = recorded.add(recorder, recorded.experiment), b = recorded.add(recorder, recorded.experiment);
        const auto window = comparing(planners_, recorded, {a, b}, {1024, 700});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        const auto* report = page.findChild<QPushButton*>("make_report");
        const QRect place = on_screen(*report);
        for (int tab = 0; tab < page.tabs().count(); ++tab) {
            page.tabs().setCurrentIndex(tab);
            QVERIFY2(report->isVisible() && report->isEnabled(), qPrintable(page.tabs().tabText(tab)));
            QCOMPARE(on_screen(*report), place);
        }
        const auto& bar = *page.tabs().tabBar();
        QVERIFY2(bar.tabRect(bar.count() - 1).right() <= bar.width() && !on_screen(bar).intersects(place),
                 "all tabs are in sight beside it");
        page.show_sweep();
        page.list().view().clearSelection();
        QTRY_VERIFY(!report->isEnabled());
        QVERIFY(report->toolTip().startsWith("Select runs"));
    }

    /// The card of a low lane has Watch's words, and lies beyond the lane rather than on it.
    void a_low_lane_is_explained_beside_it() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b", "c"});
        data->set_iterations({{0, 10, 10}});
        data->add(IdleGap{.node = 1, .cause = IdleCause::gradient, .end_s = 10, .microbatch = 3, .other = 2}, 0);
        data->finish();
        TimeZoom zoom;
        TimelineView view(zoom, true);
        view.set_frame(stacked_frame(false));
        view.resize(480, 36);
        zoom.set_extent(10);
        view.set_data(data);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QTRY_VERIFY(view.settled());
        const QPoint at = view.place_of(5, 1).toPoint();
        const QString words = view.words_at(at).join('\n');
        QVERIFY2(words.count('\n') > 0, qPrintable(words));
        QTest::mouseMove(&view, at);
        QTRY_COMPARE(QToolTip::text(), words);
        QVERIFY(QToolTip::isVisible());
        const auto tops = QApplication::topLevelWidgets();
        const auto tip = std::find_if(tops.begin(), tops.end(), [](const QWidget* one) {
            return one->inherits("QTipLabel") && one->isVisible();
        });
        QVERIFY(tip != tops.end());
        QVERIFY2(!(*tip)->geometry().contains(view.mapToGlobal(at)), "what it explains is seen");
        QTest::mouseMove(&view, QPoint(479, 1));
        QTest::keyClick(&view, Qt::Key_Escape);
        QTRY_VERIFY(!QToolTip::isVisible());
    }

    /// A message lies over the page: nothing moves when it comes or goes.
    void messages_move_nothing() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.resize(1024, 700);
        window.show();
        window.show_workspace(MainWindow::compare);
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        const QRect page = on_screen(window.compare_page());
        window.banner().tell("Run 4 is deleted", {{"Undo", [] {}}});
        QTRY_VERIFY(window.banner().isVisible());
        // Over the bar's words: its buttons stay free, and what a page draws is not covered where one line is enough.
        auto& launch = *window.findChild<QPushButton*>("launch");
        const auto fits = [&] {
            const QRect there = on_screen(window.banner());
            return there.bottom() < on_screen(window).bottom() && there.right() < on_screen(launch).left();
        };
        QVERIFY(fits() && on_screen(window.banner()).bottom() <= page.top());
        QCOMPARE(on_screen(window.compare_page()), page);
        const int low = window.banner().height();
        // Another takes its place: it is as high as its words beside its buttons.
        window.banner().show_message(QString("A long reason, with all that is known of it. ").repeated(9),
                                     {{"Show run 4", [] {}}, {"Open its log", [] {}}});
        QCoreApplication::processEvents();
        QVERIFY2(window.banner().height() > low && fits(), "in several lines");
        const auto is_whole = [&] {
            const auto* label = window.banner().findChild<QLabel*>();
            return label->height() >= label->heightForWidth(label->width());
        };
        QVERIFY(is_whole());
        QCOMPARE(on_screen(window.compare_page()), page);
        window.resize(1200, 760);
        QTRY_VERIFY(fits() && is_whole());
        window.banner().dismiss();
        QVERIFY(window.banner().isHidden());
    }
};

QTEST_MAIN(TestCompareManners)
#include "test_compare_manners.moc"
