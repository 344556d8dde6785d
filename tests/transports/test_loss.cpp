// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as processes, one of which dies, is stopped, or says that it cannot go on: the others name it and end.
#include <QProcess>
#include <QTest>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "tests/transports/ranks.h"

using namespace skippipe;
using ranks::everybody_to_everybody;
using ranks::launch_of;

namespace {

constexpr int world = 3;
constexpr double limit_s = 5;  // shorter, and a busy machine kills the living

/// A rank that does nothing but talk to the others until it is told who is lost, says so, and ends all it has.
int rank_main(int rank, int port, const std::string& token) {
    Rendezvous rendezvous(launch_of(rank, world, port, token), 20);
    if (rank == 0) std::printf("port %d\n", rendezvous.port()), std::fflush(stdout);
    GlooTransport* running = nullptr;
    std::mutex mutex;
    const double begin_s = steady_s();
    double lost_at_s = 0;
    rendezvous.watch(
        [&](const Loss& loss) {
            std::printf("lost %d: %s%s\n", loss.rank, loss.how.c_str(),
                        loss.faults.empty() ? "" : (", " + loss.faults.front().what).c_str());
            std::fflush(stdout);
            lost_at_s = steady_s();
            const std::lock_guard lock(mutex);
            if (running) running->abort();
        },
        limit_s);
    const auto schedule = everybody_to_everybody(world, 10);
    GlooTransport transport(rendezvous, schedule);
    {
        const std::lock_guard lock(mutex);
        running = &transport;
    }
    std::printf("ready\n");
    std::fflush(stdout);
    try {
        while (steady_s() - begin_s < 100) {
            transport.begin_iteration([](const RankTransfer&) { return std::size_t{1000}; }, [](Delivery) {});
            for (const auto& transfer : schedule.transfers) {
                const double now_s = transport.now_s();
                if (transfer.from_node == rank) transport.send({transfer, {now_s, now_s, now_s}, Buffer(1000)});
            }
            transport.end_iteration();
            std::vector<float> values(1000, 1.f);
            transport.all_reduce(0, values);
            transport.all_gather({0});
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (std::getenv("FAILS_ON") && std::stoi(std::getenv("FAILS_ON")) == rank && steady_s() - begin_s > 1) {
                rendezvous.report_failed({{"rank", "no memory is left", "", ""}});
                transport.abort();
            }
        }
    } catch (const Aborted&) {
        std::printf("aborted %.3f\n", lost_at_s > 0 ? steady_s() - lost_at_s : 0);
    }
    const std::lock_guard lock(mutex);
    running = nullptr;
    return 0;
}

struct Ranks {
    std::vector<std::unique_ptr<QProcess>> processes;

    explicit Ranks(int fails_on = -1) {
        const auto token = QString::fromStdString(make_token());
        QString port = "0";
        for (int rank = 0; rank < world; ++rank) {
            auto& process = processes.emplace_back(std::make_unique<QProcess>());
            auto environment = QProcessEnvironment::systemEnvironment();
            if (fails_on >= 0) environment.insert("FAILS_ON", QString::number(fails_on));
            process->setProcessEnvironment(environment);
            process->setProcessChannelMode(QProcess::MergedChannels);
            process->start(QCoreApplication::applicationFilePath(), {"as-rank", QString::number(rank), port, token});
            if (rank == 0 && process->waitForReadyRead(60'000))
                port = QString::fromUtf8(process->readLine()).section(' ', 1, 1).trimmed();
        }
    }
    ~Ranks() {
        for (auto& process : processes) {
            ::kill(static_cast<pid_t>(process->processId()), SIGCONT);
            process->kill();
            process->waitForFinished(5000);
        }
    }
    QProcess& operator[](int rank) { return *processes[static_cast<std::size_t>(rank)]; }
    /// Empty once all have met; else what one said instead.
    QString never_met() {
        for (auto& process : processes) {
            QByteArray text = process->readAllStandardOutput();
            while (!text.contains("ready")) {
                if (!process->waitForReadyRead(60'000)) return "a rank never met the others: " + text;
                text += process->readAllStandardOutput();
            }
        }
        return {};
    }
    /// What a rank says until its end; nothing where that does not come.
    QString rest(int rank, int limit_ms) {
        auto& process = (*this)[rank];
        if (process.state() != QProcess::NotRunning && !process.waitForFinished(limit_ms)) return {};
        return QString::fromUtf8(process.readAllStandardOutput());
    }
};

}  // namespace

class TestLoss : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_rank_that_dies_is_named_data() {
        QTest::addColumn<int>("dies");
        QTest::newRow("the store's host") << 0;
        QTest::newRow("another") << 1;
    }
    void a_rank_that_dies_is_named() {
        QFETCH(int, dies);
        Ranks ranks;
        QCOMPARE(ranks.never_met(), QString());
        ::kill(static_cast<pid_t>(ranks[dies].processId()), SIGKILL);
        for (int rank = 0; rank < world; ++rank) {
            if (rank == dies) continue;
            const auto said = ranks.rest(rank, 40'000);
            QVERIFY2(said.contains(QString("lost %1: ").arg(dies)), qPrintable(said));
            QVERIFY2(said.section("aborted ", 1).toDouble() < 1 && said.contains("aborted"), qPrintable(said));
            QCOMPARE(ranks[rank].exitCode(), 0);
        }
    }

    /// SIGSTOP: its connections stay, only its silence tells.
    void a_rank_that_is_stopped_is_named_data() { a_rank_that_dies_is_named_data(); }
    void a_rank_that_is_stopped_is_named() {
        QFETCH(int, dies);
        Ranks ranks;
        QCOMPARE(ranks.never_met(), QString());
        ::kill(static_cast<pid_t>(ranks[dies].processId()), SIGSTOP);
        for (int rank = 0; rank < world; ++rank) {
            if (rank == dies) continue;
            const auto said = ranks.rest(rank, 40'000);
            // Where the store is stopped with its host, who asks it hears nothing at all.
            QVERIFY2(said.contains(QString("lost %1: ").arg(dies)),
                     qPrintable(QString("rank %1: %2").arg(rank).arg(said)));
        }
    }

    /// What a rank said of itself comes before what the others see of it.
    void a_rank_that_fails_says_why() {
        Ranks ranks(2);
        for (int rank = 0; rank < world - 1; ++rank) {
            const auto said = ranks.rest(rank, 60'000);
            QVERIFY2(said.contains("lost 2: it cannot go on, no memory is left"), qPrintable(said));
        }
    }

    void the_store_is_not_asked_too_often() {
        for (const int ranks : {2, 10, 100, 1000, 4000}) {
            const double requests_per_s = 4.0 * ranks / beat_interval_s(ranks);
            QVERIFY2(requests_per_s <= 201, qPrintable(QString::number(requests_per_s)));
        }
        QCOMPARE(beat_interval_s(2), 0.2);
    }
};

int main(int argc, char** argv) {
    if (argc == 5 && std::string(argv[1]) == "as-rank")
        return rank_main(std::atoi(argv[2]), std::atoi(argv[3]), argv[4]);
    QCoreApplication application(argc, argv);
    TestLoss test;
    return QTest::qExec(&test, argc, argv);
}
#include "test_loss.moc"
