// SPDX-License-Identifier: GPL-3.0-or-later
// The window's fair accounting: what differs in cost, and curves over block FLOPs with what that holds equal.
#include <QTest>

#include <algorithm>

#include "views/compare/differences.h"
#include "views/curves/curve_panel.h"

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

QString plain(QString text) { return text.replace(QChar(0x2009), ' '); }

}  // namespace

class TestEqualViews : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void costs_stand_beside_the_baseline() {
        const RunData full = run_of(1, 3e12, 2e6), skip = run_of(2, 2e12, 1e6);
        const auto rows = differences({&full, &skip});
        for (const char* name : {"Microbatches", "Tokens", "Block FLOPs", "Bytes sent", "Busiest line, bytes"})
            QVERIFY2(row(rows, name) && row(rows, name)->always_shown, name);
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
        QCOMPARE(plain(equal_words(runs, 1, "validation_loss", WorkAxis::block_flops)),
                 QStringLiteral("Equal block FLOPs. At 4.00 TFLOP, where run 2 ends: run 1 3.67, run 2 3.00. To reach "
                                "3.00, run 2 needs 0.667 × what run 1 needs."));
        QVERIFY(plain(equal_words(runs, 1, "validation_loss", WorkAxis::network_time))
                    .startsWith("Equal network time. At 20.0 s: run 1 3.00, run 2 3.00."));
        QCOMPARE(equal_words(runs, 1, "gradient_norm", WorkAxis::block_flops), QStringLiteral("Equal block FLOPs."));
        QVERIFY(equal_words(runs, 1, "loss", WorkAxis::iteration)
                    .startsWith("Equal iterations of 30 microbatches each. At iteration 1:"));
        auto uneven = runs;
        uneven[1].iteration->microbatches = 60;
        QVERIFY(equal_words(uneven, 1, "loss", WorkAxis::iteration)
                    .startsWith("Equal iterations, but of 30 and 60 microbatches."));
        QVERIFY(equal_words({runs[0]}, 1, "loss", WorkAxis::block_flops).isEmpty());
    }

    void curves_run_over_flops() {
        const RunData full = run_of(1, 3e12, 2e6), skip = run_of(2, 2e12, 1e6);
        CurvePanel panel;
        panel.resize(600, 400);
        panel.show_runs({&full, &skip}, 1);
        panel.set_axis(WorkAxis::block_flops);
        QCOMPARE(panel.point_count(), 4 + 6);  // and validations
        QVERIFY(panel.equal_text().startsWith("Equal block FLOPs. At "));
        panel.show_runs({&full});
        QVERIFY(panel.equal_text().isEmpty());
    }

    void what_is_in_sight_stays_while_a_run_grows() {
        RunData run = run_of(1, 3e12, 2e6);
        CurvePanel panel;
        panel.resize(600, 400);
        panel.show_runs({&run});
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
        panel.show_runs({&run});
        QCOMPARE(panel.x_range(), zoomed);
        QTest::mouseDClick(plot, Qt::LeftButton, {}, middle.toPoint());
        QVERIFY(panel.x_range().second > all.second);
        const RunData other = run_of(2, 1, 1);
        QApplication::sendEvent(plot, &wheel);
        panel.show_runs({&other});
        QCOMPARE(panel.x_range(), all);
    }
};

QTEST_MAIN(TestEqualViews)
#include "test_equal_views.moc"
