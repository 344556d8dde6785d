// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QThread>
#include <QtTest>
#include <chrono>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/base/fault.h"
#include "core/record/process.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

/// Writes spans as fast as it can until it is killed. The pipe says when the first are in the record.
[[noreturn]] void write_for_ever(const std::filesystem::path& file, int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlives the test
    try {
        Recorder recorder{file};
        const RunId id = recorder.begin({.name = "doomed", .iterations = 1 << 30});
        for (int iteration = 0;; ++iteration) {
            recorder.spans(id, iteration, iteration, std::vector<Span>(200));
            recorder.iteration_done(id, iteration + 1, 0.1);
            if (iteration != 50) continue;
            if (!recorder.flush(std::chrono::minutes(1)) || write(ready, "x", 1) != 1) _exit(2);
        }
    } catch (...) {
        _exit(1);
    }
}

}  // namespace

class TestLiveness : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    int files_ = 0;
    std::filesystem::path fresh() { return folder_.filePath(QStringLiteral("l%1.sqlite").arg(++files_)).toStdString(); }

    /// A living run whose row is changed with this SQL.
    RunInfo run_after(const std::string& change) {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin({});
        SQLite::Database{file.string(), SQLite::OPEN_READWRITE}.exec(change);
        return *Reader{file}.run(id);
    }

private Q_SLOTS:
    void a_killed_writer_leaves_a_readable_record() {
        const auto file = fresh();
        int pipe_ends[2];
        QCOMPARE(pipe(pipe_ends), 0);
        const pid_t child = fork();
        if (child == 0) write_for_ever(file, pipe_ends[1]);
        close(pipe_ends[1]);
        char byte = 0;
        const bool started = read(pipe_ends[0], &byte, 1) == 1;
        close(pipe_ends[0]);
        if (started) QCOMPARE(Reader{file}.runs().front().state, RunState::running);
        kill(child, SIGKILL);
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // dead, but a zombie still
        Reader reader{file};
        const auto zombie = reader.runs();
        int status = 0;
        QCOMPARE(waitpid(child, &status, 0), child);
        QVERIFY(started);
        QVERIFY(WIFSIGNALED(status));
        QCOMPARE(zombie.front().state, RunState::died);
        const auto run = reader.runs().front();
        QCOMPARE(run.state, RunState::died);
        QVERIFY(!run.error.empty());
        QVERIFY(run.iterations_done >= 1);
        const auto spans = reader.spans(run.id);
        QVERIFY(spans.size() >= 200);
        QCOMPARE(spans.size() % 200, std::size_t{0});  // whole batches
        SQLite::Database database{file.string()};
        QCOMPARE(database.execAndGet("PRAGMA integrity_check").getString(), std::string{"ok"});
        QCOMPARE(database.execAndGet("SELECT state FROM runs").getString(), std::string{"running"});
        QCOMPARE(reader.sweep_dead(), 1);
        QCOMPARE(database.execAndGet("SELECT state FROM runs").getString(), std::string{"died"});
        QCOMPARE(reader.sweep_dead(), 0);
        QVERIFY(!reader.runs().front().finished_utc.empty());
        QVERIFY_EXCEPTION_THROWN(reader.send_command(run.id, "stop"), InputError);
        reader.remove(run.id);
        QVERIFY(reader.runs().empty());
    }

    void the_living_are_left_alone() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin({});
        SQLite::Database{file.string(), SQLite::OPEN_READWRITE}.exec(
            "UPDATE runs SET heartbeat_s = 0");  // long silence, same process
        Reader reader{file};
        QCOMPARE(reader.sweep_dead(), 0);
        QCOMPARE(reader.run(id)->state, RunState::running);
        QVERIFY2(reader.run(id)->silent, "what gives no sign of life is told as silent");
        QCOMPARE(reader.run(id)->heartbeat_s, 0.0);
        recorder.heartbeat(id);
        recorder.iteration_done(id, 1, 0);
        QVERIFY(recorder.flush(std::chrono::seconds{10}));
        QVERIFY(!reader.run(id)->silent);
    }

    void another_boot_or_process_is_dead() {
        QCOMPARE(run_after("UPDATE runs SET boot_id = 'another'").state, RunState::died);
        QCOMPARE(run_after("UPDATE runs SET process_start = process_start - 1").state,
                 RunState::died);  // the pid was reused
        QCOMPARE(run_after("UPDATE runs SET pid = 99999999").state, RunState::died);
        QCOMPARE(run_after("UPDATE runs SET name = 'same'").state, RunState::running);
    }

    void another_container_is_judged_by_its_heartbeat() {
        QCOMPARE(run_after("UPDATE runs SET pid_namespace = 'pid:[1]', pid = 99999999").state, RunState::running);
        QCOMPARE(run_after("UPDATE runs SET pid_namespace = 'pid:[1]', heartbeat_s = heartbeat_s - 31").state,
                 RunState::died);
    }

    void processes_are_told_apart() {
        const auto self = record::this_process();
        QCOMPARE(self.pid, static_cast<std::int64_t>(getpid()));
        QVERIFY(self.process_start > 0);
        QVERIFY(!self.boot_id.empty());
        QVERIFY(record::start_of_process(getppid()));
        QVERIFY(!record::start_of_process(99999999));
        QVERIFY(record::is_alive(self, self, 1e9));
    }

    void heartbeats_are_written_at_most_once_a_second() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin({});
        SQLite::Database database{file.string()};
        database.setBusyTimeout(10'000);
        std::vector<double> beats{database.execAndGet("SELECT heartbeat_s FROM runs").getDouble()};
        QElapsedTimer clock;
        clock.start();
        while (beats.size() < 4 && clock.elapsed() < 60'000) {
            recorder.heartbeat(id);
            const double now = database.execAndGet("SELECT heartbeat_s FROM runs").getDouble();
            if (now != beats.back()) beats.push_back(now);
            QThread::msleep(1);
        }
        QCOMPARE(beats.size(), std::size_t{4});
        // A beat is written up to a quarter of a second after it was given, and the clock of the day may be set.
        QVERIFY2(beats[3] - beats[0] > 2, "three beats take three seconds, less what writing the first took");
    }
};

QTEST_APPLESS_MAIN(TestLiveness)
#include "test_liveness.moc"
