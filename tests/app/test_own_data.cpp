// SPDX-License-Identifier: GPL-3.0-or-later
// Training on one's own data, from one's own weights, through the real program and worker.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

#include <sentencepiece_trainer.h>

#include "core/data/safetensors.h"

namespace {

struct Output {
    int exit_code = -1;
    QByteArray out, error;
    QJsonObject last() const { return QJsonDocument::fromJson(out.trimmed().split('\n').last()).object(); }
};

}  // namespace

class TestOwnData : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString file(const QString& name) const { return folder_.filePath(name); }

    void write(const QString& name, const QByteArray& bytes) const {
        QFile out(file(name));
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(bytes);
    }

    Output run(QStringList arguments) const {
        QProcess process;
        process.start(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"), arguments << "--db" << file("record.sqlite"));
        Output output;
        if (process.waitForFinished(120'000)) output.exit_code = process.exitCode();
        if (process.state() != QProcess::NotRunning) process.kill(), process.waitForFinished();
        output.out = process.readAllStandardOutput();
        output.error = process.readAllStandardError();
        return output;
    }

    /// The tiny experiment with these data and model fields changed.
    QString experiment(const QString& name, const QJsonObject& data, const QJsonObject& model = {},
                       const QJsonObject& training = {}) const {
        QFile in(QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json"));
        if (!in.open(QIODevice::ReadOnly)) return {};
        auto document = QJsonDocument::fromJson(in.readAll()).object();
        const auto merge = [&](const char* section, const QJsonObject& changes) {
            auto object = document[section].toObject();
            for (auto it = changes.begin(); it != changes.end(); ++it) object[it.key()] = it.value();
            document[section] = object;
        };
        document["data"] = data;
        merge("model", model);
        merge("training", training);
        write(name, QJsonDocument(document).toJson());
        return file(name);
    }

private Q_SLOTS:
    void initTestCase() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker")))
            QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        QVERIFY(folder_.isValid());
        qputenv("XDG_CACHE_HOME", file("cache").toUtf8());
        QByteArray text, lines;
        for (int i = 0; i < 4000; ++i) text += "line " + QByteArray::number(i * 7919 % 1009) + " of the corpus\n";
        for (int i = 0; i < 500; ++i)
            lines += "{\"body\": \"row " + QByteArray::number(i * 7919 % 1009) + " of the lines\"}\n";
        write("corpus.txt", text);
        write("other.txt", QByteArray(text).replace("corpus", "others"));
        write("lines.jsonl", lines);
        const auto made = sentencepiece::SentencePieceTrainer::Train(
            "--input=" + file("corpus.txt").toStdString() + " --model_prefix=" + file("tiny").toStdString() +
            " --vocab_size=300 --model_type=bpe --byte_fallback=true --num_threads=1 --minloglevel=2");
        QVERIFY2(made.ok(), made.ToString().c_str());
        QByteArray tokens;
        for (int i = 0; i < 20'000; ++i) tokens += char(i * 7 % 200), tokens += char(0);
        write("train.bin", tokens);
        tokens[2 * 1234 + 1] = 4;
        write("wrong.bin", tokens);
    }

    void tokenised_text_and_lines() {
        const QJsonObject data{
            {"source", "text"}, {"path", "corpus.txt"}, {"tokenizer", "tiny.model"}, {"validation_samples", 4}};
        const auto first = run({"run", experiment("text.json", data, {{"vocabulary", 300}})});
        QVERIFY2(first.exit_code == 0, first.error);
        QVERIFY(first.out.contains("tokenising") && first.out.contains("bits per byte"));
        const auto again = run({"run", file("text.json")});
        QVERIFY2(again.exit_code == 0 && !again.out.contains("tokenising"), again.error);
        const QJsonObject lines{{"source", "jsonl"},
                                {"files", QJsonArray{QJsonObject{{"path", "lines.jsonl"}, {"weight", 2}},
                                                     QJsonObject{{"path", "lines.jsonl"}}}},
                                {"text_field", "body"},
                                {"validation_fraction", 0.2}};
        const auto bytes = run({"run", experiment("lines.json", lines), "--json"});
        QVERIFY2(bytes.exit_code == 0, bytes.error);
        QCOMPARE(bytes.last()["state"].toString(), "finished");
        const auto small = run({"run", experiment("small.json", data)});
        QVERIFY2(small.exit_code == 2 && small.error.contains("the tokenizer has 300 pieces"), small.error);
        QCOMPARE(run({"validate", file("small.json")}).exit_code, 2);
    }

    /// Whoever goes on with a run tokenises as `run` does, also where the cache was emptied meanwhile.
    void what_goes_on_tokenises() {
        const QJsonObject data{
            {"source", "text"}, {"path", "corpus.txt"}, {"tokenizer", "tiny.model"}, {"validation_samples", 4}};
        const auto first = run({"run", experiment("goes-on.json", data, {{"vocabulary", 300}},
                                                  {{"iterations", 2}, {"checkpoint_every", 2}})});
        QVERIFY2(first.exit_code == 0, first.error);
        QVERIFY(QDir(file("cache")).removeRecursively());
        const auto extended = run({"extend", "latest", "--iterations", "4"});
        QVERIFY2(extended.exit_code == 0 && extended.out.contains("tokenising"), extended.error);
        QVERIFY(QDir(file("cache")).removeRecursively());
        const auto forked =
            run({"fork", "latest", "--at", "2", "--set", "data.path=other.txt", "--set", "training.iterations=3"});
        QVERIFY2(forked.exit_code == 0 && forked.out.contains("tokenising"), forked.error);
        QVERIFY2(forked.error.contains("not those of the checkpoint"), forked.error);
        const auto runs = [&] { return run({"runs", "--json"}).out; };
        const auto before = runs();
        const auto refused = run(
            {"fork", "latest", "--at", "3", "--set", "data.tokenizer=corpus.txt", "--set", "training.iterations=4"});
        QVERIFY2(refused.exit_code == 2 && refused.error.contains("no sentencepiece model"), refused.error);
        QCOMPARE(runs(), before);
    }

    void tokens_from_a_file() {
        const QJsonObject data{
            {"source", "tokens"}, {"path", "train.bin"}, {"validation_samples", 4}, {"validation_fraction", 0.2}};
        const auto fine = run({"run", experiment("tokens.json", data, {{"vocabulary", 200}})});
        QVERIFY2(fine.exit_code == 0, fine.error);
        QVERIFY(!fine.out.contains("bits per byte"));  // their text is not known
        auto wrong = data;
        wrong["path"] = "wrong.bin";
        const auto high = run({"run", experiment("wrong.json", wrong, {{"vocabulary", 200}})});
        QVERIFY2(high.exit_code == 2 && high.error.contains("token 1,234 of") && high.error.contains("wrong.bin"),
                 high.error);
        QCOMPARE(run({"validate", file("wrong.json")}).exit_code, 2);
    }

    void weights_are_saved_and_trained_on() {
        const QJsonObject data{{"source", "text"}, {"path", "corpus.txt"}, {"validation_samples", 4}};
        const auto first =
            run({"run", experiment("first.json", data), "--save-weights", file("first.safetensors"), "--json"});
        QVERIFY2(first.exit_code == 0, first.error);
        const skippipe::SafeTensors weights(file("first.safetensors").toStdString(), "W");
        QCOMPARE(weights.tensors().size(), std::size_t{3 * 9 + 3});
        QVERIFY(weights.tensors().contains("model.layers.2.self_attn.q_proj.weight"));
        const auto second = run(
            {"run", experiment("second.json", data, {}, {{"initial_weights", "first.safetensors"}, {"iterations", 1}}),
             "--json"});
        QVERIFY2(second.exit_code == 0, second.error);
        QCOMPARE(second.last()["first_validation_loss"].toDouble(), first.last()["last_validation_loss"].toDouble());
        const auto other =
            run({"run", experiment("other.json", data, {{"width", 64}}, {{"initial_weights", "first.safetensors"}})});
        QVERIFY2(other.exit_code == 2 && other.error.contains("the model's is [256, 64]"), other.error);
        // Without a step: the weights that were read, or that the seed draws.
        const auto copied = run(
            {"run", file("second.json"), "--iterations", "0", "--save-weights", file("copied.safetensors"), "--json"});
        QVERIFY2(copied.exit_code == 0, copied.error);
        QCOMPARE(copied.last()["iterations"].toInt(), 0);
        QCOMPARE(copied.last()["last_validation_loss"].toDouble(), first.last()["last_validation_loss"].toDouble());
        const auto bytes_of = [&](const char* name) {
            QFile in(file(name));
            return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
        };
        QVERIFY(!bytes_of("copied.safetensors").isEmpty());
        QVERIFY(bytes_of("copied.safetensors") == bytes_of("first.safetensors"));
        const auto untrained = run({"run", file("first.json"), "--iterations", "0", "--save-weights",
                                    file("untrained.safetensors"), "--json"});
        QVERIFY2(untrained.exit_code == 0, untrained.error);
        QCOMPARE(untrained.last()["first_validation_loss"].toDouble(),
                 first.last()["first_validation_loss"].toDouble());
        const auto nowhere = run({"run", file("first.json"), "--save-weights", file("no/such/folder/x.safetensors")});
        QVERIFY2(nowhere.exit_code == 2 && nowhere.error.contains("cannot create a file"), nowhere.error);
    }

    /// Plans and measured experiments find the data wherever they are written.
    void what_is_written_elsewhere_finds_its_data() {
        const auto path =
            experiment("here.json", {{"source", "text"}, {"path", "corpus.txt"}, {"validation_samples", 4}}, {},
                       {{"iterations", 1}});
        QVERIFY(QDir(folder_.path()).mkpath("elsewhere"));
        for (const char* to : {"elsewhere/plan.json", "plan.json"}) {
            const auto planned = run({"plan", path, "-o", file(to)});
            QVERIFY2(planned.exit_code == 0, planned.error);
            const auto trained = run({"run", file(to), "--json"});
            QVERIFY2(trained.exit_code == 0, trained.error);
        }
        QFile beside(file("plan.json"));
        QVERIFY(beside.open(QIODevice::ReadOnly) && beside.readAll().contains("\"corpus.txt\""));
        const auto probed = run({"probe", path, "-o", file("elsewhere/measured.json")});
        QVERIFY2(probed.exit_code == 0, probed.error);
        const auto checked = run({"validate", file("elsewhere/measured.json")});
        QVERIFY2(checked.exit_code == 0, checked.error);
    }

    /// Nothing is planned, and the record learns nothing of it.
    void products_that_the_processor_lacks_are_bad_input() {
        QFile processor("/proc/cpuinfo");
        QVERIFY(processor.open(QIODevice::ReadOnly));
        if (processor.readAll().contains("bf16")) QSKIP("this processor multiplies bf16");
        const auto path = experiment("bf16.json", {{"source", "text"}, {"path", "corpus.txt"}});
        QFile in(path);
        QVERIFY(in.open(QIODevice::ReadOnly));
        auto document = QJsonDocument::fromJson(in.readAll()).object();
        document["execution"] = QJsonObject{{"products", "bf16"}};
        write("bf16.json", QJsonDocument(document).toJson());
        for (const char* verb : {"validate", "run"}) {
            const auto refused = run({verb, path});
            QVERIFY2(refused.exit_code == 2 && refused.error.contains("does not multiply bf16"), refused.error);
            QVERIFY2(!refused.out.contains("planned by"), refused.out);
        }
    }

    void files_that_cannot_be_used_are_bad_input() {
        const QJsonObject gone{{"source", "text"}, {"path", "gone.txt"}},
            there{{"source", "text"}, {"path", "corpus.txt"}};
        const auto runs = [&] { return run({"runs", "--json"}).out; };
        const auto before = runs();
        for (const auto& path : {experiment("gone.json", gone),
                                 experiment("no-weights.json", there, {}, {{"initial_weights", "gone.safetensors"}})}) {
            for (const char* verb : {"validate", "run"}) {
                const auto refused = run({verb, path});
                QVERIFY2(refused.exit_code == 2 && refused.error.contains("gone."), refused.error);
                QVERIFY2(!refused.out.contains("planned by"), refused.out);
            }
        }
        QCOMPARE(runs(), before);
        const auto weights = run({"validate", file("no-weights.json")});
        QVERIFY2(weights.error.contains("the model takes its weights from there"), weights.error);
    }

    void what_does_not_fit_is_told_before_the_start() {
        const auto listed = run({"models"});
        QVERIFY(listed.exit_code == 0 && listed.out.contains("llama-3-8b") && listed.out.contains("8030261248"));
        const QJsonObject data{{"source", "text"}, {"path", "corpus.txt"}};
        const auto path = experiment("big.json", data);
        QCOMPARE(run({"validate", path, "--model", "llama-1m"}).exit_code, 0);
        const auto uneven = run({"validate", path, "--model", "llama-3-8b"});
        QVERIFY2(uneven.exit_code == 0 && uneven.error.contains("note: 32 blocks over 3 stages: 10 11 11"),
                 uneven.error);
        const auto none = run({"plan", path, "--model", "llama-9b"});
        QVERIFY2(none.exit_code == 2 && none.error.contains("tinyllama-1.1b"), none.error);
        QFile in(path);
        QVERIFY(in.open(QIODevice::ReadOnly));
        auto document = QJsonDocument::fromJson(in.readAll()).object();
        auto pipeline = document["pipeline"].toObject();
        pipeline["blocks_per_stage"] = QJsonArray{12, 10, 10};
        document["pipeline"] = pipeline;
        write("big.json", QJsonDocument(document).toJson());
        const auto big = run({"run", path, "--model", "llama-3-8b"});
        QVERIFY2(big.exit_code == 2 && big.error.contains("/model: 8.03") && big.error.contains("are missing"),
                 big.error);
    }
};

QTEST_GUILESS_MAIN(TestOwnData)
#include "test_own_data.moc"
