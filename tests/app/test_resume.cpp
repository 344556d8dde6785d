// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe resume` after SIGKILL of whoever trains, at random moments, and `skippipe fork`: real programs, real
// weights. What comes in the end is what an undisturbed run gives, to the bit.
#include <algorithm>
#include <random>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/checkpoints.h"
#include "tests/app/launched.h"

using namespace launched;
using skippipe::RunState;

namespace {

constexpr int patient_ms = 120'000;

struct Kind {
    const char* name;
    int ranks;
    const char *wire, *gradients;
    int iterations, every;
};
const Kind kinds[] = {{"virtual clock", 1, "fp32", "fp32", 600, 2},
                      {"virtual clock, int8", 1, "int8", "int8", 500, 3},
                      {"two ranks", 2, "fp32", "fp32", 160, 2},
                      {"two ranks, int8", 2, "int8", "int8", 120, 3}};

/// What losses cost, which is told where a run of two ranks goes back by itself.
bool is_of_losses(const std::string& name) {
    for (const char* one : {"nodes_lost", "detection_s", "replanning_s", "refetching_s", "recovery_s",
                            "lost_iterations", "lost_network_s"})
        if (name == one) return true;
    return false;
}

/// Everything the record has of a run that no machine's clock changes, and each once.
std::vector<std::tuple<int, std::string, double, double, std::int64_t>> results_of(const Scene& scene,
                                                                                   skippipe::RunId run, bool wall) {
    std::vector<std::tuple<int, std::string, double, double, std::int64_t>> all;
    skippipe::Reader reader(scene.record().toStdString());
    for (const auto& m : reader.metrics(run))
        if (m.name != "tokens_per_second" && !is_of_losses(m.name) && !(wall && m.name.ends_with("iteration_s")))
            all.emplace_back(m.iteration, m.name, m.value, wall ? 0 : m.network_s, m.tokens);
    return all;
}

/// By itself: how often.
int went_back(const Scene& scene, skippipe::RunId run) {
    const auto metrics = skippipe::Reader(scene.record().toStdString()).metrics(run);
    return static_cast<int>(std::count_if(metrics.begin(), metrics.end(),
                                          [](const auto& metric) { return metric.name == "lost_iterations"; }));
}

std::size_t spans_of(const Scene& scene, skippipe::RunId run) {
    return skippipe::Reader(scene.record().toStdString()).spans(run).size();
}

QByteArray bytes_of(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
}

}  // namespace

class TestResume : public QObject {
    Q_OBJECT

    static QString experiment(const Scene& scene, const Kind& kind) {
        QJsonObject execution{{"threads", 1}};
        if (kind.ranks > 1)
            execution = {{"threads", 1}, {"clock", "wall"}, {"transport", "gloo"}, {"ranks", kind.ranks}};
        const auto file = scene.tiny("kept.json", execution, kind.iterations, kind.ranks > 1);
        auto document = QJsonDocument::fromJson(bytes_of(file)).object();
        auto training = document["training"].toObject();
        training["checkpoint_every"] = kind.every;
        training["validate_every"] = 20;
        training["gradient_wire"] = kind.gradients;
        document["training"] = training;
        const bool rounds = std::string_view(kind.gradients) != "fp32";
        document["costs"] = QJsonObject{{"wire", kind.wire}, {"all_reduce", rounds ? "planned" : "charged"}};
        return scene.write("kept.json", QJsonDocument(document).toJson());
    }
    static Process start(const Scene& scene, const QStringList& arguments) {
        return scene.start(program, arguments + QStringList{"--db", scene.record()});
    }
    static std::vector<qint64> workers(const Scene& scene, const QByteArray& variable = {}) {
        std::vector<qint64> found;
        for (const auto pid : scene.alive(variable))
            if (QFile::symLinkTarget(QStringLiteral("/proc/%1/exe").arg(pid)).endsWith("skippipe-worker"))
                found.push_back(pid);
        return found;
    }
    static std::size_t checkpoints(const Scene& scene) {
        const auto run = scene.last_run();
        return run ? skippipe::list_checkpoints(scene.record().toStdString(), run->id).size() : 0;
    }

    /// What an undisturbed run of a kind gives: the same for whoever is killed in others.
    struct Whole {
        decltype(results_of(std::declval<Scene>(), 0, false)) results;
        std::size_t spans = 0;
        QByteArray weights;
    };
    std::map<int, Whole> wholes_;

    const Whole* whole(int index) {
        if (const auto known = wholes_.find(index); known != wholes_.end()) return &known->second;
        const auto& kind = kinds[index];
        const Scene scene;
        auto process =
            start(scene, {"run", experiment(scene, kind), "--save-weights", scene.path("whole.safetensors")});
        if (!process.ended(patient_ms) || process.exit_code() != 0) {
            qWarning("%s", process.text().constData());
            return nullptr;
        }
        const auto run = scene.last_run()->id;
        return &wholes_
                    .emplace(index, Whole{results_of(scene, run, kind.ranks > 1), spans_of(scene, run),
                                          bytes_of(scene.path("whole.safetensors"))})
                    .first->second;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    void goes_on_to_the_bit_after_a_kill_data() {
        QTest::addColumn<int>("index");
        QTest::addColumn<QString>("victim");
        for (int i = 0; i < 4; ++i)
            for (const char* victim : {"coordinator", "worker", "all"})
                QTest::newRow(qPrintable(QString("%1, %2 killed").arg(kinds[i].name, victim))) << i << QString(victim);
    }
    void goes_on_to_the_bit_after_a_kill() {
        QFETCH(int, index);
        QFETCH(QString, victim);
        const auto& kind = kinds[index];
        const auto* undisturbed = whole(index);
        QVERIFY(undisturbed);

        const Scene scene;
        const auto seed = std::random_device{}();
        std::mt19937 random(seed);
        int kills = 0;
        auto process =
            start(scene, {"run", experiment(scene, kind), "--save-weights", scene.path("resumed.safetensors")});
        QVERIFY(wait_until([&] { return scene.last_run().has_value(); }, patient_ms));
        const auto run = scene.last_run()->id;
        for (int round = 0; round < 3; ++round) {
            const auto over = [&] { return process.process->state() == QProcess::NotRunning; };
            const int before = scene.last_run()->iterations_done;
            QVERIFY(wait_until(
                [&] { return over() || (checkpoints(scene) > 0 && scene.last_run()->iterations_done > before); },
                patient_ms));
            QTest::qSleep(static_cast<int>(random() % 120));
            if (over()) break;
            const auto victims = workers(scene);
            if (victims.size() < static_cast<std::size_t>(kind.ranks)) continue;
            if (victim != "worker") ::kill(static_cast<pid_t>(process.process->processId()), SIGKILL);
            if (victim == "worker") ::kill(static_cast<pid_t>(victims[random() % victims.size()]), SIGKILL);
            if (victim == "all")
                for (const auto pid : victims) ::kill(static_cast<pid_t>(pid), SIGKILL);
            QVERIFY(process.ended(patient_ms));
            QVERIFY(wait_until([&] { return scene.alive().empty(); }, patient_ms));
            kills += went_back(scene, run);
            if (scene.last_run()->state == RunState::finished) break;
            ++kills;
            process = start(scene, {"resume", QString::number(run)});
            QVERIFY(wait_until([&] { return over() || scene.last_run()->state == RunState::running; }, patient_ms));
        }
        QVERIFY(process.ended(patient_ms));
        QVERIFY2(process.exit_code() == 0, process.text() + "\nseed " + QByteArray::number(seed));
        const auto info = *scene.last_run();
        qInfo("%d kills", kills);
        QCOMPARE(info.id, run);
        QVERIFY(info.state == RunState::finished);
        QCOMPARE(info.iterations_done, kind.iterations);
        const auto& expected = undisturbed->results;
        const auto got = results_of(scene, run, kind.ranks > 1);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY2(got[i] == expected[i], qPrintable(QString("%1 of iteration %2: %3, not %4; seed %5")
                                                           .arg(QString::fromStdString(std::get<1>(got[i])))
                                                           .arg(std::get<0>(got[i]))
                                                           .arg(std::get<2>(got[i]), 0, 'g', 17)
                                                           .arg(std::get<2>(expected[i]), 0, 'g', 17)
                                                           .arg(seed)));
        QCOMPARE(spans_of(scene, run), undisturbed->spans);
        QVERIFY(!undisturbed->weights.isEmpty());
        QVERIFY(bytes_of(scene.path("resumed.safetensors")) == undisturbed->weights);
        QVERIFY2(kills > 0, "it was over before anything was killed");
    }

    /// Stopped by hand, resumed; the newest is damaged, the one before is taken, and that is said.
    void a_stopped_run_goes_on_and_a_damaged_checkpoint_is_passed_over() {
        const Scene scene;
        const Kind kind{"", 1, "fp32", "fp32", 150, 25};
        const auto file = experiment(scene, kind);
        auto undisturbed = start(scene, {"run", file});
        QVERIFY(undisturbed.ended(patient_ms));
        const auto whole = scene.last_run()->id;
        auto process = start(scene, {"run", file});
        QVERIFY(wait_until([&] { return scene.last_run()->id != whole && checkpoints(scene) > 0; }, patient_ms));
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(process.ended(patient_ms));
        QVERIFY(stop.ended(patient_ms));
        const auto run = scene.last_run()->id;
        QVERIFY(scene.last_run()->state == RunState::stopped);
        QVERIFY2(process.text().contains("skippipe resume " + QByteArray::number(run)), process.text());
        const auto there = skippipe::list_checkpoints(scene.record().toStdString(), run);
        QCOMPARE(there.front().iterations_done, scene.last_run()->iterations_done);
        QVERIFY(there.size() == 2);
        const auto stage = QString::fromStdString((there.front().folder / "stage-1.safetensors").string());
        QFile::resize(stage, QFile(stage).size() - 4);
        auto resumed = start(scene, {"resume", "latest"});
        QVERIFY(resumed.ended(patient_ms));
        const auto text = resumed.text();
        QVERIFY2(resumed.exit_code() == 0, text);
        QVERIFY2(text.contains("cut off") && text.contains("stage-1.safetensors"), text);
        QVERIFY2(text.contains("goes on after " + QByteArray::number(there.back().iterations_done)), text);
        QVERIFY(results_of(scene, run, false) == results_of(scene, whole, false));
    }

    void what_cannot_be_resumed_is_refused() {
        const Scene scene;
        const Kind kind{"", 1, "fp32", "fp32", 6, 3};
        auto process = start(scene, {"run", experiment(scene, kind)});
        QVERIFY(process.ended(patient_ms));
        auto finished = start(scene, {"resume", "latest"});
        QVERIFY(finished.ended(patient_ms));
        QCOMPARE(finished.exit_code(), 2);
        QVERIFY(finished.text().contains("has finished") && finished.text().contains("skippipe fork"));
        auto none = start(scene, {"run", scene.tiny("none.json", {}, 100'000)});
        QVERIFY(
            wait_until([&] { return scene.last_run()->id == 2 && scene.last_run()->iterations_done > 3; }, patient_ms));
        none.process->kill();
        QVERIFY(none.ended(patient_ms));
        auto without = start(scene, {"resume", "2"});
        QVERIFY(without.ended(patient_ms));
        QCOMPARE(without.exit_code(), 2);
        const auto text = without.text();
        QVERIFY2(text.contains("no checkpoint to go on from") && text.contains("training.checkpoint_every"), text);
        QVERIFY(scene.last_run()->state == RunState::died);
    }

    /// Another program holds the record: `resume` waits for it, and where that lasts too long it says so and leaves the
    /// run as it is.
    void a_locked_record() {
        const Scene scene;
        const Kind kind{"", 1, "fp32", "fp32", 100'000, 10};
        auto process = start(scene, {"run", experiment(scene, kind)});
        QVERIFY(wait_until([&] { return checkpoints(scene) > 0; }, patient_ms));
        process.process->kill();
        QVERIFY(process.ended(patient_ms));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, patient_ms));
        const auto before = *scene.last_run();
        const auto losses = scene.losses(before.id);
        SQLite::Database other(scene.record().toStdString(), SQLite::OPEN_READWRITE, 5000);
        other.exec("BEGIN EXCLUSIVE");
        auto refused = start(scene, {"resume", "latest"});
        QVERIFY(refused.ended(patient_ms));
        const auto text = refused.text();
        QCOMPARE(refused.exit_code(), 2);
        QVERIFY2(text.contains("another program keeps the record locked") && text.contains("then try again"), text);
        QVERIFY(scene.last_run()->state == before.state);
        QCOMPARE(scene.last_run()->iterations_done, before.iterations_done);
        QVERIFY(scene.losses(before.id) == losses);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, patient_ms));

        auto resumed = start(scene, {"resume", "latest"});
        const auto has_it_open = [&] {
            const QDir open(QStringLiteral("/proc/%1/fd").arg(resumed.process->processId()));
            for (const auto& one : open.entryInfoList(QDir::Files | QDir::System))
                if (one.symLinkTarget() == scene.record()) return true;
            return false;
        };
        QVERIFY2(wait_until(has_it_open, patient_ms), resumed.text());
        other.exec("ROLLBACK");
        QVERIFY2(wait_until([&] { return scene.last_run()->iterations_done > before.iterations_done + 5; }, patient_ms),
                 resumed.text());
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(stop.ended(patient_ms));
        QVERIFY(resumed.ended(patient_ms));
        QCOMPARE(scene.last_run()->id, before.id);
    }

    /// With failures of the document, whose nodes may be away as it is killed: what is lost, when, and what comes of it
    /// is the same.
    void goes_on_with_failures_of_the_document() {
        const Scene scene;
        const Kind kind{"", 1, "fp32", "fp32", 300, 3};
        const QStringList failures{"--fail",           "crash:any@20%+3s", "--fail",
                                   "crash:d@50/h+20s", "--fail",           "slow-down:any@10%x3+2s"};
        const auto file = experiment(scene, kind);
        auto undisturbed = start(scene, QStringList{"run", file} + failures);
        QVERIFY(undisturbed.ended(patient_ms));
        QVERIFY2(undisturbed.exit_code() == 0, undisturbed.text());
        const auto whole = scene.last_run()->id;
        const auto costs = [&](skippipe::RunId run) {
            std::vector<std::tuple<int, std::string, double>> all;
            for (const auto& m : skippipe::Reader(scene.record().toStdString()).metrics(run))
                if (is_of_losses(m.name) && m.name != "replanning_s")  // that is of the machine
                    all.emplace_back(m.iteration, m.name, m.value);
            return all;
        };
        QVERIFY2(costs(whole).size() > 20, "hardly anything was lost");
        auto process = start(scene, QStringList{"run", file} + failures);
        QVERIFY(wait_until([&] { return scene.last_run()->id != whole && checkpoints(scene) > 0; }, patient_ms));
        const auto run = scene.last_run()->id;
        int kills = 0;
        for (int before = 0; kills < 3;) {
            const auto over = [&] { return process.process->state() == QProcess::NotRunning; };
            QVERIFY(wait_until([&] { return over() || scene.last_run()->iterations_done > before; }, patient_ms));
            if (over()) break;
            before = scene.last_run()->iterations_done;
            process.process->kill();
            QVERIFY(process.ended(patient_ms));
            QVERIFY(wait_until([&] { return scene.alive().empty(); }, patient_ms));
            if (scene.last_run()->state == RunState::finished) break;
            ++kills;
            process = start(scene, {"resume", QString::number(run)});
            QVERIFY(wait_until([&] { return over() || scene.last_run()->state == RunState::running; }, patient_ms));
        }
        QVERIFY(process.ended(patient_ms));
        QVERIFY2(process.exit_code() == 0, process.text());
        QVERIFY2(kills > 0, "it was over before anything was killed");
        QVERIFY(scene.last_run()->state == RunState::finished);
        QVERIFY(results_of(scene, run, false) == results_of(scene, whole, false));
        QVERIFY(costs(run) == costs(whole));
        QCOMPARE(spans_of(scene, run), spans_of(scene, whole));
    }

    void an_extended_run_is_the_longer_one_data() {
        QTest::addColumn<int>("index");
        QTest::addColumn<bool>("lives");
        for (const int index : {0, 2})
            for (const bool lives : {false, true})
                QTest::newRow(qPrintable(QString("%1, %2").arg(kinds[index].name, lives ? "live" : "finished")))
                    << index << lives;
    }
    /// To the bit: losses, validations, times, weights. It does not validate where the shorter one would have ended.
    void an_extended_run_is_the_longer_one() {
        QFETCH(int, index);
        QFETCH(bool, lives);
        Kind kind = kinds[index];
        kind.every = 10;
        const Scene scene;
        // Long enough to be told of it while it goes on; the shorter one ends where nothing is validated.
        const int longer = !lives ? 90 : kind.ranks > 1 ? 310 : 1210, shorter = longer - (lives ? 20 : 40);
        kind.iterations = longer;
        auto undisturbed =
            start(scene, {"run", experiment(scene, kind), "--save-weights", scene.path("whole.safetensors")});
        QVERIFY(undisturbed.ended(patient_ms));
        QVERIFY2(undisturbed.exit_code() == 0, undisturbed.text());
        const auto whole = scene.last_run()->id;
        kind.iterations = shorter;
        auto process =
            start(scene, {"run", experiment(scene, kind), "--save-weights", scene.path("extended.safetensors")});
        QVERIFY(wait_until([&] { return scene.last_run()->id != whole; }, patient_ms));
        if (!lives) QVERIFY(process.ended(patient_ms));
        auto extend = start(scene, {"extend", "latest", "--iterations", QString::number(longer)});
        QVERIFY(extend.ended(patient_ms));
        QVERIFY2(extend.exit_code() == 0, extend.text());
        QVERIFY(process.ended(patient_ms));
        const auto info = *scene.last_run();
        QVERIFY2(info.state == RunState::finished, process.text());
        QCOMPARE(info.iterations, longer);
        QCOMPARE(info.iterations_done, longer);
        QVERIFY(info.id != whole);
        const bool wall = kind.ranks > 1;
        const auto got = results_of(scene, info.id, wall), expected = results_of(scene, whole, wall);
        QCOMPARE(got.size(), expected.size());
        QVERIFY(got == expected);
        QCOMPARE(spans_of(scene, info.id), spans_of(scene, whole));
        QVERIFY(bytes_of(scene.path("extended.safetensors")) == bytes_of(scene.path("whole.safetensors")));
        auto fewer = start(scene, {"extend", "latest", "--iterations", QString::number(longer)});
        QVERIFY(fewer.ended(patient_ms));
        QCOMPARE(fewer.exit_code(), 2);
        QVERIFY2(fewer.text().contains("already"), fewer.text());
    }

    void a_run_without_checkpoints_is_not_extended_once_it_has_ended() {
        const Scene scene;
        auto process = start(scene, {"run", scene.tiny("none.json", {}, 3)});
        QVERIFY(process.ended(patient_ms));
        auto extend = start(scene, {"extend", "latest", "--iterations", "6"});
        QVERIFY(extend.ended(patient_ms));
        QCOMPARE(extend.exit_code(), 2);
        QVERIFY2(extend.text().contains("no checkpoint to go on from"), extend.text());
        QCOMPARE(scene.last_run()->iterations, 3);
    }

    void a_fork_goes_on_with_other_settings() {
        const Scene scene;
        const Kind kind{"", 1, "fp32", "fp32", 30, 10};
        auto process = start(scene, {"run", experiment(scene, kind)});
        QVERIFY(process.ended(patient_ms));
        const auto parent = scene.losses(1);
        // The disk may be slower than so small a model: then one is left out.
        const auto there = skippipe::list_checkpoints(scene.record().toStdString(), 1);
        QVERIFY(there.size() == 2 && there[0].iterations_done == 30);
        const int at = there[1].iterations_done;
        const auto fork = [&](const QStringList& more) {
            auto made = start(scene, QStringList{"fork", "1", "--at", QString::number(at)} + more);
            made.ended(patient_ms);
            return std::pair(made.exit_code(), made.text());
        };
        // As it was: the same numbers to the bit.
        auto [code, text] = fork({});
        QVERIFY2(code == 0, text);
        auto losses = scene.losses(scene.last_run()->id);
        QVERIFY(losses == std::vector<double>(parent.begin() + at, parent.end()));
        QVERIFY(scene.last_run()->note.find("run 1 after " + std::to_string(at) + " iterations") != std::string::npos);
        // Longer, slower, and with all stages, which is another plan.
        std::tie(code, text) = fork({"--set", "training.iterations=40", "--set", "training.learning_rate=1e-5"});
        QVERIFY2(code == 0, text);
        losses = scene.losses(scene.last_run()->id);
        QCOMPARE(losses.size(), static_cast<std::size_t>(40 - at));
        QCOMPARE(losses[0], parent[static_cast<std::size_t>(at)]);
        QVERIFY(losses[1] != parent[static_cast<std::size_t>(at) + 1] &&
                std::abs(losses[1] - parent[static_cast<std::size_t>(at) + 1]) < 1);
        // A report says how to repeat it: first the run that it began in.
        const auto forked = scene.last_run()->id;
        const auto page = scene.path(QStringLiteral("page.html"));
        QCOMPARE(scene.call({"report", QString::number(forked), "-o", page}).code, 0);
        QFile report(page);
        QVERIFY(report.open(QIODevice::ReadOnly));
        const auto lines = report.readAll();
        const auto begins = lines.indexOf("skippipe run run-1.json\n");
        const auto goes_on = lines.indexOf("skippipe fork latest --at " + QByteArray::number(at));
        QVERIFY2(begins > 0 && goes_on > begins, lines);
        const auto line = lines.mid(goes_on, lines.indexOf('\n', goes_on) - goes_on);
        QVERIFY2(line.contains("training.iterations=40") && line.contains("training.learning_rate=1e-05"), line);
        QCOMPARE(line.count("--set"), 2);
        const auto plan = scene.call({"export", QString::number(forked), "--format", "plan"});
        QVERIFY2(plan.code == 0 && plan.text.contains("is a fork"), plan.text);
        std::tie(code, text) = fork({"--set", "pipeline.skip_ratio=0"});
        QVERIFY2(code == 0, text);
        QVERIFY(std::abs(scene.losses(scene.last_run()->id)[0] - parent[static_cast<std::size_t>(at)]) < 1);
        // What does not fit is named.
        const auto runs = scene.last_run()->id;
        for (const auto& [setting, named] : {std::pair{"model.width=64", "/model/width"},
                                             {"model.blocks=6", "/model/blocks"},
                                             {"pipeline.stages=1", "/pipeline"},
                                             {"training.iterations=10", "/training/iterations"},
                                             {"pipeline.microbatch_samples=1000000", "are available"},
                                             {"training.speed=3", "/training/speed"},
                                             {"nothing.there=3", "nothing.there"},
                                             {"training.iterations", "FIELD=VALUE"}}) {
            std::tie(code, text) = fork({"--set", setting});
            QCOMPARE(code, 2);
            QVERIFY2(text.contains(named), text);
        }
        auto nowhere = start(scene, {"fork", "1", "--at", "13"});
        QVERIFY(nowhere.ended(patient_ms));
        QCOMPARE(nowhere.exit_code(), 2);
        QVERIFY2(nowhere.text().contains(", 30 iterations"), nowhere.text());
        QCOMPARE(scene.last_run()->id, runs);
    }
};

QTEST_GUILESS_MAIN(TestResume)
#include "test_resume.moc"
