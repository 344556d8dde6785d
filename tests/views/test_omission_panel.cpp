// SPDX-License-Identifier: GPL-3.0-or-later
// Perplexity by stages kept, as the window draws it.
#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QTest>

#include <cmath>

#include "views/curves/evaluate_bar.h"
#include "views/curves/omission_panel.h"
#include "views/runs/evaluator.h"
#include "views/runs/run_marks.h"
#include "views/theme/theme.h"

using namespace skippipe;

namespace {

/// Perplexities 8; 12, 10, 20; 30; without stage 0's blocks 100: all `times` as much.
RunData run_of(RunId id, double times) {
    RunData run;
    run.info.id = id;
    run.experiment.pipeline.skip_ratio = id % 2 == 1 ? 0.33 : 0;
    run.evaluation = Evaluation{.stages = 4, .tokens = 4096, .bytes_per_token = 1};
    const auto add = [&](std::vector<int> omitted, double likely) {
        run.evaluation->losses.push_back({std::move(omitted), std::log(likely * times)});
    };
    add({}, 8), add({0}, 100), add({1}, 12), add({2}, 10), add({3}, 20), add({1, 3}, 30);
    return run;
}

bool says_why_empty(const OmissionPanel& panel) {
    for (const auto* label : panel.findChildren<QLabel*>())
        if (label->isVisibleTo(&panel) && label->text().contains("skippipe evaluate")) return true;
    return false;
}

/// What is drawn where the panel says that a point is.
QColor colour_at(const OmissionPanel& panel, const QPointF& place) {
    for (auto* part : panel.findChildren<QWidget*>())
        if (part->metaObject()->className() == QByteArray("QCustomPlot"))
            return part->grab().toImage().pixelColor(place.toPoint());
    return {};
}

QString plain(QString text) { return text.replace(QChar(0x2009), ' '); }

}  // namespace

class TestOmissionPanel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void what_was_not_evaluated_is_explained() {
        Evaluator evaluator({});
        OmissionPanel panel(evaluator);
        panel.resize(700, 500);
        QVERIFY(says_why_empty(panel));
        RunData none;
        none.info.id = 5;
        panel.show_runs({&none});
        QVERIFY(says_why_empty(panel) && panel.point_count() == 0 && panel.caption().isEmpty());
        const auto run = run_of(3, 1);
        panel.show_runs({&none, &run});
        QVERIFY(!says_why_empty(panel));
        QCOMPARE(panel.point_count(), 3);
        QVERIFY2(panel.caption().endsWith("Run 5 was not evaluated"), qPrintable(panel.caption()));
        panel.show_runs({});
        QVERIFY(says_why_empty(panel));
    }

    void the_command_is_that_for_the_runs_shown() {
        Evaluator evaluator({});
        OmissionPanel panel(evaluator);
        QCOMPARE(panel.command(), QStringLiteral("skippipe evaluate latest"));
        RunData one, other;
        one.info.id = 5, other.info.id = 4;
        panel.show_runs({&one});
        QCOMPARE(panel.command(), QStringLiteral("skippipe evaluate 5"));
        panel.show_runs({&one, &other}, "/the runs/it's.sqlite");
        QCOMPARE(panel.command(), QStringLiteral("skippipe evaluate 5 --beside 4 --db '/the runs/it'\\''s.sqlite'"));
        RunData third;
        third.info.id = 9;
        OmissionPanel of_three(evaluator);
        of_three.show_runs({&one, &other, &third});
        QCOMPARE(of_three.command(),
                 QStringLiteral("skippipe evaluate 5 && skippipe evaluate 4 && skippipe evaluate 9"));
        QGuiApplication::clipboard()->clear();
        QVERIFY2(!panel.findChild<QWidget*>("curve_sketch")->isHidden(), "what will stand there");
        panel.findChild<QPushButton*>("copy_evaluation")->click();
        QCOMPARE(QGuiApplication::clipboard()->text(), panel.command());
    }

    void points_say_what_they_are() {
        Evaluator evaluator({});
        OmissionPanel panel(evaluator);
        panel.resize(700, 500);
        const auto run = run_of(3, 1), twin = run_of(4, 2);
        panel.show_runs({&run, &twin});
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QCOMPARE(panel.point_count(), 6);
        QVERIFY2(panel.caption().contains("4,096 held-out tokens"), qPrintable(panel.caption()));
        QCOMPARE(plain(panel.words_at(panel.place_of(0, 1))),
                 QStringLiteral("Run 3, skip 33.0 %: 3 of 4 stages kept, all 3 sets\n"
                                "Perplexity 14.0, 1.75 × against all kept\n"
                                "3.74 bits per byte\nLeast 10.0 without 2; most 20.0 without 3"));
        QVERIFY(panel.words_at(panel.place_of(1, 0)).startsWith("Run 4, full pipeline: 4 of 4 stages kept"));
        QVERIFY(panel.words_at(panel.place_of(0, 2)).contains("1 of 3 sets"));
        QVERIFY(panel.words_at({1, 1}).isEmpty());
    }

    /// Points lie where the axes say, in their run's colour: as drawn, not only as told.
    void points_are_drawn_at_their_places() {
        Evaluator evaluator({});
        OmissionPanel panel(evaluator);
        panel.resize(700, 500);
        const auto run = run_of(3, 1), twin = run_of(4, 2);
        panel.show_runs({&run, &twin});
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        for (std::size_t r = 0; r < 2; ++r)
            for (std::size_t row = 0; row < 3; ++row)
                QCOMPARE(colour_at(panel, panel.place_of(r, row)),
                         run_pen(r == 0 ? run.info.id : twin.info.id, 1).color());
        // 4, 3 and 2 kept, from right to left; more perplexity is higher up. The axis reaches from 0.5 to 4.5.
        const double step = panel.place_of(0, 0).x() - panel.place_of(0, 1).x();
        QVERIFY(step > 0 && std::abs(panel.place_of(0, 1).x() - panel.place_of(0, 2).x() - step) < 1);
        QCOMPARE(panel.place_of(1, 2).x(), panel.place_of(0, 2).x());
        QVERIFY(panel.place_of(0, 0).y() > panel.place_of(0, 1).y() &&
                panel.place_of(0, 1).y() > panel.place_of(1, 2).y());
        // The band of 3 kept: from 10 to 20 about the mean, 14.
        const auto surface = theme().surface;
        const QPointF inside =
            panel.place_of(0, 1) - QPointF(0, (panel.place_of(0, 1).y() - panel.place_of(1, 1).y()) / 3);
        QVERIFY(colour_at(panel, inside) != surface);
    }

    void the_table_has_the_numbers() {
        Evaluator evaluator({});
        OmissionPanel panel(evaluator);
        const auto run = run_of(3, 1), twin = run_of(4, 2);
        panel.show_runs({&run, &twin});
        const auto& table = panel.table();
        QCOMPARE(table.rowCount(), 4);
        QCOMPARE(table.columnCount(), 7);
        const auto text = [&](int row, int column) { return plain(table.item(row, column)->text()); };
        QCOMPARE(text(1, 4), QStringLiteral("28.0"));
        auto* item = table.item(1, 4);
        panel.show_runs({&run, &twin});  // as the window does while a run goes on
        QVERIFY2(table.item(1, 4) == item, "the table was filled anew, and the selection is lost");
        QCOMPARE(text(1, 5), QStringLiteral("20.0 to 40.0"));
        QCOMPARE(text(1, 6), QStringLiteral("1.75 ×"));
        QCOMPARE(text(0, 6), QString());
        QCOMPARE(text(3, 0), QStringLiteral("3 of 4, without stage 0"));
        QCOMPARE(text(3, 1), QStringLiteral("100"));
        QVERIFY(table.item(3, 1)->toolTip().contains("stage 0's blocks left out"));
    }
};

QTEST_MAIN(TestOmissionPanel)
#include "test_omission_panel.moc"
