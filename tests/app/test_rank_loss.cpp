// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are killed or stopped while they train, at random moments: the others go on, who is started again comes
// back, and what comes in the end is what an undisturbed training gives. Real programs, Gloo on loopback.
#include <map>
#include <numeric>
#include <random>
#include <string_view>
#include <tuple>

#include "tests/app/losing_ranks.h"

using namespace launched;
using skippipe::RunState;

namespace {

struct Kind {
    const char* name;
    std::vector<int> victims;
    int signal, iterations, rounds;
    bool at_once;
    Reductions reductions = {};
    const char* policy = "reroute";
};
/// Of every node.
const QJsonObject home_connection{{"up_bytes_per_s", 5e6}, {"down_bytes_per_s", 2e7}};
const Kind kinds[] = {{"one after the other", {1, 2, 3}, SIGKILL, 160, 4, false},
                      {"reductions planned", {1, 2, 3}, SIGKILL, 160, 4, false, {"planned"}},
                      {"planned, over uplinks", {1, 2, 3}, SIGKILL, 160, 4, false, {"planned", home_connection}},
                      {"half at once", {1, 3}, SIGKILL, 120, 1, true},
                      {"all but rank 0 at once", {1, 2, 3}, SIGKILL, 120, 1, true},
                      {"stopped", {2}, SIGSTOP, 120, 1, true},
                      {"half stopped at once", {1, 3}, SIGSTOP, 120, 1, true},
                      {"skip", {1, 2, 3}, SIGKILL, 160, 4, false, {}, "skip"},
                      {"drop", {1, 2, 3}, SIGKILL, 160, 4, false, {}, "drop"}};

/// `reroute` keeps every gradient; the others leave out what the lost nodes had: a loss is the mean of fewer
/// microbatches then.
bool is_alike(const Kind& kind, double got, double expected) {
    const double within = std::string_view(kind.policy) == "reroute" ? 1e-5 : 0.1;
    return std::abs(got / expected - 1) < within;
}

}  // namespace

class TestRankLoss : public QObject {
    Q_OBJECT

    static bool trains_on(const Scene& scene, const Process& process, skippipe::RunId after) {
        return wait_until(
            [&] {
                const auto run = scene.last_run();
                return process.process->state() == QProcess::NotRunning ||
                       (run && run->id != after && run->iterations_done > 2);
            },
            patient_ms);
    }

    std::map<std::tuple<std::string, bool, int>, std::vector<double>> undisturbed_;

    /// Losses of a training that nothing disturbs, whatever the policy is.
    const std::vector<double>& undisturbed(const Kind& kind) {
        const auto& [all_reduce, connection] = kind.reductions;
        auto& losses = undisturbed_[{all_reduce, connection.isEmpty(), kind.iterations}];
        if (!losses.empty()) return losses;
        const Scene scene;
        auto process = start(scene, {"run", everywhere(scene, kind.iterations, {}, kind.reductions)});
        if (process.ended(patient_ms) && process.exit_code() == 0)
            losses = scene.losses(scene.last_run()->id);
        else
            qWarning("%s", process.text().constData());
        return losses;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    void the_others_go_on_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < std::size(kinds); ++i) QTest::newRow(kinds[i].name) << static_cast<int>(i);
    }
    void the_others_go_on() {
        QFETCH(int, index);
        const auto& kind = kinds[index];
        const Scene scene;
        const auto file = everywhere(scene, kind.iterations, {{"policy", kind.policy}}, kind.reductions);
        const auto& expected = undisturbed(kind);
        QVERIFY(!expected.empty());

        const auto seed = std::random_device{}();
        std::mt19937 random(seed);
        auto process = start(scene, {"run", file});
        QVERIFY(trains_on(scene, process, 0));
        const auto run = scene.last_run()->id;
        int killed = 0;
        for (int round = 0; round < kind.rounds; ++round) {
            QTest::qSleep(static_cast<int>(random() % 300));
            auto victims = kind.victims;
            if (!kind.at_once) victims = {victims[random() % victims.size()]};
            const double lost = total(scene, run, "nodes_lost");
            int hit = 0;
            for (const int rank : victims)
                for (const auto pid : workers_of(scene, rank)) hit += ::kill(static_cast<pid_t>(pid), kind.signal) == 0;
            killed += hit;
            if (hit == 0) continue;
            QVERIFY(wait_until(
                [&] {
                    return process.process->state() == QProcess::NotRunning || total(scene, run, "nodes_lost") > lost;
                },
                patient_ms));
        }
        QVERIFY(process.ended(patient_ms));
        const auto told = process.text() + "\nseed " + QByteArray::number(seed);
        QVERIFY2(process.exit_code() == 0, told);
        const auto info = *scene.last_run();
        QCOMPARE(info.id, run);
        QVERIFY(info.state == RunState::finished);
        QCOMPARE(info.iterations_done, kind.iterations);
        QVERIFY2(killed > 0, "it was over before anybody was killed");
        // Losses are those of the undisturbed training, each iteration once; whole recoveries are accounted for.
        const auto got = scene.losses(run);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY2(is_alike(kind, got[i], expected[i]), qPrintable(QString("iteration %1: %2, not %3\n%4")
                                                                         .arg(i + 1)
                                                                         .arg(got[i], 0, 'g', 9)
                                                                         .arg(expected[i], 0, 'g', 9)
                                                                         .arg(QString(told))));
        const auto late_mean = [](const std::vector<double>& losses) {
            const auto last = std::min<std::ptrdiff_t>(40, std::ssize(losses));
            return std::accumulate(losses.end() - last, losses.end(), 0.0) / static_cast<double>(last);
        };
        QVERIFY2(std::abs(late_mean(got) / late_mean(expected) - 1) < 0.03, told);
        // In the iteration in which they were lost, at the latest in the next one: nothing that was done is done again.
        QCOMPARE(total(scene, run, "lost_iterations"), 0.0);
        QVERIFY2(total(scene, run, "nodes_lost") >= stages, told);
        QVERIFY2(total(scene, run, "recovery_s") > 0, told);
        QVERIFY2(told.contains(" gone (nodes ") && told.contains("the others go on"), told);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Started again by the run, it trains on with the weights of the others: were they not, later losses would show
    /// it.
    void who_was_killed_comes_back() {
        const Scene scene;
        const auto file = everywhere(scene, 100'000);
        auto process = start(scene, {"run", file, "--json"});
        QVERIFY(trains_on(scene, process, 0));
        const auto run = scene.last_run()->id;
        const auto first = workers_of(scene, 2);
        QCOMPARE(first.size(), std::size_t(1));
        ::kill(static_cast<pid_t>(first[0]), SIGKILL);
        QByteArray told;
        QVERIFY(wait_until([&] { return (told = process.text()).contains("\"joined_ranks\":[2]"); }, patient_ms));
        QVERIFY2(told.contains("\"lost_ranks\":[2]"), told);
        const int done = scene.last_run()->iterations_done;
        QVERIFY(wait_until([&] { return scene.last_run()->iterations_done > done + 5; }, patient_ms));
        QVERIFY(workers_of(scene, 2).size() == 1 && workers_of(scene, 2) != first);
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(stop.ended(patient_ms));
        QVERIFY(process.ended(patient_ms));
        QVERIFY(scene.last_run()->state == RunState::stopped);
        // Nodes that were not there are told so, and are idle for that.
        skippipe::Reader reader(scene.record().toStdString());
        int down = 0;
        for (const auto& span : reader.spans(run)) down += span.span.kind == skippipe::SpanKind::down;
        QVERIFY(down >= stages);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Again and again, before the others have taken it in: they never know it, and go on without it meanwhile.
    void who_is_killed_on_its_way_back_comes_back() {
        const Scene scene;
        auto process = start(scene, {"run", everywhere(scene, 100'000), "--json"});
        QVERIFY(trains_on(scene, process, 0));
        std::vector<qint64> known;
        for (int times = 0; times < 3; ++times) {
            std::vector<qint64> there;
            QVERIFY(
                wait_until([&] { return (there = workers_of(scene, 2)).size() == 1 && there != known; }, patient_ms));
            ::kill(static_cast<pid_t>(there[0]), SIGKILL);
            known = there;
        }
        QVERIFY(wait_until([&] { return process.text().contains("\"joined_ranks\":[2]"); }, patient_ms));
        QCOMPARE(process.text().count("\"lost_ranks\":[2]"), 1);
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(stop.ended(patient_ms));
        QVERIFY(process.ended(patient_ms));
        QVERIFY(scene.last_run()->state == RunState::stopped);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Its weights were on that rank alone, and there is no checkpoint: the run ends, and says so.
    void a_stage_that_is_lost_ends_the_run() {
        const Scene scene;
        const QJsonObject execution{{"threads", 1}, {"clock", "wall"}, {"transport", "gloo"}, {"ranks", 2}};
        auto process = start(scene, {"run", scene.tiny("lost.json", execution, 100'000, true)});
        QVERIFY(trains_on(scene, process, 0));
        const auto victims = workers_of(scene, 1);
        QCOMPARE(victims.size(), std::size_t(1));
        ::kill(static_cast<pid_t>(victims[0]), SIGKILL);
        QVERIFY(process.ended(patient_ms));
        const auto text = process.text();
        QCOMPARE(process.exit_code(), 1);
        QVERIFY2(text.contains("rank 1 is gone (nodes ") && text.contains("has no node left") &&
                     text.contains("skippipe resume"),
                 text);
        QVERIFY(scene.last_run()->state == RunState::failed);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestRankLoss)
#include "test_rank_loss.moc"
