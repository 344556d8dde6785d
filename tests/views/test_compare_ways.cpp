// SPDX-License-Identifier: GPL-3.0-or-later
// Comparing as people do, by mouse and keys: which run is best, what was different, and where.
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QScrollBar>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"
#include "views/compare/differences.h"
#include "views/compare/findings.h"
#include "views/compare/headlines.h"
#include "views/runs/parameters.h"
#include "views/runs/run_table.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/painter.h"

using namespace skippipe;

namespace {

/// Lanes of a few pixels, as those of several runs are beneath each other; 10 s.
struct LowTimeline {
    LowTimeline(std::size_t lanes, int lane_px) {
        std::vector<std::string> names;
        for (std::size_t lane = 0; lane < lanes; ++lane) names.push_back("n" + std::to_string(lane));
        data->set_lanes(names);
        view.set_frame(stacked_frame(false));
        view.resize(480, static_cast<int>(lanes) * lane_px);
        zoom.set_extent(10);
    }
    QImage shown() {
        data->set_iterations({{0, 10, 10}});
        data->finish();
        view.set_data(data);
        view.show();
        return view.grab().toImage();
    }

    std::shared_ptr<TimelineData> data = std::make_shared<TimelineData>();
    TimeZoom zoom;
    TimelineView view{zoom, true};
};

}  // namespace

class TestCompareWays : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// A run that is watched and compared is looked at in one stretch of time, wherever it is moved.
    void time_is_shared_with_what_is_compared() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId a = recorded.add(recorder, recorded.experiment), b = recorded.add(recorder, recorded.experiment);
        const auto window = watching(planners_, recorded, a);
        QVERIFY(window != nullptr);
        auto &watched = window->watch_page().zoom(), &compared = window->compare_page().zoom();
        const double one = recorded.length();
        watched.set_follows(false);
        watched.show(one, 1.5 * one);
        window->show_workspace(MainWindow::compare);
        window->compare_page().list().select({a, b});
        QTRY_VERIFY_WITH_TIMEOUT(is_read(*window, a) && is_read(*window, b), patient_ms);
        const auto shows = [](const TimeZoom& zoom, double begin_s, double end_s) {
            return std::abs(zoom.begin() - begin_s) < 1e-9 && std::abs(zoom.end() - end_s) < 1e-9;
        };
        QTRY_VERIFY(shows(compared, one, 1.5 * one));
        compared.show(2 * one, 3 * one);
        QVERIFY(shows(watched, 2 * one, 3 * one));
        window->compare_page().list().select({b});  // another run: its time is its own
        compared.show(0, one);
        QVERIFY(shows(watched, 2 * one, 3 * one));
    }

    /// While runs are read that is said; who filters the list is told how many of them are out of sight; and of one run
    /// alone the figures stand where those of the last one stood.
    void what_is_selected_is_said() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId a = recorded.add(recorder, recorded.experiment);
        Experiment other = recorded.experiment;
        other.name = "One whose name is so long that it asks for a column of its own width";
        const RunId b = recorded.add(recorder, other);
        MainWindow window(planners_, recorded.file);
        window.resize(1280, 800);
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(b) != nullptr, patient_ms);
        window.show_workspace(MainWindow::compare);
        auto& page = window.compare_page();
        page.list().select({a, b});
        const auto* note = page.findChild<EmptyNote*>();
        QCOMPARE(note->words(), QString::fromUtf8("Reading 2 runs…"));
        QVERIFY(page.findChild<QPushButton*>("make_sweep")->isHidden());
        QTRY_VERIFY_WITH_TIMEOUT(is_read(window, a) && is_read(window, b), patient_ms);
        QTRY_VERIFY(note->isHidden());
        const auto is_told = [&](const QString& words) {
            const auto labels = window.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [&](const auto* label) { return label->text() == words; });
        };
        auto* filter = page.list().findChild<QLineEdit*>("run_filter");
        filter->setText("nowhere");
        QVERIFY(is_told("2 runs compared, all hidden by the filter"));
        filter->setText(QString("run %1").arg(a));
        QVERIFY(is_told("2 runs compared, 1 of them hidden by the filter"));
        filter->clear();
        QVERIFY(is_told("2 runs compared"));
        page.list().select({a});
        QTRY_COMPARE(page.table().columnCount(), 2);
        const int width = page.table().columnWidth(1);
        page.list().select({b});
        QTRY_VERIFY(page.table().item(1, 1) != nullptr && page.table().columnCount() == 2);
        QCOMPARE(page.table().columnWidth(1), width);
        page.list().view().clearSelection();
        QTRY_VERIFY(note->isVisible());
        QVERIFY2(note->words().startsWith("Select two or more runs"), qPrintable(note->words()));
        QVERIFY(page.findChild<QPushButton*>("make_sweep")->isVisible());
    }

    /// Five runs with long figures are read in a small window without scrolling sideways.
    void five_runs_fit_a_small_window() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        std::vector<RunId> runs;
        for (int i = 0; i < 5; ++i) {
            Experiment one = recorded.experiment;
            one.training.learning_rate *= 1 + i;
            runs.push_back(recorded.add(recorder, one, 2.2987 + 0.0123 * i, 1 + 0.3217 * i));
        }
        const auto window = comparing(planners_, recorded, runs, {1024, 700});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        const auto& table = page.table();
        QTRY_COMPARE(table.columnCount(), 6);
        QTRY_COMPARE(table.horizontalScrollBar()->maximum(), 0);
        int figures = 0;
        for (int r = 0; r < table.rowCount(); ++r)
            for (int c = 1; c < table.columnCount(); ++c)
                if (const auto* item = table.item(r, c); item != nullptr && item->text().contains('%')) {
                    ++figures;
                    QVERIFY2(table.is_whole(r, c), qPrintable(item->text()));
                    // What is seen whole, and neither better nor worse, has no tip that says it again.
                    QVERIFY2(item->toolTip().isEmpty() || item->toolTip().contains('('), qPrintable(item->toolTip()));
                    QVERIFY2(table.rowHeight(r) > table.rowHeight(0), "changes stand below figures");
                }
        QVERIFY2(figures >= 6, qPrintable(QString::number(figures)));
        QCOMPARE(table.columnWidth(2), table.columnWidth(3));
        const auto cut_names = [&] {
            QStringList cut;
            for (int r = 0; r < table.rowCount(); ++r)
                if (table.columnSpan(r, 0) == 1 && !table.is_whole(r, 0)) cut << table.item(r, 0)->text();
            return cut;
        };
        auto& list = page.list().view();
        QVERIFY(list.isColumnHidden(RunTable::validation_loss) && !list.isColumnHidden(RunTable::iteration_time));
        QVERIFY2(page.list().width() <= 294, qPrintable(QString::number(page.list().width())));
        window->resize(1600, 900);
        QTRY_VERIFY(!list.isColumnHidden(RunTable::validation_loss) && !list.isColumnHidden(RunTable::state));
        QTRY_VERIFY2(cut_names().isEmpty(), qPrintable(cut_names().join(", ")));
        for (int r = 0; r < table.rowCount(); ++r) QCOMPARE(table.rowHeight(r), table.rowHeight(0));
    }

    /// Timelines that are too many for full lanes are drawn low, under one axis, each with all of its lanes.
    void stacked_timelines_show_one_iteration_or_all() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId one = recorded.add(recorder, recorded.experiment),
                    other = recorded.add(recorder, recorded.experiment);
        const auto window = comparing(planners_, recorded, {one, other});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        page.tabs().setCurrentIndex(4);
        QVERIFY(page.findChild<QMenu*>("timeline_legend") != nullptr);
        const auto* key = page.findChild<FlowKey*>("timeline_key");  // open, whatever is pressed
        QVERIFY(key != nullptr && key->isVisible());
        QTRY_VERIFY2(key->words().startsWith("work, backward darker"), qPrintable(key->words()));
        QTRY_VERIFY2(key->words().contains("waits: "), qPrintable(key->words()));
        QVERIFY(key->height() >= key->heightForWidth(key->width()));
        const double all_s = page.timelines().front()->data()->extent_s();
        const auto seen_s = [&] { return page.zoom().end() - page.zoom().begin(); };
        page.findChild<QPushButton*>("fit_timelines")->click();
        QVERIFY(seen_s() >= all_s);
        auto* one_iteration = page.findChild<QPushButton*>("one_iteration");
        QVERIFY(!one_iteration->isChecked());
        one_iteration->click();
        QVERIFY(one_iteration->isChecked());
        one_iteration->click();
        QVERIFY2(one_iteration->isChecked(), "it stays on while that is in sight");
        QVERIFY2(page.zoom().begin() == 0 && seen_s() < 1.1 * recorded.length() && seen_s() > recorded.length(),
                 qPrintable(QString::number(seen_s())));
        page.zoom().pan(0.1 * recorded.length());
        QVERIFY(!one_iteration->isChecked());
        // What is selected moves no lane.
        const auto tops = [&] {
            std::vector<int> all;
            for (const auto* view : page.timelines()) all.push_back(view->mapTo(window.get(), QPoint{}).y());
            return all;
        };
        std::vector<int> before;
        QTRY_VERIFY([&] {
            QCoreApplication::sendPostedEvents();
            const auto now = tops();
            return std::exchange(before, now) == now;
        }());
        window->selection().select({.nodes = {page.timelines().front()->data()->lanes()[0].name}});
        QVERIFY(page.findChild<QPushButton*>("clear_selected")->isVisible());
        QCoreApplication::sendPostedEvents();
        QCOMPARE(tops(), before);
    }

    void stacked_timelines_show_all_lanes() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        std::vector<RunId> runs;
        for (int i = 0; i < 9; ++i) runs.push_back(recorded.add(recorder, recorded.experiment));
        const auto window = comparing(planners_, recorded, {runs[0], runs[1]});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        QTRY_COMPARE_WITH_TIMEOUT(page.timelines().size(), std::size_t{2}, patient_ms);
        for (const auto* view : page.timelines()) QVERIFY(!view->is_compact());
        // Lanes scroll together, each timeline as far as it goes.
        const auto with_lanes = [](int lanes) {
            auto data = std::make_shared<TimelineData>();
            data->set_lanes(std::vector<std::string>(static_cast<std::size_t>(lanes), "n"));
            data->finish();
            return data;
        };
        page.tabs().setCurrentIndex(4);
        auto &few = *page.timelines()[0], &many = *page.timelines()[1];
        few.set_data(with_lanes(20));
        many.set_data(with_lanes(80));
        QTest::keyClick(&many, Qt::Key_Down);
        QVERIFY(many.scrolled() > 0);
        QCOMPARE(few.scrolled(), many.scrolled());
        for (int i = 0; i < 60; ++i) QTest::keyClick(&many, Qt::Key_Down);
        QVERIFY2(few.scrolled() > 0 && many.scrolled() > few.scrolled() + 20 * lane_height,
                 qPrintable(QString("%1 %2").arg(few.scrolled()).arg(many.scrolled())));
        page.list().select(runs);
        QTRY_COMPARE_WITH_TIMEOUT(page.timelines().size(), runs.size(), patient_ms);
        for (const RunId run : runs) QTRY_VERIFY_WITH_TIMEOUT(is_read(*window, run), patient_ms);
        page.tabs().setCurrentIndex(4);
        const auto* first = page.timelines().front();
        QTRY_VERIFY(first->isVisible());
        for (const auto* view : page.timelines()) {
            QVERIFY(view->is_compact());
            QCOMPARE(std::ssize(view->groups()), recorded.experiment.pipeline.stages);
            QVERIFY2(view->height() >= view->height_for_least_lanes(), "all lanes are seen");
            QCOMPARE(view->height() - (view == first ? static_cast<int>(axis_height) : 0),
                     page.timelines().back()->height());  // lanes of one height
            QCOMPARE(view->place_of(1, 0).x(), first->place_of(1, 0).x());
            QVERIFY2(view == first || view->height_for_least_lanes() < first->height_for_least_lanes(), "one axis");
        }
        auto& low = *page.timelines().back();  // a quarter of a small window has room for twenty lanes
        low.set_data(with_lanes(20));
        QVERIFY2(low.height_for_least_lanes() <= 120, qPrintable(QString::number(low.height_for_least_lanes())));
        low.set_data(with_lanes(80));  // where one scrolls, all end in one line
        QCOMPARE(low.place_of(1, 0).x(), first->place_of(1, 0).x());
    }

    /// In lanes of a few pixels a hatch would be texture.
    void low_lanes_have_no_hatches() {
        constexpr int lanes = 10;
        auto data = std::make_shared<TimelineData>();
        data->set_lanes(std::vector<std::string>(lanes, "n"));
        for (int lane = 0; lane < lanes; ++lane)
            data->add(IdleGap{.node = NodeIndex(lane), .cause = IdleCause::fill_drain, .start_s = 0, .end_s = 10}, 0);
        data->set_iterations({{0, 10, 10}});
        data->finish();
        TimeZoom zoom;
        zoom.set_extent(10);
        TimelineView view(zoom, true);
        view.set_frame(stacked_frame(false));
        view.set_data(data);
        view.show();
        const QColor ink = cause_ink(theme(), IdleCause::fill_drain, ColourBy::operation);
        const auto inked = [&](double lane_px) {
            view.resize(400,
                        static_cast<int>(lanes * lane_px + view.height_for_least_lanes() - lanes * least_stacked_lane));
            const QImage seen = view.grab().toImage();
            int found = 0;
            for (int y = 0; y < seen.height(); ++y)
                for (int x = seen.width() / 2; x < seen.width(); ++x) found += seen.pixel(x, y) == ink.rgb();
            return found;
        };
        QVERIFY2(inked(12) >= lanes * 100, qPrintable(QString::number(inked(12))));
        QCOMPARE(inked(6), 0);
    }

    /// In lanes of a few pixels a wait has a mark along its bar, another for each cause of a timeline.
    void low_lanes_tell_causes_without_colours() {
        constexpr int lane_px = 6;
        const IdleCause causes[] = {IdleCause::gradient,   IdleCause::activation, IdleCause::replica,
                                    IdleCause::all_reduce, IdleCause::memory,     IdleCause::link,
                                    IdleCause::collision,  IdleCause::order,      IdleCause::fill_drain};
        LowTimeline low(std::size(causes) + 1, lane_px);
        for (int lane = 0; lane < std::ssize(causes); ++lane)
            low.data->add(IdleGap{.node = NodeIndex(lane), .cause = causes[lane], .start_s = 0, .end_s = 10}, 0);
        const QImage seen = low.shown();
        // Which pixels of a bar are inked, over the longest period of a pattern.
        QSet<QByteArray> looks;
        for (int lane = 0; lane < std::ssize(causes); ++lane) {
            const QColor ground = low_cause_fill(theme(), causes[lane]);
            QByteArray look;
            for (int y = lane * lane_px + 1; y < (lane + 1) * lane_px - 1; ++y)
                for (int x = 256; x < 272; ++x) look += contrast(seen.pixelColor(x, y), ground) > 1.5 ? '1' : '0';
            QVERIFY2((look.count('1') > 0) == (causes[lane] != IdleCause::fill_drain),
                     qPrintable(cause_words(causes[lane]) + ' ' + look));
            looks << look;
        }
        QCOMPARE(looks.size(), std::ssize(causes));
    }

    /// There each node has a square of its stage's colour with the stage's number.
    void low_lanes_tell_stages_without_colours() {
        constexpr int lanes = 10, lane_px = 6;
        LowTimeline low(lanes, lane_px);
        for (int lane = 0; lane < lanes; ++lane) low.data->set_stage(lane, lane % 2);
        const QImage seen = low.shown();
        for (int lane = 0; lane < lanes; ++lane) {
            const QColor fill = theme().stage(lane % 2), digit = theme().text_on(fill);
            const int top = std::max(0, (lane - 1) * lane_px + 1),
                      bottom = std::min(seen.height(), (lane + 2) * lane_px - 1);
            int filled = 0, inked = 0;
            for (int y = top; y < bottom; ++y)
                for (int x = 5; x < 90; ++x) {
                    const QColor is = seen.pixelColor(x, y);
                    filled += is == fill;
                    inked += contrast(is, fill) > 3 && contrast(is, digit) < 2;
                }
            QVERIFY2(filled >= 30, qPrintable(QString("lane %1: %2").arg(lane).arg(filled)));
            QVERIFY2(inked >= 5, qPrintable(QString("lane %1: %2").arg(lane).arg(inked)));
        }
    }

    /// Whose lanes stand together, under one number as high as they are, and beside it they are named.
    void low_lanes_of_a_stage_stand_together() {
        constexpr int lanes = 12, lane_px = 6, stages_of_all = 4;
        LowTimeline low(lanes, lane_px);
        std::vector<int> stages(lanes);
        for (int lane = 0; lane < lanes; ++lane) low.data->set_stage(lane, stages[lane] = lane % stages_of_all);
        low.view.set_data(low.data);
        low.view.set_groups(bands_by_stage(stages));
        QCOMPARE(low.view.layout_of_lanes().count(), lanes);  // there are no heads
        for (int stage = 0; stage < stages_of_all; ++stage)
            for (int i = 0; i < 3; ++i)
                QCOMPARE(low.view.layout_of_lanes().row_of(stage + stages_of_all * i), 3 * stage + i);
        const QImage seen = low.shown();
        for (int stage = 0; stage < stages_of_all; ++stage) {
            const QColor fill = theme().stage(stage);
            const int top = 3 * stage * lane_px + 2, bottom = 3 * (stage + 1) * lane_px - 3;
            for (const int y : {top, bottom})
                QVERIFY2(seen.pixelColor(7, y) == fill, "one square, as high as they are");
            int inked = 0;
            for (int y = top; y < bottom; ++y)
                for (int x = 24; x < 92; ++x) inked += contrast(seen.pixelColor(x, y), theme().surface) > 3;
            QVERIFY2(inked >= 30, qPrintable(QString("stage %1: %2").arg(stage).arg(inked)));
        }
    }

    /// One sentence says which run is best; what is selected in one timeline is marked in the others, and elsewhere.
    void compared_runs_share_the_selection_and_say_which_is_best() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        Experiment other = recorded.experiment;
        other.training.learning_rate *= 2;
        const RunId a = recorded.add(recorder, recorded.experiment, 4), b = recorded.add(recorder, other, 3);
        const auto window = comparing(planners_, recorded, {a, b});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        const auto* best = page.findChild<HeadlineCards*>("best_run");
        QTRY_VERIFY(best->isVisible());
        QVERIFY2(plain(best->text()).startsWith(QString("Run %1 is best. Lowest last").arg(b)),
                 qPrintable(best->text()));
        QVERIFY2(plain(best->text())
                     .contains(QString("Lowest last validation loss: run %1, 3.00. 25.0 % less than run %2's, with "
                                       "learning rate ")
                                   .arg(b)
                                   .arg(a)),
                 qPrintable(best->text()));
        page.tabs().setCurrentIndex(4);
        QCOMPARE(page.timelines().size(), 2U);
        auto& view = *page.timelines()[0];
        QTRY_VERIFY(view.isVisible() && view.settled());
        const auto& work = view.data()->work(1, 0);
        page.zoom().show(0, recorded.length());
        QTRY_VERIFY(view.settled());
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.place_of((work.start_s + work.end_s) / 2, 1).toPoint());
        QTRY_COMPARE(window->selection().now().nodes, std::set<std::string>{"node-2"});
        QCOMPARE(window->selection().now().microbatch, std::optional<int>(work.microbatch));
        // One zoom for all of them.
        const double before = page.zoom().end() - page.zoom().begin();
        page.timelines()[1]->setFocus();
        QTest::keyClick(page.timelines()[1], Qt::Key_W);
        QVERIFY(page.zoom().end() - page.zoom().begin() < before);
        QTest::keyClick(page.timelines()[0], Qt::Key_Home);
        QVERIFY(page.zoom().end() - page.zoom().begin() >= before);
        // What nobody compares any more is let go.
        page.list().select({a});
        QTRY_VERIFY(window->feed().data(b) == nullptr);
        QVERIFY(window->feed().data(a) != nullptr);
    }

    void plans_of_runs_are_held_against_the_baseline() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        Experiment other = recorded.experiment;
        other.topology.links[0].latency_s *= 3;
        const RunId a = recorded.add(recorder, recorded.experiment), b = recorded.add(recorder, other);
        const RunId c = recorded.add(recorder, recorded.experiment);
        const auto window = comparing(planners_, recorded, {a, b, c});
        QVERIFY(window != nullptr);
        auto& page = window->compare_page();
        const auto& table = page.plans().table();
        QVERIFY2(table.columnCount() < 4, "nobody sees it yet");
        page.tabs().setCurrentWidget(&page.plans());
        QTRY_COMPARE(table.columnCount(), 4);
        const auto row_of = [&](const QString& words) {
            for (int row = 0; row < table.rowCount(); ++row)
                if (table.item(row, 0)->text().contains(words)) return row;
            return -1;
        };
        QTRY_VERIFY(row_of("latency") > 0);
        // The oldest is what the others are held against.
        QCOMPARE(table.horizontalHeaderItem(1)->text(), QString("Run %1\n(baseline)").arg(a));
        const auto cell = [&](const QString& row, RunId run) {
            for (int column = 1; column < table.columnCount(); ++column)
                if (table.horizontalHeaderItem(column)->text().startsWith(QString("Run %1").arg(run)))
                    return table.item(row_of(row), column)->text();
            return QString();
        };
        QVERIFY(cell("latency", b) != cell("latency", c));
        QCOMPARE(cell("latency", a), cell("latency", c));
        const auto same = cell("same nodes", c);
        QVERIFY2(same.section(" of ", 0, 0) == same.section(" of ", 1) && !same.isEmpty(), qPrintable(same));
        // A run whose nodes serve other stages.
        RunData one, swapped;
        one.info.id = 1, swapped.info.id = 2;
        one.experiment = swapped.experiment = recorded.experiment;
        one.problem = swapped.problem = recorded.planned->problem;
        one.plan = swapped.plan = recorded.planned->plan;
        std::swap(swapped.plan.stages[0], swapped.plan.stages[1]);
        RunPlansPanel panel;
        panel.show();
        panel.show_runs({&one});
        QVERIFY2(panel.empty().isVisible() && panel.words().isHidden(), "nothing to compare");
        panel.show_runs({&one, &swapped});
        const auto& matrix = panel.table();
        int badges = 0;
        for (int row = 0; row < matrix.rowCount(); ++row)
            for (int column = 1; column < 3; ++column)
                if (const auto* item = matrix.item(row, column);
                    item != nullptr && item->text().startsWith("stage ") && !item->data(Qt::DecorationRole).isNull())
                    ++badges;
        QCOMPARE(badges, 2 * static_cast<int>(one.plan.stages[0].size() + one.plan.stages[1].size()));
        const auto nodes = std::ssize(one.problem->node_ids);
        const auto moved = std::ssize(one.plan.stages[0]) + std::ssize(one.plan.stages[1]);
        const QString found = panel.findChild<QLabel*>("plan_finding")->text();
        QVERIFY2(found.startsWith(QString("Of run 1's plan run 2 keeps: %1 of %2 nodes serve the same stage")
                                      .arg(nodes - moved)
                                      .arg(nodes)),
                 qPrintable(found));
        QCOMPARE(panel.words().text(), QString("Grey: as in run 1"));
        QVERIFY(panel.empty().isHidden());
        RunData third = one;
        third.info.id = 3;
        panel.show_runs({&one, &swapped, &third});
        QCOMPARE(panel.findChild<QLabel*>("plan_finding")->text(), QString("Run 3 has run 1's plan"));
        // However many of its things differ, the network comes after the plans, and figures are whole in their cells.
        third.info.id = 4;
        third.experiment.topology.nodes[0].seconds_per_sample_per_block *= 2;
        panel.show_runs({&one, &third});
        const auto place_of = [&](const QString& words) {
            const auto found = matrix.findItems(words, Qt::MatchEndsWith);
            return found.isEmpty() ? -1 : found.front()->row();
        };
        QVERIFY(place_of("By the same nodes") >= 0 && place_of("By the same nodes") < place_of("Network"));
        QVERIFY(place_of(", time per sample and block") > place_of("Network"));
    }

    void plans_far_apart_are_called_so() {
        PlanComparison far;
        far.microbatches_a = 30;
        for (int node = 0; node < 8; ++node) far.nodes.push_back({"n" + std::to_string(node), 0, 1});
        PlanComparison near = far;
        near.nodes.resize(2);
        near.same_paths = 12;
        QCOMPARE(plan_finding(1, 10, {{2, far}, {3, far}}),
                 QString("The plans have little in common. Nearest to run 1's is run 2's: 2 of 10 nodes serve the same "
                         "stage, 0 of 30 microbatches go by the same nodes"));
        QCOMPARE(
            plan_finding(1, 10, {{2, far}, {3, near}}),
            QString("Run 3's plan is nearest to run 1's: 8 of 10 nodes serve the same stage, 12 of 30 microbatches "
                    "go by the same nodes"));
    }

    /// Timelines beside each other say whose nodes idle longer and on what; nothing where they idle alike.
    void timelines_say_what_takes_longer() {
        std::vector<RunData> all(3);
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].info.id = static_cast<RunId>(i + 1);
            all[i].info.iteration_s = 2;
            all[i].explained_iterations = 1;
            all[i].idle_share[static_cast<std::size_t>(IdleCause::gradient)] = 0.25;
        }
        QVERIFY(idle_finding({&all[0]}).isEmpty());
        QVERIFY2(idle_finding({&all[0], &all[1]}).isEmpty(), "alike");
        all[1].info.iteration_s = 4;
        all[1].idle_share[static_cast<std::size_t>(IdleCause::memory)] = 0.5;
        const QString found(
            "Run 2's nodes idle 2.50 s longer an iteration than run %1's: 2.00 s more waiting for "
            "memory (TC1), 500 ms more waiting for a gradient");
        QCOMPARE(plain(idle_finding({&all[0], &all[1], &all[2]})), found.arg(1));
        QCOMPARE(plain(idle_finding({&all[1], &all[2]})), found.arg(3));
        all[2].explained_iterations = 0;
        QVERIFY2(idle_finding({&all[1], &all[2]}).isEmpty(), "nobody knows yet");
    }
};

QTEST_MAIN(TestCompareWays)
#include "test_compare_ways.moc"
