// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps from the window: asked for by keys and mouse, trained by the command line, cancelled, gone on with, looked at.
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

#include "core/experiment/io.h"
#include "core/experiment/sweep.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/compare/worth_panel.h"
#include "views/curves/plot.h"
#include "views/plan/plan_service.h"
#include "views/theme/theme.h"
#include "views/window/main_window.h"

using namespace skippipe;

namespace {

template <class Widget>
Widget* named(QWidget& in, const char* name) {
    return in.findChild<Widget*>(name);
}

void type(QWidget* field, const char* text) {
    field->setFocus();
    QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(field, text);
}

std::vector<SweepRow> three_rows() {
    std::vector<SweepRow> rows(3);
    const double iteration_s[] = {3, 2, 4}, losses[] = {2, 2.5, 2.6};
    for (std::size_t i = 0; i < 3; ++i) {
        rows[i].settings = {i == 2 ? "gpipe" : "1f1b", 0.25 * static_cast<double>(i)};
        rows[i].iteration_s = {iteration_s[i], iteration_s[i]};
        rows[i].losses = {losses[i]};
        rows[i].points = 2;
        rows[i].done = 2;
        rows[i].runs = {static_cast<RunId>(2 * i + 1), static_cast<RunId>(2 * i + 2)};
    }
    return rows;
}

}  // namespace

class TestSweepPanel : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() {
        register_planners(planners_);
        apply_theme(*qApp, false);
    }

    void rows_become_lines_and_points() {
        const auto look = look_of({"pipeline.planner", "pipeline.skip_ratio"}, three_rows());
        QCOMPARE(look.columns.size(), 4U);
        QCOMPARE(look.columns[0].choices, QStringList({"1f1b", "gpipe"}));
        QCOMPARE(look.columns[1].words[1], QString("0.25"));
        QVERIFY(look.money() == nullptr);
        QCOMPARE(look.is_front, (std::vector<bool>{true, true, false}));
        ParallelPlot lines;
        TradeOffPlot points;
        for (SweepPlot* plot : std::initializer_list<SweepPlot*>{&lines, &points}) {
            plot->resize(400, 260);
            plot->set_look(look);
        }
        // What they draw besides: who they are, in figures as the table has them.
        QVERIFY(lines.name_boxes(0, {30, 14}).front().left() > lines.places(0).back().x());
        QVERIFY(!points.name_boxes(0, {30, 14}).empty());
        const auto line = lines.places(2);
        QCOMPARE(line.size(), 4);
        QVERIFY(line[0].x() < line[1].x() && line[3].x() < 400);
        QVERIFY(line[2].y() < lines.places(1)[2].y());  // the longest iteration is highest
        QVERIFY(points.places(0)[0].y() > points.places(2)[0].y() && points.places(0)[0].x() > points.places(1)[0].x());
        QSignalSpy clicked(&points, &SweepPlot::row_clicked);
        QTest::mouseClick(&points, Qt::LeftButton, {}, points.places(1)[0].toPoint());
        QTest::mouseClick(&points, Qt::LeftButton, {}, {2, 2});
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked[0][0].toInt(), 1);
        auto without = three_rows();
        without[1].iteration_s.clear();
        lines.set_look(look_of({"a", "b"}, without));
        QVERIFY(lines.places(1).isEmpty() && !lines.places(0).isEmpty());
        without[1].done = without[2].done = 0;
        const auto alone = look_of({"a", "b"}, without);
        QVERIFY2(std::count(alone.is_front.begin(), alone.is_front.end(), true) == 0, "one setting trades nothing");
    }

    /// The form is there again in the next window, and with it the rows of what was trained.
    void the_form_is_kept() {
        QTemporaryDir folder;
        const QString settings = folder.filePath("settings.ini");
        const auto open = [&] {
            auto window = std::make_unique<MainWindow>(planners_, folder.filePath("record.sqlite").toStdString());
            window->remember_in(settings);
            window->document().start_new(three_linked_nodes());
            return window;
        };
        SweepSetup made;
        {
            const auto window = open();
            auto& form = window->compare_page().sweep().form();
            form.add_axis("pipeline.skip_ratio", "0, 0.25");
            form.add_axis("training.learning_rate", "1e-3, 1e-2");
            type(named<QSpinBox>(form, "sweep_seeds"), "2");
            type(named<QSpinBox>(form, "sweep_iterations"), "4");
            made = form.setup();
            QCOMPARE(made.axes.size(), 2U);
            window->close();
        }
        const auto window = open();
        QVERIFY(window->compare_page().sweep().form().setup() == made);
        window->compare_page().sweep().form().restore({"how=9", "nonsense", "seeds=x"});
        QCOMPARE(window->compare_page().sweep().form().setup().draws, 0);
    }

    void a_sweep_is_made_cancelled_and_gone_on_with() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(three_linked_nodes());
        window.show();
        for (auto* action : window.actions())
            if (action->text() == QString::fromUtf8("Sweep…")) action->trigger();
        auto& panel = window.compare_page().sweep();
        QVERIFY(panel.isVisible());
        auto* values = named<QLineEdit>(panel, "sweep_values");
        type(values, "0, 7");
        QTRY_COMPARE(panel.words().text(), QString("Skip ratio: 7 is out of range. Give a number from 0 to 1"));
        QVERIFY(values->property("faulty").toBool() && values->toolTip() == panel.words().text());
        type(values, "0, nonsense");
        QTRY_COMPARE(panel.words().text(), QString::fromUtf8("Skip ratio: “nonsense” is not a number from 0 to 1"));
        QVERIFY(!panel.start_button().isEnabled());
        type(values, "0, 0.33");
        QTRY_COMPARE(panel.words().text(), QString("2 runs"));
        QVERIFY(!values->property("faulty").toBool() && values->toolTip().isEmpty());
        window.document().edit("gpipe", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        QTRY_COMPARE(panel.words().text(), QString("1 run; gpipe visits all stages, whatever the skip ratio"));
        QTRY_COMPARE(panel.table().rowCount(), 1);
        QCOMPARE(panel.table().item(0, 0)->text(), QString("0 (full pipeline)"));
        window.document().undo_stack().undo();
        QTRY_COMPARE(panel.words().text(), QString("2 runs"));
        const auto* field = named<QComboBox>(panel, "sweep_field");
        QCOMPARE(field->currentText(), QString("Skip ratio (pipeline.skip_ratio)"));
        QCOMPARE(panel.form().setup().axes, std::vector<std::string>{"pipeline.skip_ratio=0, 0.33"});
        QVERIFY2(field->toolTip().contains("failures.0.rate_per_hour"), qPrintable(field->toolTip()));
        Experiment failing = window.document().experiment();
        failing.failures.push_back({.kind = FailureKind::crash, .target = "any", .rate_per_hour = 2});
        const auto fields = sweepable_fields(failing);
        QVERIFY2(std::count(fields.begin(), fields.end(), "failures.0.rate_per_hour") == 1, "as the hint says");
        type(named<QSpinBox>(panel, "sweep_seeds"), "3");
        QTRY_COMPARE(panel.words().text(), QString("6 runs: 2 combinations, 3 seeds each"));
        QTRY_VERIFY(panel.start_button().isEnabled());

        QTest::mouseClick(&panel.start_button(), Qt::LeftButton);
        QVERIFY(panel.cancel_button().isVisible() && !panel.form().isEnabled());
        QVERIFY(window.why_not_launch().contains("sweep"));
        // Nothing trains yet: that it plans is said, here and in the status bar.
        QVERIFY2(panel.words().text().endsWith(QString::fromUtf8("planning 1 of 6…")),
                 qPrintable(panel.words().text()));
        QVERIFY(!named<QLabel>(panel, "sweep_left")->text().isEmpty());
        const auto in_status = [&](const QString& words) {
            for (const auto* label : window.statusBar()->findChildren<QLabel*>())
                if (label->text() == words) return true;
            return false;
        };
        QTRY_VERIFY(in_status(QString::fromUtf8("Sweep: planning 1 of 6…")));
        QTRY_VERIFY_WITH_TIMEOUT(!panel.runs().empty(), 120'000);
        QTest::mouseClick(&panel.cancel_button(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!window.sweeper().is_running(), 60'000);
        QTRY_COMPARE(panel.start_button().text(), QString("Continue sweep"));
        const auto before = panel.runs();
        QVERIFY2(before.size() < 6, "cancelled too late to tell");
        QTRY_VERIFY2(panel.words().text().contains("one at a time, at the pace of run"),
                     qPrintable(panel.words().text()));

        QTRY_VERIFY(panel.start_button().isEnabled());
        QTest::mouseClick(&panel.start_button(), Qt::LeftButton);
        const auto* left = named<QLabel>(panel, "sweep_left");
        // In steps of 10 s: these runs are short.
        QTRY_VERIFY_WITH_TIMEOUT(left->text().startsWith("less than 10") && left->text().endsWith("left"), 120'000);
        QTRY_VERIFY_WITH_TIMEOUT(!window.sweeper().is_running(), 300'000);
        QTRY_COMPARE(left->text(), QString());
        QTRY_VERIFY2(panel.words().text().endsWith("all are done"), qPrintable(panel.words().text()));
        QVERIFY(!panel.start_button().isEnabled());
        const auto runs = panel.runs();
        QCOMPARE(runs.size(), 6U);
        for (const RunId run : before) QVERIFY(std::count(runs.begin(), runs.end(), run) == 1);
        QCOMPARE(panel.table().rowCount(), 2);
        QCOMPARE(panel.table().item(1, 0)->text(), QString("0.33"));
        QCOMPARE(panel.table().horizontalHeaderItem(0)->text(), QString("Skip ratio"));
        QVERIFY(panel.table().item(1, 3)->text().startsWith("3 of 3"));
        for (const RunId run : runs) QCOMPARE(window.feed().run(run)->tags, std::vector<std::string>{"sweep"});

        const auto line = panel.lines().places(1);
        QVERIFY(!line.isEmpty());
        QTest::mouseClick(&panel.lines(), Qt::LeftButton, {}, line.front().toPoint());
        QCOMPARE(panel.lines().chosen(), 1);
        auto chosen = window.compare_page().list().selected();
        std::sort(chosen.begin(), chosen.end());
        std::vector<RunId> second(runs.begin() + 3, runs.end());
        std::sort(second.begin(), second.end());
        QCOMPARE(chosen, second);
        for (const RunId run : chosen)
            QTRY_VERIFY(window.feed().data(run) && window.feed().data(run)->experiment.pipeline.skip_ratio > 0.3);
        // Ctrl adds the runs of another row.
        QTest::mouseClick(panel.table().viewport(), Qt::LeftButton, Qt::ControlModifier,
                          panel.table().visualItemRect(panel.table().item(0, 0)).center());
        QCOMPARE(window.compare_page().list().selected().size(), 6U);
        // Filled anew, the table has the same row at hand: keys go on from there.
        const auto click = [&](int row, int column) {
            QTest::mouseClick(panel.table().viewport(), Qt::LeftButton, {},
                              panel.table().visualItemRect(panel.table().item(row, column)).center());
        };
        click(1, 1);
        QCOMPARE(panel.table().currentRow(), 1);
        const QString first = panel.table().item(0, 0)->text();
        panel.table().item(0, 0)->setText("?");
        QEvent other_style(QEvent::StyleChange);
        QCoreApplication::sendEvent(&panel, &other_style);
        QCOMPARE(panel.table().item(0, 0)->text(), first);
        QCOMPARE(std::pair(panel.table().currentRow(), panel.table().currentColumn()), std::pair(1, 1));
        QCOMPARE(panel.table().selectionModel()->selectedRows().size(), 1);
        QCOMPARE(panel.lines().chosen(), 1);
        QTest::keyClick(&panel.table(), Qt::Key_Down, Qt::ShiftModifier);  // there is none below
        QCOMPARE(panel.table().currentRow(), 1);
    }

    /// Four runs that lose a nat in 1,000 tokens, at skip ratio 0 and 0.33: time of the drawn network follows from its
    /// own plans, money from its prices.
    void the_skip_is_weighed_on_the_drawn_network() {
        Document document;
        auto experiment = three_linked_nodes();
        experiment.pipeline.planner = "gpipe";
        document.start_new(experiment);
        std::vector<RunData> runs(4);
        for (std::size_t i = 0; i < 4; ++i) {
            runs[i].info.id = static_cast<RunId>(i + 1);
            runs[i].experiment = experiment;
            runs[i].experiment.seed = i % 2 + 1;
            runs[i].experiment.pipeline.skip_ratio = i < 2 ? 0 : 0.33;
            for (int n = 0; n <= 4; ++n)
                runs[i].metrics.push_back({.iteration = n,
                                           .name = "validation_loss",
                                           .value = 6 - n + 0.5 * static_cast<double>(i % 2),
                                           .tokens = 1000 * n});
        }
        std::vector<const RunData*> all;
        for (const auto& run : runs) all.push_back(&run);
        WorthPanel panel(document, planners_);
        panel.resize(740, 560);
        panel.show();
        QVERIFY(panel.table().isHidden());
        panel.show_runs(all);
        QTRY_COMPARE_WITH_TIMEOUT(panel.worths().rows.size(), 2U, 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.is_planning(), 30'000);
        QCOMPARE(*panel.worths().target, 2.5);
        const auto &full = panel.worths().rows[0], &skips = panel.worths().rows[1];
        for (const auto* row : {&full, &skips}) {
            auto planned = experiment;
            planned.pipeline.skip_ratio = row->skip_ratio;
            const auto outcome = make_plan(planned, *planners_.find("gpipe"), request_for(planned));
            QVERIFY(outcome->has_plan);
            QCOMPARE(row->iteration_s, outcome->timeline.iteration_s);
            QCOMPARE(row->runs, 2U);
            QCOMPARE(*row->iterations.least, 3500.0 / (4 * 2 * 32));  // tokens needed by tokens of an iteration
            QCOMPARE(*row->iterations.most, 4000.0 / (4 * 2 * 32));
            QCOMPARE(*row->network_s.most, *row->iterations.most * row->iteration_s);
        }
        QCOMPARE(panel.table().rowCount(), 2);
        // By the same losses the shorter iteration wins, or none does; two seeds a side apart by as much as these tell
        // nothing for sure.
        const QString verdict = panel.finding().text();
        QVERIFY2(verdict.startsWith("Is the skip worth it? It seems"), qPrintable(verdict));
        QVERIFY2(verdict.endsWith(panel.table().item(1, 1)->text() + QString::fromUtf8("\u00a0×")),
                 qPrintable(verdict));
        QVERIFY2(panel.words().text().startsWith("Chance does as much: over the seeds p ="),
                 qPrintable(panel.words().text()));
        QCOMPARE(panel.table().columnCount(), 7);
        QVERIFY2(panel.table().height() < 4 * panel.table().rowHeight(0), "what two rows do not need is the curve's");
        QCOMPARE(panel.table().item(0, 6)->text(), QString("runs 1 and 2"));  // which all got there
        QVERIFY(!panel.table().isColumnHidden(2));
        QVERIFY(!panel.figure().isEnabled());
        const auto* why_off = panel.findChild<QLabel*>("worth_why_off");  // beside what cannot be chosen
        QVERIFY2(why_off->isVisible() && why_off->text().contains("prices"), qPrintable(why_off->text()));
        panel.target().setText("3");
        QCOMPARE(*panel.worths().rows[0].iterations.most, 3500.0 / (4 * 2 * 32));

        document.edit("Price", [](Experiment& e) { e.prices.node_hour = 3600; });
        QTRY_VERIFY_WITH_TIMEOUT(panel.worths().rows.size() == 2 && panel.figure().isEnabled(), 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.is_planning(), 30'000);
        QCOMPARE(panel.table().columnCount(), 8);
        QVERIFY(why_off->isHidden());
        const auto& priced = panel.worths().rows[0];  // a node costs 1 a second: three work
        QVERIFY(std::abs(*priced.money.mean / (3 * *priced.network_s.mean) - 1) < 1e-9);
        // Of a training that was read twice nobody knows when it got there.
        panel.target().clear();
        for (auto& run : runs) run.metrics.erase(run.metrics.begin() + 1, run.metrics.end() - 1);
        runs[0].metrics.back().value = 1;
        panel.show_runs(all);
        QVERIFY2(
            panel.finding().text().contains("worth it? Nobody knows yet: of skip ratio 0, the loss was read 2 times"),
            qPrintable(panel.finding().text()));
        QVERIFY2(panel.table().isColumnHidden(2), "a column without any p");
        QVERIFY2(panel.findChild<QCustomPlot*>()->isHidden(), "axes of nothing");
        QSignalSpy sweep(&panel, &WorthPanel::sweep_requested);
        panel.findChild<QPushButton*>("worth_sweep")->click();
        QCOMPARE(sweep.count(), 1);
        QVERIFY(panel.table().item(0, 3)->text() == "read too seldom" && panel.table().item(1, 1)->text().isEmpty());
        panel.show_runs({});
        QVERIFY(panel.table().isHidden() && panel.worths().rows.empty());
    }

    /// Plans of several skip ratios say how far they are; stopped, they wait until they are to go on.
    void weighing_says_how_far_it_is_and_stops() {
        Document document;
        auto experiment = load_experiment(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json").experiment;
        experiment.pipeline.plan_steps = 40'000'000;  // longer than anybody waits here
        document.start_new(experiment);
        std::vector<RunData> runs(2);
        for (std::size_t i = 0; i < 2; ++i) {
            runs[i].info.id = static_cast<RunId>(i + 1);
            runs[i].experiment = experiment;
            runs[i].experiment.pipeline.skip_ratio = i == 0 ? 0 : 0.33;
            for (int n = 0; n <= 4; ++n)
                runs[i].metrics.push_back(
                    {.iteration = n, .name = "validation_loss", .value = 6.0 - n, .tokens = 1000 * n});
        }
        WorthPanel panel(document, planners_);
        panel.resize(740, 560);
        panel.show();
        panel.show_runs({&runs[0], &runs[1]});
        QVERIFY(panel.is_planning());
        QCOMPARE(panel.stop_button().text(), QString("Stop"));
        QTRY_VERIFY2_WITH_TIMEOUT(panel.progress().startsWith("Plans skip ratio 1 of 2, about"),
                                  qPrintable(panel.progress()), 30'000);
        panel.stop_button().click();
        QVERIFY(!panel.is_planning());
        QCOMPARE(panel.progress(), QString("0 of 2 skip ratios are planned"));
        QTest::qWait(1000);
        QCOMPARE(panel.progress(), QString("0 of 2 skip ratios are planned"));
        QVERIFY2(!panel.is_planning() && panel.worths().rows.empty(), "what was stopped is no answer");
        panel.stop_button().click();
        QVERIFY(panel.is_planning());
        // Another document is another question, and quick planners are soon done.
        document.edit("quick", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        QTRY_VERIFY_WITH_TIMEOUT(panel.worths().rows.size() == 2 && !panel.is_planning(), 30'000);
        QVERIFY(panel.stop_button().isHidden());
    }

    /// A run of the open experiment was trained by the plan that would be searched for: it is there at once.
    void plans_of_runs_are_not_searched_for_again() {
        Document document;
        auto experiment = three_linked_nodes();
        experiment.pipeline.plan_steps = 4'000'000'000;  // longer than anybody waits here
        experiment.pipeline.planner = "skippipe-joint";
        experiment.pipeline.skip_ratio = 0.33;
        document.start_new(experiment);
        RunData run;
        run.info.id = 1;
        run.experiment = experiment;
        run.experiment.training.iterations = 7;  // which no plan depends on
        run.plan.planner = "skippipe-joint";
        run.plan.seed = experiment.seed;
        run.iteration = Accounting{.tokens = 500, .network_s = 2};
        for (int n = 0; n <= 4; ++n)
            run.metrics.push_back({.iteration = n, .name = "validation_loss", .value = 6.0 - n, .tokens = 1000 * n});
        WorthPanel panel(document, planners_);
        panel.resize(740, 560);
        panel.show();
        panel.show_runs({&run});
        QVERIFY(!panel.is_planning());
        QCOMPARE(panel.worths().rows.size(), 1U);
        QCOMPARE(panel.worths().rows[0].iteration_s, 2.0);
        // Another model's losses say nothing of this one.
        auto foreign = run;
        foreign.experiment.model.width *= 2;
        panel.show_runs({&foreign});
        QVERIFY(panel.worths().rows.empty() && !panel.is_planning());
        panel.show_runs({&run});
        // By another seed, or for another network, it is another plan.
        document.edit("other", [](Experiment& e) { e.seed = 9; });
        QTRY_VERIFY_WITH_TIMEOUT(panel.is_planning(), 5'000);
        QVERIFY(panel.worths().rows.empty());
        panel.stop_button().click();
    }

    void draws_are_counted() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(three_linked_nodes());
        window.show();
        window.show_workspace(MainWindow::compare);
        auto* button = named<QPushButton>(window.compare_page(), "make_sweep");
        QVERIFY(button->isVisible());
        QTest::mouseClick(button, Qt::LeftButton);
        auto& panel = window.compare_page().sweep();
        type(named<QLineEdit>(panel, "sweep_values"), "log:1e-4..1e-2");
        type(named<QComboBox>(panel, "sweep_field")->lineEdit(), "/training/learning_rate");
        QTRY_VERIFY2(panel.words().text().contains("a grid needs values"), qPrintable(panel.words().text()));
        QVERIFY(named<QWidget>(panel, "sweep_to_come")->isVisible());  // what will stand there is said
        QVERIFY(named<QWidget>(panel, "sweep_heads")->isVisible());
        auto* how = named<QComboBox>(panel, "sweep_how");
        QVERIFY(!named<QSpinBox>(panel, "sweep_draws")->isVisible());
        how->setFocus();
        QTest::keyClick(how, Qt::Key_Down);
        type(named<QSpinBox>(panel, "sweep_draws"), "8");
        QTRY_COMPARE(panel.words().text(), QString("8 runs"));
        QTRY_VERIFY2(panel.table().isVisible() && panel.table().rowCount() == 8, "what will run is seen");
        QVERIFY2(!panel.lines().isVisible(), "there is nothing to draw yet");
        QTest::mouseClick(&panel.form().add_button(), Qt::LeftButton);
        QCOMPARE(panel.findChildren<QLineEdit*>("sweep_values").size(), 2);
    }
};

QTEST_MAIN(TestSweepPanel)
#include "test_sweep_panel.moc"
