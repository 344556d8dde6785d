// SPDX-License-Identifier: GPL-3.0-or-later
// Curves as values, as charts, and as files.
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include <QComboBox>
#include <QMenu>
#include <QPushButton>
#include <QStandardItemModel>
#include <QToolButton>
#include <QXmlStreamReader>

#include "tests/views/curve_runs.h"
#include "tests/views/snapshots.h"
#include "views/curves/curve_panel.h"
#include "views/curves/curve_ticks.h"
#include "views/curves/end_labels.h"
#include "views/curves/plot.h"
#include "views/runs/run_marks.h"
#include "views/theme/flow_key.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

using namespace skippipe;

namespace {

QString plain(QString text) { return text.replace(QChar(0x2009), ' '); }

QStringList labels_of(AxisKind kind, double begin, double end) {
    QSharedPointer<QCPAxisTicker> ticker(new PlainTicker(kind, true));
    QVector<double> ticks;
    QVector<QString> labels;
    ticker->generate({begin, end}, QLocale::c(), 'g', 6, ticks, nullptr, &labels);
    QStringList inside;
    for (qsizetype i = 0; i < ticks.size(); ++i)
        if (ticks[i] >= begin && ticks[i] <= end) inside << plain(labels[i]);
    return inside;
}

CurveSet set_of(const std::vector<RunData>& runs, RunId baseline, const CurveChoice& choice) {
    std::vector<const RunData*> pointers;
    for (const auto& run : runs) pointers.push_back(&run);
    PointStore store;
    return curve_set(pointers, baseline, choice, store);
}

}  // namespace

class TestCurves : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_run_keeps_its_colour() {
        const RunData one = run_of(1, 4), three = run_of(3, 4);
        const auto both = set_of({one, three}, 1, {}), alone = set_of({three}, 0, {});
        const auto colour_of = [](const CurveSet& set, RunId run) {
            for (const auto& curve : set.curves)
                if (curve.run == run) return curve.pen.color();
            return QColor{};
        };
        QCOMPARE(colour_of(both, 3), colour_of(alone, 3));
        QCOMPARE(colour_of(set_of({three, one}, 3, {}), 1), theme().stage(0));
        QVERIFY(colour_of(both, 1) != colour_of(both, 3));
        QCOMPARE(run_pen(9, 1).color(), run_pen(1, 1).color());
        QCOMPARE(run_pen(9, 1).style(), Qt::DashLine);
        QCOMPARE(run_pen(17, 1).style(), Qt::DashDotLine);
        QCOMPARE(run_pen(25, 1), run_pen(1, 1));
    }

    /// Where a run that is alone lost nodes its axis has ticks, and the crosshair says so.
    void losses_of_nodes_are_on_the_axis() {
        RunData run = run_of(1, 6);
        run.metrics.push_back({0, 2, "nodes_lost", 1, 2.5, 1, 1});
        run.metrics.push_back({0, 3, "nodes_lost", 0, 3.5, 1, 1});  // it is back
        QCOMPARE(set_of({run}, 0, {}).losses, std::vector<double>{3});
        QVERIFY(set_of({run, run_of(2, 6)}, 1, {}).losses.empty());
        CurveChart chart;
        chart.resize(400, 200);
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart));
        chart.show_set(set_of({run}, 0, {}), false);
        chart.set_crosshair(3);
        QCOMPARE(chart.crosshair_words(), QString("Iteration 3, nodes lost"));
        chart.set_crosshair(5);
        QCOMPARE(chart.crosshair_words(), QString("Iteration 5"));
    }

    /// "Loss, with validation" keeps its word for several runs too.
    void validation_stands_beside_every_loss() {
        const auto set = set_of({run_of(1, 4), run_of(2, 4)}, 1, {});
        QCOMPARE(set.curves.size(), 4U);
        QCOMPARE(set.curves[1].name, QString("Run 1, validation"));
        QVERIFY(set.curves[1].marks && !set.curves[0].marks);
        QCOMPARE(set.curves[1].pen.color(), set.curves[0].pen.color());
        QCOMPARE(set.curves[0].pen.widthF(), 4.0);
        QCOMPARE(set.curves[2].pen.widthF(), 1.75);
        QCOMPARE(set_of({run_of(1, 4)}, 0, {}).curves[0].name, QString("Training"));
    }

    /// Curves that lie on each other come apart: each less the baseline's where that has a value.
    void curves_less_the_baselines() {
        const RunData base = run_of(1, 4);
        RunData other = run_of(2, 6);
        for (auto& metric : other.metrics)
            if (metric.name == "loss") metric.value += 0.01 * (metric.iteration + 1);
        const auto set = set_of({base, other}, 1, {.less_baseline = true});
        QVERIFY2(set.y_label.contains("less the baseline's"), qPrintable(set.y_label));
        const auto line_of = [&](const CurveSet& of, RunId run) {
            return *std::find_if(of.curves.begin(), of.curves.end(),
                                 [&](const Curve& c) { return c.run == run && !c.marks; });
        };
        for (const auto& point : line_of(set, 1).points) QCOMPARE(point.y, 0.0);
        const auto points = line_of(set, 2).points;
        QCOMPARE(points.size(), 4U);  // no further than the baseline goes
        for (std::size_t i = 0; i < points.size(); ++i)
            QVERIFY(std::abs(points[i].y - 0.01 * (i + 1) - 0.001 * i) < 1e-9);
        const auto smooth = set_of({base, other}, 1, {.smoothing = 0.5, .less_baseline = true});
        for (const auto& point : line_of(smooth, 1).smooth) QCOMPARE(point.y, 0.0);
        QVERIFY(set_of({base}, 1, {.less_baseline = true}).curves[0].points[0].y > 1);  // alone it is itself
    }

    void metrics_follow_from_what_is_recorded() {
        const RunData run = run_of(1, 3);
        const auto perplexity = curve_points(run, "perplexity", WorkAxis::tokens);
        QCOMPARE(perplexity.size(), 3U);
        QCOMPARE(perplexity[0].x, 1000.0);
        QCOMPARE(perplexity[0].y, std::exp(6.0));
        const auto idle = curve_points(run, "idle_share", WorkAxis::network_time);
        QCOMPARE(idle.size(), 3U);
        QCOMPARE(idle[2], (CurvePoint{30, 25}));
        const auto bytes = curve_points(run, "bytes_sent", WorkAxis::iteration);
        QCOMPARE(bytes.back(), (CurvePoint{3, 6e6}));
        RunData unexplained = run;
        unexplained.idle_of_iteration.clear();
        unexplained.iteration.reset();
        QVERIFY(curve_points(unexplained, "idle_share", WorkAxis::tokens).empty());
        QVERIFY(curve_points(unexplained, "bytes_sent", WorkAxis::tokens).empty());
    }

    void smoothing_is_drawn_above_what_was_measured() {
        const std::vector<CurvePoint> points{{0, 4}, {1, 8}, {2, 8}};
        const auto smooth = smoothed(points, 0.5);
        QCOMPARE(smooth[0].y, 4.0);  // not half of it
        QCOMPARE(smooth[1].y, (0.25 * 4 + 0.5 * 8) / 0.75);
        QVERIFY(smooth[2].y > smooth[1].y && smooth[2].y < 8);
        QCOMPARE(smoothed(points, 0), points);
        QVERIFY(set_of({run_of(1, 9)}, 0, {}).curves[0].smooth.empty());
        const auto set = set_of({run_of(1, 9)}, 0, {.smoothing = 0.9});
        QCOMPARE(set.curves[0].points.size(), set.curves[0].smooth.size());
        QVERIFY(set.curves[1].smooth.empty());  // validations are few
        CurvePanel panel;
        const RunData run = run_of(1, 9);
        panel.show_runs(snapshots({&run}));
        const int raw = panel.point_count();
        panel.set_smoothing(0.9);
        QCOMPARE(panel.point_count(), raw + 9);
    }

    void runs_of_a_group_are_a_mean_and_a_band() {
        const auto band = mean_band({{{0, 1}, {2, 3}, {4, 5}}, {{1, 4}, {3, 4}}, {}});
        QCOMPARE(band.mean, (std::vector<CurvePoint>{{1, 3}, {2, 3.5}, {3, 4}}));
        QCOMPARE(band.low, (std::vector<CurvePoint>{{1, 2}, {2, 3}, {3, 4}}));
        QCOMPARE(band.high, (std::vector<CurvePoint>{{1, 4}, {2, 4}, {3, 4}}));
        QCOMPARE(mean_band({{{0, 1}}, {{2, 3}}}), MeanBand{});  // they have no x in common
        std::vector<RunData> runs{run_of(1, 4), run_of(2, 4), run_of(3, 4)};
        runs[1].experiment.pipeline.skip_ratio = 0.25;
        runs[2].experiment.pipeline.skip_ratio = 0.25;
        runs[2].experiment.seed = 2;
        const std::vector<const RunData*> shown{&runs[0], &runs[1], &runs[2]};
        const auto ways = groupings(shown);
        QCOMPARE(ways.size(), 3U);  // seeds are what is averaged over
        QCOMPARE(ways[0].name, QString("All runs"));
        QCOMPARE(ways[1].keys[1], ways[1].keys[2]);
        QVERIFY(ways[1].keys[0] != ways[1].keys[1]);
        QVERIFY(groupings({&runs[0]}).empty());
        const auto set = set_of(runs, 1, {.groups = ways[1].keys});
        QCOMPARE(set.curves.size(), 2U);
        QCOMPARE(set.curves[1].name, QString("skip ratio 0.25, 2 runs"));
        QCOMPARE(set.curves[1].points[3].y, (set.curves[1].low[3].y + set.curves[1].high[3].y) / 2);
        QCOMPARE(set.curves[1].pen.color(), run_pen(2, 1).color());
        QCOMPARE(set.curves[1].runs, QString("2, 3"));  // what stands at its end
        QVERIFY2(set.curves[0].pen.widthF() > set.curves[1].pen.widthF(), "the baseline's is the thick one");
        CurvePanel panel;
        panel.show_runs(snapshots(shown), 1);
        panel.group_by("Skip ratio");
        QCOMPARE(panel.charts()[0]->set().curves.size(), 2U);
        QVERIFY(panel.exported(CurveFormat::svg).contains("<polygon"));
        panel.show_runs(snapshots({&runs[0], &runs[2]}), 1);  // the choice stays for others
        QCOMPARE(panel.charts()[0]->readout(), set.curves[0].name + "\nskip ratio 0.25, 1 run");
        panel.group_by({});
        QCOMPARE(panel.charts()[0]->set().curves.size(), 4U);
    }

    void lowest_highest_and_last_survive() {
        std::vector<CurvePoint> points;
        for (int i = 0; i < 100'000; ++i) points.push_back({double(i), 1.0});
        points[70'001].y = 9;
        points[3].y = -9;
        const auto few = downsample(points, 300);
        QVERIFY(few.size() <= 1200);
        for (const auto& kept : {points[70'001], points[3], points.back(), points.front()})
            QVERIFY(std::find(few.begin(), few.end(), kept) != few.end());
    }

    void ticks_are_those_a_person_would_choose() {
        QCOMPARE(labels_of(AxisKind::seconds, 0, 100), QStringList({"0 s", "30 s", "1 min", "1 min 30 s"}));
        QCOMPARE(labels_of(AxisKind::seconds, 0, 2100), QStringList({"0 s", "10 min", "20 min", "30 min"}));
        QCOMPARE(labels_of(AxisKind::seconds, 120, 200), QStringList({"2 min", "2 min 30 s", "3 min"}));
        QCOMPARE(labels_of(AxisKind::seconds, 0, 20'000), QStringList({"0 s", "2 h", "4 h"}));
        QCOMPARE(labels_of(AxisKind::whole_number, -2, 3), QStringList({"0", "1", "2", "3"}));
        QCOMPARE(labels_of(AxisKind::number, 5.59935, 5.59955).removeDuplicates(), 0);
        QCOMPARE(labels_of(AxisKind::number, 0, 2.4e6), QStringList({"0", "0.5 M", "1.0 M", "1.5 M", "2.0 M"}));
        QCOMPARE(labels_of(AxisKind::bytes, 0, 2.4e6), QStringList({"0", "0.5 MB", "1.0 MB", "1.5 MB", "2.0 MB"}));
        QCOMPARE(labels_of(AxisKind::bytes, 0, 300), QStringList({"0", "100 B", "200 B", "300 B"}));
    }

    void the_crosshair_says_what_every_run_has_there() {
        const RunData first = run_of(1, 11), second = run_of(2, 5);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"perplexity", "iteration_s"});
        panel.show_runs(snapshots({&first, &second}), 1);
        QCOMPARE(panel.charts().size(), 2U);
        panel.charts()[0]->set_crosshair(4.2);
        QCOMPARE(panel.charts()[0]->readout(), QString("Run 1, gpipe  300\nRun 2, gpipe  301"));
        QCOMPARE(panel.charts()[0]->crosshair_words(), QString("Iteration 4"));
        panel.charts()[0]->set_crosshair(10);
        QCOMPARE(panel.charts()[0]->readout(), QString("Run 1, gpipe  166\nRun 2, gpipe"));  // it ended before
        Q_EMIT panel.charts()[0]->hovered(2);
        QCOMPARE(plain(panel.charts()[1]->readout()), QString("Run 1, gpipe  10.0 s\nRun 2, gpipe  10.0 s"));
        auto* key = static_cast<FlowKey*>(panel.findChild<QWidget*>("curve_key"));
        QCOMPARE(key->words(), QString("Run 1, gpipe\nRun 2, gpipe"));
        // What each run has there stands beside the line, its x at the foot; whoever has ended says when.
        const auto& crosshair = panel.charts()[1]->crosshair();
        QCOMPARE(crosshair.foot_words(), QString("2"));
        QCOMPARE(plain(crosshair.box_words()), QString("1  10.0 s\n2  10.0 s"));
        QCOMPARE(crosshair.dots(), 2);
        Q_EMIT panel.charts()[0]->hovered(10);
        QCOMPARE(plain(crosshair.box_words()), QString("1  10.0 s\n2  ended at 5"));
        QCOMPARE(crosshair.dots(), 1);
        const auto places = key->places(600);
        Q_EMIT panel.charts()[1]->left();
        QCOMPARE(key->places(600), places);  // nothing moves under the mouse
        QVERIFY(crosshair.box_words().isEmpty() && crosshair.foot_words().isEmpty() && crosshair.dots() == 0);
        QCOMPARE(places[0].width(), places[1].width());
        QCOMPARE(panel.charts()[0]->readout(), QString("Run 1, gpipe\nRun 2, gpipe"));
        panel.findChild<QAction*>("less_baseline")->setChecked(true);
        panel.charts()[0]->set_crosshair(3.2);
        QVERIFY2(panel.charts()[0]->readout().startsWith("Run 1, gpipe  0\nRun 2, gpipe  0."),
                 qPrintable(panel.charts()[0]->readout()));
    }

    /// Runs are read at one x, the crosshair's, wherever their readings are; lines that leave what is in sight are
    /// labelled where they leave it.
    void runs_are_read_at_the_crosshair() {
        Curve line;
        line.points = std::vector<CurvePoint>{{0, 4}, {10, 2}, {20, 1}};
        QCOMPARE(line.at(5)->x, 5.0);
        QCOMPARE(line.at(5)->y, 3.0);
        QCOMPARE(line.at(12)->y, 1.8);
        QVERIFY(!line.at(21) && !line.at(-1));
        Curve discs = line;
        discs.marks = true;
        QCOMPARE(discs.at(12)->x, 10.0);
        CurveSet set;
        set.curves = {line};
        const auto ends = curve_ends(set, 0, 15);
        QCOMPARE(ends.size(), 1U);
        QVERIFY(ends[0].point.x == 15 && ends[0].point.y == 1.5);
        set.x_is_time = true;
        set.x_label = "Network time";
        set.choice.x = WorkAxis::network_time;
        CurveChart chart;
        chart.resize(500, 300);
        chart.show_set(set, false);
        chart.set_crosshair(5.4);
        QCOMPARE(plain(chart.crosshair_words()), QString("Network time 5.40 s"));
        QCOMPARE(chart.value_words(line), QString("2.92"));
    }

    /// A value has the unit of its axis; validation is told where it was measured.
    void the_crosshair_counts_as_its_axis_does() {
        const RunData run = run_of(1, 40);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"loss", "bytes_sent"});
        panel.show_runs(snapshots({&run}), 1);
        auto &loss = *panel.charts()[0], &bytes = *panel.charts()[1];
        bytes.set_crosshair(3);
        QVERIFY2(plain(bytes.readout()).endsWith(" MB"), qPrintable(bytes.readout()));
        const auto& curves = loss.set().curves;
        const auto discs = std::find_if(curves.begin(), curves.end(), [](const Curve& c) { return c.marks; });
        QVERIFY(discs != curves.end() && discs->points.size() > 1);
        const double first = discs->points[0].x, second = discs->points[1].x;
        loss.set_crosshair(first);
        QVERIFY(!loss.value_words(*discs).isEmpty());
        loss.set_crosshair((first + second) / 2);
        QVERIFY(loss.value_words(*discs).isEmpty());
        QVERIFY(loss.plot().toolTip().isEmpty());
    }

    /// Many lines are drawn plainly, but for the baseline's; a few with their dashes and soft edges.
    void many_curves_are_drawn_plainly() {
        std::vector<RunData> runs;
        for (RunId id = 1; id <= 30; ++id) runs.push_back(run_of(id, 3));
        std::vector<const RunData*> all;
        for (const auto& run : runs) all.push_back(&run);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"perplexity"});
        panel.show_runs(snapshots({all[0], all[9]}), 1);
        auto& plot = panel.charts()[0]->plot();
        QCOMPARE(plot.graph(1)->pen().style(), Qt::DashLine);
        QVERIFY(!plot.notAntialiasedElements().testFlag(QCP::aePlottables));
        panel.show_runs(snapshots(all), 1);
        QCOMPARE(panel.charts()[0]->plot().graphCount(), 30);
        QCOMPARE(panel.charts()[0]->plot().graph(9)->pen().style(), Qt::SolidLine);
        QCOMPARE(panel.charts()[0]->plot().graph(0)->pen().widthF(), 4.0);
        QVERIFY(panel.charts()[0]->plot().notAntialiasedElements().testFlag(QCP::aePlottables));
    }

    /// One that trained something else, for ten times as long, does not squeeze those that are compared.
    void axes_are_of_the_runs_that_are_compared() {
        RunData one = run_of(1, 10), other = run_of(2, 12), else_trained = run_of(3, 100);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"loss", "idle_share"});
        panel.show_runs(snapshots({&one, &other, &else_trained}), 1);
        QVERIFY2(panel.x_range().second > 100, "all train the same");
        else_trained.experiment.model.blocks += 1;
        panel.show_runs(snapshots({&one, &other, &else_trained}), 1);
        for (const auto* chart : panel.charts()) {
            QVERIFY2(chart->x_range().second >= 12 && chart->x_range().second < 14,
                     qPrintable(QString::number(chart->x_range().second)));
            QVERIFY2(chart->x_range().first > -2, qPrintable(QString::number(chart->x_range().first)));
        }
        // What is compared is in sight, whole, and so is what the other has there.
        const auto up = panel.charts()[0]->plot().yAxis->range();
        QVERIFY(up.contains(6) && up.contains(6 - 11 * 0.098) && up.lower > 6 - 30 * 0.098);
        QCOMPARE(panel.charts()[0]->set().curves.size(), 6U);
    }

    void charts_share_one_zoom_and_follow_what_grows() {
        RunData run = run_of(1, 11);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"loss", "idle_share", "no such metric"});
        panel.show_runs(snapshots({&run}));
        QCOMPARE(panel.charts().size(), 2U);
        const auto all = panel.x_range();
        QCOMPARE(panel.charts()[1]->x_range(), all);
        panel.charts()[1]->plot().xAxis->setRange(4, 8);
        QCOMPARE(panel.x_range(), std::pair(4.0, 8.0));
        run = run_of(1, 14);
        panel.show_runs(snapshots({&run}));
        QCOMPARE(panel.x_range(), std::pair(4.0, 8.0));
        panel.set_follows(true);
        run = run_of(1, 16);
        panel.show_runs(snapshots({&run}));
        QCOMPARE(panel.x_range(), std::pair(6.0, 10.0));
        panel.set_metrics({});
        QCOMPARE(panel.charts().size(), 1U);
    }

    /// As a hand does it, while the run goes on: what was dragged over stays in sight, a double-click or Fit shows all.
    void a_drag_zooms_and_is_kept_while_a_run_grows() {
        RunData run = run_of(1, 11);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        auto& plot = panel.charts()[0]->plot();
        const QRect inside = plot.axisRect()->rect();
        const auto all = panel.x_range();
        const auto drag = [&] {
            const QPoint from(inside.left() + inside.width() / 4, inside.top() + 10),
                to(inside.left() + inside.width() / 2, inside.bottom() - 10);
            QTest::mousePress(&plot, Qt::LeftButton, {}, from);
            QTest::mouseMove(&plot, (from + to) / 2);
            QTest::mouseMove(&plot, to);
            QTest::mouseRelease(&plot, Qt::LeftButton, {}, to);
        };
        drag();
        const auto near = panel.x_range();
        QVERIFY2(near.first > all.first && near.second < all.second, "a drag zooms");
        run = run_of(1, 14);
        panel.show_runs(snapshots({&run}));
        QCOMPARE(panel.x_range(), near);
        QTest::mouseDClick(&plot, Qt::LeftButton, {}, inside.center());
        QTRY_VERIFY(panel.x_range().second > 13);
        drag();
        QVERIFY(panel.x_range().second < 13);
        for (auto* button : panel.findChildren<QPushButton*>())
            if (button->text() == "Fit") QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(panel.x_range().second > 13);
    }

    /// The first validation stands at 0, which has no logarithm: it is left out, and the others are drawn.
    void logarithms_go_around_zero() {
        const RunData run = run_of(1, 11);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QCOMPARE(panel.charts()[0]->set().curves.front().points.front().x, 1.0);
        QCOMPARE(panel.charts()[0]->set().curves.back().points.front().x, 0.0);
        QAction* log_x = nullptr;
        for (auto* action : panel.findChild<QToolButton*>("curve_view")->menu()->actions())
            if (action->text() == "Logarithmic x") log_x = action;
        QVERIFY(log_x != nullptr);
        log_x->trigger();
        const auto [begin, end] = panel.x_range();
        QVERIFY2(begin > 0 && begin <= 1 && end >= 10 && std::isfinite(end),
                 qPrintable(QString("%1 to %2").arg(begin).arg(end)));
        panel.charts()[0]->plot().toPixmap(700, 500);
        log_x->trigger();
        QVERIFY(panel.x_range().first <= 0);
    }

    /// Points of a run that stays what it is are not worked out again; those of one that grew are.
    void points_are_worked_out_once() {
        auto still = std::make_shared<RunData>(), grows = std::make_shared<RunData>();
        for (auto* run : {still.get(), grows.get()}) run->metrics.push_back({.name = "loss", .value = 5});
        PointStore store;
        store.keep({still, grows});
        const auto* points = &store.points(*still, "loss", WorkAxis::iteration);
        QCOMPARE(points->size(), 1U);
        QCOMPARE(&store.points(*still, "loss", WorkAxis::iteration), points);
        QVERIFY(&store.points(*still, "loss", WorkAxis::tokens) != points);
        QCOMPARE(store.points(*grows, "loss", WorkAxis::iteration).size(), 1U);
        const auto grown = std::make_shared<RunData>(*grows);
        grown->metrics.push_back({.iteration = 1, .name = "loss", .value = 4});
        store.keep({still, grown});
        QCOMPARE(&store.points(*still, "loss", WorkAxis::iteration), points);
        QCOMPARE(store.points(*grown, "loss", WorkAxis::iteration).size(), 2U);
        // What is not held may be another run at the same place in memory.
        store.keep({grown});
        still->metrics.clear();
        QVERIFY(store.points(*still, "loss", WorkAxis::iteration).empty());
        still->metrics.push_back({.name = "loss", .value = 5});
        store.keep({still});
        QCOMPARE(store.points(*still, "loss", WorkAxis::iteration).size(), 1U);
    }

    /// Of a run that stays what it is a chart keeps what it draws; where its width is another it is made anew.
    void what_is_drawn_is_thinned_once() {
        auto still = std::make_shared<RunData>(run_of(1, 5000)), grows = std::make_shared<RunData>(run_of(2, 5000));
        CurvePanel panel;
        panel.resize(400, 300);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        panel.show_runs({still, grows}, 1);
        QCoreApplication::processEvents();  // the chart has its width now
        panel.show_runs({still, grows}, 1);
        const auto& chart = *panel.charts().front();
        const auto before = chart.thinned();
        QCOMPARE(before.size(), std::size_t{4});  // losses and validations
        QVERIFY(before[0].x.size() < 5000);
        const auto same = [&](std::size_t i) { return chart.thinned()[i].x.isSharedWith(before[i].x); };
        const auto grown = std::make_shared<RunData>(run_of(2, 5001));
        panel.show_runs({still, grown}, 1);
        QVERIFY(same(0) && same(1));
        QVERIFY(!same(2) && !same(3));
        QCOMPARE(chart.thinned()[2].x.back(), grown->metrics.back().iteration + 1.0);
        panel.resize(900, 300);
        QCoreApplication::processEvents();
        panel.show_runs({still, grown}, 1);
        QVERIFY(!same(0));
        QVERIFY(chart.thinned()[0].x.size() > before[0].x.size());
    }

    /// Runs whose iterations are not as long are held against each other by time, until somebody chooses.
    void the_axis_is_time_where_iterations_differ() {
        auto quick = std::make_shared<RunData>(), slow = std::make_shared<RunData>();
        quick->info.id = 1, slow->info.id = 2;
        quick->info.iteration_s = 1, slow->info.iteration_s = 1.09;
        CurvePanel panel;
        panel.show_runs({quick, slow});
        QCOMPARE(panel.charts().front()->set().choice.x, WorkAxis::iteration);
        slow->info.iteration_s = 1.2;
        panel.show_runs({quick});
        panel.show_runs({quick, slow});
        QCOMPARE(panel.charts().front()->set().choice.x, WorkAxis::network_time);
        CurvePanel again;
        again.restore(panel.choices());
        again.show_runs({quick});
        QVERIFY2(again.charts().front()->set().choice.x == WorkAxis::iteration, "nobody chose");
        panel.set_axis(WorkAxis::tokens);
        panel.show_runs({quick});
        panel.show_runs({quick, slow});
        QCOMPARE(panel.charts().front()->set().choice.x, WorkAxis::tokens);
        again.restore(panel.choices());
        again.show_runs({quick, slow});
        QCOMPARE(again.charts().front()->set().choice.x, WorkAxis::tokens);
    }

    /// Of what an iteration costs; offered only where some run has prices.
    void money_is_an_axis_where_there_are_prices() {
        RunData plain_run = run_of(1, 4), priced = run_of(2, 4);
        priced.iteration.emplace();
        priced.iteration->money = 2.5;
        CurvePanel panel;
        const auto offered = [&] {
            const auto* box = panel.findChild<QComboBox*>();
            const auto* model = qobject_cast<QStandardItemModel*>(box->model());
            return model->item(box->findText("Money"))->isEnabled();
        };
        QVERIFY(!offered());
        panel.show_runs(snapshots({&plain_run}));
        QVERIFY(!offered());
        panel.show_runs(snapshots({&plain_run, &priced}), 1);
        QVERIFY(offered());
        panel.set_axis(WorkAxis::money);
        QCOMPARE(panel.charts()[0]->set().curves.front().run, RunId{2});
        const auto points = curve_points(priced, "loss", WorkAxis::money);
        QCOMPARE(points.size(), 4U);
        QCOMPARE(points.front().x, 2.5);
        QCOMPARE(points.back().x, 10.0);
        QVERIFY(curve_points(plain_run, "loss", WorkAxis::money).empty());
        QCOMPARE(work_axis("money"), std::optional(WorkAxis::money));
        QCOMPARE(format_work(12.345, WorkAxis::money), std::string("12.3"));
    }

    /// A panel says something always: the last chart cannot be taken away.
    void the_last_chart_stays() {
        CurvePanel panel;
        auto actions = panel.findChild<QToolButton*>("charts")->menu()->actions();
        actions[0]->trigger();
        QCOMPARE(panel.charts().size(), 1U);
        QVERIFY(actions[0]->isChecked());
        actions[1]->trigger();
        QCOMPARE(panel.charts().size(), 2U);
        actions[0]->trigger();
        QCOMPARE(panel.charts().size(), 1U);
        // Several are ticked one after the other: the menu stays.
        auto* menu = panel.findChild<QToolButton*>("charts")->menu();
        menu->popup({});
        QVERIFY(QTest::qWaitForWindowExposed(menu));
        QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(actions[2]).center());
        QCOMPARE(panel.charts().size(), 2U);
        QVERIFY(menu->isVisible());
        QTest::keyClick(menu, Qt::Key_Return);
        QVERIFY(menu->isVisible());
        menu->close();
    }

    void charts_are_written_as_files() {
        const RunData first = run_of(1, 4), second = run_of(9, 4);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"loss", "iteration_s"});
        panel.show_runs(snapshots({&first, &second}), 1);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto lines = QString::fromUtf8(panel.exported(CurveFormat::csv)).split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 1 + 2 * (4 + 2) + 2 * 4);
        QCOMPARE(lines[0], QString("metric,run,curve,x,value"));
        QCOMPARE(lines[1], QString("loss,1,\"Run 1, gpipe\",1,6"));
        const QByteArray svg = panel.exported(CurveFormat::svg);
        QXmlStreamReader xml(svg);
        int lines_drawn = 0, marks = 0, dashed = 0;
        while (!xml.atEnd()) {
            if (xml.readNext() != QXmlStreamReader::StartElement) continue;
            lines_drawn += xml.name() == QLatin1String("polyline");
            dashed += xml.attributes().hasAttribute("stroke-dasharray");
            marks += xml.name() == QLatin1String("circle");
        }
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QCOMPARE(lines_drawn, 4);
        QCOMPARE(dashed, 2);  // run 9
        QCOMPARE(marks, 4);
        QVERIFY(panel.exported(CurveFormat::pdf).startsWith("%PDF"));
        const auto picture = QImage::fromData(panel.exported(CurveFormat::png), "PNG");
        QCOMPARE(picture.width(), 2 * (panel.charts()[1]->geometry().right() + 1));
        const auto is_drawn = [&](const QColor& colour) {
            for (int y = 0; y < picture.height(); ++y)
                for (int x = 0; x < picture.width(); ++x)
                    if (picture.pixelColor(x, y) == colour) return true;
            return false;
        };
        QVERIFY(is_drawn(run_pen(1, 1).color()));
    }

    /// Only values are taken in the window's thread: what draws and writes them needs no widget, and runs anywhere.
    void files_are_drawn_away_from_the_window() {
        const RunData first = run_of(1, 400), second = run_of(9, 400);
        auto panel = std::make_unique<CurvePanel>();
        panel->resize(700, 500);
        panel->show_runs(snapshots({&first, &second}), 1);
        panel->show();
        QVERIFY(QTest::qWaitForWindowExposed(panel.get()));
        std::vector<std::function<QByteArray()>> makers;
        for (const auto format : {CurveFormat::png, CurveFormat::svg, CurveFormat::pdf, CurveFormat::csv})
            makers.push_back(panel->exporter(format));
        QByteArrayList now;
        for (const auto format : {CurveFormat::png, CurveFormat::svg, CurveFormat::pdf, CurveFormat::csv})
            now << panel->exported(format);
        panel.reset();
        QByteArrayList then;
        std::thread([&] {
            for (const auto& make : makers) then << make();
        }).join();
        QCOMPARE(then[0], now[0]);
        QCOMPARE(then[1], now[1]);
        QVERIFY(then[2].startsWith("%PDF") && then[2].size() > 2000);
        QCOMPARE(then[3], now[3]);
    }

    /// A legend names each run once; its discs are explained on the axis.
    void a_legend_names_runs_once() {
        const RunData first = run_of(1, 4), second = run_of(2, 4);
        CurvePanel panel;
        panel.show_runs(snapshots({&first, &second}), 1);
        auto& chart = *panel.charts()[0];
        QCOMPARE(chart.readout(), QString("Run 1, gpipe\nRun 2, gpipe"));
        chart.set_crosshair(3);
        QVERIFY2(chart.readout().startsWith("Run 1, gpipe  5.80\nRun 2, gpipe  5.80"), qPrintable(chart.readout()));
        QVERIFY(chart.set().y_label.contains("validation"));
        panel.show_runs(snapshots({&first}));
        chart.set_crosshair({});
        QCOMPARE(chart.readout(), QString("Training\nValidation"));
    }

    /// Where a run has no loss, the panel has the one button that shows what it has.
    void an_empty_panel_offers_what_there_is() {
        RunData run = run_of(1, 4);
        std::erase_if(run.metrics, [](const Metric& metric) { return metric.name != "iteration_s"; });
        CurvePanel panel;
        panel.set_empty_text("No loss", {"iteration_s"});
        panel.show_runs(snapshots({&run}));
        panel.show();
        auto* button = panel.findChild<QPushButton*>("instead");
        QVERIFY(button->isVisible());
        QCOMPARE(button->text(), QString("Show iteration time"));
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(!button->isVisible());
        QCOMPARE(panel.charts()[0]->set().choice.metric, std::string("iteration_s"));
    }
};

QTEST_MAIN(TestCurves)
#include "test_curves.moc"
