// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe` as scripts and people use it: the real program, the real worker, a record of its own.
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <csignal>
#include <functional>

namespace {

struct Output {
    int exit_code = -1;
    QByteArray out, error;
    QJsonArray array() const { return QJsonDocument::fromJson(out).array(); }
    QJsonObject object() const { return QJsonDocument::fromJson(out).object(); }
    QJsonObject last() const { return QJsonDocument::fromJson(out.trimmed().split('\n').last()).object(); }
};

QString source(const QString& path) { return QStringLiteral(SKIPPIPE_SOURCE_DIR "/") + path; }
const QString program = QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe");
const bool has_worker = QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"));

}  // namespace

class TestCommandLine : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    QString file(const QString& name) const { return folder_.filePath(name); }

    QString write(const QString& name, const QByteArray& bytes) const {
        QFile out(file(name));
        if (!out.open(QIODevice::WriteOnly)) return {};
        out.write(bytes);
        return out.fileName();
    }

    QJsonObject read_json(const QString& path) const {
        QFile in(path);
        return in.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(in.readAll()).object() : QJsonObject{};
    }

    Output run(QStringList arguments, int limit_ms = 60'000) const {
        QProcess process;
        process.start(program, arguments << "--db" << file("record.sqlite"));
        Output output;
        if (process.waitForFinished(limit_ms))
            output.exit_code = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2;
        if (process.state() != QProcess::NotRunning) process.kill(), process.waitForFinished();
        output.out = process.readAllStandardOutput();
        output.error = process.readAllStandardError();
        return output;
    }

    /// Whether the newest run trains, and has more iterations done: the record has those of tests before, too.
    bool newest_trains(int iterations) const {
        const auto newest = run({"runs", "--json"}).array()[0].toObject();
        return newest["state"].toString() == "running" && newest["iterations_done"].toInt() > iterations;
    }

    /// The tiny experiment beside a corpus of its own, changed as asked.
    QString tiny(
        const QString& name, const std::function<void(QJsonObject&)>& change = [](QJsonObject&) {}) const {
        QByteArray corpus;
        for (int i = 0; i < 4000; ++i) corpus += "line " + QByteArray::number(i * 7919 % 1009) + " of the corpus\n";
        write("corpus.txt", corpus);
        auto document = read_json(source("tests/data/tiny-training.json"));
        change(document);
        return write(name, QJsonDocument(document).toJson());
    }

    static void set(QJsonObject& document, const QString& section, const QString& key, const QJsonValue& value) {
        auto object = document[section].toObject();
        object[key] = value;
        document[section] = object;
    }

    /// The same with two slow nodes, eight blocks to be planned, and microbatches of two sizes.
    QString uneven(const QString& name) const {
        return tiny(name, [](QJsonObject& d) {
            auto topology = d["topology"].toObject();
            auto nodes = topology["nodes"].toArray();
            for (const int slow : {2, 3}) {
                auto node = nodes[slow].toObject();
                node["seconds_per_sample_per_block"] = 0.06;
                nodes[slow] = node;
            }
            topology["nodes"] = nodes;
            d["topology"] = topology;
            set(d, "model", "blocks", 8);
            set(d, "pipeline", "plan_blocks", true);
            set(d, "pipeline", "microbatch_sizes", QJsonArray{1, 3});
            set(d, "pipeline", "planner", "skippipe-joint");
            set(d, "pipeline", "plan_steps", 2000);
        });
    }

private Q_SLOTS:
    void initTestCase() { QVERIFY(folder_.isValid()); }

    void help_has_examples() {
        const auto help = run({"--help"});
        QCOMPARE(help.exit_code, 0);
        for (const char* verb :
             {"validate", "plan", "score", "run", "runs", "show", "compare", "export", "planners", "bench"}) {
            QVERIFY2(help.out.contains(verb), verb);
            const auto own = run({verb, "--help"});
            QCOMPARE(own.exit_code, 0);
            QVERIFY2(own.out.contains("Examples:") && own.out.contains("--json"), verb);
        }
        QCOMPARE(run({"dance"}).exit_code, 2);
    }

    void all_ten_faults_are_reported() {
        const auto output = run({"validate", source("tests/data/ten-faults.json"), "--json"});
        QCOMPARE(output.exit_code, 2);
        QVERIFY(!output.object()["valid"].toBool());
        QVERIFY(output.object()["faults"].toArray().size() >= 10);
        for (const auto& fault : output.object()["faults"].toArray())
            QVERIFY(!fault.toObject()["remedy"].toString().isEmpty());
    }

    void bundled_experiments_are_valid() {
        for (const auto& name : QDir(source("resources/experiments")).entryList({"*.json"})) {
            const auto output = run({"validate", source("resources/experiments/" + name), "--json"});
            QVERIFY2(output.exit_code == 0 && output.object()["valid"].toBool(), qPrintable(name));
        }
    }

    /// What `plan` and `run` refuse.
    void validate_refuses_what_cannot_run() {
        const auto unknown =
            run({"validate", tiny("psychic.json", [](QJsonObject& d) { set(d, "pipeline", "planner", "psychic"); })});
        QCOMPARE(unknown.exit_code, 2);
        QVERIFY2(unknown.error.contains("/pipeline/planner") && unknown.error.contains("skippipe-joint"),
                 unknown.error);
        QVERIFY2(unknown.out.contains(": 1 error\n"), unknown.out);
        const auto rare = run({"run", tiny("rare.json"), "--checkpoint-every", "2000000000"});
        QCOMPARE(rare.exit_code, 2);
        QVERIFY2(rare.error.contains("/training/checkpoint_every"), rare.error);
    }

    void what_cannot_be_said_is_an_error() {
        for (const char* lost : {">/dev/full", ">&-"})
            for (const char* verb : {"planners", "runs", "--help"}) {
                QProcess process;
                process.start("sh",
                              {"-c", QString("exec %1 %2 --db %3 %4").arg(program, verb, file("lost.sqlite"), lost)});
                QVERIFY(process.waitForFinished(20'000));
                QCOMPARE(process.exitCode(), 1);
                QVERIFY(process.readAllStandardError().contains("standard output"));
            }
    }

    void all_tokens_are_told() {
        const auto priced = tiny("priced.json", [](QJsonObject& d) {
            d["prices"] = QJsonObject{{"tokens", 1e6}, {"node_hour", 3.6}};
        });
        const auto row = run({"plan", priced, "--json"}).array()[0].toObject();
        const auto all = row["budget"].toObject();
        QVERIFY(all["iterations"].toDouble() > 1 && all["price"].toDouble() > 0);
        QVERIFY(
            std::abs(all["seconds"].toDouble() / (all["iterations"].toDouble() * row["iteration_seconds"].toDouble()) -
                     1) < 1e-12);
        const auto words = run({"plan", priced});
        QVERIFY2(words.out.contains("all tokens take ") && words.out.contains(", and cost "), words.out);
        QVERIFY(!run({"plan", tiny("free.json")}).out.contains("all tokens"));
    }

    void bad_input_is_told_with_a_remedy() {
        QCOMPARE(run({"validate", file("nowhere.json")}).exit_code, 2);
        QCOMPARE(run({"plan", write("broken.json", "{\"format\": 1,")}).exit_code, 2);
        const auto planner = run({"plan", source("resources/experiments/quick-start.json"), "--planner", "psychic"});
        QCOMPARE(planner.exit_code, 2);
        QVERIFY(planner.error.contains("skippipe-joint"));
        QCOMPARE(run({"show", "77"}).exit_code, 2);
        const auto ranks = run({"run", tiny("ranks.json", [](QJsonObject& d) {
                                    d["execution"] = QJsonObject{{"ranks", 2}};
                                })});
        QCOMPARE(ranks.exit_code, 2);
        QVERIFY(ranks.error.contains("/execution/ranks") && ranks.error.contains("\"wall\""));
        const auto nccl = run({"run", tiny("nccl.json", [](QJsonObject& d) {
                                   d["execution"] = QJsonObject{{"clock", "wall"}, {"transport", "nccl"}};
                               })});
        QCOMPARE(nccl.exit_code, 2);
        QVERIFY(nccl.error.contains("/execution/transport"));
        const auto gpu = run({"run", tiny("gpu.json", [](QJsonObject& d) {
                                  auto topology = d["topology"].toObject();
                                  auto nodes = topology["nodes"].toArray();
                                  auto node = nodes[1].toObject();
                                  node["device"] = "cuda:77";
                                  nodes[1] = node;
                                  topology["nodes"] = nodes;
                                  d["topology"] = topology;
                              })});
        QCOMPARE(gpu.exit_code, 2);
        QVERIFY2(gpu.error.contains("/topology/nodes/1/device") && gpu.error.contains("\"cuda:77\""), gpu.error);
        const auto wire = run({"run", tiny("wire.json", [](QJsonObject& d) {
                                   d["costs"] = QJsonObject{{"all_reduce", "charged"}};
                                   auto training = d["training"].toObject();
                                   training["gradient_wire"] = "bf16";
                                   d["training"] = training;
                               })});
        QCOMPARE(wire.exit_code, 2);
        QVERIFY(wire.error.contains("/training/gradient_wire") && wire.error.contains("\"planned\""));
        write("no-database", "This is not a record of runs, whatever its name says");
        QProcess process;
        process.start(program, {"runs", "--db", file("no-database")});
        QVERIFY(process.waitForFinished(20'000));
        QCOMPARE(process.exitCode(), 2);
    }

    /// 76.44979 s and 79.94643 s, through the plan file.
    void the_authors_plans_come_out_to_the_digit() {
        const auto authors = read_json(source("tests/data/authors-plan-20-nodes.json"));
        const auto experiment = read_json(source("resources/experiments/authors-20.json"));
        QMap<int, QString> ids;
        for (const auto& node : experiment["topology"].toObject()["nodes"].toArray()) {
            const auto id = node.toObject()["id"].toString();
            ids[id.mid(id.lastIndexOf(QRegularExpression("[^0-9]")) + 1).toInt()] = id;
        }
        QCOMPARE(ids.size(), 20);
        for (const auto& [name, seconds] : {std::pair{"skippipe", 76.44979}, std::pair{"skippipe-no-tc2", 79.94643}}) {
            QJsonArray stages, paths;
            for (const auto& stage : authors["stages"].toArray()) {
                QJsonArray nodes;
                for (const auto& node : stage.toArray()) nodes.append(ids[node.toInt()]);
                stages.append(nodes);
            }
            for (int m = 0; m < 30; ++m) {
                QJsonArray nodes;
                for (const auto& node : authors["paths"].toObject()[name].toArray()[m % 15].toArray())
                    nodes.append(ids[node.toInt()]);
                paths.append(QJsonObject{{"microbatch", m}, {"nodes", nodes}});
            }
            const QJsonObject plan{{"format", 1},
                                   {"planner", name},
                                   {"seed", 0},
                                   {"steps", 0},
                                   {"experiment_hash", ""},
                                   {"split_backward", false},
                                   {"stages", stages},
                                   {"blocks", QJsonArray{4, 4, 4, 4, 4, 4}},
                                   {"paths", paths}};
            const auto output = run({"score", source("resources/experiments/authors-20.json"),
                                     write("authors.json", QJsonDocument(plan).toJson()), "--json"});
            QCOMPARE(output.exit_code, 0);
            const auto row = output.array()[0].toObject();
            QCOMPARE(row["planner"].toString(), QString(name));
            QVERIFY2(std::abs(row["makespan_seconds"].toDouble() - seconds) < 5e-6,
                     qPrintable(QString::number(row["makespan_seconds"].toDouble(), 'g', 12)));
            QCOMPARE(row["iteration_seconds"].toDouble(), row["makespan_seconds"].toDouble());
            QVERIFY2(row["violations"].toArray().isEmpty(), output.out);
            QVERIFY(row["lower_bound_seconds"].toDouble() > 30 && row["lower_bound_seconds"].toDouble() < seconds);
        }
    }

    void scoring_a_bad_plan_exits_0_with_its_violations() {
        const auto experiment = source("resources/experiments/single-cluster.json");
        QCOMPARE(run({"plan", experiment, "--planner", "skippipe", "-o", file("plan.json")}).exit_code, 0);
        auto plan = read_json(file("plan.json"));
        auto paths = plan["paths"].toArray();
        paths.removeLast();
        plan["paths"] = paths;
        const auto output = run({"score", experiment, write("bad.json", QJsonDocument(plan).toJson()), "--json"});
        QCOMPARE(output.exit_code, 0);
        QVERIFY(!output.array()[0].toObject()["violations"].toArray().isEmpty());
    }

    void a_plan_is_explained() {
        const auto experiment = source("resources/experiments/single-cluster.json");
        const auto rows =
            run({"plan", experiment, "--planner", "skippipe", "--explain", "--json", "-o", file("why.json")}).array();
        const auto why = rows[0].toObject()["explanation"].toObject();
        double chain_s = 0;
        for (const char* part : {"compute_s", "links_s", "all_reduce_s", "step_s"}) chain_s += why[part].toDouble();
        QVERIFY(std::abs(chain_s - rows[0].toObject()["iteration_seconds"].toDouble()) < 1e-9 && chain_s > 0);
        QVERIFY(!why["critical_node"].toString().isEmpty() && !why["what_ifs"].toArray().isEmpty());
        const double placed_s = why["placed_bound_seconds"].toDouble();
        QVERIFY(placed_s > 0 &&
                std::abs(placed_s * (1 + why["placed_gap"].toDouble()) - why["iteration_seconds"].toDouble()) < 1e-8);
        QVERIFY2(read_json(file("why.json"))["note"].toString().contains("critical node"),
                 "the plan file says it in its note");
        const auto text = run({"score", experiment, file("why.json"), "--explain"});
        QCOMPARE(text.exit_code, 0);
        QVERIFY2(text.out.contains("critical node: " + why["critical_node"].toString().toUtf8()), text.out);
        QVERIFY2(text.out.contains("With every node in its stage no plan is shorter than"), text.out);
        auto plan = read_json(file("why.json"));
        plan["paths"] = QJsonArray();
        const auto bad =
            run({"score", experiment, write("no-way.json", QJsonDocument(plan).toJson()), "--explain", "--json"});
        QCOMPARE(bad.exit_code, 0);
        QVERIFY(!bad.array()[0].toObject().contains("explanation"));
    }

    /// Two slow nodes: the plan moves blocks, says which stage holds how many, and `score` and `run` (below) read them
    /// back.
    void planned_blocks_are_said_and_read_back() {
        const auto experiment = uneven("uneven.json");
        const auto planned = run({"plan", experiment, "--json", "-o", file("uneven-plan.json")});
        QCOMPARE(planned.exit_code, 0);
        const auto row = planned.array()[0].toObject();
        QCOMPARE(row["blocks"].toArray().size(), 3);
        int sum = 0;
        for (const auto& blocks : row["blocks"].toArray()) sum += blocks.toInt();
        QCOMPARE(sum, 8);
        QVERIFY(row["blocks"].toArray() != QJsonArray({2, 3, 3}));  // what it starts from
        QVERIFY(row["violations"].toArray().isEmpty());
        QCOMPARE(read_json(file("uneven-plan.json"))["blocks"].toArray(), row["blocks"].toArray());
        const auto scored = run({"score", experiment, file("uneven-plan.json"), "--json"}).array()[0].toObject();
        QCOMPARE(scored["iteration_seconds"].toDouble(), row["iteration_seconds"].toDouble());
        QCOMPARE(scored["blocks"].toArray(), row["blocks"].toArray());
        QVERIFY(run({"plan", experiment}).out.contains("skippipe-joint: blocks of the stages "));
        QVERIFY(!run({"plan", tiny("even.json")}).out.contains("blocks of the stages"));
        auto plan = read_json(file("uneven-plan.json"));
        plan["blocks"] = QJsonArray{1, 1, 1};
        const auto bad = run({"score", experiment, write("uneven-bad.json", QJsonDocument(plan).toJson()), "--json"});
        QVERIFY(bad.array()[0].toObject()["violations"].toArray()[0].toString().contains("3 blocks, the model has 8"));
    }

    /// Trained with the blocks of the plan and microbatches of two sizes, in the network time that was planned.
    void an_uneven_experiment_trains() {
        if (!has_worker) QSKIP("no worker");
        const auto experiment = uneven("uneven.json");
        const auto planned = run({"plan", experiment, "--json"}).array()[0].toObject();
        const auto done = run({"run", experiment, "--json"});
        QVERIFY2(done.exit_code == 0, done.error.constData());
        const auto result = done.last();
        QVERIFY2(std::abs(result["iteration_seconds"].toDouble() - planned["iteration_seconds"].toDouble()) < 1e-9,
                 done.out.constData());
    }

    void a_dead_node_is_replanned() {
        const auto experiment = source("resources/experiments/authors-20.json");
        QCOMPARE(run({"plan", experiment, "--planner", "skippipe", "-o", file("replan.json")}).exit_code, 0);
        const QStringList base{"replan", experiment, file("replan.json"), "--at", "20"};
        auto output = run(base + QStringList{"--down", "n5", "--json", "-o", file("rest.json")});
        QVERIFY2(output.exit_code == 0, output.error);
        const auto object = output.object();
        QVERIFY(object["iteration_seconds"].toDouble() >= object["iteration_seconds_before"].toDouble());
        QVERIFY(object["remaining_seconds_unchanged"].isNull() && object["remaining_seconds"].toDouble() > 0);
        QVERIFY(object["forced_paths"].toInt() > 0 && object["lost_gradients"].toInt() == 0);
        QVERIFY(object["changes"].toArray().first().toString().contains("n5 is down"));
        const auto rest = read_json(file("rest.json"));
        for (const auto& stage : rest["stages"].toArray()) QVERIFY(!stage.toArray().contains("n5"));
        // What had ended there runs again, or is lost by choice, which is shorter or as long.
        const auto lost = run(base + QStringList{"--down", "n5", "--json", "--lose-gradients"}).object();
        QVERIFY(lost["redone_backwards"].toInt() == 0 &&
                lost["lost_gradients"].toInt() == object["redone_backwards"].toInt());
        QVERIFY(lost["remaining_seconds_repaired"].toDouble() <= object["remaining_seconds_repaired"].toDouble());
        // A second node dies on the way: a line of JSON for each, the second from where the first had come.
        output = run(base + QStringList{"--down", "n5", "--down", "n9@40", "--json", "-o", file("rest.json")});
        QVERIFY2(output.exit_code == 0, output.error);
        QCOMPARE(output.out.trimmed().split('\n').size(), 2);
        QCOMPARE(output.last()["at_seconds"].toDouble(), 40.0);
        QCOMPARE(output.last()["iteration_seconds_before"].toDouble(), object["iteration_seconds"].toDouble());
        QVERIFY(run(base + QStringList{"--down", "n5"}).out.contains("replanned in"));
        for (const QStringList& bad : {QStringList{"--down", "nobody"},
                                       {"--down", "n5@10"},
                                       {"--slow-node", "n5"},
                                       {"--slow-node", "n5,zero"},
                                       {"--join", "n5,1"},
                                       {"--join", "n5,-1"}}) {
            output = run(base + bad);
            QVERIFY2(output.exit_code == 2 && !output.error.isEmpty(), bad.join(' ').toUtf8());
        }
    }

    void jitter_adds_a_distribution() {
        const auto experiment = source("resources/experiments/quick-start.json");
        const QStringList asked{"plan",     experiment, "--planner", "dtfm-skip", "--steps", "20",
                                "--jitter", "20%",      "--samples", "50",        "--json"};
        const auto planned = run(asked);
        const auto row = planned.array()[0].toObject();
        const auto jitter = row["jitter"].toObject();
        QCOMPARE(jitter["samples"].toInt(), 50);
        QCOMPARE(jitter["links"].toDouble(), 0.2);
        QCOMPARE(jitter["nominal_seconds"].toDouble(), row["iteration_seconds"].toDouble());
        QVERIFY(jitter["p50_seconds"].toDouble() < jitter["p95_seconds"].toDouble());
        QCOMPARE(run(asked).array(), planned.array());
        const QStringList gpipe{"plan", experiment, "--planner", "gpipe"};
        QVERIFY(!run(gpipe + QStringList{"--json"}).array()[0].toObject().contains("jitter"));
        QVERIFY(run(gpipe + QStringList{"--jitter", "0.2"}).out.contains("p95"));
        QCOMPARE(run(gpipe + QStringList{"--jitter", "20"}).exit_code, 2);
        QCOMPARE(run(gpipe + QStringList{"--robust"}).exit_code, 2);
        QCOMPARE(run(gpipe + QStringList{"--jitter", "20%", "--robust"}).exit_code, 2);
    }

    /// Predicted time equals executed network time for every planner, and every plan is valid.
    void every_planner_runs_as_predicted() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto experiment = tiny("cost.json", [](QJsonObject& d) {
            d["execution"] = QJsonObject{{"compute", "cost"}};
        });
        const auto rows = run({"plan", experiment, "--all", "--json"}).array();
        QCOMPARE(rows.size(), run({"planners", "--json"}).array().size());
        for (const auto& value : rows) {
            const auto row = value.toObject();
            const auto name = row["planner"].toString();
            QVERIFY2(row["violations"].toArray().isEmpty(), qPrintable(name));
            for (const char* key :
                 {"makespan_seconds", "iteration_seconds", "lower_bound_seconds", "gap", "idle_fraction", "bytes"})
                QVERIFY2(row[key].isDouble(), key);
            const auto executed = run({"run", experiment, "--planner", name, "--iterations", "3", "--json"});
            QCOMPARE(executed.exit_code, 0);
            const auto summary = executed.last();
            QCOMPARE(summary["state"].toString(), "finished");
            QVERIFY2(std::abs(summary["iteration_seconds"].toDouble() - row["iteration_seconds"].toDouble()) < 1e-9,
                     qPrintable(name));
            double idle = 0;
            for (const auto& share : summary["idle_by_cause"].toObject()) idle += share.toDouble();
            QVERIFY2(std::abs(idle - row["idle_fraction"].toDouble()) < 1e-9, qPrintable(name));
        }
    }

    /// The same losses to the bit, whatever the number of workers.
    void training_is_reproducible() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto experiment = tiny("tiny.json");
        QStringList losses;
        for (const char* threads : {"1", "2", "2"}) {
            const auto trained = run({"run", experiment, "--threads", threads, "--json"});
            QVERIFY2(trained.exit_code == 0, trained.error);
            QString values;
            for (const auto& value : run({"show", "latest", "--json"}).object()["metrics"].toArray()) {
                const auto metric = value.toObject();
                if (metric["name"].toString().contains("loss") || metric["name"] == "gradient_norm")
                    values += QString::number(metric["value"].toDouble(), 'g', 17) + " ";
            }
            losses << values;
        }
        QVERIFY(losses[0].count(' ') == 6 * 2 + 3);
        QCOMPARE(losses[1], losses[0]);
        QCOMPARE(losses[2], losses[0]);
        const auto other = run({"run", experiment, "--seed", "6", "--json"}).last();
        QVERIFY(other["last_validation_loss"].toDouble() !=
                run({"show", "1", "--json"}).object()["last_validation_loss"].toDouble());
    }

    void several_seeds_are_several_runs() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto before = run({"runs", "--json"}).array().size();
        const auto trained =
            run({"run", tiny("seeds.json", [](QJsonObject& d) { d["seeds"] = 2; }), "--iterations", "2", "--json"});
        QVERIFY2(trained.exit_code == 0, trained.error);
        const auto runs = run({"runs", "--json"}).array();
        QCOMPARE(runs.size(), before + 2);
        QCOMPARE(runs[0].toObject()["seed"].toInt(), 6);
        QCOMPARE(runs[1].toObject()["seed"].toInt(), 5);
        QVERIFY(runs[0].toObject()["last_validation_loss"].toDouble() !=
                runs[1].toObject()["last_validation_loss"].toDouble());
    }

    void a_run_is_listed_compared_and_exported() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto experiment = tiny("export.json");
        QCOMPARE(run({"plan", experiment, "-o", file("carried.json")}).exit_code, 0);
        const auto first = run({"run", file("carried.json"), "--json"});
        QVERIFY2(first.exit_code == 0, first.error);
        const auto id = QString::number(first.last()["run"].toInt());
        QCOMPARE(run({"run", experiment, "--planner", "1f1b", "--json"}).exit_code, 0);
        const auto runs = run({"runs", "--json"}).array();
        QVERIFY(runs.size() >= 2);
        QCOMPARE(runs[0].toObject()["planner"].toString(), "1f1b");
        const auto compared = run({"compare", id, "latest", "--json"}).object();
        QVERIFY(!compared["figures"].toArray().isEmpty());
        QVERIFY(run({"compare", id, "latest"}).out.contains("1f1b"));
        QVERIFY2(run({"compare", id, "latest"}).out.contains("0 (full pipeline)"), "only one of them heeds it");
        const auto full = tiny("full.json", [](QJsonObject& d) { set(d, "pipeline", "skip_ratio", 0.25); });
        QCOMPARE(run({"run", full, "--planner", "1f1b", "--json"}).exit_code, 0);
        const auto table = run({"compare", id, "latest"}).out;
        QVERIFY2(table.contains("0 (full pipeline)") && !table.contains("0.25"), table);
        const auto page = run({"report", id, "latest", "-o", file("two.html")});
        QVERIFY2(page.exit_code == 0, page.error);
        QFile html(file("two.html"));
        QVERIFY(html.open(QIODevice::ReadOnly));
        QVERIFY(html.readAll().contains("0 (full pipeline)"));

        QCOMPARE(run({"export", id, "--format", "csv", "-o", file("spans.csv")}).exit_code, 0);
        const auto csv = run({"export", id, "--format", "csv"}).out;
        for (const char* kind :
             {"forward", "loss", "backward", "transfer-forward", "transfer-backward", "all-reduce", "step"})
            QVERIFY2(csv.contains(kind), kind);
        QVERIFY(run({"export", id, "--format", "csv", "--what", "metrics"}).out.contains("validation_loss"));
        const auto trace = run({"export", id, "--format", "chrome-trace"});
        QVERIFY(QJsonDocument::fromJson(trace.out).isObject() || QJsonDocument::fromJson(trace.out).isArray());
        QVERIFY(run({"export", id, "--format", "svg"}).out.contains("<svg"));
        QCOMPARE(run({"export", id, "--format", "pdf"}).exit_code, 2);
    }

    /// Found before anything is planned: bad input, and no run that failed.
    void data_that_is_not_there_is_bad_input() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto before = run({"runs", "--json"}).array().size();
        const auto output = run({"run",
                                 tiny("nodata.json",
                                      [](QJsonObject& d) {
                                          d["data"] = QJsonObject{{"source", "text"}, {"path", "absent.txt"}};
                                      }),
                                 "--json"});
        QCOMPARE(output.exit_code, 2);
        QVERIFY(output.error.contains("absent.txt"));
        QCOMPARE(run({"runs", "--json"}).array().size(), before);
    }

    void ctrl_c_stops_a_run_and_keeps_what_it_has() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto experiment = tiny("long.json", [](QJsonObject& d) {
            d["training"] = QJsonObject{{"iterations", 1000000}};
        });
        QProcess process;
        process.start(program, {"run", experiment, "--json", "--db", file("record.sqlite")});
        QVERIFY(process.waitForReadyRead(30'000));
        QTRY_VERIFY_WITH_TIMEOUT(newest_trains(2), 30'000);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 0);
        const auto run_row = run({"runs", "--json"}).array()[0].toObject();
        QCOMPARE(run_row["state"].toString(), "stopped");
        QVERIFY(run_row["last_validation_loss"].isDouble());
    }

    void a_killed_run_never_shows_as_running() {
        if (!has_worker) QSKIP("the training worker is not built (SKIPPIPE_TORCH is off)");
        const auto experiment = tiny("killed.json", [](QJsonObject& d) {
            d["training"] = QJsonObject{{"iterations", 1000000}};
        });
        QProcess process;
        process.start(program, {"run", experiment, "--json", "--db", file("record.sqlite")});
        QVERIFY(process.waitForReadyRead(30'000));
        QTRY_VERIFY_WITH_TIMEOUT(newest_trains(0), 30'000);
        process.kill();
        QVERIFY(process.waitForFinished(10'000));
        QCOMPARE(run({"runs", "--json"}).array()[0].toObject()["state"].toString(), "died");
    }

    void the_command_line_does_not_load_libtorch() {
        QProcess ldd;
        ldd.start("ldd", {program});
        QVERIFY(ldd.waitForFinished(10'000));
        const auto libraries = ldd.readAllStandardOutput();
        QVERIFY(libraries.contains("libsqlite3"));
        for (const char* name : {"libtorch", "libc10", "libgloo"}) QVERIFY2(!libraries.contains(name), name);
    }

    /// Deterministic disasters: what comes of each seed is the same again, and a fault would be the exit code.
    void torture() {
        const auto done = run({"torture", "--seeds", "50", "--json"});
        QVERIFY2(done.exit_code == 0, done.error);
        const auto told = done.object();
        QCOMPARE(told["seeds"].toInt(), 50);
        QVERIFY(told["recoveries"].toInt() > 25 && told["redone"].toInt() > 0);
        QVERIFY2(told["faults"].isArray() && told["faults"].toArray().isEmpty(), done.out);
        auto again = run({"torture", "--seeds", "50", "--json"}).object(), first = told;
        again.remove("seconds"), first.remove("seconds");
        QCOMPARE(again, first);
        const auto one = run({"torture", "--seed", "7"});
        QCOMPARE(one.exit_code, 0);
        QVERIFY2(one.out.startsWith("seed 7: ") && one.out.contains("fine: "), one.out);
        const auto json = run({"torture", "--seed", "7", "--json"}).object();
        QVERIFY(json["seed"].toInt() == 7 && json["fault"].toString().isEmpty() && json["redone"].isDouble());
        QCOMPARE(run({"torture", "--seeds", "0"}).exit_code, 2);
    }
};

QTEST_GUILESS_MAIN(TestCommandLine)
#include "test_command_line.moc"
