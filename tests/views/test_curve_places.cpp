// SPDX-License-Identifier: GPL-3.0-or-later
// Where charts stand, and what stands beside their curves.
#include <QScrollArea>
#include <QScrollBar>
#include <QtTest>

#include "tests/views/curve_runs.h"
#include "tests/views/snapshots.h"
#include "views/curves/curve_panel.h"
#include "views/curves/end_labels.h"
#include "views/curves/plot.h"
#include "views/runs/run_marks.h"
#include "views/theme/flow_key.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

using namespace skippipe;

class TestCurvePlaces : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void labels_do_not_touch() {
        using Places = std::vector<double>;
        QCOMPARE(spread({10, 50, 90}, 12, 0, 100), (Places{10, 50, 90}));
        QCOMPARE(spread({50, 52, 48}, 10, 0, 100), (Places{50, 60, 40}));
        QCOMPARE(spread({99, 98}, 12, 0, 100), (Places{100, 88}));
        QCOMPARE(spread({5, 5, 5}, 60, 0, 100), (Places{0, 50, 100}));
        QVERIFY(spread({}, 12, 0, 100).empty());
    }

    /// Of several runs their number and last value in sight, from top to bottom as the curves end; discs have none.
    void curves_are_labelled_at_their_ends() {
        const RunData first = run_of(1, 11), second = run_of(2, 5);
        CurvePanel panel;
        panel.resize(700, 500);
        panel.set_metrics({"loss"});
        panel.show_runs(snapshots({&first, &second}), 1);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        auto& chart = *panel.charts()[0];
        const auto label = [&](RunId run, std::size_t point) {
            for (const auto& curve : chart.set().curves)
                if (curve.run == run && !curve.marks)
                    return QStringLiteral("%1  %2").arg(run).arg(three_digits(curve.points.at(point).y));
            return QString{};
        };
        QTRY_COMPARE(chart.end_words(), (QStringList{label(2, 4), label(1, 10)}));
        chart.set_x_range(6, 8);
        QTRY_COMPARE(chart.end_words(), QStringList{label(1, 7)});  // the other has ended
        QCOMPARE(panel.key_text(), QString("Run 1, gpipe\nRun 2, gpipe"));
        panel.show_runs(snapshots({&first}));
        QTRY_VERIFY(chart.end_words().contains(label(1, 10).section("  ", 1)));
        QCOMPARE(chart.end_words().filter(QString::fromUtf8("○ ")).size(), 1);
        QCOMPARE(panel.key_text(), QString("Training\nValidation"));  // above the chart, not over its curves
        CurveChart narrow;
        narrow.resize(200, 200);
        narrow.show_set(chart.set(), false);
        narrow.show();
        QVERIFY(QTest::qWaitForWindowExposed(&narrow));
        narrow.plot().replot();
        QVERIFY2(narrow.end_words().isEmpty(), "there is no room for them");
        panel.set_metrics({"iteration_s"});
        QVERIFY2(panel.key_text().isEmpty(), "one line needs no key");
        // Of a run that failed at once there is no line: words say so, and the other's line has its name.
        RunData failed;
        failed.info.id = 2, failed.info.state = RunState::failed;
        panel.set_metrics({"loss"});
        panel.show_runs(snapshots({&first, &failed}), 1);
        QVERIFY2(panel.equal_text().endsWith("Run 2 failed before its first iteration"),
                 qPrintable(panel.equal_text()));
        QVERIFY2(panel.key_text().startsWith("Run 1, "), qPrintable(panel.key_text()));
    }

    /// Of one run several charts stand in a column: each says its value beside its name, the lowest has the axis of x.
    void charts_of_one_run_say_their_values() {
        const RunData run = run_of(1, 10);
        CurvePanel panel;
        panel.resize(370, 320);
        panel.set_metrics({"loss", "iteration_s"});
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto& charts = panel.charts();
        QCOMPARE(charts.size(), 2U);
        QVERIFY2(!panel.findChild<QScrollArea*>()->verticalScrollBar()->isVisible(), "both fit");
        QVERIFY2(!panel.key_text().contains("Run 1"), "no name where there is one run");
        QVERIFY(!charts[0]->plot().xAxis->tickLabels() && charts[0]->plot().xAxis->label().isEmpty());
        QVERIFY(charts[1]->plot().xAxis->tickLabels() && !charts[1]->plot().xAxis->label().isEmpty());
        QCOMPARE(charts[1]->title(), charts[1]->set().y_label);
        Q_EMIT charts[0]->hovered(4.2);
        for (const auto* chart : charts) {
            const QString value = chart->value_words(chart->set().curves.front());
            QVERIFY(!value.isEmpty());
            QVERIFY2(chart->title().startsWith(chart->set().y_label + "  " + value), qPrintable(chart->title()));
        }
        auto& plot = charts[0]->plot();
        QTRY_VERIFY2(plot.yAxis->coordToPixel(6.5) - plot.axisRect()->top() >= QFontMetrics(small_font()).height(),
                     "what it says stands above its curves");
        Q_EMIT charts[0]->left();
        QCOMPARE(charts[1]->title(), charts[1]->set().y_label);
        // A second run: names stand above again.
        const RunData other = run_of(2, 10);
        panel.show_runs(snapshots({&run, &other}), 1);
        QVERIFY(panel.key_text().contains("Run 2") && charts[0]->title().isEmpty());
        QVERIFY(charts[0]->plot().xAxis->tickLabels());
    }

    /// In a low panel a few charts are low as well: all are in sight, with the axis of x below them, and their first
    /// and last points are whole.
    void a_few_charts_fit_a_low_panel() {
        const RunData run = run_of(1, 10);
        CurvePanel panel;
        panel.resize(370, 230);
        panel.set_metrics({"loss", "iteration_s", "idle_share"});
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto& charts = panel.charts();
        QCOMPARE(charts.size(), 3U);
        QTRY_VERIFY(!panel.findChild<QScrollArea*>()->verticalScrollBar()->isVisible());
        QVERIFY(charts[2]->plot().xAxis->tickLabels());
        auto& plot = charts[0]->plot();
        const double high = plot.yAxis->coordToPixel(6.5), low = plot.yAxis->coordToPixel(6 - 9 * 0.099);
        const QRect rect = plot.axisRect()->rect();
        QVERIFY2(high - rect.top() >= 3 && rect.bottom() - low >= 3, qPrintable(QString::number(high - rect.top())));
    }

    /// Where charts scroll, each has its own axis of x: the lowest one's would be out of sight.
    void charts_that_scroll_have_an_axis_each() {
        const RunData run = run_of(1, 10);
        CurvePanel panel;
        panel.resize(370, 230);
        panel.set_metrics({"loss", "perplexity", "iteration_s", "idle_share", "gradient_norm", "tokens_per_second"});
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QTRY_VERIFY(panel.findChild<QScrollArea*>()->verticalScrollBar()->isVisible());
        for (const auto* chart : panel.charts())
            QVERIFY2(const_cast<CurveChart*>(chart)->plot().xAxis->tickLabels(), qPrintable(chart->set().y_label));
        panel.resize(370, 900);
        QTRY_VERIFY(!panel.charts()[0]->plot().xAxis->tickLabels());
        QVERIFY(panel.charts().back()->plot().xAxis->tickLabels());
    }

    /// Mostly across, a drag leaves the axis of y to what is in sight, unless somebody chose that.
    void a_drag_along_one_axis_zooms_that_one() {
        const RunData run = run_of(1, 10);
        CurvePanel panel;
        panel.resize(500, 400);
        panel.show_runs(snapshots({&run}));
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        auto& plot = panel.charts()[0]->plot();
        const auto drag = [&](QPoint by) {
            const QPoint from = plot.axisRect()->rect().center() - by / 2;
            QTest::mousePress(&plot, Qt::LeftButton, {}, from);
            QTest::mouseMove(&plot, from + by / 2);
            QTest::mouseMove(&plot, from + by);
            QTest::mouseRelease(&plot, Qt::LeftButton, {}, from + by);
        };
        const QCPRange x = plot.xAxis->range(), y = plot.yAxis->range();
        drag({120, 14});
        QVERIFY(plot.xAxis->range().size() < 0.6 * x.size());
        QVERIFY2(plot.yAxis->range().size() < 0.9 * y.size(), "as high as what is in sight");
        const QCPRange fitted = plot.yAxis->range(), across = plot.xAxis->range();
        drag({10, 90});
        QVERIFY(plot.yAxis->range().size() < 0.9 * fitted.size());
        QVERIFY(std::abs(plot.xAxis->range().lower - across.lower) < 1e-9 &&
                std::abs(plot.xAxis->range().upper - across.upper) < 1e-9);
        const QCPRange chosen = plot.yAxis->range();
        drag({160, 14});
        QVERIFY(plot.xAxis->range().size() < across.size());
        QVERIFY2(std::abs(plot.yAxis->range().lower - chosen.lower) < 1e-9 &&
                     std::abs(plot.yAxis->range().upper - chosen.upper) < 1e-9,
                 "somebody chose it");
        drag({60, 60});
        QVERIFY(plot.xAxis->range().size() < 0.3 * x.size());
    }

    /// An entry that has no more room in a line stands whole in the next one, its picture beside its words.
    void a_key_keeps_pictures_beside_words() {
        const RunData first = run_of(1, 4), second = run_of(2, 4), third = run_of(3, 4);
        CurvePanel panel;
        panel.resize(700, 400);
        panel.show_runs(snapshots({&first, &second, &third}), 1);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        auto* key = static_cast<FlowKey*>(panel.findChild<QWidget*>("curve_key"));
        QCOMPARE(key->words(), panel.key_text());
        const auto one_line = key->places(2000);
        QCOMPARE(one_line.size(), 3U);
        const int all = one_line.back().right() + 1 + key->contentsMargins().right();
        for (const auto& [width, lines] : {std::pair{all, 1}, {all - 1, 2}, {one_line[1].left() + 5, 3}}) {
            const auto places = key->places(width);
            QCOMPARE(places.back().top() / places[0].height() + 1, lines);
            QCOMPARE(key->heightForWidth(width), places.back().bottom() + 1 + key->contentsMargins().bottom());
            for (std::size_t i = 0; i < places.size(); ++i) {
                QCOMPARE(places[i].size(), one_line[i].size());
                QVERIFY(places[i].right() < width);
                for (std::size_t j = 0; j < i; ++j) QVERIFY(!places[i].intersects(places[j]));
            }
        }
        panel.resize(all - 1, 400);
        QTRY_COMPARE(key->height(), key->heightForWidth(all - 1));
        const auto places = key->places(key->width());
        const QImage drawn = key->grab().toImage();
        for (RunId run = 1; run <= 3; ++run) {  // its picture is where its entry begins
            const QRect& place = places[static_cast<std::size_t>(run - 1)];
            QCOMPARE(drawn.pixelColor(place.left() + 10, place.center().y()), run_pen(run, 1).color());
        }
    }

    /// Charts of one axis begin and end below each other, whatever their figures take; also once one is zoomed.
    void axes_stand_below_each_other() {
        const RunData first = run_of(1, 11), second = run_of(2, 5);
        CurvePanel panel;
        panel.resize(900, 620);
        panel.set_metrics({"loss", "bytes_sent", "iteration_s", "tokens_per_second"});
        panel.show_runs(snapshots({&first, &second}), 1);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto gutters = [&] {
            std::set<std::pair<int, int>> found;
            for (auto* chart : panel.charts()) {
                const QRect axes = chart->plot().axisRect()->rect();
                found.insert({axes.left(), chart->width() - axes.right()});
            }
            return found;
        };
        QTRY_COMPARE(gutters().size(), 1U);
        QVERIFY(gutters().begin()->second > 40);  // the longest last value fits
        panel.charts()[1]->plot().yAxis->setRange(1'234'567, 1'234'570);
        QTRY_COMPARE(gutters().size(), 1U);
    }

    /// A chart that is alone gives back what it kept free for longer values.
    void room_for_values_is_given_back() {
        const RunData first = run_of(1, 11), second = run_of(2, 5);
        PointStore store;
        CurveChart chart;
        chart.resize(500, 300);
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart));
        const auto right = [&](const std::vector<const RunData*>& runs) {
            chart.show_set(curve_set(runs, 0, {"iteration_s"}, store), false);
            chart.plot().replot();
            return chart.plot().axisRect()->minimumMargins().right();
        };
        const int alone = right({&first});
        QVERIFY(right({&first, &second}) > alone);  // runs are named
        QCOMPARE(right({&first}), alone);
        QCOMPARE(right({}), 0);
    }

    /// As near to a pleasant shape as can be: two charts of a high page above each other, of a low one side by side.
    void charts_are_neither_narrow_nor_low() {
        const RunData run = run_of(1, 5);
        CurvePanel panel;
        panel.set_metrics({"loss", "iteration_s"});
        panel.show_runs(snapshots({&run}));
        panel.resize(820, 640);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto place = [&](std::size_t i) { return panel.charts()[i]->geometry().topLeft(); };
        QTRY_VERIFY(place(1).y() > place(0).y() && place(1).x() == place(0).x());
        panel.resize(820, 300);
        QTRY_VERIFY(place(1).y() == place(0).y() && place(1).x() > place(0).x());
    }

    /// From a curve that ends early a faint line leads to its value.
    void a_value_is_joined_to_its_curve() {
        const RunData first = run_of(1, 11), second = run_of(2, 5);
        CurvePanel panel;
        panel.resize(700, 400);
        panel.show_runs(snapshots({&first, &second}), 1);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        auto& plot = panel.charts()[0]->plot();
        const auto joined = [&] {
            int count = 0;
            for (int i = 0; i < plot.itemCount(); ++i)
                if (const auto* line = qobject_cast<QCPItemLine*>(plot.item(i)))
                    count += line->visible() && line->pen().style() == Qt::DotLine;
            return count;
        };
        QTRY_COMPARE(joined(), 1);  // the other one ends where the axes do
    }
};

QTEST_MAIN(TestCurvePlaces)
#include "test_curve_places.moc"
