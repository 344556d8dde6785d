// SPDX-License-Identifier: GPL-3.0-or-later
// The window's fair accounting: what differs in cost, and curves over block FLOPs with what that holds equal.
#include <QTest>

#include <algorithm>

#include "tests/views/snapshots.h"
#include "views/compare/differences.h"
#include "views/compare/race_panel.h"
#include "views/curves/curve_panel.h"
#include "views/curves/equal_words.h"
#include "views/theme/theme.h"

using namespace skippipe;

namespace {

/// Two iterations of 30 microbatches; losses 6, 4, 3.
RunData run_of(RunId id, double flops, double bytes) {
    RunData run;
    run.info.id = id;
    run.info.iterations_done = 2;
    run.iteration = Accounting{.iterations = 1,
                               .microbatches = 30,
                               .tokens = 1000,
                               .forward_block_flops = flops / 3,
                               .backward_block_flops = 2 * flops / 3,
                               .lines = {{"A->B", bytes, 0, 0}},
                               .transfer_bytes = bytes};
    int i = 0;
    for (const double loss : {6.0, 4.0, 3.0}) {
        run.metrics.push_back({.iteration = i, .name = "validation_loss", .value = loss, .network_s = 10.0 * i});
        if (i > 0) run.metrics.push_back({.iteration = i - 1, .name = "loss", .value = loss, .network_s = 10.0 * i});
        ++i;
    }
    return run;
}

const DifferenceRow* row(const std::vector<DifferenceRow>& rows, const QString& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

QString plain(QString text) { return text.replace(QChar(0x2009), ' ').replace(QChar(0xa0), ' '); }

QString words_of(const std::vector<RunData>& runs, RunId baseline, const std::string& metric, WorkAxis x) {
    std::vector<const RunData*> pointers;
    for (const auto& run : runs) pointers.push_back(&run);
    PointStore store;
    const auto words = equal_words(pointers, baseline, metric, x, store);
    return words.finding.isEmpty() ? words.details : words.finding + " | " + words.details;
}

}  // namespace

class TestEqualViews : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void costs_stand_beside_the_baseline() {
        const RunData full = run_of(1, 3e12, 2e6), skip = run_of(2, 2e12, 1e6);
        const auto rows = differences({&full, &skip});
        for (const char* name : {"Microbatches", "Tokens", "Block FLOPs", "Bytes sent", "Busiest line, bytes"})
            QVERIFY2(row(rows, name) != nullptr, name);
        QCOMPARE(row(rows, "Microbatches")->values, QStringList({"60", "60"}));
        QVERIFY(!row(rows, "Microbatches")->differs && row(rows, "Microbatches")->deltas[1].isEmpty());
        QCOMPARE(plain(row(rows, "Block FLOPs")->values.join("; ")), QStringLiteral("6.00 TFLOP; 4.00 TFLOP"));
        QCOMPARE(plain(row(rows, "Block FLOPs")->deltas[1]), QChar(0x2212) + QStringLiteral("33.3 %"));
        QCOMPARE(plain(row(rows, "Busiest line, bytes")->values[0]), QStringLiteral("4.00 MB"));
        QCOMPARE(row(rows, "Busiest line")->values[1], QString::fromUtf8("A → B"));
        RunData unknown = run_of(3, 1, 1);
        unknown.iteration.reset();
        QCOMPARE(row(differences({&full, &unknown}), "Block FLOPs")->values[1], QString{});
        QVERIFY(row(differences({&unknown}), "Block FLOPs") == nullptr);
    }

    void words_say_what_is_equal() {
        const std::vector<RunData> runs{run_of(1, 3e12, 2e6), run_of(2, 2e12, 1e6)};
        QCOMPARE(plain(words_of(runs, 1, "validation_loss", WorkAxis::block_flops)),
                 QStringLiteral("Equal block FLOPs; run 2 ends at 4.00 TFLOP. To reach 3.00: run 2 0.667 × run 1's."));
        QVERIFY(
            plain(words_of(runs, 1, "validation_loss", WorkAxis::network_time))
                .startsWith("At 20.0 s runs 1 and 2 have the lowest validation loss, 3.00 | Equal network time. To "));
        QCOMPARE(words_of(runs, 1, "gradient_norm", WorkAxis::block_flops), QStringLiteral("Equal block FLOPs."));
        QVERIFY(
            words_of(runs, 1, "loss", WorkAxis::iteration).startsWith("At iteration 2 runs 1 and 2 have the lowest "));
        QVERIFY(words_of(runs, 1, "loss", WorkAxis::iteration).contains("Equal iterations of 30 microbatches each."));
        auto apart = runs;
        for (auto& metric : apart[1].metrics) metric.value *= 0.5;
        QVERIFY2(plain(words_of(apart, 1, "validation_loss", WorkAxis::network_time))
                     .startsWith("At 20.0 s run 2 has the lowest validation loss, 1.50; run 1: 3.00 | "),
                 qPrintable(plain(words_of(apart, 1, "validation_loss", WorkAxis::network_time))));
        auto uneven = runs;
        uneven[1].iteration->microbatches = 60;
        QVERIFY(words_of(uneven, 1, "loss", WorkAxis::iteration)
                    .contains("Equal iterations, but of 30 and 60 microbatches."));
        QVERIFY(words_of({runs[0]}, 1, "loss", WorkAxis::block_flops).isEmpty());
    }

    void curves_run_over_flops() {
        const RunData full = run_of(1, 3e12, 2e6), skip = run_of(2, 2e12, 1e6);
        CurvePanel panel;
        panel.resize(600, 400);
        panel.show_runs(snapshots({&full, &skip}), 1);
        panel.set_axis(WorkAxis::block_flops);
        QCOMPARE(panel.point_count(), 4 + 6);  // and validations
        QVERIFY(panel.equal_text().contains("Equal block FLOPs; run 2 ends at "));
        panel.show_runs(snapshots({&full}));
        QVERIFY(panel.equal_text().isEmpty());
    }

    /// Two seeds at skip ratio 0 and two at 0.25: rows are groups, the first one what others are compared with.
    void runs_race_to_a_loss() {
        std::vector<RunData> runs;
        for (int i = 0; i < 4; ++i) {
            RunData run;
            run.info.id = i + 1;
            run.info.planner = "gpipe";
            run.experiment.seed = static_cast<std::uint64_t>(i % 2 + 1);
            run.experiment.pipeline.skip_ratio = i < 2 ? 0 : 0.25;
            const double iteration_s = i < 2 ? 10 : 5;
            for (int n = 0; n <= 4; ++n)
                run.metrics.push_back({.iteration = n,
                                       .name = "validation_loss",
                                       .value = 6 - n + 0.1 * (i % 2),
                                       .network_s = iteration_s * n});
            runs.push_back(std::move(run));
        }
        const std::vector<const RunData*> all{&runs[0], &runs[1], &runs[2], &runs[3]};
        RacePanel panel;
        panel.show_runs(snapshots(all));
        const auto& table = panel.table();
        QCOMPARE(panel.group().currentText(), QString("All but seed"));
        QCOMPARE(table.rowCount(), 2);
        const auto cell = [&](int row, int column) {
            return table.item(row, column)->text().replace(QChar(0x2009), ' ');
        };
        QCOMPARE(cell(0, 0), QString("Runs 1 and 2: skip ratio 0"));
        QCOMPARE(cell(1, 0), QString("Runs 3 and 4: skip ratio 0.25"));
        QVERIFY2(cell(0, 2).startsWith("39.5 s") && cell(1, 2).startsWith("19.8 s"), qPrintable(cell(1, 2)));
        QCOMPARE(cell(1, 3), QString("0.500"));
        const auto* finding = panel.findChild<QLabel*>("race_finding");
        QCOMPARE(finding->text().replace(QChar(0x2009), ' '),
                 QString::fromUtf8("Runs 3 and 4 reach 2.10 first, after 19.8 s; runs 1 and 2: 2.00\u00A0×"));
        QCOMPARE(table.item(1, 3)->foreground().color(), theme().good);
        QCOMPARE(cell(0, 4), QString());
        QVERIFY(cell(1, 4).startsWith("0.00") || cell(1, 4).startsWith("<"));
        QVERIFY2(cell(1, 6).startsWith(QString::fromUtf8("−")), qPrintable(cell(1, 6)));
        // The curves below the table are the rows', in their colours, with the loss to get to across them.
        panel.resize(800, 600);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QCOMPARE(panel.chart().set().curves.size(), 2U);
        QCOMPARE(panel.chart().set().curves[1].run, RunId{3});
        QCOMPARE(panel.chart().set().curves[1].points.size(), 5U);
        QCOMPARE(table.horizontalHeaderItem(6)->text(), QString("Change\nto runs 1 and 2"));
        QTRY_VERIFY2(panel.chart().end_words().join('|').contains("3, 4  "),
                     qPrintable(panel.chart().end_words().join('|')));
        QVERIFY(panel.chart().level() && std::abs(*panel.chart().level() - 2.1) < 1e-9);
        QVERIFY(!table.item(1, 0)->icon().isNull());
        QCOMPARE(table.item(1, 0)->icon().pixmap(16).toImage(), QIcon(run_swatch(3)).pixmap(16).toImage());
        QVERIFY(table.height() < panel.chart().height());
        panel.group().setCurrentIndex(0);
        QCOMPARE(panel.chart().set().curves.size(), 4U);
        QCOMPARE(table.rowCount(), 4);
        QCOMPARE(cell(2, 4), QString());  // of one run a side nothing can be tested
        panel.target().setText("2");
        QCOMPARE(panel.chart().level(), std::optional<double>(2));
        QCOMPARE(cell(0, 1), QString("1 of 1"));
        QCOMPARE(cell(3, 1), QString("0 of 1"));  // after those that got there
        QCOMPARE(cell(3, 2), QString("not reached"));
        QVERIFY2(finding->text().isEmpty() && finding->isHidden(), "nobody can tell of one that did not get there");
        panel.metric().setCurrentIndex(1);
        QVERIFY(table.isHidden());
        // Of other models those that train the same are held against each other: here two seeds of one.
        auto foreign = runs;
        for (std::size_t i = 2; i < 4; ++i) foreign[i].experiment.model.width *= 2;
        RacePanel apart;
        apart.show_runs(snapshots({&foreign[0], &foreign[2], &foreign[3]}));
        QCOMPARE(apart.table().rowCount(), 1);
        for (int row = 0; row < apart.table().rowCount(); ++row)
            for (int column = 1; column < apart.table().columnCount(); ++column)
                QVERIFY(apart.table().item(row, column)->foreground().style() == Qt::NoBrush);
        // One seed trained twice is tested against nothing.
        runs[3].experiment.seed = 1;
        RacePanel twice;
        twice.show_runs(snapshots(all));
        QCOMPARE(twice.table().rowCount(), 2);
        QCOMPARE(twice.table().item(1, 3)->text(), QString("0.500"));
        QCOMPARE(twice.table().item(1, 4)->text(), QString());
    }

    /// A run of another model is set aside: the loss that all reach is not its own. So small a difference that another
    /// seed may be why is not judged, nor a time that is the same in three digits.
    void only_what_tells_is_judged() {
        std::vector<RunData> runs(4);
        const double lower[] = {0, 0.001, 1, 0.5};
        for (int i = 0; i < 4; ++i) {
            auto& run = runs[static_cast<std::size_t>(i)];
            run.info.id = i + 1;
            run.experiment.pipeline.skip_ratio = 0.1 * i;
            for (int n = 0; n <= 4; ++n)
                run.metrics.push_back(
                    {.iteration = n, .name = "validation_loss", .value = 6 - n - lower[i], .network_s = 9. * n});
        }
        runs[3].experiment.model.width *= 2;
        for (auto& metric : runs[3].metrics) metric.value += 3;
        RacePanel panel;
        panel.show_runs(snapshots({&runs[0], &runs[1], &runs[2], &runs[3]}));
        const auto& table = panel.table();
        QCOMPARE(table.rowCount(), 3);
        QCOMPARE(table.item(1, 0)->text(), QString("Run 3: skip ratio 0.2"));  // by what tells it from runs 1 and 2
        QCOMPARE(panel.target().placeholderText(), QString("2.00"));
        const auto labels = panel.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->text().endsWith(" Run 4 trains another model, or on other data, and is set aside.");
        }));
        const QString words = plain(words_of(runs, 1, "validation_loss", WorkAxis::network_time));
        QVERIFY2(words.contains("To reach 2.00: run 3 0.750 × run 1's, run 2 1.00 ×."), qPrintable(words));
        QVERIFY2(words.endsWith(" Run 4 trains another model, or on other data, and is set aside."), qPrintable(words));
        const auto judged = [&](RunId run) {
            int cells = 0, row = 0;
            while (!table.item(row, 0)->text().startsWith(QStringLiteral("Run %1:").arg(run))) ++row;
            for (int c = 1; c < table.columnCount(); ++c)
                cells += table.item(row, c)->foreground().style() == Qt::NoBrush ? 0 : 1;
            return cells;
        };
        QCOMPARE(judged(2), 0);
        QVERIFY(judged(3) > 0);
        QVERIFY2(table.item(1, 0)->text().startsWith("Run 3:"), "who is there first stands first");
    }

    /// Two runs of two models: the same is said as of their differences, and nobody is so many times another.
    void two_models_are_in_no_race() {
        std::vector<RunData> runs(2);
        for (int i = 0; i < 2; ++i) {
            auto& run = runs[static_cast<std::size_t>(i)];
            run.info.id = i + 1;
            for (int n = 0; n <= 4; ++n)
                run.metrics.push_back(
                    {.iteration = n, .name = "validation_loss", .value = 6.0 - n, .network_s = 9. * (i + 1) * n});
        }
        runs[1].experiment.model.width *= 2;
        const QString words = words_of(runs, 1, "validation_loss", WorkAxis::network_time);
        QVERIFY2(words.startsWith("These runs train different models") && !words.contains(QChar(0xd7)),
                 qPrintable(words));
        RacePanel panel;
        panel.show_runs(snapshots({&runs[0], &runs[1]}));
        QVERIFY(panel.findChild<QLabel*>("race_finding")->text().startsWith("These runs train different models"));
        for (const int column : {3, 4, 6, 7}) QVERIFY(panel.table().isColumnHidden(column));
    }

    /// What takes as long in three digits is there first as well.
    void a_tie_is_won_by_nobody_alone() {
        std::vector<RunData> runs(3);
        for (int i = 0; i < 3; ++i) {
            auto& run = runs[static_cast<std::size_t>(i)];
            run.info.id = i + 1;
            run.experiment.pipeline.skip_ratio = 0.1 * i;
            const double pace = i == 2 ? 18 : 9 + 0.01 * i;
            for (int n = 0; n <= 4; ++n)
                run.metrics.push_back(
                    {.iteration = n, .name = "validation_loss", .value = 6.0 - n, .network_s = pace * n});
        }
        RacePanel panel;
        const auto* finding = panel.findChild<QLabel*>("race_finding");
        panel.show_runs(snapshots({&runs[0], &runs[1], &runs[2]}));
        QCOMPARE(plain(finding->text()), QString("Runs 1 and 2 reach 2.00 first, after 36.0 s; run 3: 2.00 ×"));
        panel.show_runs(snapshots({&runs[0], &runs[1]}));
        QCOMPARE(plain(finding->text()), QString("Runs 1 and 2 reach 2.00 at the same time, after 36.0 s"));
    }

    /// Where a row would be a list of parameters, what the experiments are called tells it apart.
    void rows_are_named_by_their_experiments() {
        std::vector<RunData> runs(2);
        for (int i = 0; i < 2; ++i) {
            auto& run = runs[static_cast<std::size_t>(i)];
            run.info.id = i + 1;
            run.info.name = i == 0 ? "Quick start" : "Churn";
            run.experiment.pipeline.skip_ratio = 0.25 * i;
            run.experiment.pipeline.microbatches = 30 + i;
            run.experiment.training.learning_rate = 0.01 * (i + 1);
            run.experiment.training.iterations = 16 + i;
            run.experiment.training.validate_every = 4 + i;
            run.experiment.pipeline.stages = 4 + i;
            for (int n = 0; n <= 4; ++n)
                run.metrics.push_back(
                    {.iteration = n, .name = "validation_loss", .value = 6.0 - n, .network_s = 9. * (i + 1) * n});
        }
        RacePanel panel;
        panel.show_runs(snapshots({&runs[0], &runs[1]}));
        panel.group().setCurrentIndex(panel.group().findText("All but seed"));
        QCOMPARE(panel.table().item(0, 0)->text(), QString("Run 1: Quick start"));
        QCOMPARE(panel.table().item(1, 0)->text(), QString("Run 2: Churn"));
        QVERIFY2(panel.table().item(1, 0)->toolTip().contains("skip ratio 0.25"), "parameters are at hand");
        runs[1].info.name = "Quick start";
        panel.show_runs(snapshots({&runs[0], &runs[1]}));
        QVERIFY(panel.table().item(1, 0)->text() != "Run 2: Quick start");
    }

    /// A line between a first and a last validation is no training: when a loss was seen first is said, and no winner.
    void nothing_is_told_between_readings_far_apart() {
        std::vector<RunData> runs(2);
        for (int i = 0; i < 2; ++i) {
            auto& run = runs[static_cast<std::size_t>(i)];
            run.info.id = i + 1;
            run.experiment.pipeline.skip_ratio = 0.25 * i;
            for (const int n : {0, 4})
                run.metrics.push_back(
                    {.iteration = n, .name = "validation_loss", .value = 6.0 - n, .network_s = 9. * n});
            run.metrics.back().value -= i;
            for (int n = 0; n <= 4; ++n)
                run.metrics.push_back({.iteration = n, .name = "loss", .value = 6.0 - n, .network_s = (9. - i) * n});
        }
        RacePanel panel;
        panel.show_runs(snapshots({&runs[0], &runs[1]}));
        QCOMPARE(panel.metric().currentText(), QString("Training loss"));  // which was read often enough
        panel.metric().setCurrentIndex(0);
        const auto& table = panel.table();
        const auto cell = [&](int row, int column) {
            return table.item(row, column)->text().replace(QChar(0x2009), ' ');
        };
        QCOMPARE(cell(0, 2), QString("36.0 s"));
        QVERIFY2(cell(1, 1).isEmpty() && table.isColumnHidden(1), "all of each get there");
        QCOMPARE(cell(1, 2), QString("by 36.0 s"));
        QCOMPARE(cell(1, 3), QString());
        QVERIFY(table.item(1, 2)->foreground().color() != theme().good);
        for (const auto* label : panel.findChildren<QLabel*>())
            if (label->text().startsWith("At equal"))
                QVERIFY2(label->text().contains("there are 2 in one of them"), qPrintable(label->text()));
    }

    void what_is_in_sight_stays_while_a_run_grows() {
        RunData run = run_of(1, 3e12, 2e6);
        CurvePanel panel;
        panel.resize(600, 400);
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto all = panel.x_range();
        QWidget* plot = nullptr;
        for (auto* child : panel.findChildren<QWidget*>())
            if (child->inherits("QCustomPlot")) plot = child;
        QVERIFY(plot != nullptr);
        const QPointF middle = plot->rect().center();
        QWheelEvent wheel(middle, plot->mapToGlobal(middle), {}, {0, 120}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(plot, &wheel);
        const auto zoomed = panel.x_range();
        QVERIFY(zoomed.second - zoomed.first < all.second - all.first);
        run.metrics.push_back({99, 9, "loss", 1, 90, 9, 900});
        panel.show_runs(snapshots({&run}));
        QCOMPARE(panel.x_range(), zoomed);
        QTest::mouseDClick(plot, Qt::LeftButton, {}, middle.toPoint());
        QVERIFY(panel.x_range().second > all.second);
        const RunData other = run_of(2, 1, 1);
        QApplication::sendEvent(plot, &wheel);
        panel.show_runs(snapshots({&other}));
        QCOMPARE(panel.x_range(), all);
    }
};

QTEST_MAIN(TestEqualViews)
#include "test_equal_views.moc"
