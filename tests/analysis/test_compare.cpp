// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/analysis/compare.h"
#include "core/base/statistics.h"

using namespace skippipe;
using Json = nlohmann::ordered_json;

class TestCompare : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void only_what_differs_is_told() {
        const auto a = Json::parse(
            R"({"name": "a", "seed": 1, "pipeline": {"skip_ratio": 0.25, "stages": 6, "stage_sizes": [5, 3]}, "failures": []})");
        const auto b = Json::parse(
            R"({"name": "b", "seed": 1.0, "pipeline": {"stages": 6, "skip_ratio": 0.33, "stage_sizes": [5, 4], "planner": "x"}, "failures": []})");
        const std::vector<ParameterDifference> expected{{"/name", {{"\"a\""}, {"\"b\""}}},
                                                        {"/pipeline/skip_ratio", {{"0.25"}, {"0.33"}}},
                                                        {"/pipeline/stage_sizes", {{"[5,3]"}, {"[5,4]"}}},
                                                        {"/pipeline/planner", {std::nullopt, {"\"x\""}}}};
        QVERIFY(differing_parameters({a, b}) == expected);
        QVERIFY(differing_parameters({a, a, a}).empty());
        QVERIFY(differing_parameters({}).empty());
        QCOMPARE(differing_parameters({a, a, b}).front().values.size(), std::size_t{3});
    }

    /// One skip ratio that one planner heeds and another does not is a difference: it is what runs were trained with.
    void a_skip_ratio_that_only_some_heed_differs() {
        const auto a = Json::parse(R"({"pipeline": {"skip_ratio": 0.25, "stages": 2}})");
        Plan full, skips;
        full.stages = skips.stages = {{NodeIndex(0)}, {NodeIndex(1)}};
        full.paths = {{MicrobatchIndex(0), {NodeIndex(0), NodeIndex(1)}}};
        skips.paths = {{MicrobatchIndex(0), {NodeIndex(0)}}};
        const std::vector<ParameterDifference> expected{{"/pipeline/skip_ratio", {{"0.25"}, {"0.25"}}}};
        QVERIFY(differing_parameters({a, a}, {&skips, &full}) == expected);
        QVERIFY(is_unused(expected.front(), 1, full) && !is_unused(expected.front(), 0, skips));
        QVERIFY(differing_parameters({a, a}, {&full, &full}).empty());
        const Plan none;  // nobody knows what was trained
        QVERIFY(differing_parameters({a, a}, {&full, &none}).empty());
    }

    void nodes_are_matched_by_id() {
        const auto a = Json::parse(
            R"({"nodes": [{"id": "x", "m": 3}, {"id": "y/z", "m": 3}], "links": [{"from": "x", "to": "y", "s": 1}]})");
        const auto b = Json::parse(
            R"({"nodes": [{"id": "new", "m": 1}, {"id": "y/z", "m": 4}, {"id": "x", "m": 3}], "links": [{"from": "x", "to": "y", "s": 2}]})");
        const std::vector<ParameterDifference> expected{{"/nodes/y~1z/m", {{"3"}, {"4"}}},
                                                        {"/links/x->y/s", {{"1"}, {"2"}}},
                                                        {"/nodes/new/id", {std::nullopt, {"\"new\""}}},
                                                        {"/nodes/new/m", {std::nullopt, {"1"}}}};
        QVERIFY(differing_parameters({a, b}) == expected);
        // Without names of their own, elements are matched by place.
        const auto c = Json::parse(R"([{"kind": "crash", "at": 1}])"),
                   d = Json::parse(R"([{"kind": "crash", "at": 2}])");
        QCOMPARE(differing_parameters({c, d}).front().pointer, std::string{"/0/at"});
    }

    void figures_have_deltas_to_the_baseline() {
        RunInfo a, b, c;
        a.iteration_s = 80;
        b.iteration_s = 60;
        b.last_validation_loss = std::nan("");
        const auto figures = compare_figures({b, a, c}, 1);
        const auto& iteration = figures.front();
        QCOMPARE(iteration.name, std::string{"iteration_s"});
        QCOMPARE(*iteration.deltas[0], -20.0);
        QCOMPARE(*iteration.ratios[0], -0.25);
        QCOMPARE(*iteration.deltas[1], 0.0);
        QVERIFY(!iteration.values[2] && !iteration.deltas[2]);
        for (const auto& figure : figures)
            QVERIFY(figure.name != "last_validation_loss" && figure.name != "tokens_per_second");
        QVERIFY(compare_figures({}).empty());
        QCOMPARE(*compare_figures({b, a}, 9).front().deltas[1], 20.0);
    }

    void statistics_by_hand() {
        QCOMPARE(mean({1, 2, 3, 6}), 3.0);
        QCOMPARE(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
        QCOMPARE(median({5, 1, 3}), 3.0);
        QCOMPARE(median({4, 1, 3, 2}), 2.5);
        QCOMPARE(quantile({10, 20, 30, 40, 50}, 0.9), 46.0);
        QCOMPARE(quantile({3, 1, 2}, 0), 1.0);
        QCOMPARE(quantile({3, 1, 2}, 1), 3.0);
        QVERIFY(std::isnan(mean({})) && std::isnan(median({})) && std::isnan(standard_deviation({1})) &&
                std::isnan(median({1, std::nan("")})));
    }
};

QTEST_APPLESS_MAIN(TestCompare)
#include "test_compare.moc"
