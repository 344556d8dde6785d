// SPDX-License-Identifier: GPL-3.0-or-later
// docs/semantics.md is enough to write an evaluator and a training reference from, and says what the programs do: two
// scripts that were written from that page alone (timeline.py, training.py) against plans and runs.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/record/record.h"

namespace {

QString python() { return QStandardPaths::findExecutable(QStringLiteral("python3")); }

/// A program's standard output; empty where it failed.
QByteArray output_of(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    process.start(program, arguments);
    const bool fine = process.waitForFinished(120'000) && process.exitCode() == 0;
    return fine ? process.readAllStandardOutput() : QByteArray();
}

QByteArray run(const QStringList& arguments) {
    return output_of(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"), arguments);
}

QJsonObject from_the_page(const char* script, const QString& experiment, const QString& plan) {
    const auto path = QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/docs/") + QLatin1String(script);
    return QJsonDocument::fromJson(output_of(python(), {path, experiment, plan})).object();
}

QJsonObject read(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(in.readAll()).object() : QJsonObject();
}

/// Members of `changes` into those of `object`, section by section.
QJsonObject merged(QJsonObject object, const QJsonObject& changes) {
    for (auto it = changes.begin(); it != changes.end(); ++it)
        object[it.key()] =
            it->isObject() ? QJsonValue(merged(object[it.key()].toObject(), it->toObject())) : QJsonValue(*it);
    return object;
}

QJsonObject json(const char* text) { return QJsonDocument::fromJson(text).object(); }

}  // namespace

class TestSemantics : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString file(const QString& name) const { return folder_.filePath(name); }

    void write(const QString& name, const QByteArray& bytes) const {
        QFile out(file(name));
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(bytes);
    }

    /// The tiny experiment, smaller still, with changes; and a plan of it.
    void make(const QString& name, const QJsonObject& changes) const {
        const auto small = json(R"({"model": {"width": 16, "sequence": 12}, "training": {"validate_every": 0}})");
        const auto tiny = read(QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json"));
        write(name + ".json", QJsonDocument(merged(merged(tiny, small), changes)).toJson());
        QVERIFY(!run({"plan", file(name + ".json"), "-o", file(name + ".plan"), "--json"}).isEmpty());
    }

    std::map<std::string, std::vector<double>> recorded(const QString& name) const {
        std::map<std::string, std::vector<double>> values;
        skippipe::Reader reader(file(name + ".sqlite").toStdString());
        for (const auto& metric : reader.metrics(1)) values[metric.name].push_back(metric.value);
        return values;
    }

private Q_SLOTS:
    void initTestCase() {
        if (python().isEmpty()) QSKIP("python3 is not installed");
        QVERIFY(folder_.isValid());
        QByteArray longer, shorter;
        for (int i = 0; i < 400; ++i) longer += "line " + QByteArray::number(i * 7919 % 1009) + " of the corpus\n";
        for (int i = 0; i < 40; ++i) shorter += "row " + QByteArray::number(i * 7919 % 1009) + "\n";
        write("corpus.txt", longer);
        write("rows.txt", shorter);
    }

    void timelines_data() {
        QTest::addColumn<QString>("experiment");
        for (const char* name :
             {"quick-start", "charged-ring", "rounded-gradients", "single-cluster", "authors-18", "authors-20"})
            QTest::newRow(name) << QStringLiteral(SKIPPIPE_SOURCE_DIR "/resources/experiments/%1.json").arg(name);
        make("sizes", json(R"({"pipeline": {"microbatch_sizes": [2, 1]}, "costs": {"wire": "int8", "overhead_s": 0.01,
                                "step_seconds": 0.1}, "model": {"kv_heads": 1}, "training": {"recompute": true}})"));
        QTest::newRow("sizes, int8, overhead, recompute") << file("sizes.json");
        make("planned", json(R"({"costs": {"all_reduce": "planned", "overhead_s": 0.01, "step_seconds": 0.1}})"));
        QTest::newRow("planned reductions") << file("planned.json");
        for (const char* reduce : {"planned", "charged"}) {
            const auto name = QStringLiteral("uplinks-%1").arg(reduce);
            auto changes = json(R"({"topology": {"nodes": [
                {"id": "a", "region": "west", "seconds_per_sample_per_block": 0.01, "up_bytes_per_s": 2e5},
                {"id": "b", "region": "west", "seconds_per_sample_per_block": 0.012, "down_bytes_per_s": 3e5},
                {"id": "c", "region": "east", "seconds_per_sample_per_block": 0.02},
                {"id": "d", "region": "east", "seconds_per_sample_per_block": 0.02, "up_bytes_per_s": 1e5,
                 "down_bytes_per_s": 4e5},
                {"id": "e", "region": "east", "seconds_per_sample_per_block": 0.01, "up_bytes_per_s": 2e5}]}})");
            changes["costs"] = QJsonObject{{"all_reduce", reduce}};
            make(name, changes);
            QTest::newRow(qPrintable(name)) << file(name + ".json");
        }
        make("free", json(R"({"costs": {"links": "unlimited", "all_reduce": "free", "backward_factor": 2},
                               "pipeline": {"constraints": {"memory": "ignore"}}})"));
        QTest::newRow("unlimited, free, memory ignored") << file("free.json");
    }

    void timelines() {
        QFETCH(QString, experiment);
        for (const char* planner : {"gpipe", "zero-bubble", "dtfm-skip", "skippipe-no-tc2", "skippipe-joint"}) {
            const auto plan = file("p.plan");
            QVERIFY2(!run({"plan", experiment, "--planner", planner, "--steps", "500", "-o", plan, "--json"}).isEmpty(),
                     planner);
            const auto scored =
                QJsonDocument::fromJson(run({"score", experiment, plan, "--json"})).array().first().toObject();
            const auto ours = from_the_page("timeline.py", experiment, plan);
            QVERIFY2(ours["complete"].toBool(), planner);
            for (const auto& [theirs, name] :
                 {std::pair{"makespan_seconds", "makespan_s"}, std::pair{"iteration_seconds", "iteration_s"}}) {
                const double expected = ours[name].toDouble(), found = scored[theirs].toDouble();
                QVERIFY2(std::abs(found - expected) <= 1e-12 * std::max(1.0, expected),
                         qPrintable(QStringLiteral("%1 %2: %3, by the page %4")
                                        .arg(QLatin1String(planner), QLatin1String(name))
                                        .arg(found, 0, 'g', 17)
                                        .arg(expected, 0, 'g', 17)));
            }
        }
    }

    void training_data() {
        QTest::addColumn<QByteArray>("changes");
        QTest::newRow("plain, warm-up, global clipping")
            << QByteArray(R"({"training": {"iterations": 4, "warmup_iterations": 2, "clip_norm": 0.3}})");
        QTest::newRow("grouped heads, sizes, int8, two sources, clipping a stage") << QByteArray(
            R"({"model": {"heads": 4, "kv_heads": 2}, "pipeline": {"microbatch_sizes": [2, 1]}, "costs": {"wire": "int8"},
                "data": {"path": "", "files": [{"path": "corpus.txt", "weight": 3}, {"path": "rows.txt", "weight": 1}],
                         "validation_samples": 7},
                "training": {"iterations": 6, "clip": "per-stage", "clip_norm": 0.3}})");
        QTest::newRow("planned reductions")
            << QByteArray(R"({"costs": {"all_reduce": "planned"}, "training": {"iterations": 4}})");
        QTest::newRow("full pipeline, several epochs, bf16, recompute, no clipping") << QByteArray(
            R"({"pipeline": {"skip_ratio": 0, "planner": "1f1b"}, "costs": {"wire": "bf16"},
                "data": {"path": "rows.txt", "validation_fraction": 0.2},
                "training": {"iterations": 6, "clip": "none", "recompute": true}})");
    }

    void training() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))) QSKIP("skippipe-worker is not built");
        QFETCH(QByteArray, changes);
        const QString name = QStringLiteral("training%1").arg(qHash(changes));
        make(name, json(changes.constData()));
        const auto experiment = file(name + ".json"), plan = file(name + ".plan");
        QVERIFY(!run({"run", experiment, "--plan", plan, "--json", "--db", file(name + ".sqlite")}).isEmpty());
        const auto ours = from_the_page("training.py", experiment, plan);
        const auto theirs = recorded(name);
        for (const char* metric : {"loss", "validation_loss", "gradient_norm"}) {
            const auto expected = ours[metric].toArray();
            const auto& found = theirs.at(metric);
            QCOMPARE(static_cast<qsizetype>(found.size()), expected.size());
            QVERIFY(!found.empty());
            for (std::size_t i = 0; i < found.size(); ++i) {
                const double value = expected[static_cast<qsizetype>(i)].toDouble();
                QVERIFY2(std::abs(found[i] - value) <= 2e-6 * value,
                         qPrintable(QStringLiteral("%1 %2: %3, by the page %4")
                                        .arg(QLatin1String(metric))
                                        .arg(i)
                                        .arg(found[i], 0, 'g', 12)
                                        .arg(value, 0, 'g', 12)));
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestSemantics)
#include "test_semantics.moc"
