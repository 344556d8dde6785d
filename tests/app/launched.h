// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks started as people start them, for tests: processes that are all found again, and what they left in the record.
#pragma once
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QUuid>

#include <cmath>
#include <csignal>
#include <functional>
#include <memory>

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/record/record.h"

namespace launched {

inline const QString program = QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe");

/// Why nothing can be trained here; empty where it can.
inline QString no_worker() {
    return QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))
               ? QString()
               : QStringLiteral("skippipe-worker is not built");
}

inline bool wait_until(const std::function<bool()>& done, int limit_ms) {
    for (QElapsedTimer timer =
             [] {
                 QElapsedTimer t;
                 t.start();
                 return t;
             }();
         !done(); QTest::qWait(20))
        if (timer.elapsed() > limit_ms) return false;
    return true;
}

/// A TCP port that is free at loopback now. `more` stay different from each other.
inline std::vector<int> free_ports(std::size_t count) {
    std::vector<int> sockets, ports;
    for (std::size_t i = 0; i < count; ++i) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        sockets.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::bind(sockets.back(), reinterpret_cast<sockaddr*>(&address), size) == 0)
            ::getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&address), &size);
        ports.push_back(ntohs(address.sin_port));
    }
    for (const int socket : sockets) ::close(socket);
    return ports;
}

/// What torchrun tells a process of its rank.
inline QStringList torchrun_variables(int rank, int world, int port) {
    const auto text = [](const char* name, int value) { return QString("%1=%2").arg(name).arg(value); };
    return {text("RANK", rank),       text("WORLD_SIZE", world),
            text("LOCAL_RANK", rank), text("LOCAL_WORLD_SIZE", world),
            "MASTER_ADDR=127.0.0.1",  text("MASTER_PORT", port)};
}

/// What one program did.
struct Process {
    std::unique_ptr<QProcess> process = std::make_unique<QProcess>();
    Process() = default;
    Process(Process&&) = default;
    Process& operator=(Process&&) = default;
    ~Process() {
        if (!process || process->state() == QProcess::NotRunning) return;
        process->kill();
        process->waitForFinished(5000);
    }
    /// False where it had to be killed.
    bool ended(int limit_ms) {
        if (process->waitForFinished(limit_ms) || process->state() == QProcess::NotRunning) return true;
        process->kill();
        process->waitForFinished(5000);
        return false;
    }
    int exit_code() const { return process->exitStatus() == QProcess::NormalExit ? process->exitCode() : -1; }
    QByteArray text() {
        text_ += process->readAll();
        return text_;
    }

private:
    QByteArray text_;
};

/// What a program said by its end.
struct Answer {
    int code = -1;
    QByteArray text;
    QJsonDocument last_line() const { return QJsonDocument::fromJson(text.trimmed().split('\n').last()); }
    QJsonArray array() const { return last_line().array(); }
    QJsonObject object() const { return last_line().object(); }
};

/// An empty one where it had to be killed.
inline Answer answer_of(Process process, int limit_ms) {
    if (!process.ended(limit_ms)) return {};
    return {process.exit_code(), process.text()};
}

/// A folder with the tiny experiment and its record, and every process started for it: they carry a mark in their
/// environment, so that none is overlooked.
class Scene {
public:
    Scene() : mark_("SKIPPIPE_TEST=" + QUuid::createUuid().toByteArray(QUuid::WithoutBraces)) {
        QByteArray corpus;
        for (int i = 0; i < 4000; ++i) corpus += "line " + QByteArray::number(i * 7919 % 1009) + " of the corpus\n";
        write(QStringLiteral("corpus.txt"), corpus);
    }
    ~Scene() {
        for (const qint64 pid : alive()) ::kill(static_cast<pid_t>(pid), SIGKILL);
        wait_until([this] { return alive().empty(); }, 5000);
    }

    QString path(const QString& name) const { return folder_.filePath(name); }
    QString record() const { return path(QStringLiteral("record.sqlite")); }

    QString write(const QString& name, const QByteArray& bytes) const {
        QFile out(path(name));
        if (!out.open(QIODevice::WriteOnly)) return {};
        out.write(bytes);
        return out.fileName();
    }

    /// tests/data/tiny-training.json with other execution; nodes a, b on rank 0 and c, d, e on rank 1 where
    /// `two_ranks`.
    QString tiny(const QString& name, const QJsonObject& execution, int iterations = 6, bool two_ranks = false,
                 const QJsonObject& recovery = {}) const {
        QFile in(QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json"));
        if (!in.open(QIODevice::ReadOnly)) return {};
        auto document = QJsonDocument::fromJson(in.readAll()).object();
        document[QStringLiteral("execution")] = execution;
        if (!recovery.isEmpty()) document[QStringLiteral("recovery")] = recovery;
        auto training = document[QStringLiteral("training")].toObject();
        training[QStringLiteral("iterations")] = iterations;
        document[QStringLiteral("training")] = training;
        auto topology = document[QStringLiteral("topology")].toObject();
        auto nodes = topology[QStringLiteral("nodes")].toArray();
        for (qsizetype i = 0; two_ranks && i < nodes.size(); ++i) {
            auto node = nodes[i].toObject();
            node[QStringLiteral("rank")] = i < 2 ? 0 : 1;
            nodes[i] = node;
        }
        topology[QStringLiteral("nodes")] = nodes;
        document[QStringLiteral("topology")] = topology;
        return write(name, QJsonDocument(document).toJson());
    }

    Process start(const QString& executable, const QStringList& arguments, const QStringList& variables = {}) const {
        Process result;
        result.process->setProcessChannelMode(QProcess::MergedChannels);
        result.process->setWorkingDirectory(folder_.path());
        QProcessEnvironment environment;
        const auto given = QProcessEnvironment::systemEnvironment();
        const auto names = given.keys();
        for (const auto& name : names)
            if (!name.startsWith(QStringLiteral("SLURM")) && !name.startsWith(QStringLiteral("OMPI")) &&
                !name.startsWith(QStringLiteral("PMI")))
                environment.insert(name, given.value(name));
        const auto own =
            variables + QStringList{QString::fromLatin1(mark_), QStringLiteral("TMPDIR=") + folder_.path()};
        for (const auto& variable : own)
            environment.insert(variable.section(QLatin1Char('='), 0, 0), variable.section(QLatin1Char('='), 1));
        result.process->setProcessEnvironment(environment);
        // Where the test is cut off, all that it has started ends with it: workers end with their `skippipe`.
        result.process->setChildProcessModifier([test = ::getpid()] {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != test) ::_exit(1);  // it was cut off before that
        });
        result.process->start(executable, arguments);
        return result;
    }

    Process run(const QString& experiment, const QStringList& variables = {}) const {
        return start(program, {QStringLiteral("run"), experiment, QStringLiteral("--db"), record()}, variables);
    }

    Answer call(QStringList arguments, int limit_ms = 120'000) const {
        return answer_of(start(program, arguments << QStringLiteral("--db") << record()), limit_ms);
    }

    /// Processes of this scene that run, and carry `variable` in their environment where one is named.
    std::vector<qint64> alive(const QByteArray& variable = {}) const {
        std::vector<qint64> found;
        for (const auto& name : QDir(QStringLiteral("/proc")).entryList(QDir::Dirs)) {
            QFile environment(QStringLiteral("/proc/%1/environ").arg(name));
            if (name.toLongLong() <= 0 || !environment.open(QIODevice::ReadOnly)) continue;
            const auto variables = environment.readAll().split('\0');
            if (variables.contains(mark_) && (variable.isEmpty() || variables.contains(variable)))
                found.push_back(name.toLongLong());
        }
        return found;
    }

    std::optional<skippipe::RunInfo> last_run() const {
        if (!QFile::exists(record())) return std::nullopt;
        const auto runs = skippipe::Reader(record().toStdString()).runs();
        return runs.empty() ? std::nullopt : std::optional(runs.front());
    }

    std::vector<double> losses(skippipe::RunId run) const {
        std::vector<double> values;
        for (const auto& metric : skippipe::Reader(record().toStdString()).metrics(run))
            if (metric.name == "loss") values.push_back(metric.value);
        return values;
    }

    int ranks(skippipe::RunId run) const {
        return QJsonDocument::fromJson(
                   QByteArray::fromStdString(skippipe::Reader(record().toStdString()).versions_json(run)))
            .object()[QStringLiteral("ranks")]
            .toInt();
    }

private:
    QTemporaryDir folder_;
    QByteArray mark_;
};

/// The record has a finished run of so many ranks, whose losses are those of the virtual clock.
inline void check_finished(const Scene& scene, int ranks) {
    const auto run = scene.last_run();
    QVERIFY(run);
    QCOMPARE(QString::fromStdString(run->error), QString());
    QVERIFY(run->state == skippipe::RunState::finished);
    QCOMPARE(scene.ranks(run->id), ranks);
    const auto losses = scene.losses(run->id);
    auto virtual_time = scene.run(scene.tiny(QStringLiteral("virtual.json"), {}));
    QVERIFY(virtual_time.ended(60'000));
    QCOMPARE(virtual_time.exit_code(), 0);
    const auto expected = scene.losses(scene.last_run()->id);
    QCOMPARE(expected.size(), std::size_t(6));
    QCOMPARE(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
        QVERIFY2(std::abs(losses[i] - expected[i]) < 1e-4,
                 qPrintable(QStringLiteral("%1 %2").arg(losses[i]).arg(expected[i])));
}

}  // namespace launched
