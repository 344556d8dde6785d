// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe sweep`, and what is made of its runs: `worth`, `report`, `export --format plan`.
#include "tests/app/launched.h"

#include <QFile>

#include <set>

#include "core/record/schema.h"

using namespace launched;
using namespace skippipe;

namespace {

constexpr int patient_ms = 120'000;

}  // namespace

class TestSweepVerb : public QObject {
    Q_OBJECT
    Scene scene_;
    QString file_;

    QStringList sweep(const QStringList& more = {}, int seeds = 2) const {
        return QStringList{"sweep",   file_,
                           "--vary",  "pipeline.skip_ratio=0,0.33",
                           "--seeds", QString::number(seeds),
                           "--jobs",  "2",
                           "--name",  "skips"} +
               more;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
        file_ = scene_.tiny(QStringLiteral("tiny.json"), {}, 4);
    }

    void every_point_is_trained_once() {
        const auto listed = scene_.call(sweep({"--dry-run"}));
        QVERIFY2(listed.code == 0 && listed.text.contains("pipeline.skip_ratio 0.33, seed 6"), listed.text);
        QVERIFY(!scene_.last_run());
        const auto done = scene_.call(sweep({"--json"}));
        QVERIFY2(done.code == 0, done.text);
        const auto points = done.object()["points"].toArray();
        QCOMPARE(points.size(), 4);
        std::set<int> runs;
        for (const auto& one : points) {
            const auto point = one.toObject();
            QCOMPARE(point["state"].toString(), QString("finished"));
            QVERIFY(point["last_validation_loss"].toDouble() > 0);
            runs.insert(point["run"].toInt());
        }
        QCOMPARE(runs.size(), 4U);
        QCOMPARE(scene_.last_run()->tags, std::vector<std::string>{"skips"});
        QCOMPARE(scene_.last_run()->id, 4);
        const auto again = scene_.call(sweep());  // nothing is left to do
        QVERIFY2(again.code == 0 && again.text.contains("4 points, 4 of them in the record"), again.text);
        QVERIFY2(again.text.contains("2/2") && again.text.contains("±") && again.text.contains("yes"), again.text);
        QCOMPARE(scene_.last_run()->id, 4);
        // Another name is theirs, too.
        const auto named =
            scene_.call({"sweep", file_, "--vary", "pipeline.skip_ratio=0,0.33", "--seeds", "2", "--name", "again"});
        QVERIFY2(named.code == 0, named.text);
        QCOMPARE(scene_.last_run()->tags, (std::vector<std::string>{"again", "skips"}));
        const auto more = scene_.call(sweep({}, 3));
        QVERIFY2(more.code == 0 && more.text.contains("6 points, 4 of them in the record"), more.text);
        QCOMPARE(scene_.last_run()->id, 6);
    }

    void a_wrong_point_stops_before_anything_starts() {
        const auto wrong = scene_.call({"sweep", file_, "--vary", "pipeline.skip_ratio=0,7"});
        QCOMPARE(wrong.code, 2);
        QVERIFY2(wrong.text.contains("with pipeline.skip_ratio 7"), wrong.text);
    }

    void the_skip_is_worth_what_the_runs_say() {
        const auto told = scene_.call({"worth", file_, "1", "2", "3", "4", "--json"});
        QVERIFY2(told.code == 0, told.text);
        const auto rows = told.object()["rows"].toArray();
        QCOMPARE(rows.size(), 2);
        QCOMPARE(rows[0]["skip_ratio"].toDouble(), 0.0);
        QCOMPARE(rows[0]["runs"].toInt(), 2);
        const auto product = rows[1]["iteration_seconds"].toDouble() * rows[1]["iterations"]["mean"].toDouble();
        QVERIFY(product > 0 && std::abs(rows[1]["network_seconds"]["mean"].toDouble() / product - 1) < 1e-9);
        QVERIFY(rows[1]["iteration_seconds"].toDouble() < rows[0]["iteration_seconds"].toDouble());
        const auto words = scene_.call({"worth", file_, "1", "2", "3", "4", "--node-hour", "0.5"});
        QVERIFY2(words.code == 0 && words.text.contains("money") && words.text.contains(" to "), words.text);
    }

    /// A planner that skips nothing trains at skip ratio 0, whatever its experiment says.
    void the_worth_of_a_full_pipeline_is_that_of_no_skip() {
        const auto trained =
            scene_.call({"sweep", file_, "--vary", "pipeline.planner=gpipe", "--vary", "pipeline.skip_ratio=0.33"});
        QVERIFY2(trained.code == 0, trained.text);
        const auto run = QString::number(scene_.last_run()->id);
        const auto rows = scene_.call({"worth", file_, "1", run, "3", "--json"}).object()["rows"].toArray();
        QCOMPARE(rows.size(), 2);
        QCOMPARE(rows[0]["skip_ratio"].toDouble(), 0.0);
        QCOMPARE(rows[0]["runs"].toInt() + rows[1]["runs"].toInt(), 3);
        const auto alone = scene_.call({"worth", file_, run, "--json"}).object()["rows"].toArray();
        QCOMPARE(alone.size(), 1);
        QCOMPARE(alone[0]["skip_ratio"].toDouble(), 0.0);
    }

    void a_report_is_written() {
        const auto page = scene_.path(QStringLiteral("page.html"));
        const auto told = scene_.call({"report", "1", "3", "-o", page, "--question", "Does it pay?"});
        QVERIFY2(told.code == 0, told.text);
        QFile file(page);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto text = file.readAll();
        for (const char* part : {"Does it pay?", "Skip ratio", "<polyline", "Timelines of one iteration",
                                 "skippipe export 3 --format plan"})
            QVERIFY2(text.contains(part), part);
        const auto pdf = scene_.call({"report", "1", "latest", "-o", "x.pdf"});
        QCOMPARE(pdf.code, 2);
        const auto command = QString("skippipe-studio --report x.pdf --runs 1,%1 --db %2")
                                 .arg(scene_.last_run()->id)
                                 .arg(scene_.record());
        QVERIFY2(pdf.text.contains(command.toUtf8()), pdf.text);
    }

    void a_run_repeats_from_its_plan() {
        const auto plan = scene_.path(QStringLiteral("run-3.json"));
        const auto written = scene_.call({"export", "3", "--format", "plan", "-o", plan});
        QVERIFY2(written.code == 0, written.text);
        const auto before = scene_.losses(3);
        const auto again = scene_.call({"run", plan});
        QVERIFY2(again.code == 0, again.text);
        QVERIFY(!before.empty());
        QVERIFY(scene_.losses(scene_.last_run()->id) == before);  // to the bit
    }

    /// Paths are frozen as absolute ones: a run's plan works in another folder, and a sweep knows runs of the document.
    void a_run_means_the_same_from_elsewhere() {
        QVERIFY(QDir(scene_.path({})).mkdir("elsewhere"));
        const auto plan = scene_.path(QStringLiteral("elsewhere/run.json"));
        const auto trained = scene_.call({"run", file_});
        QVERIFY2(trained.code == 0, trained.text);
        const auto run = scene_.last_run()->id;
        QCOMPARE(scene_.call({"export", QString::number(run), "--format", "plan", "-o", plan}).code, 0);
        const auto again = scene_.call({"run", plan});
        QVERIFY2(again.code == 0, again.text);
        QVERIFY(scene_.losses(scene_.last_run()->id) == scene_.losses(run));
        const auto known = scene_.call({"sweep", file_, "--vary",
                                        "data.path=../" + QDir(scene_.path({})).dirName() + "/corpus.txt,missing.txt",
                                        "--dry-run", "--json"});
        QVERIFY2(known.code == 0, known.text);
        const auto points = known.object()["points"].toArray();
        QCOMPARE(points[0].toObject()["run"].toInt(), static_cast<int>(scene_.last_run()->id));
        QCOMPARE(points[1].toObject()["state"].toString(), QString("waiting"));
    }

    /// Whoever stops a run of a sweep from elsewhere has no point of it: `run` itself ends well then.
    void a_stopped_run_is_no_point() {
        const auto endless = scene_.tiny(QStringLiteral("endless.json"), {{"compute", "cost"}}, 1'000'000);
        const QStringList arguments{"sweep", endless, "--vary", "training.learning_rate=0.001"};
        auto sweep = scene_.start(program, arguments + QStringList{"--db", scene_.record()});
        QVERIFY(wait_until(
            [&] {
                const auto run = scene_.last_run();
                return run && run->iterations == 1'000'000 && run->iterations_done > 0;
            },
            patient_ms));
        const auto run = QString::number(scene_.last_run()->id);
        QCOMPARE(scene_.call({"stop", run}).code, 0);
        QVERIFY(sweep.ended(patient_ms));
        const auto text = sweep.text();
        QVERIFY2(sweep.exit_code() == 1, text);
        QVERIFY2(text.contains("0/1") && text.contains("Not all points are done"), text);
        QVERIFY2(text.contains("run " + run.toUtf8() + " was stopped after"), text);
        QVERIFY(scene_.call(arguments + QStringList{"--dry-run"}).text.contains("0/1"));
    }

    void a_point_whose_checkpoints_cannot_be_used_is_begun_anew() {
        const QStringList arguments{"sweep", file_, "--vary", "training.checkpoint_every=1"};
        QCOMPARE(scene_.call(arguments).code, 0);
        const auto first = scene_.last_run()->id;
        {
            auto database = record::open(scene_.record().toStdString(), record::OpenMode::existing);
            database.exec("UPDATE runs SET state = 'stopped', iterations_done = 0 WHERE id = " + std::to_string(first));
        }
        const auto again = scene_.call(arguments);
        QVERIFY2(again.code == 0 && again.text.contains("begun anew"), again.text);
        QVERIFY(scene_.last_run()->id != first);
    }

    /// A run that lost a node which its document does not lose is another network's.
    void a_run_with_nodes_failed_by_hand_is_no_point() {
        const QStringList arguments{"sweep", file_, "--vary", "seed=77", "--dry-run"};
        QCOMPARE(scene_.call({"run", file_, "--seed", "77"}).code, 0);
        QVERIFY(scene_.call(arguments).text.contains("1 points, 1 of them"));
        const auto run = std::to_string(scene_.last_run()->id);
        auto database = record::open(scene_.record().toStdString(), record::OpenMode::existing);
        database.exec("INSERT INTO events (run, row, iteration, network_s, kind, what) VALUES (" + run +
                      ", 9000, 1, 0.5, 'lost', 'a lost')");
        QVERIFY(scene_.call(arguments).text.contains("1 points, 0 of them"));
    }

    void a_field_that_cannot_be_is_refused_in_words() {
        const auto told = scene_.call({"sweep", file_, "--vary", "pipeline.skip~=1..2", "--draws", "2"});
        QCOMPARE(told.code, 2);
        QVERIFY2(told.text.contains("\"pipeline.skip~\" is no field's name") && !told.text.contains("json"), told.text);
    }
};

QTEST_GUILESS_MAIN(TestSweepVerb)
#include "test_sweep.moc"
