// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/analysis/omissions.h"

using namespace skippipe;

namespace {

std::map<std::size_t, std::vector<std::vector<int>>> by_size(const std::vector<std::vector<int>>& sets) {
    std::map<std::size_t, std::vector<std::vector<int>>> sizes;
    for (const auto& set : sets)
        if (set != std::vector<int>{0}) sizes[set.size()].push_back(set);
    return sizes;
}

bool is_set_of(const std::vector<int>& set, int stages) {
    return std::is_sorted(set.begin(), set.end()) && std::set<int>(set.begin(), set.end()).size() == set.size() &&
           (set.empty() || (set.front() >= 1 && set.back() < stages));
}

}  // namespace

class TestOmissions : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Against counting: each of the 2^(S-1) ways to leave stages out, once, and stage 0's blocks.
    void few_are_all_of_them() {
        for (int stages = 1; stages <= 7; ++stages) {
            const auto sets = choose_omissions(stages, 64, 1);
            const std::set<std::vector<int>> different(sets.begin(), sets.end());
            QCOMPARE(different.size(), sets.size());
            QCOMPARE(sets.size(), (std::size_t{1} << (stages - 1)) + 1);
            for (const auto& set : sets) QVERIFY(set == std::vector<int>{0} || is_set_of(set, stages));
            QVERIFY(sets.front().empty());
            QCOMPARE(sets.back(), std::vector<int>{0});
        }
    }

    void many_are_drawn_by_the_seed() {
        const auto sets = choose_omissions(20, 64, 1);
        QCOMPARE(sets, choose_omissions(20, 64, 1));
        auto sizes = by_size(sets);
        QCOMPARE(sizes.size(), std::size_t{20});
        for (const auto& [size, of_size] : sizes) {
            QCOMPARE(of_size.size(), std::size_t(size == 0 || size == 19 ? 1 : size == 1 || size == 18 ? 19 : 64));
            QCOMPARE(std::set<std::vector<int>>(of_size.begin(), of_size.end()).size(), of_size.size());
            for (const auto& set : of_size) QVERIFY(is_set_of(set, 20) && set.size() == size);
        }
        auto other = by_size(choose_omissions(20, 64, 2));
        QVERIFY(other[10] != sizes[10]);
        QCOMPARE(other[1], sizes[1]);
        // Every stage is left out about as often: 64 sets of 10 of 19.
        std::map<int, int> often;
        for (const auto& set : sizes[10])
            for (const int stage : set) ++often[stage];
        QCOMPARE(often.size(), std::size_t{19});
        for (const auto& [stage, times] : often) QVERIFY2(times > 16 && times < 52, qPrintable(QString::number(times)));
    }

    void rows_are_by_the_number_kept() {
        Evaluation evaluation{.stages = 4, .bytes_per_token = 2};
        const auto add = [&](std::vector<int> omitted, double likely) {
            evaluation.losses.push_back({std::move(omitted), std::log(likely)});
        };
        add({}, 8), add({1}, 12), add({2}, 10), add({3}, 20), add({1, 3}, 30), add({0}, 100);
        const auto rows = by_stages_kept(evaluation);
        QCOMPARE(rows.size(), std::size_t{4});
        const auto near = [](double a, double b) { return std::abs(a / b - 1) < 1e-12; };
        QVERIFY(rows[0].kept == 4 && rows[0].sets == 1 && near(rows[0].perplexity, 8));
        QVERIFY(rows[1].kept == 3 && rows[1].sets == 3 && rows[1].all_sets == 3 && near(rows[1].perplexity, 14));
        QVERIFY(near(rows[1].least, 10) && near(rows[1].most, 20));
        QVERIFY(rows[1].best == std::vector<int>{2} && rows[1].worst == std::vector<int>{3});
        QVERIFY(near(rows[1].loss_nats, std::log(12.0 * 10 * 20) / 3));
        QVERIFY(rows[2].kept == 2 && rows[2].sets == 1 && rows[2].all_sets == 3 && !rows[2].without_stage_0);
        QVERIFY(rows[3].kept == 3 && rows[3].without_stage_0 && rows[3].all_sets == 1 && near(rows[3].most, 100));
        QVERIFY(near(*bits_per_byte(std::log(16), evaluation), 2));
        evaluation.bytes_per_token = 0;
        QVERIFY(!bits_per_byte(1, evaluation));
    }
};

QTEST_GUILESS_MAIN(TestOmissions)
#include "test_omissions.moc"
