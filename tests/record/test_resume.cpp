// SPDX-License-Identifier: GPL-3.0-or-later
// A run that goes on: what was recorded after the commit leaves the record, in one step, and nothing else does.
#include <QTemporaryDir>
#include <QTest>

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/checkpoints.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

constexpr int iterations = 6, validated_every = 2, spans_each = 3;

void record(Recorder& recorder, RunId run, int first, int last) {
    for (int i = first; i < last; ++i) {
        std::vector<Span> spans(spans_each, Span{SpanKind::forward, 0, -1, 0, 0, 0, 0.0, 1.0, 0});
        recorder.spans(run, i, 10.0 * i, spans);
        recorder.metric(run, {0, i, "loss", 5.0 - i, 10.0 * (i + 1), 1.0 * i, 100 * (i + 1)});
        recorder.iteration_done(run, i + 1, i + 1.0);
        if ((i + 1) % validated_every == 0)
            recorder.metric(run, {0, i + 1, "validation_loss", 6.0 - i, 10.0 * (i + 1), 1.0 * i, 100 * (i + 1)});
    }
}

std::vector<std::tuple<int, std::string, double>> metrics_of(Reader& reader, RunId run) {
    std::vector<std::tuple<int, std::string, double>> all;
    for (const auto& m : reader.metrics(run)) all.emplace_back(m.iteration, m.name, m.value);
    return all;
}

/// As a window does that does not know yet that the run is over.
void leave_command(const std::filesystem::path& file, RunId run) {
    SQLite::Database database{file.string(), SQLite::OPEN_READWRITE, 10'000};
    SQLite::Statement insert{database,
                             "INSERT INTO commands (run, kind, payload, sent_utc) VALUES (?, 'stop', '{}', '')"};
    insert.bind(1, run);
    insert.exec();
}

}  // namespace

class TestResume : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;
    std::filesystem::path file_;
    RunId run_ = 0;

    /// A run of which all was recorded, ended as `state`.
    void record_run(RunState state) {
        Recorder recorder{file_};
        run_ = recorder.begin({.name = "whole", .planner = "gpipe", .experiment_json = "{}", .iterations = iterations});
        recorder.metric(run_, {0, 0, "validation_loss", 9.0, 0, 0, 0});
        record(recorder, run_, 0, iterations);
        recorder.plan(run_, 1, "{\"plan\": 1}", "drift");
        recorder.plan(run_, 4, "{\"plan\": 4}", "more drift");
        recorder.finish(run_, state, {.iterations_done = iterations, .error = "worker: was killed"}, "{\"end\": 1}");
    }

private Q_SLOTS:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        file_ = folder_->filePath("record.sqlite").toStdString();
    }

    void what_came_after_the_commit_leaves_data() {
        QTest::addColumn<int>("done");
        QTest::addColumn<bool>("validated");
        for (const int done : {0, 3, 4, 6})
            for (const bool validated : {false, true})
                QTest::newRow(qPrintable(QString("%1 %2").arg(done).arg(validated))) << done << validated;
    }
    void what_came_after_the_commit_leaves() {
        QFETCH(int, done);
        QFETCH(bool, validated);
        record_run(RunState::failed);
        Reader reader{file_};
        const auto whole = metrics_of(reader, run_);
        const auto last_metric = reader.metrics(run_).back().row;
        const auto last_span = reader.spans(run_).back().row;
        reader.set_evaluation(run_, {.stages = 3, .losses = {{{}, 2.0}, {{1}, 2.5}}});
        Recorder recorder{file_};
        const auto had = recorder.resume(run_, {done, validated, 1.0 * done});
        auto info = *reader.run(run_);
        QCOMPARE(info.state, RunState::running);
        QCOMPARE(info.iterations_done, done);
        QCOMPARE(info.machine_s, 1.0 * done);
        QVERIFY(info.error.empty() && info.finished_utc.empty() && reader.summary_json(run_).empty());
        QCOMPARE(info.pid, static_cast<std::int64_t>(QCoreApplication::applicationPid()));
        decltype(metrics_of(reader, run_)) expected;
        for (const auto& m : whole) {
            const auto& [iteration, name, value] = m;
            if (name == "loss" ? iteration < done : iteration < done + (validated ? 1 : 0)) expected.push_back(m);
        }
        QVERIFY(metrics_of(reader, run_) == expected);
        QCOMPARE(reader.spans(run_).size(), static_cast<std::size_t>(spans_each * done));
        QCOMPARE(reader.iteration_rows(run_).size(), static_cast<std::size_t>(done));
        QCOMPARE(reader.plan_changes(run_).size(), std::size_t(done > 4 ? 2 : done > 1 ? 1 : 0));
        QCOMPARE(had.first_validation_loss.has_value(), done > 0 || validated);
        QVERIFY2(!reader.evaluation(run_), "it was of weights that the run does not end with");
        QCOMPARE(SQLite::Database{file_.string()}.execAndGet("SELECT count(*) FROM omissions").getInt(), 0);

        // It goes on, and in the end nothing shows that it was interrupted.
        record(recorder, run_, done, iterations);
        QVERIFY(recorder.flush(std::chrono::seconds{10}));
        const auto metrics = reader.metrics(run_);
        for (const auto& m : metrics) QVERIFY(m.row <= last_metric ? m.iteration <= done : m.iteration >= done);
        if (validated || done % validated_every != 0) QCOMPARE(metrics.size(), whole.size());
        for (const auto& span : reader.spans(run_)) QCOMPARE(span.row > last_span, span.iteration >= done);
        recorder.finish(run_, RunState::finished, {.iterations_done = iterations}, "{}");
        info = *reader.run(run_);
        QCOMPARE(info.state, RunState::finished);
        QCOMPARE(info.iterations_done, iterations);
    }

    /// In the transaction that takes the run up: a reader sees all of it or nothing.
    void a_run_that_goes_on_may_be_extended() {
        record_run(RunState::finished);
        Recorder recorder(file_);
        recorder.resume(run_, {6, true, 6}, RunExtension{40, "{\"longer\": 40}"});
        Reader reader{file_};
        QCOMPARE(reader.run(run_)->iterations, 40);
        QCOMPARE(reader.experiment_json(run_), std::string("{\"longer\": 40}"));
        recorder.extend(run_, {50, "{\"longer\": 50}"});
        QVERIFY(recorder.flush(std::chrono::seconds{10}));
        QCOMPARE(reader.run(run_)->iterations, 50);
        QCOMPARE(reader.experiment_json(run_), std::string("{\"longer\": 50}"));
        recorder.finish(run_, RunState::finished, {}, "{}");
    }

    void what_cannot_go_on_is_left_as_it_is() {
        record_run(RunState::stopped);
        Reader reader{file_};
        const auto whole = metrics_of(reader, run_);
        reader.set_evaluation(run_, {.stages = 3, .losses = {{{}, 2.0}}});
        {
            Recorder recorder{file_};
            QVERIFY_THROWS_EXCEPTION(InputError, recorder.resume(run_ + 1, {2, false, 0}));
            QVERIFY_THROWS_EXCEPTION(InputError, recorder.resume(run_, {iterations + 1, false, 0}));
            QCOMPARE(reader.run(run_)->state, RunState::stopped);
            QVERIFY(metrics_of(reader, run_) == whole);
            QVERIFY(reader.evaluation(run_).has_value());
            recorder.resume(run_, {2, true, 2});
            // One program at a time.
            Recorder other{file_};
            QVERIFY_THROWS_EXCEPTION(InputError, other.resume(run_, {1, false, 1}));
            QCOMPARE(reader.run(run_)->iterations_done, 2);
        }
        QCOMPARE(reader.run(run_)->state, RunState::died);
    }

    /// What was told to the process that is gone, nobody obeys.
    void commands_of_before_are_not_obeyed() {
        std::optional<Recorder> recorder(std::in_place, file_);
        run_ = recorder->begin({.name = "told", .iterations = 5});
        record(*recorder, run_, 0, 4);
        Reader reader{file_};
        recorder.reset();  // died; a command came just before
        QVERIFY(reader.run(run_)->state == RunState::died);
        leave_command(file_, run_);
        recorder.emplace(file_);
        recorder->resume(run_, {2, true, 2});
        recorder->flush(std::chrono::seconds{10});
        QVERIFY(recorder->take_commands(run_).empty());
        reader.send_command(run_, "stop");
        std::size_t got = 0;
        QTRY_VERIFY((got += recorder->take_commands(run_).size()) == 1);
    }

    void a_commit_waits_for_what_was_recorded() {
        Recorder recorder{file_};
        run_ = recorder.begin({.name = "committed", .iterations = iterations});
        record(recorder, run_, 0, iterations);
        QVERIFY(recorder.commit(run_, std::chrono::seconds{10}));
        Reader reader{file_};
        QCOMPARE(reader.run(run_)->iterations_done, iterations);
        QCOMPARE(reader.spans(run_).size(), static_cast<std::size_t>(spans_each * iterations));
    }

    /// Of two connections of one program the one that is opened later must not cost the other its locks: a third, of
    /// another program, would think itself the last and take the log away.
    void several_connections_of_a_program_keep_their_locks() {
        Recorder recorder{file_};
        run_ = recorder.begin({.name = "locked", .iterations = iterations});
        record(recorder, run_, 0, 2);
        QVERIFY(recorder.flush(std::chrono::seconds{10}));
        Reader{file_}.run(run_);
        const pid_t child = ::fork();
        if (child == 0) {
            ::execl("/proc/self/exe", "reader", "read", file_.c_str(), static_cast<char*>(nullptr));
            ::_exit(9);
        }
        int status = 0;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QCOMPARE(WEXITSTATUS(status), 2);
        QVERIFY2(std::filesystem::exists(file_.string() + "-wal"), "it was taken from under the recorder");
        record(recorder, run_, 2, 4);
        QVERIFY(recorder.flush(std::chrono::seconds{10}));
        QCOMPARE(Reader{file_}.run(run_)->iterations_done, 4);
    }

    void checkpoints_are_listed_pruned_and_removed_with_their_run() {
        record_run(RunState::failed);
        const auto make = [&](const std::string& name, bool whole) {
            const auto folder = checkpoints_path(file_, run_) / name;
            std::filesystem::create_directories(folder);
            std::ofstream{folder / "stage-0.safetensors"} << "x";
            if (whole) std::ofstream{folder / checkpoint_manifest} << "{}";
        };
        for (const int done : {5, 40, 1'000'000}) make(checkpoint_name(done), true);
        make(checkpoint_name(50), false);
        make("iteration-5x", true);
        const auto numbers = [&] {
            std::vector<int> found;
            for (const auto& one : list_checkpoints(file_, run_)) found.push_back(one.iterations_done);
            return found;
        };
        QCOMPARE(numbers(), (std::vector{1'000'000, 40, 5}));
        prune_checkpoints(file_, run_, 40, 2);
        QCOMPARE(numbers(), (std::vector{40, 5}));
        prune_checkpoints(file_, run_, 40, 1);
        QCOMPARE(numbers(), (std::vector{40}));
        QVERIFY(checkpoints_path(file_, run_) != checkpoints_path(folder_->filePath("b.sqlite").toStdString(), run_));
        Reader{file_}.remove(run_);
        QVERIFY(!std::filesystem::exists(checkpoints_path(file_, run_)));
    }
};

int main(int argc, char** argv) {
    // As another program: how many iterations the only run has.
    if (argc == 3 && argv[1] == std::string("read")) return Reader{argv[2]}.runs().front().iterations_done;
    QCoreApplication application(argc, argv);
    TestResume test;
    return QTest::qExec(&test, argc, argv);
}

#include "test_resume.moc"
