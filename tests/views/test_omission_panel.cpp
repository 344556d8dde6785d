// SPDX-License-Identifier: GPL-3.0-or-later
// Perplexity by stages kept, as the window draws it.
#include <QLabel>
#include <QTableWidget>
#include <QTest>

#include <cmath>

#include "views/curves/omission_panel.h"

using namespace skippipe;

namespace {

/// Perplexities 8; 12, 10, 20; 30; without stage 0's blocks 100: all `times` as much.
RunData run_of(RunId id, double times) {
    RunData run;
    run.info.id = id;
    run.info.planner = "skippipe";
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

QString plain(QString text) { return text.replace(QChar(0x2009), ' '); }

}  // namespace

class TestOmissionPanel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void what_was_not_evaluated_is_explained() {
        OmissionPanel panel;
        panel.resize(700, 500);
        QVERIFY(says_why_empty(panel));
        const RunData none;
        panel.show_runs({&none});
        QVERIFY(says_why_empty(panel) && panel.point_count() == 0 && panel.caption().isEmpty());
        const auto run = run_of(3, 1);
        panel.show_runs({&none, &run});
        QVERIFY(!says_why_empty(panel));
        QCOMPARE(panel.point_count(), 4);
        panel.show_runs({});
        QVERIFY(says_why_empty(panel));
    }

    void points_say_what_they_are() {
        OmissionPanel panel;
        panel.resize(700, 500);
        const auto run = run_of(3, 1), twin = run_of(4, 2);
        panel.show_runs({&run, &twin});
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QCOMPARE(panel.point_count(), 8);
        QVERIFY2(panel.caption().contains("4,096 tokens"), qPrintable(panel.caption()));
        QCOMPARE(
            plain(panel.words_at(panel.place_of(0, 1))),
            QStringLiteral("Run 3, skippipe: 3 of 4 stages kept, all 3 sets\nPerplexity 14.0, +75.0 % to all kept\n"
                           "3.74 bits per byte\nLeast 10.0 without 2; most 20.0 without 3"));
        QVERIFY(panel.words_at(panel.place_of(1, 0)).startsWith("Run 4, skippipe: 4 of 4 stages kept"));
        QVERIFY(panel.words_at(panel.place_of(0, 3)).contains("without stage 0's blocks"));
        QVERIFY(panel.words_at(panel.place_of(0, 2)).contains("1 of 3 sets"));
        QVERIFY(panel.words_at({1, 1}).isEmpty());
        QCOMPARE(panel.table().rowCount(), 4);
        QCOMPARE(panel.table().columnCount(), 3);
        QCOMPARE(plain(panel.table().item(1, 2)->text()), QStringLiteral("28.0 (20.0 to 40.0), +75.0 %"));
    }
};

QTEST_MAIN(TestOmissionPanel)
#include "test_omission_panel.moc"
