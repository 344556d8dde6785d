// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe compare --at` and the accounting of `plan --json`, on a record that needs no training worker.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/experiment/io.h"
#include "core/planner/planner.h"
#include "core/record/record.h"
#include "plugins/planners/all.h"

using namespace skippipe;

namespace {
const QString experiment_file = QStringLiteral(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json");

/// A run of three iterations whose losses are as given: before the first, then after each.
void record_run(const std::filesystem::path& file, const std::string& planner, const std::vector<double>& losses) {
    Faults faults;
    const auto experiment = parse_experiment(read_file(experiment_file.toStdString(), faults)).experiment;
    const auto problem = make_problem(experiment);
    PlannerRegistry planners;
    register_planners(planners);
    const auto plan = planners.find(planner)->plan(problem, {.steps = 20});
    const auto plan_text = to_json(plan, problem, nullptr).dump();
    const double iteration_s = score(problem, plan).iteration_seconds;
    Recorder recorder(file);
    const auto run = recorder.begin({"Equal", planner, to_text(experiment), plan_text, "{}", "{}", 1, 3, iteration_s});
    RunInfo summary;
    for (int i = 0; i < static_cast<int>(losses.size()); ++i) {
        recorder.metric(run,
                        {0, i, "validation_loss", losses[static_cast<std::size_t>(i)], i * iteration_s, 1.0 * i, 0});
        if (i > 0) recorder.iteration_done(run, i, 1.0 * i);
    }
    summary.iterations_done = static_cast<int>(losses.size()) - 1;
    summary.iteration_s = iteration_s;
    summary.machine_s = summary.iterations_done;
    recorder.finish(run, RunState::finished, summary, "{}");
}
}  // namespace

class TestCompareEqual : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    QByteArray run(QStringList arguments, int expected = 0) const {
        QProcess process;
        process.start(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"),
                      arguments << "--db" << folder_.filePath("record.sqlite"));
        if (!process.waitForFinished(60'000) || process.exitCode() != expected) return process.readAllStandardError();
        return process.readAllStandardOutput();
    }

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(folder_.isValid());
        const auto file = folder_.filePath("record.sqlite").toStdString();
        record_run(file, "1f1b", {6, 5, 4, 3});       // the baseline: the full pipeline
        record_run(file, "dtfm-skip", {6, 5, 4, 3});  // p = 4 of 6: two thirds of the blocks
    }

    void accounting_is_told_for_each_run() {
        const auto json = QJsonDocument::fromJson(run({"compare", "1", "2", "--json"})).object();
        const auto accounting = json["accounting"].toArray();
        QCOMPARE(accounting.size(), 2);
        const auto full = accounting[0]["total"].toObject(), skip = accounting[1]["total"].toObject();
        QCOMPARE(full["iterations"].toInt(), 3);
        QCOMPARE(full["microbatches"], skip["microbatches"]);
        QCOMPARE(full["block_flops"].toDouble() / skip["block_flops"].toDouble(), 1.5);
        QCOMPARE(accounting[0]["iteration"]["block_flops"].toDouble() * 3, full["block_flops"].toDouble());
        double on_lines = 0;
        const auto by_line = full["bytes_by_line"].toObject();
        for (const auto& bytes : by_line) on_lines += bytes.toDouble();
        QVERIFY(std::abs(on_lines / full["bytes"].toDouble() - 1) < 1e-12);
        QVERIFY(by_line.contains(full["busiest_line"].toString()));
        QCOMPARE(json["equal"].toObject().size(), 4);
    }

    /// The same losses for two thirds of the FLOPs: at the shorter run's end the baseline has done 2 of 3 iterations.
    void equal_flops_are_not_equal_iterations() {
        const auto json = QJsonDocument::fromJson(run({"compare", "1", "2", "--at", "flops", "--json"})).object();
        QCOMPARE(json["equal"].toObject().keys(), QStringList{"flops"});
        const auto view = json["equal"]["flops"]["validation_loss"];
        QVERIFY(std::abs(view["runs"][0]["value"].toDouble() - 4) < 1e-9);
        QCOMPARE(view["runs"][1]["value"].toDouble(), 3.0);
        QCOMPARE(view["shortest"].toInt(), 1);
        QVERIFY(std::abs(view["runs"][1]["share_of_baseline"].toDouble() - 2.0 / 3) < 1e-9);
        const auto text = run({"compare", "1", "2", "--at", "flops"});
        QVERIFY2(text.contains("Equal block FLOPs") &&
                     text.contains("run 2 reaches 3.0000 after 0.667 of the block FLOPs that the baseline needs"),
                 text);
        QVERIFY(text.contains("(-33.3"));
        const auto plain = run({"compare", "1", "2", "--at", "microbatches"});
        QVERIFY2(plain.contains("after 1 of the microbatches that the baseline needs") && !plain.contains("left out"),
                 plain);
        QVERIFY(run({"compare", "1", "2", "--at", "noon"}, 2).isEmpty());
    }

    void plans_tell_flops_and_lines() {
        const auto rows =
            QJsonDocument::fromJson(run({"plan", experiment_file, "--planner", "gpipe", "--json"})).array();
        const auto row = rows[0].toObject();
        QVERIFY(row["block_flops"].toDouble() > 1e9);
        double on_lines = 0;
        for (const auto& bytes : row["bytes_by_line"].toObject()) on_lines += bytes.toDouble();
        QVERIFY(std::abs(on_lines / row["bytes"].toDouble() - 1) < 1e-12);
    }
};

QTEST_APPLESS_MAIN(TestCompareEqual)
#include "test_compare_equal.moc"
