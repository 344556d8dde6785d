// SPDX-License-Identifier: GPL-3.0-or-later
// One rank's share of checkpoints while others are lost.
#include <QTemporaryDir>
#include <QTest>

#include <filesystem>

#include "core/engine/cost_compute.h"
#include "core/run/checkpoint_writer.h"
#include "tests/engine/thread_transport.h"
#include "tests/planner/examples.h"

using namespace skippipe;

class TestCheckpointWriter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// The other rank has not written its part: whoever is left tries again, at the end of the training too.
    void what_is_given_up_is_tried_again() {
        const QTemporaryDir folder;
        const auto problem = examples::toy({"D", "A"}, 2, 2, 2);
        const auto plan = examples::collision().plan;
        const auto schedule = make_schedule(problem, plan, {0, 1}, 2);
        CostCompute compute(problem, schedule, 1);
        testing::Exchange exchange(2);
        testing::ThreadTransport here(exchange, schedule, 0), other(exchange, schedule, 1);
        here.outlive_losses(true);
        std::vector<int> written;
        CheckpointWriter writer(
            {.problem = problem, .folder = folder.path().toStdString(), .every = 5, .computes = false}, schedule,
            compute, here, [&](const protocol::Message& message) {
                if (const auto* one = std::get_if<protocol::Checkpointed>(&message))
                    written.push_back(one->iterations_done);
            });
        const TrainingPosition end{.iterations_done = 7};
        other.die();
        QVERIFY_THROWS_EXCEPTION(Aborted, writer.committed(end, plan, true));
        here.regroup();
        writer.regrouped();
        QVERIFY(writer.newest().empty());
        writer.committed(end, plan, true);
        QVERIFY(std::filesystem::exists(writer.newest()));
        QCOMPARE(written, std::vector<int>{7});
    }
};

QTEST_GUILESS_MAIN(TestCheckpointWriter)
#include "test_checkpoint_writer.moc"
