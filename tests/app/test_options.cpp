// SPDX-License-Identifier: GPL-3.0-or-later
// Options that are heeded or refused, and answers to scripts that come whatever a file is called.
#include "tests/app/launched.h"

#include <QRegularExpression>

using namespace launched;
using skippipe::RunId;

namespace {

constexpr int patient_ms = 60'000;

}  // namespace

class TestOptions : public QObject {
    Q_OBJECT
    Scene scene_;
    QString file_;

    /// With words that a shell reads: $'caf\351' is a name that is not UTF-8.
    Answer shell(const QString& words) const {
        return answer_of(scene_.start(QStringLiteral("/bin/bash"),
                                      {"-c", QString("%1 --db %2 %3").arg(program, scene_.record(), words)}),
                         patient_ms);
    }

    QJsonObject read(const QString& name) const {
        QFile in(scene_.path(name));
        return in.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(in.readAll()).object() : QJsonObject{};
    }

    QString seeded(const QString& name, int seed, int seeds = 1) const {
        auto document = read(QStringLiteral("cost.json"));
        document["seed"] = seed;
        document["seeds"] = seeds;
        return scene_.write(name, QJsonDocument(document).toJson());
    }

    std::size_t runs() const {
        return QFile::exists(scene_.record()) ? skippipe::Reader(scene_.record().toStdString()).runs().size() : 0;
    }

    /// A run that says no more than this program does of any.
    RunId record() const {
        skippipe::Recorder recorder(scene_.record().toStdString());
        QFile in(file_);
        if (!in.open(QIODevice::ReadOnly)) return 0;
        const RunId run =
            recorder.begin({.name = "one",
                            .planner = "gpipe",
                            .experiment_json = in.readAll().toStdString(),
                            .plan_json = QJsonDocument(read(QStringLiteral("plan.json"))).toJson().toStdString(),
                            .seed = 5,
                            .iterations = 2});
        for (int i = 0; i < 2; ++i) {
            skippipe::Metric metric{.iteration = i, .name = "loss", .value = 3.0 - i, .network_s = 1.0 + i};
            metric.machine_s = metric.network_s;
            recorder.metric(run, metric);
            recorder.iteration_done(run, i + 1, 1);
        }
        recorder.finish(run, skippipe::RunState::finished, {.iterations_done = 2}, "{}");
        return run;
    }

private Q_SLOTS:
    void initTestCase() {
        file_ = scene_.tiny(QStringLiteral("cost.json"), {{"compute", "cost"}}, 2);
        QCOMPARE(scene_.call({"plan", file_, "--planner", "gpipe", "-o", scene_.path("plan.json")}).code, 0);
    }

    /// The document may have it, and so may who plans and scores.
    void seed_0_is_a_seed() {
        QCOMPARE(scene_.call({"plan", file_, "--seed", "0", "-o", scene_.path("zero.json")}).code, 0);
        QCOMPARE(read("zero.json")["seed"].toInt(-1), 0);
        QVERIFY(!read("zero.json").isEmpty());
        const auto jitter = [&](const QString& experiment, const QStringList& more) {
            const auto told = scene_.call(
                QStringList{"score", experiment, scene_.path("plan.json"), "--jitter", "20%", "--json"} + more);
            return told.array()[0].toObject()["jitter"].toObject()["p95_seconds"].toDouble();
        };
        const double own = jitter(file_, {}), zero = jitter(file_, {"--seed", "0"});
        QVERIFY(own > 0 && zero > 0 && own != zero);
        QCOMPARE(zero, jitter(seeded("zero-seed.json", 0), {}));
    }

    void a_run_has_seed_0_too() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
        QCOMPARE(scene_.call({"run", file_, "--seed", "0", "--json"}).code, 0);
        QCOMPARE(scene_.last_run()->seed, std::uint64_t{0});
    }

    /// What documents cannot have, no frozen experiment has: nobody could read it again.
    void a_seed_that_no_document_has_is_refused() {
        const auto before = runs();
        const QString plan = scene_.path("plan.json"), most = "18446744073709551615", next = "9007199254740993";
        for (const auto& seed : {most, next})
            for (const auto& arguments :
                 {QStringList{"run", file_}, {"plan", file_}, {"score", file_, plan}, {"evaluate", "1"}}) {
                const auto told = scene_.call(arguments + QStringList{"--seed", seed});
                QVERIFY2(told.code == 2 && told.text.contains("seed"), told.text);
            }
        const auto beyond = scene_.call({"run", seeded("two.json", 1, 2), "--seed", "9007199254740991"});
        QVERIFY2(beyond.code == 2 && beyond.text.contains("seed"), beyond.text);
        QCOMPARE(runs(), before);
    }

    void a_plan_beside_another_is_refused() {
        const auto before = runs();
        const auto told = scene_.call({"run", scene_.path("plan.json"), "--plan", scene_.path("nowhere.json")});
        QVERIFY2(told.code == 2 && told.text.contains("--plan: ") && told.text.contains("carries"), told.text);
        const auto planner = scene_.call({"run", file_, "--plan", scene_.path("plan.json"), "--planner", "dtfm"});
        QVERIFY2(planner.code == 2 && planner.text.contains("--plan"), planner.text);
        QCOMPARE(runs(), before);
    }

    /// Each run of several seeds would write over the weights of the one before.
    void weights_of_several_seeds_are_refused() {
        const auto before = runs();
        const auto experiment = scene_.tiny(QStringLiteral("torch.json"), {}, 2);
        QFile in(experiment);
        QVERIFY(in.open(QIODevice::ReadOnly));
        auto document = QJsonDocument::fromJson(in.readAll()).object();
        document["seeds"] = 2;
        const auto several = scene_.write("several.json", QJsonDocument(document).toJson());
        const auto told = scene_.call({"run", several, "--save-weights", scene_.path("weights")});
        QVERIFY2(told.code == 2 && told.text.contains("--save-weights") && told.text.contains("seeds"), told.text);
        QVERIFY(!QFile::exists(scene_.path("weights")));
        QCOMPARE(runs(), before);
    }

    void a_change_at_no_time_is_refused() {
        for (const char* time : {"nan", "inf", "-1"}) {
            const auto told = scene_.call({"replan", file_, scene_.path("plan.json"), "--at", time, "--down", "b"});
            QVERIFY2(told.code == 2 && told.text.contains("--at"), told.text);
        }
        const auto never =
            scene_.call({"replan", file_, scene_.path("plan.json"), "--at", "0", "--down", "b", "--threshold", "nan"});
        QVERIFY2(never.code == 2 && never.text.contains("--threshold"), never.text);
    }

    void money_without_prices_is_said() {
        const auto first = QString::number(record()), second = QString::number(record());
        const auto told = scene_.call({"compare", first, second, "--at", "money"});
        QVERIFY2(told.code == 0 && told.text.contains("prices") && !told.text.contains("no losses"), told.text);
        const auto timed = scene_.call({"compare", first, second, "--at", "network-time"});
        QVERIFY2(timed.text.contains("training loss at"), timed.text);
    }

    void notes_keep_their_lines_in_reports() {
        const RunId run = record();
        skippipe::Reader(scene_.record().toStdString()).set_note(run, "first line\nsecond <line>\n");
        QCOMPARE(scene_.call({"report", QString::number(run), "-o", scene_.path("note.html")}).code, 0);
        QFile page(scene_.path("note.html"));
        QVERIFY(page.open(QIODevice::ReadOnly));
        QVERIFY(page.readAll().contains("first line<br>second &lt;line&gt;"));
    }

    void names_that_are_not_utf8_are_answered() {
        const auto told = shell("validate $'caf\\351.json' --json");
        QVERIFY2(told.code == 2 && told.object()["valid"] == false, told.text);
        const auto run = QString::number(record());
        const auto page = shell("report " + run + " -o $'caf\\351.html' --json");
        QVERIFY2(page.code == 0 && page.object()["runs"] == 1, page.text);
        const auto table = shell("export " + run + " --what metrics -o $'caf\\351.csv' --json");
        QVERIFY2(table.code == 0 && table.object()["bytes"].toInt() > 0, table.text);
        scene_.start("/bin/bash", {"-c", "cp " + scene_.record() + " $'caf\\351.sqlite'"}).ended(patient_ms);
        const auto import = shell("import $'caf\\351.sqlite' --json");
        QVERIFY2(import.code == 0 && !import.array().isEmpty(), import.text);
    }

    /// What the record has of one such name, by whichever way it came there.
    void runs_of_such_names_are_listed() {
        const RunId run = record();
        skippipe::Reader(scene_.record().toStdString()).set_note(run, "caf\351");
        const auto number = QString::number(run);
        QVERIFY(!scene_.call({"runs", "--json"}).array().isEmpty());
        QCOMPARE(scene_.call({"show", number, "--json"}).object()["run"].toInt(), static_cast<int>(run));
        QVERIFY(!scene_.call({"compare", number, number, "--json"}).object().isEmpty());
    }

    /// `./studio help` names what `skippipe --help` has.
    void studio_lists_every_verb() {
        QFile script(QStringLiteral(SKIPPIPE_SOURCE_DIR "/studio"));
        QVERIFY(script.open(QIODevice::ReadOnly));
        const auto text = QString::fromUtf8(script.readAll());
        const auto listed = text.mid(text.indexOf("./studio VERB"),
                                     text.indexOf("(see ./studio VERB --help)") - text.indexOf("./studio VERB"));
        const auto help = QString::fromUtf8(scene_.call({"--help"}).text);
        static const QRegularExpression verb("^  ([a-z]+) ", QRegularExpression::MultilineOption);
        int verbs = 0;
        for (auto each = verb.globalMatch(help.mid(help.indexOf("ubcommands:"))); each.hasNext(); ++verbs) {
            const auto name = each.next().captured(1);
            QVERIFY2(listed.contains(QRegularExpression("\\b" + name + "\\b")), qPrintable(name));
        }
        QVERIFY(verbs > 20);
    }
};

QTEST_GUILESS_MAIN(TestOptions)
#include "test_options.moc"
