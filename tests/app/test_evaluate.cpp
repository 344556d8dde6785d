// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe evaluate`: a model is trained and validated with stages left out, by the real programs.
#include <QDirIterator>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <csignal>
#include <functional>

#include "core/record/checkpoints.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

struct Output {
    int exit_code = -1;
    QByteArray out, error;
    QJsonObject object() const { return QJsonDocument::fromJson(out).object(); }
    QString fault() const { return object()["faults"].toArray().first().toObject()["pointer"].toString(); }
};

/// The loss of a set; -1 where it was not evaluated.
double loss_of(const QJsonObject& json, const QJsonArray& omitted) {
    for (const auto& set : json["sets"].toArray())
        if (set.toObject()["omitted"].toArray() == omitted) return set.toObject()["loss"].toDouble();
    return -1;
}

QByteArray bytes_of(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
}

bool near(double a, double b) { return std::abs(a / b - 1) < 1e-6; }

}  // namespace

class TestEvaluate : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    QString file(const QString& name) const { return folder_.filePath(name); }

    QString write(const QString& name, const QByteArray& bytes) const {
        QFile out(file(name));
        if (!out.open(QIODevice::WriteOnly)) return {};
        out.write(bytes);
        return out.fileName();
    }

    Output run(QStringList arguments) const {
        QProcess process;
        process.setWorkingDirectory(folder_.path());
        process.start(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"), arguments << "--json"
                                                                              << "--db" << file("r.sqlite"));
        Output output;
        if (process.waitForFinished(180'000)) output.exit_code = process.exitCode();
        output.out = process.readAllStandardOutput();
        output.error = process.readAllStandardError();
        return output;
    }

    QString experiment(const QString& name, const std::function<void(QJsonObject&)>& change) const {
        QFile in(QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json"));
        if (!in.open(QIODevice::ReadOnly)) return {};
        auto document = QJsonDocument::fromJson(in.readAll()).object();
        change(document);
        return write(name, QJsonDocument(document).toJson());
    }

    static void set(QJsonObject& document, const QString& section, const QString& key, const QJsonValue& value) {
        auto object = document[section].toObject();
        object[key] = value;
        document[section] = object;
    }

private Q_SLOTS:
    /// Run 1 skips, run 2 is its twin with the full pipeline, run 3 computes nothing, run 4 leaves checkpoints.
    void initTestCase() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))) QSKIP("this build has no worker");
        QByteArray corpus;
        for (int i = 0; i < 4000; ++i) corpus += "line " + QByteArray::number(i * 7919 % 1009) + " of the corpus\n";
        write("corpus.txt", corpus);
        const auto trained = [&](const char* name, const std::function<void(QJsonObject&)>& change) {
            return run({"run", experiment(QString(name) + ".json", change), "--save-weights",
                        file(QString(name) + ".safetensors")})
                .exit_code;
        };
        QCOMPARE(trained("skip", [](QJsonObject&) {}), 0);
        QCOMPARE(trained("full", [](QJsonObject& d) { set(d, "pipeline", "skip_ratio", 0); }), 0);
        const auto idle = experiment("idle.json", [](QJsonObject& d) {
            d["execution"] = QJsonObject{{"compute", "cost"}};
        });
        QCOMPARE(run({"run", idle}).exit_code, 0);
        QCOMPARE(
            run({"run", experiment("kept.json", [](QJsonObject& d) { set(d, "training", "checkpoint_every", 3); })})
                .exit_code,
            0);
    }

    void every_number_of_stages_kept_is_told_and_recorded() {
        const auto output = run({"evaluate", "1", "--weights", "skip.safetensors", "--omit", "all"});
        QVERIFY2(output.exit_code == 0, output.error.constData());
        const auto json = output.object();
        QCOMPARE(json["sets"].toArray().size(), 5);  // none, 1, 2, both; stage 0
        const auto rows = json["stages_kept"].toArray();
        QCOMPARE(rows.size(), 4);
        QCOMPARE(rows[0].toObject()["kept"].toInt(), 3);
        QCOMPARE(rows[1].toObject()["sets"].toInt(), 2);
        QVERIFY(rows[3].toObject()["without_stage_0"].toBool());
        const double all = loss_of(json, {}), mean = (std::exp(loss_of(json, {1})) + std::exp(loss_of(json, {2}))) / 2;
        QVERIFY(near(rows[1].toObject()["perplexity"].toDouble(), mean));
        QVERIFY(near(rows[1].toObject()["to_all_kept"].toDouble(), mean / std::exp(all) - 1));
        QVERIFY(near(rows[0].toObject()["bits_per_byte"].toDouble(), all / std::log(2)));
        Reader reader(file("r.sqlite").toStdString());
        QVERIFY2(near(all, *reader.run(1)->last_validation_loss), "omitting nothing is not the run's validation");
        QCOMPARE(json["recorded_validation_loss"].toDouble(), *reader.run(1)->last_validation_loss);
        const auto recorded = reader.evaluation(1);
        QVERIFY(recorded && recorded->losses.size() == 5 && recorded->losses.front().loss_nats == all);
        QCOMPARE(recorded->tokens, std::int64_t{4 * 32});
    }

    void a_twin_stands_beside() {
        const auto alone = run({"evaluate", "2", "--weights", "full.safetensors"}).object();
        const auto both = run({"evaluate", "1", "--weights", "skip.safetensors", "--beside", "2", "--beside-weights",
                               "full.safetensors"})
                              .object();
        QCOMPARE(both["run"].toInt(), 1);
        QCOMPARE(both["beside"].toObject()["stages_kept"], alone["stages_kept"]);
        QVERIFY(loss_of(both, {1}) != loss_of(alone, {1}));
    }

    /// Without a file of weights the newest checkpoint's are taken; the last is that of the run's end.
    void a_checkpoint_will_do() {
        const auto output = run({"evaluate", "4"});
        QVERIFY2(output.exit_code == 0, output.error.constData());
        const auto json = output.object();
        QVERIFY(json["weights"].toString().endsWith("iteration-000006"));
        QVERIFY(json["recorded_validation_loss"].isDouble());
        QVERIFY(near(loss_of(json, {}), json["recorded_validation_loss"].toDouble()));
        // The same training, to the bit.
        QCOMPARE(json["sets"], run({"evaluate", "1", "--weights", "skip.safetensors"}).object()["sets"]);
    }

    void sets_are_drawn_by_the_seed_or_given() {
        const auto drawn = [&](const char* seed) {
            return run({"evaluate", "1", "--weights", "skip.safetensors", "--samples", "1", "--seed", seed}).object();
        };
        const auto first = drawn("3");
        QCOMPARE(first["sets"].toArray().size(), 4);
        QCOMPARE(drawn("3")["sets"], first["sets"]);
        const auto given = run({"evaluate", "1", "--weights", "skip.safetensors", "--omit", "2,1"}).object();
        QCOMPARE(given["sets"].toArray().size(), 2);
        QVERIFY(loss_of(given, {1, 2}) > 0);
        // A set that was asked for by name is not what the window draws.
        QCOMPARE(Reader(file("r.sqlite").toStdString()).evaluation(1)->losses.size(), std::size_t{4});
        const auto windows = run({"evaluate", "1", "--weights", "skip.safetensors", "--windows", "9"}).object();
        QCOMPARE(windows["tokens"].toInt(), 9 * 32);
        QVERIFY(windows["recorded_validation_loss"].isNull());
    }

    /// As the kernel does where memory has run out.
    void a_worker_that_is_killed_is_told() {
        QProcess process;
        process.setWorkingDirectory(folder_.path());
        process.start(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"),
                      {"evaluate", "1", "--weights", "skip.safetensors", "--windows", "1000000", "--json", "--db",
                       file("r.sqlite")});
        QVERIFY(process.waitForStarted());
        const auto pid = process.processId();
        QByteArray worker;
        QTRY_VERIFY_WITH_TIMEOUT(
            !(worker = bytes_of(QString("/proc/%1/task/%1/children").arg(pid)).trimmed()).isEmpty(), 20'000);
        ::kill(static_cast<pid_t>(worker.toInt()), SIGKILL);
        QVERIFY(process.waitForFinished(20'000));
        QCOMPARE(process.exitCode(), 2);
        const auto told = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
        const auto fault = told["faults"].toArray().first().toObject();
        QCOMPARE(fault["pointer"].toString(), QStringLiteral("worker"));
        QVERIFY(fault["what"].toString().contains("evaluates run 1 was killed by signal 9"));
        QVERIFY(fault["remedy"].toString().contains("--threads"));
    }

    /// The files of weights are there still, so the remedy is to name one.
    void broken_checkpoints_are_told() {
        int broken = 0;
        const auto folder = QString::fromStdString(checkpoints_path(file("r.sqlite").toStdString(), 4).string());
        for (QDirIterator files(folder, {"manifest.json"}, QDir::Files, QDirIterator::Subdirectories); files.hasNext();
             ++broken) {
            QFile manifest(files.next());
            QVERIFY(manifest.open(QIODevice::WriteOnly) && manifest.write("{") == 1);
        }
        QVERIFY(broken > 0);
        const auto output = run({"evaluate", "4"});
        QCOMPARE(output.exit_code, 2);
        QCOMPARE(output.fault(), QStringLiteral("--weights"));
        const auto faults = output.object()["faults"].toArray();
        QCOMPARE(faults.size(), 1 + broken);  // and of each checkpoint, what is wrong with it
        QVERIFY2(faults[0].toObject()["remedy"].toString().contains("--save-weights"), output.out.constData());
    }

    void what_cannot_be_used_is_told_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("where");
        const QString weights = "--weights";
        QTest::newRow("no weights") << QStringList{"1"} << weights;
        QTest::newRow("no such file") << QStringList{"1", weights, "nowhere.safetensors"} << weights;
        QTest::newRow("cut off") << QStringList{"1", weights, "short.safetensors"} << weights;
        QTest::newRow("no weights at all") << QStringList{"1", weights, "corpus.txt"} << weights;
        QTest::newRow("another model") << QStringList{"1", weights, "wide.safetensors"} << weights;
        QTest::newRow("the twin's") << QStringList{"1", weights, "skip.safetensors", "--beside", "2"}
                                    << "--beside-weights";
        QTest::newRow("no run") << QStringList{"77", weights, "skip.safetensors"} << "RUN";
        QTest::newRow("computed nothing") << QStringList{"3", weights, "skip.safetensors"} << "RUN";
        QTest::newRow("no stage") << QStringList{"1", weights, "skip.safetensors", "--omit", "3"} << "--omit";
        QTest::newRow("no number") << QStringList{"1", weights, "skip.safetensors", "--omit", "1,x"} << "--omit";
        QTest::newRow("data elsewhere") << QStringList{"1", weights, "skip.safetensors", "--base-dir", "/"}
                                        << "/data/path";
    }
    void what_cannot_be_used_is_told() {
        QFile whole(file("skip.safetensors"));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        write("short.safetensors", whole.readAll().chopped(1000));
        if (!QFile::exists(file("wide.safetensors")))
            QCOMPARE(run({"run", experiment("wide.json", [](QJsonObject& d) { set(d, "model", "width", 48); }),
                          "--iterations", "0", "--save-weights", file("wide.safetensors")})
                         .exit_code,
                     0);
        QFETCH(QStringList, arguments);
        QFETCH(QString, where);
        const auto output = run(QStringList{"evaluate"} + arguments);
        QCOMPARE(output.exit_code, 2);
        QVERIFY2(output.fault() == where, output.out.constData());
        for (const auto& fault : output.object()["faults"].toArray())
            QVERIFY(!fault.toObject()["remedy"].toString().isEmpty());
        // Only the weights can be others; nothing here goes on with a training.
        QVERIFY2(!output.out.contains("raining starts") && !output.out.contains("cannot go on"),
                 output.out.constData());
        if (where.endsWith("weights")) QVERIFY2(output.out.contains("--save-weights"), output.out.constData());
    }
};

QTEST_GUILESS_MAIN(TestEvaluate)
#include "test_evaluate.moc"
