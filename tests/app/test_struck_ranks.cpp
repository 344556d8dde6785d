// SPDX-License-Identifier: GPL-3.0-or-later
// A rank that is killed or stopped at a named place: a forward or backward that nobody has heard of, a sum that the
// others wait for, a step that all have agreed on, a checkpoint that is being written. Real programs over Gloo, of
// which one strikes itself down (struck_worker.cpp).
#include "tests/app/losing_ranks.h"
#include "tests/app/strike.h"

using namespace launched;
using skippipe::RunState;

namespace {

constexpr int iterations = 30, victim = 1;

}  // namespace

class TestStruckRanks : public QObject {
    Q_OBJECT
    std::unique_ptr<Scene> scene_;
    QString file_;
    std::vector<double> expected_;  ///< losses of the undisturbed training

    /// `skippipe` looks for its worker beside itself.
    Process run(const QStringList& variables) const {
        return scene_->start(scene_->path("skippipe"),
                             {"run", file_, "--checkpoint-every", "5", "--db", scene_->record()}, variables);
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
        scene_ = std::make_unique<Scene>();
        // Of each stage another rank's node is the first, whose rank writes its checkpoints.
        file_ = laid_out(*scene_, {{0, 1, 2, 3}, {victim, 2, 3, 0}, {2, 3, 0, victim}}, iterations);
        QVERIFY(QFile::copy(program, scene_->path("skippipe")));
        QVERIFY(
            QFile::link(QStringLiteral(SKIPPIPE_BIN_DIR "/struck/skippipe-worker"), scene_->path("skippipe-worker")));
        auto undisturbed = run({});
        QVERIFY(undisturbed.ended(patient_ms));
        QVERIFY2(undisturbed.exit_code() == 0, undisturbed.text());
        expected_ = scene_->losses(scene_->last_run()->id);
        QCOMPARE(expected_.size(), std::size_t{iterations});
    }
    void cleanupTestCase() { scene_.reset(); }

    /// What libraries print on standard output is no message of the worker's, and is not lost.
    void libraries_may_print() {
        auto process = run({QString("%1=1").arg(chatter_variable)});
        QVERIFY2(process.ended(patient_ms), process.text());
        QVERIFY2(process.exit_code() == 0, process.text());
        const auto info = *scene_->last_run();
        QVERIFY(info.state == RunState::finished);
        QVERIFY(scene_->losses(info.id) == expected_);
        QVERIFY2(process.text().contains(chatter), process.text());
    }

    void the_others_go_on_data() {
        QTest::addColumn<int>("in");
        QTest::addColumn<int>("signal");
        const auto row = [](const char* name, Strike::In in, int signal) {
            QTest::newRow(name) << static_cast<int>(in) << signal;
        };
        row("killed in a forward", Strike::In::forward, SIGKILL);
        row("killed in a backward", Strike::In::backward, SIGKILL);
        row("killed in an all-reduce", Strike::In::all_reduce, SIGKILL);
        row("killed before its step", Strike::In::step, SIGKILL);
        row("killed in a checkpoint", Strike::In::checkpoint, SIGKILL);
        row("stopped in a forward", Strike::In::forward, SIGSTOP);
        row("stopped in a backward", Strike::In::backward, SIGSTOP);
        row("stopped in an all-reduce", Strike::In::all_reduce, SIGSTOP);
        row("stopped in a checkpoint", Strike::In::checkpoint, SIGSTOP);
    }
    void the_others_go_on() {
        QFETCH(int, in);
        QFETCH(int, signal);
        const auto before = scene_->last_run()->id;
        Strike strike{.in = static_cast<Strike::In>(in), .rank = victim, .signal = signal};
        strike.iteration = 9;  // after which one of the checkpoints is written
        strike.n = strike.in == Strike::In::forward || strike.in == Strike::In::backward ? 1 : 0;
        strike.mark = scene_->path(QString("struck-%1-%2").arg(in).arg(signal)).toStdString();
        auto process = run({QString("%1=%2").arg(strike_variable, QString::fromStdString(to_text(strike)))});
        QVERIFY2(process.ended(patient_ms), process.text());
        const auto told = process.text();
        QVERIFY2(QFile::exists(QString::fromStdString(strike.mark)), "it was not struck down\n" + told);
        QVERIFY2(process.exit_code() == 0, told);
        const auto info = *scene_->last_run();
        QVERIFY(info.id > before);
        QVERIFY(info.state == RunState::finished);
        QVERIFY2(told.contains("rank 1 ") && told.contains("the others go on"), told);
        QVERIFY2(total(*scene_, info.id, "nodes_lost") >= stages, told);
        QCOMPARE(total(*scene_, info.id, "lost_iterations"), 0.0);
        QCOMPARE(total(*scene_, info.id, "lost_gradients"), 0.0);
        const auto got = scene_->losses(info.id);
        QCOMPARE(got.size(), expected_.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY2(std::abs(got[i] / expected_[i] - 1) < 1e-5, qPrintable(QString("iteration %1: %2, not %3\n%4")
                                                                                .arg(i + 1)
                                                                                .arg(got[i], 0, 'g', 9)
                                                                                .arg(expected_[i], 0, 'g', 9)
                                                                                .arg(QString(told))));
        // What was being written is whole, or it is not there.
        const auto kept = skippipe::list_checkpoints(scene_->record().toStdString(), info.id);
        QVERIFY2(!kept.empty() && kept.front().iterations_done == iterations, told);
        QVERIFY(wait_until([&] { return scene_->alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestStruckRanks)
#include "test_struck_ranks.moc"
