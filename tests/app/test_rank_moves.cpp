// SPDX-License-Identifier: GPL-3.0-or-later
// A rank is killed, and the nodes that are left go to other stages; then another rank is killed, and all of them are,
// and the run is resumed with everybody where they were. Real programs, Gloo on loopback.
#include "tests/app/losing_ranks.h"

using namespace launched;
using skippipe::RunState;

namespace {

constexpr int microbatches = 12, iterations = 400;
/// Of each node its rank. Where rank 3 is lost, stage 1 has one node left and stage 0 three.
const std::vector<std::pair<QString, int>> nodes{{"a", 0}, {"b", 1}, {"c", 2}, {"d", 1}, {"e", 3}, {"f", 0}, {"g", 2}};

/// Every microbatch passes all stages in their order, so that losses do not depend on who is where.
QString document(const Scene& scene, const QString& name, const QJsonObject& execution, const QJsonObject& recovery) {
    QJsonArray drawn, links;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        QJsonObject node{{"id", nodes[i].first}, {"seconds_per_sample_per_block", 0.01}};
        if (!execution.isEmpty()) node["rank"] = nodes[i].second;
        drawn.append(node);
        for (std::size_t k = 0; k < i; ++k)
            links.append(QJsonObject{{"from", nodes[i].first},
                                     {"to", nodes[k].first},
                                     {"latency_s", 0.001},
                                     {"bandwidth_bytes_per_s", 1e9}});
    }
    return scene.write(
        name,
        QJsonDocument(
            QJsonObject{{"format", 1},
                        {"name", "Elsewhere"},
                        {"seed", 5},
                        {"topology", QJsonObject{{"nodes", drawn}, {"links", links}}},
                        {"model", QJsonObject{{"blocks", 3}, {"width", 32}, {"heads", 2}, {"sequence", 32}}},
                        {"pipeline", QJsonObject{{"stages", 3},
                                                 {"microbatches", microbatches},
                                                 {"microbatch_samples", 1},
                                                 {"skip_ratio", 0},
                                                 {"memory_microbatches", 8},
                                                 {"constraints", QJsonObject{{"max_swaps", 0}}},
                                                 {"planner", "skippipe-joint"},
                                                 {"plan_steps", 1000}}},
                        {"data", QJsonObject{{"source", "text"}, {"path", "corpus.txt"}, {"validation_samples", 4}}},
                        {"training",
                         QJsonObject{{"iterations", iterations}, {"validate_every", 100}, {"checkpoint_every", 10}}},
                        {"recovery", recovery},
                        {"execution", execution}})
            .toJson());
}

QString plan(const Scene& scene) {
    QJsonArray paths;
    for (int m = 0; m < microbatches; ++m)
        paths.append(QJsonObject{{"microbatch", m},
                                 {"nodes", QJsonArray{nodes[static_cast<std::size_t>(m % 3)].first,
                                                      nodes[static_cast<std::size_t>(3 + m % 2)].first,
                                                      nodes[static_cast<std::size_t>(5 + m % 2)].first}}});
    return scene.write("plan.json",
                       QJsonDocument(QJsonObject{{"format", 1},
                                                 {"planner", "skippipe-joint"},
                                                 {"stages", QJsonArray{QJsonArray{"a", "b", "c"}, QJsonArray{"d", "e"},
                                                                       QJsonArray{"f", "g"}}},
                                                 {"blocks", QJsonArray{1, 1, 1}},
                                                 {"paths", paths}})
                           .toJson());
}

}  // namespace

class TestRankMoves : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    void the_training_is_the_same_one_data() {
        QTest::addColumn<QString>("policy");
        QTest::newRow("nothing is done again") << "replay";
        QTest::newRow("all go back, wherever they are by then") << "restart";
    }
    void the_training_is_the_same_one() {
        QFETCH(QString, policy);
        const Scene scene;
        auto calm = start(scene, {"run", document(scene, "virtual.json", {}, {}), "--plan", plan(scene)});
        const QJsonObject recovery{{"policy", policy}, {"planning_s", 1}, {"move_nodes_s", 60}};
        const QJsonObject execution{{"threads", 1}, {"clock", "wall"}, {"transport", "gloo"}, {"ranks", 4}};
        const auto file = document(scene, "wall.json", execution, recovery);
        QVERIFY(calm.ended(patient_ms));
        QVERIFY2(calm.exit_code() == 0, calm.text());
        const auto whole = scene.last_run()->id;

        auto process = start(scene, {"run", file, "--plan", plan(scene)});
        QVERIFY2(has_checkpoint(scene, whole, 12), process.text());
        const auto run = scene.last_run()->id;
        QVERIFY(kill_rank(scene, 3));
        const auto ended = [&] { return process.process->state() == QProcess::NotRunning; };
        QVERIFY(
            wait_until([&] { return ended() || process.text().contains("to another stage, which took"); }, patient_ms));
        QVERIFY2(!ended(), process.text());
        QVERIFY(kill_rank(scene, 2));
        QVERIFY(wait_until([&] { return ended() || process.text().contains("rank 2 is gone"); }, patient_ms));
        QVERIFY2(!ended(), process.text());
        const int done = scene.last_run()->iterations_done;
        QVERIFY(wait_until([&] { return ended() || scene.last_run()->iterations_done > done + 25; }, patient_ms));
        QVERIFY2(!ended(), "it was over before all were killed: " + process.text());
        for (const auto pid : scene.alive()) ::kill(static_cast<pid_t>(pid), SIGKILL);
        QVERIFY(process.ended(patient_ms));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));

        auto resumed = start(scene, {"resume", "latest"});
        QVERIFY(resumed.ended(patient_ms));
        const auto told = process.text() + "\nresumed:\n" + resumed.text();
        QVERIFY2(resumed.exit_code() == 0, told);
        QCOMPARE(scene.last_run()->id, run);
        QVERIFY(scene.last_run()->state == RunState::finished);
        QCOMPARE(policy == "restart", total(scene, run, "lost_iterations") > 0);
        const auto expected = scene.losses(whole), got = scene.losses(run);
        QCOMPARE(got.size(), expected.size());
        QCOMPARE(got.size(), std::size_t{iterations});
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY2(std::abs(got[i] / expected[i] - 1) < 1e-5, qPrintable(QString("iteration %1: %2, not %3\n%4")
                                                                               .arg(i + 1)
                                                                               .arg(got[i], 0, 'g', 9)
                                                                               .arg(expected[i], 0, 'g', 9)
                                                                               .arg(QString(told))));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestRankMoves)
#include "test_rank_moves.moc"
