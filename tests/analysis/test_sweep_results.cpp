// SPDX-License-Identifier: GPL-3.0-or-later
// Which run of a record is which point of a sweep, and what the points came to.
#include <QTemporaryDir>
#include <QtTest>

#include <chrono>
#include <cmath>

#include "core/analysis/price.h"
#include "core/analysis/sweep_results.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/planners.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

namespace {

/// Two planners, two seeds each: points 0 and 1, 2 and 3.
std::vector<SweepPoint> four_points(double node_hour = 0) {
    Faults faults;
    auto experiment = parse_experiment(parse_json(samples::small(), faults)).experiment;
    experiment.prices.node_hour = node_hour;
    return sweep_points(experiment, {{parse_axis("/pipeline/planner=gpipe,1f1b")}, 2, 0, 1});
}

struct Written {
    Recorder recorder;
    explicit Written(const std::filesystem::path& file) : recorder(file) {}

    RunId begin(const Experiment& experiment, const std::string& plan_json = "{}") {
        return recorder.begin({.name = experiment.name,
                               .planner = experiment.pipeline.planner,
                               .experiment_json = to_text(experiment),
                               .plan_json = plan_json,
                               .versions_json = "{}",
                               .machine_json = "{}",
                               .seed = experiment.seed,
                               .iterations = experiment.training.iterations});
    }
    RunId finish(RunId run, int iterations, double iteration_s, double loss) {
        recorder.iteration_done(run, iterations, 2);
        recorder.finish(
            run, RunState::finished,
            {.iterations_done = iterations, .iteration_s = iteration_s, .last_validation_loss = loss, .machine_s = 2},
            "{}");
        return run;
    }
};

}  // namespace

class TestSweepResults : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::filesystem::path file(const char* name) { return folder_.filePath(name).toStdString(); }

private Q_SLOTS:
    void points_are_found_and_summed_up() {
        const auto points = four_points();
        const int iterations = points[0].experiment.training.iterations;
        QCOMPARE(points.size(), 4U);
        QCOMPARE(sweep_fields(points), std::vector<std::string>{"pipeline.planner"});
        Written written(file("found.sqlite"));
        auto renamed = points[0].experiment;
        renamed.name = "the same by another name";
        auto other = points[1].experiment;
        other.training.learning_rate *= 2;  // trains otherwise
        const RunId first = written.finish(written.begin(renamed), iterations, 2, 5);
        written.finish(written.begin(other), iterations, 9, 9);
        const RunId third = written.finish(written.begin(points[2].experiment), iterations, 1, 6);
        const RunId fourth = written.finish(written.begin(points[3].experiment), iterations, 3, 4);
        const RunId going = written.begin(points[1].experiment);
        written.recorder.iteration_done(going, iterations / 2, 1);
        QVERIFY(written.recorder.flush(std::chrono::seconds(5)));
        Reader reader(file("found.sqlite"));
        const auto states = find_points(reader, points);
        QVERIFY(states[0].done && states[0].run == first && states[0].share == 1);
        QVERIFY(!states[1].done && states[1].taken && states[1].run == going);
        QCOMPARE(states[1].share, static_cast<double>(iterations / 2) / iterations);
        const auto rows = sweep_rows(reader, points, states);
        QCOMPARE(rows.size(), 2U);
        QCOMPARE(setting_text(rows[1].settings[0]), std::string("1f1b"));
        QVERIFY(rows[0].done == 1 && rows[0].points == 2 && rows[1].done == 2);
        QCOMPARE(rows[1].runs, (std::vector<RunId>{third, fourth}));
        QCOMPARE(rows[1].iteration_s, (std::vector<double>{1, 3}));
        QCOMPARE(*mean_or_none(rows[1].losses), 5.0);
        QVERIFY(rows[1].money.empty());
        QCOMPARE(sweep_front(rows), (std::vector<bool>{true, true}));  // means alike
    }

    /// A planner that visits all stages trains at skip ratio 0, whatever was asked for: one point, and what the record
    /// has of it by any ratio is its run.
    void what_skips_nothing_is_one_point() {
        PlannerRegistry planners;
        register_planners(planners);
        const auto full = full_pipelines(planners);
        QVERIFY(full.contains("gpipe") && full.contains("1f1b") && !full.contains("skippipe"));
        Faults faults;
        const auto base = parse_experiment(parse_json(samples::small(), faults)).experiment;
        const std::vector<SweepAxis> axes{parse_axis("pipeline.skip_ratio=0.25,0"),
                                          parse_axis("pipeline.planner=gpipe,skippipe")};
        QCOMPARE(sweep_points(base, {axes, 1, 0, 1}).size(), 4U);
        const auto points = sweep_points(base, {axes, 1, 0, 1, full});
        QCOMPARE(points.size(), 3U);
        QVERIFY(points[0].is_full_pipeline && points[0].experiment.pipeline.skip_ratio == 0);
        QVERIFY(!points[1].is_full_pipeline && !points[2].is_full_pipeline);
        auto asked = points[0].experiment;
        asked.pipeline.skip_ratio = 0.25;
        const auto problem = make_problem(asked);
        const auto plan = to_json(planners.find("gpipe")->plan(problem, {}), problem, to_json(asked));
        Written written(file("full.sqlite"));
        const RunId run = written.finish(written.begin(asked, plan.dump()), asked.training.iterations, 2, 5);
        QVERIFY(written.recorder.flush(std::chrono::seconds(5)));
        Reader reader(file("full.sqlite"));
        QCOMPARE(reader.run(run)->skip_ratio, std::optional<double>(0));
        const auto states = find_points(reader, points);
        QVERIFY(states[0].done && states[0].run == run && states[1].run == 0 && states[2].run == 0);
        const auto rows = sweep_rows(reader, points, states);
        QCOMPARE(rows.size(), 3U);
        QVERIFY(rows[0].is_full_pipeline && rows[0].runs == std::vector<RunId>{run});
    }

    /// A finished run goes before a newer one that was not.
    void what_is_finished_counts() {
        const auto points = four_points();
        Written written(file("newer.sqlite"));
        const RunId done =
            written.finish(written.begin(points[0].experiment), points[0].experiment.training.iterations, 2, 5);
        const RunId again =
            written.finish(written.begin(points[0].experiment), points[0].experiment.training.iterations, 2, 5);
        const RunId stopped = written.begin(points[0].experiment);
        written.recorder.finish(stopped, RunState::stopped, {}, "{}");
        Reader reader(file("newer.sqlite"));
        const auto states = find_points(reader, points);
        QVERIFY(states[0].done && states[0].run == again && done < again);  // the newer of two
    }

    /// A fork has trained otherwise until it began, `run --plan` by another plan, and who knows what was frozen by
    /// another program.
    void what_trained_otherwise_is_no_point() {
        const auto points = four_points();
        const auto& experiment = points[0].experiment;
        const int iterations = experiment.training.iterations;
        Written written(file("otherwise.sqlite"));
        const RunId fork = written.begin(experiment);
        written.recorder.metric(fork, {.iteration = iterations / 2, .name = "loss", .value = 5});
        written.finish(fork, iterations, 2, 5);
        const RunId interrupted = written.begin(experiment);
        written.recorder.metric(interrupted, {.iteration = iterations / 2, .name = "loss", .value = 5});
        written.recorder.finish(interrupted, RunState::stopped, {}, "{}");
        for (const auto& [planner, field] : {std::pair{"1f1b", "gpipe"}, std::pair{"gpipe", "of_a_later_version"}}) {
            auto json = to_json(experiment);
            json["training"][field] = 1;
            const RunId run = written.recorder.begin(
                {.name = "other",
                 .planner = planner,
                 .experiment_json = std::string_view(planner) == "1f1b" ? to_text(experiment) : json.dump(),
                 .plan_json = "{}",
                 .seed = experiment.seed,
                 .iterations = iterations});
            written.finish(run, iterations, 2, 5);
        }
        Reader reader(file("otherwise.sqlite"));
        const auto states = find_points(reader, points);
        QVERIFY(!states[0].done && states[0].run == 0);
        QVERIFY(!parse_experiment(reader.experiment_json(4)).faults.empty());
    }

    void money_is_the_plans_price_times_iterations() {
        const auto points = four_points(3.6);
        const auto& experiment = points[0].experiment;
        const auto problem = make_problem(experiment);
        const auto plan = planners::make_gpipe()->plan(problem, {});
        const double price = price_of(experiment, problem, plan, evaluate(problem, plan)).total();
        QVERIFY(price > 0);
        Written written(file("money.sqlite"));
        const int iterations = experiment.training.iterations;
        written.finish(written.begin(experiment, to_json(plan, problem, to_json(experiment)).dump()), iterations, 2, 5);
        // Dearer where nothing is known of its plan: as good otherwise, it is no best trade-off.
        written.finish(written.begin(points[2].experiment), iterations, 2, 5);
        Reader reader(file("money.sqlite"));
        const auto rows = sweep_rows(reader, points, find_points(reader, points));
        QCOMPARE(rows[0].money.size(), 1U);
        QVERIFY(std::abs(rows[0].money[0] / (price * iterations) - 1) < 1e-12);
        QVERIFY(rows[1].money.empty() && rows[1].done == 1);
        QCOMPARE(sweep_front(rows), (std::vector<bool>{true, false}));
    }
};

QTEST_GUILESS_MAIN(TestSweepResults)
#include "test_sweep_results.moc"
