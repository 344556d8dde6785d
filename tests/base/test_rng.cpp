// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <array>

#include "core/base/rng.h"

using namespace skippipe;

class TestRng : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void seeds_mean_the_same_everywhere() {
        // SplitMix64 and xoshiro256** as published, computed apart from this code.
        Rng rng(1);
        QCOMPARE(rng.next(), std::uint64_t{12966619160104079557ULL});
        QCOMPARE(rng.next(), std::uint64_t{9600361134598540522ULL});
    }

    void streams_differ_and_repeat() {
        QCOMPARE(Rng(5, 1).next(), Rng(5, 1).next());
        QVERIFY(Rng(5, 1).next() != Rng(5, 2).next());
        QVERIFY(Rng(5, 1).next() != Rng(6, 1).next());
    }

    void below_is_even_and_bounded() {
        Rng rng(3);
        std::array<int, 7> counts{};
        for (int i = 0; i < 70'000; ++i) ++counts.at(rng.below(7));
        for (const int count : counts) QVERIFY(count > 9'500 && count < 10'500);
        for (int i = 0; i < 1000; ++i) {
            const double u = rng.uniform();
            QVERIFY(u >= 0 && u < 1);
        }
    }

    void shuffle_keeps_what_is_there() {
        std::array<int, 50> values{};
        for (int i = 0; i < 50; ++i) values[static_cast<std::size_t>(i)] = i;
        auto mixed = values;
        Rng rng(9);
        rng.shuffle(mixed);
        QVERIFY(mixed != values);
        std::sort(mixed.begin(), mixed.end());
        QCOMPARE(mixed, values);
    }
};

QTEST_APPLESS_MAIN(TestRng)
#include "test_rng.moc"
