// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <ctime>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/record.h"

using namespace skippipe;

namespace {

constexpr std::chrono::seconds patient{60};

/// What this thread worked: other programs on the machine do not count.
double thread_cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

class TestConcurrency : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

private Q_SLOTS:
    /// One recorder writes 200,000 spans while two readers follow row by row and insert commands.
    void readers_follow_while_it_writes() {
        const std::filesystem::path file = folder_.filePath(QStringLiteral("live.sqlite")).toStdString();
        constexpr int iterations = 400, spans_each = 500;
        Recorder recorder{file};
        const RunId id = recorder.begin({.name = "live", .iterations = iterations});
        std::atomic<bool> over = false;
        std::atomic<int> failures = 0, sent = 0;
        std::atomic<bool> followed = false;
        const auto follow = [&](bool commands) {
            try {
                Reader reader{file};
                std::int64_t last = 0, count = 0;
                while (true) {
                    const bool last_look = over;
                    for (const auto& span : reader.spans(id, -1, last)) {
                        if (span.row != last + 1 || span.span.microbatch != static_cast<int>(last % spans_each))
                            ++failures;
                        last = span.row;
                        ++count;
                    }
                    if (!last_look && count > 0) followed = true;
                    if (commands && !last_look) {
                        reader.send_command(id, "ping");
                        ++sent;
                    }
                    if (reader.runs().size() != 1) ++failures;
                    if (last_look) break;
                }
                if (count != iterations * spans_each) ++failures;
            } catch (const std::exception& error) {
                qWarning("%s", error.what());
                ++failures;
            }
        };
        std::thread one{follow, false}, two{follow, true};
        std::size_t taken = 0;
        QElapsedTimer clock;
        clock.start();
        std::vector<Span> spans(spans_each);
        for (int i = 0; i < spans_each; ++i) spans[static_cast<std::size_t>(i)].microbatch = MicrobatchIndex(i);
        for (int iteration = 0; iteration < iterations; ++iteration) {
            // The last tenth waits until somebody has read of the first: they do follow while it writes.
            for (int i = 0; iteration == iterations * 9 / 10 && !followed && failures == 0 && i < 6000; ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds{10});
            recorder.spans(id, iteration, iteration, spans);
            recorder.metric(id, {0, iteration, "loss", 1, 1, 1, 1});
            recorder.iteration_done(id, iteration + 1, 1);
            taken += recorder.take_commands(id).size();
        }
        QVERIFY(recorder.flush(patient));
        const double seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
        over = true;
        one.join();
        two.join();
        QVERIFY(recorder.flush(patient));
        taken += recorder.take_commands(id).size();
        qInfo("%.0f spans/s beside two readers", iterations * spans_each / seconds);
        QCOMPARE(failures.load(), 0);
        QVERIFY(followed);
        QCOMPARE(taken, static_cast<std::size_t>(sent.load()));
    }

    void two_runs_may_share_a_file() {
        const std::filesystem::path file = folder_.filePath(QStringLiteral("two.sqlite")).toStdString();
        std::atomic<int> failures = 0;
        const auto record = [&](const char* name) {
            try {
                Recorder recorder{file};
                const RunId id = recorder.begin({.name = name});
                for (int i = 0; i < 50; ++i) recorder.spans(id, i, 0, std::vector<Span>(400));
                recorder.finish(id, RunState::finished, {.iterations_done = 50}, "{}");
            } catch (const std::exception& error) {
                qWarning("%s", error.what());
                ++failures;
            }
        };
        std::thread one{record, "one"}, two{record, "two"};
        one.join();
        two.join();
        QCOMPARE(failures.load(), 0);
        Reader reader{file};
        const auto runs = reader.runs();
        QCOMPARE(runs.size(), std::size_t{2});
        for (const auto& run : runs) {
            QCOMPARE(run.state, RunState::finished);
            QCOMPARE(reader.spans(run.id).size(), std::size_t{20000});
            QCOMPARE(reader.spans(run.id, 49).size(), std::size_t{400});
        }
    }

    void ten_thousand_runs_are_listed_quickly() {
        const std::filesystem::path file = folder_.filePath(QStringLiteral("many.sqlite")).toStdString();
        {
            Recorder recorder{file};
            recorder.begin({.name = "seed", .experiment_json = std::string(20'000, 'x')});
        }
        {
            SQLite::Database database{file.string(), SQLite::OPEN_READWRITE};
            database.exec(
                "INSERT INTO runs (name, planner, state, seed, started_utc, iterations, pid, pid_namespace, "
                "process_start, boot_id, heartbeat_s) "
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
                "SELECT 'run ' || i, 'gpipe', 'finished', i, '', 20, 1, '', 1, '', 0 FROM n");
        }
        Reader reader{file};
        const double before_s = thread_cpu_s();
        QCOMPARE(reader.runs().size(), std::size_t{10001});
        const double seconds = thread_cpu_s() - before_s;
        qInfo("10,001 runs listed in %.0f ms", seconds * 1e3);
        QVERIFY(seconds < 1);
    }
};

QTEST_APPLESS_MAIN(TestConcurrency)
#include "test_concurrency.moc"
