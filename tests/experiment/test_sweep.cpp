// SPDX-License-Identifier: GPL-3.0-or-later
// Many experiments out of one.
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/fault.h"
#include "core/experiment/io.h"
#include "core/experiment/set_field.h"
#include "core/experiment/sweep.h"

using namespace skippipe;

namespace {

Experiment small() {
    Faults faults;
    auto parsed = parse_experiment(read_file(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json", faults));
    return parsed.experiment;
}

std::string refusal(const std::function<void()>& what) {
    try {
        what();
    } catch (const InputError& error) {
        return to_string(error.faults().front());
    }
    return {};
}

std::vector<SweepPoint> points_of(const std::vector<std::string>& axes, int seeds = 1, int draws = 0) {
    SweepRequest request{{}, seeds, draws, 1};
    for (const auto& axis : axes) request.axes.push_back(parse_axis(axis));
    return sweep_points(small(), request);
}

}  // namespace

class TestSweep : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void axes_are_read() {
        const auto axis = parse_axis(R"(pipeline.planner=gpipe,"a,b",[1,2],0.25)");
        QCOMPARE(axis.field, std::string("pipeline.planner"));
        QCOMPARE(axis.values,
                 (std::vector<nlohmann::ordered_json>{"gpipe", "a,b", nlohmann::ordered_json::array({1, 2}), 0.25}));
        QCOMPARE(parse_axis("x= gpipe , 1f1b").values, (std::vector<nlohmann::ordered_json>{"gpipe", "1f1b"}));
        QCOMPARE(parse_axis("data.path=../a.txt,b.txt").values,
                 (std::vector<nlohmann::ordered_json>{"../a.txt", "b.txt"}));
        const auto range = parse_axis("training.learning_rate=log:1e-4..1e-2");
        QCOMPARE(parse_axis("/pipeline/skip_ratio=0").field, std::string("pipeline.skip_ratio"));
        QVERIFY(range.range && range.range->logarithmic && range.range->low == 1e-4 && range.range->high == 1e-2);
        for (const char* wrong :
             {"planner", "=3", "x=", "x=1,,2", "x=1..b", "x=2..1", "x=log:0..1", "x=log:3", "x=log:a..1"})
            QVERIFY2(QString::fromStdString(refusal([&] { parse_axis(wrong); })).startsWith("--vary"), wrong);
    }

    /// Each can be varied as it stands.
    void fields_are_named() {
        auto experiment = small();
        experiment.failures = {{.kind = FailureKind::crash, .target = any_target, .rate_per_hour = 2}};
        const auto fields = sweepable_fields(experiment);
        QCOMPARE(fields.front(), std::string("pipeline.skip_ratio"));
        QCOMPARE(std::set<std::string>(fields.begin(), fields.end()).size(), fields.size());
        const auto has = [&](const char* field) { return std::count(fields.begin(), fields.end(), field) == 1; };
        QVERIFY(has("failures.0.rate_per_hour") && has("seed") && has("training.iterations") &&
                has("pipeline.planner"));
        QVERIFY(!has("topology.nodes.0.id") && !has("name") && !has("data.path"));
        auto document = to_json(experiment);
        for (const auto& field : fields) set_field(document, field, 1, "--vary");
        auto renamed = small(), faster = small();
        renamed.name = "x";
        faster.training.learning_rate *= 2;
        QCOMPARE(training_hash(renamed), training_hash(small()));
        QVERIFY(training_hash(faster) != training_hash(small()));
    }

    void a_grid_has_every_combination() {
        const auto points = points_of({"pipeline.skip_ratio=0,0.25", "pipeline.planner=gpipe,1f1b,skippipe"}, 2);
        QCOMPARE(points.size(), 12U);
        QCOMPARE(to_string(points[0]), std::string("pipeline.skip_ratio 0, pipeline.planner \"gpipe\", seed 1"));
        QCOMPARE(points[0].experiment.pipeline.planner, std::string("gpipe"));
        QCOMPARE(points[1].experiment.seed, small().seed + 1);
        QCOMPARE(points[11].experiment.pipeline.skip_ratio, 0.25);
        QCOMPARE(points[11].experiment.seeds, 1);
        for (std::size_t i = 0; i < points.size(); ++i)
            for (std::size_t k = 0; k < points.size(); ++k)
                QCOMPARE(trains_alike(points[i].experiment, points[k].experiment), i == k);
    }

    /// A value given twice is no second seed.
    void a_grid_has_each_combination_once() {
        const auto points = points_of({"pipeline.skip_ratio=0,0.25,0.250", "pipeline.planner=gpipe,1f1b,gpipe"}, 2);
        QCOMPARE(points.size(), 8U);
    }

    void draws_are_random_and_repeat() {
        const auto points = points_of({"training.learning_rate=log:1e-4..1e-2", "training.iterations=5..50"}, 1, 40);
        QCOMPARE(points.size(), 40U);
        std::set<double> rates;
        int below = 0;
        for (const auto& point : points) {
            const auto& training = point.experiment.training;
            QVERIFY(training.learning_rate >= 1e-4 && training.learning_rate <= 1e-2);
            QVERIFY(training.iterations >= 5 && training.iterations <= 50);
            rates.insert(training.learning_rate);
            below += training.learning_rate < 1e-3 ? 1 : 0;
        }
        QCOMPARE(rates.size(), 40U);
        QVERIFY(below > 8 && below < 32);  // half the decades
        const auto again = points_of({"training.learning_rate=log:1e-4..1e-2", "training.iterations=5..50"}, 1, 40);
        QVERIFY(trains_alike(points[39].experiment, again[39].experiment));
    }

    /// What was drawn before would train the same again.
    void draws_come_once() {
        const auto few = points_of({"pipeline.planner=gpipe,1f1b", "training.iterations=5..7"}, 1, 40);
        QCOMPARE(few.size(), 6U);
        for (std::size_t i = 0; i < few.size(); ++i)
            for (std::size_t k = 0; k < i; ++k) QVERIFY(!trains_alike(few[i].experiment, few[k].experiment));
        QCOMPARE(points_of({"pipeline.planner=gpipe,1f1b"}, 2, 40).size(), 4U);
    }

    /// One drawn again counts for nothing: neither by another ratio of a planner that skips nothing, nor where nearly
    /// all are drawn.
    void as_many_are_drawn_as_were_asked_for() {
        const auto drawn = [](const std::vector<std::string>& axes, int draws) {
            SweepRequest request{{}, 1, draws, 1, {"gpipe", "1f1b"}};
            for (const auto& axis : axes) request.axes.push_back(parse_axis(axis));
            return sweep_points(small(), request);
        };
        const auto half = drawn({"pipeline.skip_ratio=0..0.5", "pipeline.planner=gpipe,1f1b,skippipe"}, 12);
        QCOMPARE(half.size(), 12U);
        QCOMPARE(std::count_if(half.begin(), half.end(), [](const auto& one) { return one.is_full_pipeline; }), 2);
        QCOMPARE(drawn({"pipeline.skip_ratio=0,0.25,0.5", "pipeline.planner=gpipe,skippipe"}, 6).size(), 4U);
        std::string rates = "training.learning_rate=1e-3";
        for (int i = 0; i < 9'000; ++i) rates += i == 4'000 ? ",2e-3" : ",1e-3";
        QCOMPARE(drawn({rates}, 2).size(), 2U);
    }

    void what_does_not_fit_is_named() {
        const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
        QVERIFY(has(refusal([] { points_of({"pipeline.speed=1"}); }), "/pipeline/speed"));
        QVERIFY(has(refusal([] { points_of({"pipeline.skip_ratio=0,2"}); }), "with pipeline.skip_ratio 2"));
        QVERIFY(has(refusal([] { points_of({"nothing.there=1"}); }), "nothing.there"));
        QVERIFY(has(refusal([] { points_of({"topology.nodes.99.rank=1"}); }), "names no part"));
        QVERIFY(has(refusal([] { points_of({"topology.nodes.99=1"}); }), "They count from 0"));
        for (const int draws : {0, 2})
            QVERIFY(has(refusal([&] { points_of({"topology.nodes.99999999999999999999=1"}, 1, draws); }),
                        "They count from 0"));
        QVERIFY(has(refusal([] { points_of({"pipeline.skip_ratio=0..0.5"}); }), "--draws"));
        QVERIFY(has(refusal([] { points_of({"seed=1,2"}, 2); }), "the seed varies already"));
        std::string many = "seed=1";
        for (int i = 2; i <= 10'001; ++i) many += "," + std::to_string(i);
        QVERIFY(has(refusal([&] { points_of({many}); }), "more than 10000 points"));
    }

    void words_do_not_make_a_run_another_one() {
        auto other = small();
        other.name = "another";
        other.description = "words";
        other.topology.nodes[0].x += 100;
        other.seeds = 3;  // runs of the first of them
        QVERIFY(trains_alike(small(), other));
        other.training.learning_rate *= 2;
        QVERIFY(!trains_alike(small(), other));
    }
};

QTEST_APPLESS_MAIN(TestSweep)
#include "test_sweep.moc"
