// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/record.h"

using namespace skippipe;

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
        std::atomic<int> failures = 0, sent = 0, before_the_end = 0;
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
                    if (!last_look && count > 0) before_the_end = 1;
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
        for (int i = 0; i < spans_each; ++i) spans[static_cast<std::size_t>(i)].microbatch = i;
        for (int iteration = 0; iteration < iterations; ++iteration) {
            recorder.spans(id, iteration, iteration, spans);
            recorder.metric(id, {0, iteration, "loss", 1, 1, 1, 1});
            recorder.iteration_done(id, iteration + 1, 1);
            taken += recorder.take_commands(id).size();
        }
        recorder.flush();
        const double seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
        over = true;
        one.join();
        two.join();
        taken += recorder.take_commands(id).size();
        qInfo("%.0f spans/s beside two readers", iterations * spans_each / seconds);
        QCOMPARE(failures.load(), 0);
        QCOMPARE(taken, static_cast<std::size_t>(sent.load()));
        QVERIFY(before_the_end);
        QVERIFY2(seconds < 20, "10,000 spans/s are a fifth of the target");
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
        QElapsedTimer clock;
        clock.start();
        QCOMPARE(reader.runs().size(), std::size_t{10001});
        qInfo("10,001 runs listed in %lld ms", clock.elapsed());
        QVERIFY(clock.elapsed() < 1000);
    }
};

QTEST_APPLESS_MAIN(TestConcurrency)
#include "test_concurrency.moc"
