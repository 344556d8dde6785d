// SPDX-License-Identifier: GPL-3.0-or-later
// *Stages kept* evaluates the runs that were not, by the real program: its progress, its result, its refusals.
#include <QLabel>
#include <QProcess>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "views/curves/evaluate_bar.h"
#include "views/curves/omission_panel.h"
#include "views/runs/evaluator.h"
#include "views/runs/launcher.h"

using namespace skippipe;

namespace {

constexpr int patience_ms = 90'000;

/// The record's run as the panel is shown it.
RunData read_run(const std::filesystem::path& record, RunId id) {
    Reader reader(record);
    RunData run;
    for (const auto& info : reader.runs())
        if (info.id == id) run.info = info;
    Faults faults;
    run.experiment = parse_experiment(reader.experiment_json(id)).experiment;
    run.evaluation = reader.evaluation(id);
    return run;
}

}  // namespace

class TestEvaluating : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::filesystem::path record_;

    /// Trains a tiny model; the next run of the record.
    void train(int checkpoint_every) {
        auto experiment =
            load_experiment(std::filesystem::path(SKIPPIPE_SOURCE_DIR) / "tests/data/tiny-training.json").experiment;
        experiment.data.path = folder_.filePath("corpus.txt").toStdString();
        experiment.model.width = 64;
        experiment.data.validation_samples = 6000;  // how far it is, is told twice a second
        experiment.training.iterations = 2;
        experiment.training.validate_every = 2;
        experiment.training.checkpoint_every = checkpoint_every;
        const auto file = folder_.filePath("experiment.json");
        write_file_atomically(file.toStdString(), to_text(experiment));
        QProcess process;
        process.start(Launcher::program(), {"run", file, "--db", QString::fromStdString(record_.string())});
        QVERIFY(process.waitForFinished(patience_ms));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError());
    }

private Q_SLOTS:
    void initTestCase() {
        if (Launcher::program().isEmpty()) QSKIP("skippipe is not built");
        QVERIFY(folder_.isValid());
        record_ = folder_.filePath("record.sqlite").toStdString();
        std::string corpus;
        for (int i = 0; i < 200'000; ++i) corpus += "line " + std::to_string(i * 7919 % 1009) + " of the corpus\n";
        write_file_atomically(folder_.filePath("corpus.txt").toStdString(), corpus);
        train(2);
        train(0);
        train(2);
    }

    void a_click_evaluates_the_runs_that_were_not() {
        Evaluator evaluator(record_);
        OmissionPanel panel(evaluator);
        panel.resize(700, 500);
        panel.show();
        const auto one = read_run(record_, 1), three = read_run(record_, 3);
        panel.show_runs({&one, &three}, record_);
        auto* evaluate = panel.findChild<QPushButton*>("evaluate");
        auto* cancel = panel.findChild<QPushButton*>("cancel_evaluation");
        QVERIFY(evaluate->isVisible() && !cancel->isVisible());
        QCOMPARE(evaluate->text(), QStringLiteral("Evaluate runs 1 and 3"));
        QStringList said;
        connect(&evaluator, &Evaluator::changed, this, [&] { said << panel.findChild<EvaluateBar*>()->words(); });
        evaluate->click();
        QVERIFY(!evaluate->isVisible() && cancel->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(!evaluator.work(), patience_ms);
        QVERIFY2(!said.filter(QRegularExpression("^Run 1: .+, \\d+ %.*; then run 3$")).isEmpty(),
                 qPrintable(said.join('\n')));
        QVERIFY2(!said.filter(QRegularExpression("^Run 3: .+, \\d+ %")).isEmpty(), qPrintable(said.join('\n')));
        const auto evaluated = read_run(record_, 1), other = read_run(record_, 3);
        QVERIFY(evaluated.evaluation && other.evaluation);
        panel.show_runs({&evaluated, &other}, record_);
        QVERIFY(panel.point_count() > 2);
        QVERIFY2(!panel.findChild<EvaluateBar*>()->isVisible(), "there is nothing left to evaluate");
    }

    /// What the program says stands there, and the next run has its turn.
    void a_run_without_weights_is_refused_in_words() {
        Evaluator evaluator(record_);
        OmissionPanel panel(evaluator);
        panel.resize(700, 500);
        panel.show();
        const auto two = read_run(record_, 2);
        panel.show_runs({&two}, record_);
        QSignalSpy failed(&evaluator, &Evaluator::failed);
        panel.findChild<QPushButton*>("evaluate")->click();
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, patience_ms);
        QTRY_VERIFY(!evaluator.work());
        const auto words = panel.findChild<EvaluateBar*>()->words();
        QVERIFY2(words.startsWith("Run 2 was not evaluated: ") && words.contains("checkpoint"), qPrintable(words));
        QVERIFY(panel.findChild<QPushButton*>("evaluate")->isVisible());
    }

    void cancel_ends_it_and_records_nothing() {
        Evaluator evaluator(record_);
        QSignalSpy failed(&evaluator, &Evaluator::failed);
        train(2);
        evaluator.evaluate({4, 1});
        QVERIFY(evaluator.work() && evaluator.work()->next == std::vector<RunId>{1});
        evaluator.evaluate({1, 4});
        QVERIFY2(evaluator.work()->next == std::vector<RunId>{1}, "whoever waits does not wait twice");
        evaluator.cancel();
        QCOMPARE(evaluator.words(), QStringLiteral("Run 4: stopping"));
        QTRY_VERIFY_WITH_TIMEOUT(!evaluator.work(), patience_ms);
        QVERIFY(failed.isEmpty());
        QVERIFY(!read_run(record_, 4).evaluation);
    }

    void what_computed_nothing_is_not_offered() {
        Evaluator evaluator(record_);
        OmissionPanel panel(evaluator);
        panel.resize(700, 500);
        panel.show();
        RunData simulated;
        simulated.info.id = 7;
        simulated.experiment.execution.compute = Compute::cost;
        panel.show_runs({&simulated});
        QVERIFY(!panel.findChild<QPushButton*>("evaluate")->isVisible());
        bool told = false;
        for (const auto* label : panel.findChildren<QLabel*>())
            told = told || label->text().contains("Run 7 is a simulation: it has no weights");
        QVERIFY(told);
    }
};

QTEST_MAIN(TestEvaluating)
#include "test_evaluating.moc"
