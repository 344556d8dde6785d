// SPDX-License-Identifier: GPL-3.0-or-later
// A Slurm cluster of one node for a test: munged, slurmctld and slurmd as children, everything in the scene's folder,
// loopback only.
#pragma once
#include <QStandardPaths>

#include <random>

#include <netdb.h>

#include "tests/app/launched.h"

namespace launched {

class SlurmCluster {
public:
    explicit SlurmCluster(const Scene& scene) : scene_(scene) { why_not_ = begin(); }
    ~SlurmCluster() {
        // The steps report their end to the daemons: first them, then the daemons, munged last.
        wait_until([this] { return scene_.alive("SLURM_STEP_ID=0").empty() && steps().empty(); }, 15'000);
        for (auto* daemon : {&node_, &controller_, &munge_}) {
            if (daemon->process->state() == QProcess::NotRunning) continue;
            daemon->process->terminate();
            daemon->ended(10'000);
        }
    }

    /// Why it did not start; empty where it runs.
    const QString& why_not() const { return why_not_; }
    QStringList variables() const {
        return {QStringLiteral("SLURM_CONF=") + scene_.path(QStringLiteral("slurm.conf"))};
    }

private:
    static QString daemon(const QString& name) {
        const auto found = QStandardPaths::findExecutable(name);
        return found.isEmpty() ? QStandardPaths::findExecutable(name, {QStringLiteral("/usr/sbin")}) : found;
    }

    /// slurmstepd, one a running step.
    std::vector<qint64> steps() const {
        std::vector<qint64> found;
        for (const qint64 pid : scene_.alive()) {
            QFile line(QStringLiteral("/proc/%1/comm").arg(pid));
            if (line.open(QIODevice::ReadOnly) && line.readAll().startsWith("slurmstepd")) found.push_back(pid);
        }
        return found;
    }

    QString output_of(const QString& executable, const QStringList& arguments) const {
        auto process = scene_.start(executable, arguments, variables());
        process.ended(10'000);
        return QString::fromLocal8Bit(process.text()).trimmed();
    }

    QString begin() {
        for (const char* name : {"munged", "slurmctld", "slurmd", "srun", "sinfo"})
            if (daemon(QString::fromLatin1(name)).isEmpty())
                return QStringLiteral("%1 is not installed (packages slurm-wlm, munge)").arg(QString::fromLatin1(name));
        write_files();
        const auto at = [this](const char* name) { return scene_.path(QString::fromLatin1(name)); };
        munge_ = scene_.start(
            daemon(QStringLiteral("munged")),
            {QStringLiteral("--foreground"), QStringLiteral("--force"), QStringLiteral("--key-file=") + at("munge.key"),
             QStringLiteral("--socket=") + at("munge.socket"), QStringLiteral("--pid-file=") + at("munge.pid"),
             QStringLiteral("--log-file=") + at("munge.log"), QStringLiteral("--seed-file=") + at("munge.seed"),
             QStringLiteral("--origin=127.0.0.1")});
        if (!wait_until(
                [&] { return QFile::exists(at("munge.socket")) || munge_.process->state() == QProcess::NotRunning; },
                10'000) ||
            munge_.process->state() == QProcess::NotRunning)
            return QStringLiteral("munged does not start: ") + QString::fromLocal8Bit(munge_.text());
        controller_ = scene_.start(daemon(QStringLiteral("slurmctld")), {QStringLiteral("-D"), QStringLiteral("-i")},
                                   variables());
        node_ = scene_.start(daemon(QStringLiteral("slurmd")), {QStringLiteral("-D")}, variables());
        const bool up = wait_until(
            [this] {
                return output_of(QStringLiteral("sinfo"), {QStringLiteral("-h"), QStringLiteral("-o"),
                                                           QStringLiteral("%t")}) == QStringLiteral("idle");
            },
            20'000);
        return up ? QString()
                  : QStringLiteral("Slurm does not come up: ") +
                        QString::fromLocal8Bit(controller_.text().right(400) + node_.text().right(400));
    }

    /// 127.0.1.1, as Debian's installer has it: who connects there comes from 127.0.0.1, and Slurm's step answers to
    /// that.
    static bool leads_to_another_loopback(const QByteArray& host) {
        addrinfo hints{}, *found = nullptr;
        hints.ai_family = AF_INET;
        if (::getaddrinfo(host.constData(), nullptr, &hints, &found) != 0) return false;
        const auto address = ntohl(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr);
        ::freeaddrinfo(found);
        return address >> 24 == 127 && address != INADDR_LOOPBACK;
    }

    void write_files() const {
        QByteArray key;
        std::random_device random;
        while (key.size() < 1024) key += static_cast<char>(random());
        const auto file = scene_.write(QStringLiteral("munge.key"), key);
        QFile::setPermissions(file, QFile::ReadOwner | QFile::WriteOwner);
        QFile::setPermissions(scene_.path(QString()), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner |
                                                          QFile::ExeGroup | QFile::ExeOther);
        QDir(scene_.path(QString())).mkdir(QStringLiteral("state"));
        QDir(scene_.path(QString())).mkdir(QStringLiteral("spool"));
        char host[256] = "localhost";
        ::gethostname(host, sizeof host - 1);
        const auto name = QString::fromLocal8Bit(host).section(QLatin1Char('.'), 0, 0);
        const auto ports = free_ports(2);
        const auto user = output_of(QStringLiteral("id"), {QStringLiteral("-un")});
        QFile in(QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/slurm.conf"));
        if (!in.open(QIODevice::ReadOnly)) return;
        auto text = QString::fromUtf8(in.readAll());
        text.replace(QStringLiteral("@FOLDER@"), QDir(scene_.path(QString())).absolutePath())
            .replace(QStringLiteral("@HOST@"), name)
            .replace(QStringLiteral("@USER@"), user);
        const bool another = leads_to_another_loopback(name.toLocal8Bit());
        text.replace(QStringLiteral("@ADDRESS@"), another ? name : QStringLiteral("127.0.0.1"));
        text.replace(QStringLiteral("@LISTEN@"),
                     another ? QStringLiteral("NoCtldInAddrAny") : QStringLiteral("NoInAddrAny,NoCtldInAddrAny"));
        text.replace(QStringLiteral("@CONTROLLER_PORT@"), QString::number(ports[0]))
            .replace(QStringLiteral("@NODE_PORT@"), QString::number(ports[1]));
        scene_.write(QStringLiteral("slurm.conf"), text.toUtf8());
        // "disabled" came with 23.11; before it, this plug-in touches nothing as long as no other asks it to.
        const int year = output_of(daemon(QStringLiteral("slurmd")), {QStringLiteral("-V")})
                             .section(QLatin1Char(' '), 1)
                             .section(QLatin1Char('.'), 0, 0)
                             .toInt();
        scene_.write(QStringLiteral("cgroup.conf"),
                     year >= 24 ? "CgroupPlugin=disabled\n" : "CgroupPlugin=cgroup/v1\n");
    }

    const Scene& scene_;
    Process munge_, controller_, node_;
    QString why_not_;
};

}  // namespace launched
