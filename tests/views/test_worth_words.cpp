// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a skip is worth it, in words.
#include <QtTest>

#include "views/compare/worth_words.h"

using namespace skippipe;

namespace {

SkipWorth row(double skip_ratio, double seconds) {
    SkipWorth worth;
    worth.skip_ratio = skip_ratio;
    worth.runs = worth.there = 1;
    worth.iterations.values = {1};
    worth.network_s.mean = seconds;
    return worth;
}

QString finding(const std::vector<SkipWorth>& rows) {
    return verdict_words(rows, rows.size()).section('\n', 0, 0).replace(QChar(0x2009), ' ').replace(QChar(0xa0), ' ');
}

}  // namespace

class TestWorthWords : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The ratio is that to the smallest skip ratio, as in the table, whoever wins.
    void one_ratio_is_told() {
        QCOMPARE(finding({row(0, 32), row(0.25, 24), row(0.33, 16)}),
                 QString::fromUtf8("It seems so: a projected 16.0 s at skip ratio 0.33 against 32.0 s at 0, 0.500 ×"));
        QCOMPARE(finding({row(0, 16), row(0.25, 40), row(0.33, 32)}),
                 QString::fromUtf8("It seems not: a projected 32.0 s at skip ratio 0.33 against 16.0 s at 0, 2.00 ×"));
    }

    void chance_decides_how_sure_it_is() {
        auto sure = row(0.33, 16);
        sure.network_s.p = 0.01;
        const QString words = verdict_words({row(0, 32), sure}, 2);
        QVERIFY2(words.startsWith("It is: ") && words.contains("Over the seeds p = 0.01"), qPrintable(words));
        sure.network_s.p = 0.4;
        QVERIFY(verdict_words({row(0, 32), sure}, 2).contains("\nChance does as much"));
        QVERIFY(verdict_words({row(0.33, 16)}, 1).startsWith("All of these runs have skip ratio 0.33\n"));
        QCOMPARE(verdict_words({row(0.33, 16)}, 2), QString("Only skip ratio 0.33 can be told\n"));
        auto open = row(0, 32);
        open.there = 0;
        open.iterations.values.clear();
        QCOMPARE(finding({open, row(0.33, 16)}), QString("Nobody knows yet: of skip ratio 0, 0 of 1 runs got there"));
    }
};

QTEST_APPLESS_MAIN(TestWorthWords)
#include "test_worth_words.moc"
