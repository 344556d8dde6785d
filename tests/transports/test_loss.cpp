// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as processes, one of which dies, is stopped, or says that it cannot go on: the others name it and end.
#include <QProcess>
#include <QTest>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "tests/transports/ranks.h"

using namespace skippipe;
using ranks::everybody_to_everybody;
using ranks::launch_of;

namespace {

constexpr int world = 3;
constexpr double limit_s = 5;  // shorter, and a busy machine kills the living

/// One iteration, and the sum of everybody's ones; where nothing carries messages, what ranks say beside them.
std::vector<float> iterate(RankTransport& transport, const RankSchedule& schedule, bool carries) {
    transport.begin_iteration([](const RankTransfer&) { return std::size_t{1000}; }, [](Delivery) {});
    for (const auto& transfer : schedule.transfers) {
        const double now_s = transport.now_s();
        if (carries && transfer.from_node == transport.rank())
            transport.send({transfer, {now_s, now_s, now_s}, Buffer(1000)});
    }
    transport.end_iteration();
    std::vector<float> values(1000, 1.f);
    if (carries) {
        transport.all_reduce(0, values);
        return values;
    }
    const auto of_ranks = transport.gather_stage(0, {1});
    return std::vector<float>(1000, static_cast<float>(of_ranks.size()));
}

/// A rank that does nothing but talk to the others until it is told who is lost, says so, and ends all it has.
int rank_main(int rank, int port, const std::string& token) {
    Rendezvous rendezvous(launch_of(rank, world, port, token), 20);
    if (rank == 0) std::printf("port %d\n", rendezvous.port()), std::fflush(stdout);
    RankTransport* running = nullptr;
    std::mutex mutex;
    const double begin_s = steady_s();
    double lost_at_s = 0;
    rendezvous.watch(
        [&](const LostRank& loss) {
            std::printf("lost %d: %s%s\n", loss.rank, loss.how.c_str(),
                        loss.faults.empty() ? "" : (", " + loss.faults.front().what).c_str());
            std::fflush(stdout);
            lost_at_s = steady_s();
            const std::lock_guard lock(mutex);
            if (running) running->abort();
        },
        limit_s);
    const auto schedule = everybody_to_everybody(world, 10);
    ControlTransport control(rendezvous);
    control.follow(schedule);
    const auto carrier = ranks::carrier_beside(control, schedule);
    RankTransport& transport = carrier ? *carrier : control;
    {
        const std::lock_guard lock(mutex);
        running = &transport;
    }
    std::printf("ready\n");
    std::fflush(stdout);
    try {
        while (steady_s() - begin_s < 100) {
            iterate(transport, schedule, carrier != nullptr);
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

/// A rank that goes on with whoever is left, and says after each meeting with whom.
int surviving_rank_main(int rank, int port, const std::string& token) {
    Rendezvous rendezvous(launch_of(rank, world, port, token), 20);
    if (rank == 0) std::printf("port %d\n", rendezvous.port()), std::fflush(stdout);
    std::atomic<ControlTransport*> running = nullptr;
    rendezvous.watch(
        [&](const LostRank& loss) {
            auto* control = running.load();
            if (!control || !control->lose(loss)) std::_Exit(7);
        },
        limit_s);
    const auto everybody = everybody_to_everybody(world, 10);
    ControlTransport control(rendezvous);
    running = &control;
    if (!rendezvous.came_back()) control.follow(everybody);
    const auto carrier = ranks::carrier_beside(control, everybody);
    RankTransport& transport = carrier ? *carrier : control;
    transport.outlive_losses(true);
    std::printf("ready\n"), std::fflush(stdout);
    auto schedule = everybody;
    const double begin_s = steady_s();
    for (int round = 0; steady_s() - begin_s < 100;) try {
            if (transport.must_regroup() ||
                (round > 0 && transport.broadcast(transport.somebody_waits() ? "meet" : "") == "meet")) {
                const auto met = transport.regroup();
                schedule = everybody;
                std::erase_if(schedule.plan.stages[0], [&](NodeIndex n) {
                    return std::find(met.members.begin(), met.members.end(), int{n}) == met.members.end();
                });
                std::erase_if(schedule.transfers, [&](const RankTransfer& t) {
                    const auto& there = schedule.plan.stages[0];
                    return std::find(there.begin(), there.end(), t.from_node) == there.end() ||
                           std::find(there.begin(), there.end(), t.to_node) == there.end();
                });
                transport.follow(schedule);
                std::string names;
                for (const int member : met.members) names += " " + std::to_string(member);
                std::printf("met%s\n", names.c_str()), std::fflush(stdout);
                round = 1;
            }
            const auto there = transport.members().size();
            if (iterate(transport, schedule, carrier != nullptr) != std::vector<float>(1000, static_cast<float>(there)))
                return std::printf("a wrong sum\n"), 1;
            std::size_t gave = 0;
            for (const auto& of_rank : transport.all_gather({1})) gave += of_rank == std::vector<double>{1} ? 1 : 0;
            if (gave != there) return std::printf("%zu ranks gave\n", gave), 1;
            if (++round == 20) std::printf("works\n"), std::fflush(stdout);
        } catch (const std::exception& error) {
            if (!transport.must_regroup()) return std::printf("failed: %s\n", error.what()), 1;
        }
    return 0;
}

struct Ranks {
    std::vector<std::unique_ptr<QProcess>> processes;

    QString token = QString::fromStdString(make_token()), port = "0", kind;

    explicit Ranks(int fails_on = -1, const QString& role = "as-rank") : kind(role) {
        for (int rank = 0; rank < world; ++rank) {
            processes.push_back(start(rank, fails_on));
            if (auto& process = *processes.back(); rank == 0 && process.waitForReadyRead(60'000))
                port = QString::fromUtf8(process.readLine()).section(' ', 1, 1).trimmed();
        }
    }
    std::unique_ptr<QProcess> start(int rank, int fails_on = -1) const {
        auto process = std::make_unique<QProcess>();
        auto environment = QProcessEnvironment::systemEnvironment();
        if (fails_on >= 0) environment.insert("FAILS_ON", QString::number(fails_on));
        process->setProcessEnvironment(environment);
        process->setProcessChannelMode(QProcess::MergedChannels);
        process->start(QCoreApplication::applicationFilePath(), {kind, QString::number(rank), port, token});
        return process;
    }
    /// Whether a rank says so within the limit.
    bool says(int rank, const QByteArray& words, int limit_ms) {
        auto& process = (*this)[rank];
        QElapsedTimer timer;
        timer.start();
        auto& text = said[rank];
        while (!text.contains(words) && timer.elapsed() < limit_ms) {
            process.waitForReadyRead(100);
            text += process.readAllStandardOutput();
        }
        return text.contains(words);
    }
    std::map<int, QByteArray> said;
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

    /// Whoever writes to one that is gone hears of it by the call, and lives.
    void writing_to_who_is_gone_kills_nobody() {
        Ranks ranks;
        QCOMPARE(ranks.never_met(), QString());
        for (auto& process : ranks.processes) ::kill(static_cast<pid_t>(process->processId()), SIGPIPE);
        for (auto& process : ranks.processes) QVERIFY(!process->waitForFinished(200));
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
            QVERIFY2(said.contains("lost 2: it cannot go on, no memory is left"),
                     qPrintable(QString("rank %1, exit %2: %3").arg(rank).arg(ranks[rank].exitCode()).arg(said)));
        }
    }

    /// Killed or stopped: the others agree on who is left, and work; it comes back as another process, and works.
    void the_others_meet_without_it_data() {
        QTest::addColumn<int>("signal");
        QTest::newRow("killed") << SIGKILL;
        QTest::newRow("stopped") << SIGSTOP;
    }
    void the_others_meet_without_it() {
        QFETCH(int, signal);
        Ranks ranks(-1, "as-survivor");
        QCOMPARE(ranks.never_met(), QString());
        ::kill(static_cast<pid_t>(ranks[1].processId()), signal);
        for (const int rank : {0, 2}) {
            QVERIFY2(ranks.says(rank, "met 0 2\nworks", 40'000), ranks.said[rank]);
            ranks.said[rank].clear();
        }
        ranks[1].kill();
        ranks[1].waitForFinished(5000);
        ranks.processes[1] = ranks.start(1);
        for (int rank = 0; rank < world; ++rank)
            QVERIFY2(ranks.says(rank, "met 0 1 2\nworks", 40'000), ranks.said[rank]);
    }

    /// One that was only stopped hears that it was given up, and ends.
    void who_was_given_up_ends() {
        Ranks ranks(-1, "as-survivor");
        QCOMPARE(ranks.never_met(), QString());
        ::kill(static_cast<pid_t>(ranks[2].processId()), SIGSTOP);
        QVERIFY2(ranks.says(0, "met 0 1\nworks", 40'000), ranks.said[0]);
        ::kill(static_cast<pid_t>(ranks[2].processId()), SIGCONT);
        QVERIFY(ranks[2].waitForFinished(20'000));
        QCOMPARE(ranks[2].exitCode(), 7);
        QVERIFY2(ranks.says(1, "met 0 1\nworks", 40'000), ranks.said[1]);
    }

    /// Both others, one after the other: who is left alone works alone.
    void one_is_left() {
        Ranks ranks(-1, "as-survivor");
        QCOMPARE(ranks.never_met(), QString());
        for (const int rank : {1, 2}) ::kill(static_cast<pid_t>(ranks[rank].processId()), SIGKILL);
        QVERIFY2(ranks.says(0, "met 0\nworks", 60'000), ranks.said[0]);
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
    if (argc == 5 && std::string(argv[1]) == "as-survivor")
        return surviving_rank_main(std::atoi(argv[2]), std::atoi(argv[3]), argv[4]);
    QCoreApplication application(argc, argv);
    TestLoss test;
    return QTest::qExec(&test, argc, argv);
}
#include "test_loss.moc"
