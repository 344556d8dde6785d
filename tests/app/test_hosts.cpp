// SPDX-License-Identifier: GPL-3.0-or-later
// Two hosts, as far as the network knows: two network namespaces of this test's own, joined by a virtual cable. They
// belong to processes of the test and go with them; nothing of the machine's own network is touched.
#include <QStandardPaths>

#include <algorithm>

#include "tests/app/losing_ranks.h"

using namespace launched;
using namespace Qt::StringLiterals;

namespace {

class TwoHosts {
public:
    explicit TwoHosts(const Scene& scene) : scene_(scene) { why_not_ = begin(); }

    const QString& why_not() const { return why_not_; }

    /// Rank `host` of two, on that host.
    Process start(int host, const QString& experiment, const QString& interface) const {
        QStringList variables{u"RANK=%1"_s.arg(host),  u"WORLD_SIZE=2"_s,          u"LOCAL_RANK=0"_s,
                              u"LOCAL_WORLD_SIZE=1"_s, u"MASTER_ADDR=10.77.0.1"_s, u"MASTER_PORT=29400"_s};
        if (!interface.isEmpty()) variables << u"GLOO_SOCKET_IFNAME="_s + interface;
        return scene_.start(
            u"nsenter"_s, inside(host) << program << u"run"_s << experiment << u"--db"_s << scene_.record(), variables);
    }

    /// What a host sends leaves it at this rate, as over a slow line.
    QString limit(const QString& rate) const {
        for (const int host : {0, 1})
            if (const auto why = on(host, {u"tc"_s, u"qdisc"_s, u"add"_s, u"dev"_s, cable(host), u"root"_s, u"tbf"_s,
                                           u"rate"_s, rate, u"burst"_s, u"16kb"_s, u"latency"_s, u"1s"_s});
                !why.isEmpty())
                return why;
        return {};
    }

private:
    static QString cable(int host) { return host == 0 ? u"left"_s : u"right"_s; }
    QString pid(int host) const { return QString::number(holders_[host].process->processId()); }
    QStringList inside(int host) const {
        return {u"--target"_s, pid(host), u"--user"_s, u"--preserve-credentials"_s, u"--net"_s};
    }

    /// Runs it on a host; what it says where it fails.
    QString on(int host, const QStringList& command) const {
        auto process = scene_.start(u"nsenter"_s, inside(host) + command, {u"PATH=/usr/sbin:/sbin:/usr/bin:/bin"_s});
        if (process.ended(10'000) && process.exit_code() == 0) return {};
        return command.join(u' ') + u": "_s + QString::fromLocal8Bit(process.text()).trimmed();
    }

    /// Waits for its namespace, which lives as long as the process does. `sleep` runs in it once it is all there:
    /// before that, who enters may find no user of its own in it and be refused.
    static bool apart(const Process& holder) {
        holder.process->waitForStarted(5000);
        const auto sleeps = [&] {
            QFile name(u"/proc/%1/comm"_s.arg(holder.process->processId()));
            return name.open(QIODevice::ReadOnly) && name.readAll().trimmed() == "sleep";
        };
        wait_until([&] { return holder.process->state() == QProcess::NotRunning || sleeps(); }, 5000);
        return holder.process->state() == QProcess::Running && sleeps();
    }

    QString begin() {
        for (const auto& tool : {u"unshare"_s, u"nsenter"_s, u"ip"_s, u"tc"_s})
            if (QStandardPaths::findExecutable(tool, {u"/usr/sbin"_s, u"/usr/bin"_s, u"/sbin"_s, u"/bin"_s}).isEmpty())
                return tool + u" is not installed (packages util-linux, iproute2)"_s;
        const QStringList net{u"--net"_s, u"sleep"_s, u"900"_s};
        holders_[0] = scene_.start(u"unshare"_s, QStringList{u"--user"_s, u"--map-root-user"_s} + net);
        if (!apart(holders_[0]))
            return u"this machine allows no network namespaces: "_s +
                   QString::fromLocal8Bit(holders_[0].text()).trimmed();
        holders_[1] = scene_.start(
            u"nsenter"_s,
            QStringList{u"--target"_s, pid(0), u"--user"_s, u"--preserve-credentials"_s, u"unshare"_s} + net);
        if (!apart(holders_[1]))
            return u"this machine allows no network namespaces: "_s +
                   QString::fromLocal8Bit(holders_[1].text()).trimmed();
        auto why = on(0, {u"ip"_s, u"link"_s, u"add"_s, u"left"_s, u"type"_s, u"veth"_s, u"peer"_s, u"name"_s,
                          u"right"_s, u"netns"_s, pid(1)});
        for (int host = 0; host < 2 && why.isEmpty(); ++host) {
            why = on(host, {u"ip"_s, u"link"_s, u"set"_s, u"lo"_s, u"up"_s});
            if (why.isEmpty())
                why = on(host, {u"ip"_s, u"addr"_s, u"add"_s, u"10.77.0.%1/24"_s.arg(host + 1), u"dev"_s, cable(host)});
            if (why.isEmpty()) why = on(host, {u"ip"_s, u"link"_s, u"set"_s, cable(host), u"up"_s});
        }
        return why;
    }

    const Scene& scene_;
    Process holders_[2];
    QString why_not_;
};

const QJsonObject gloo{{u"clock"_s, u"wall"_s}, {u"transport"_s, u"gloo"_s}, {u"ranks"_s, 2}};

/// No tensors, but messages of a mebibyte: 16 samples of 128 tokens of width 128 in fp32.
QString large_messages(const Scene& scene) {
    QFile in(scene.tiny(
        u"large.json"_s,
        {{u"clock"_s, u"wall"_s}, {u"transport"_s, u"gloo"_s}, {u"ranks"_s, 2}, {u"compute"_s, u"cost"_s}}, 2, true));
    if (!in.open(QIODevice::ReadOnly)) return {};
    auto document = QJsonDocument::fromJson(in.readAll()).object();
    const auto set = [&](const QString& section, const QString& key, const QJsonValue& value) {
        auto object = document[section].toObject();
        object[key] = value;
        document[section] = object;
    };
    set(u"model"_s, u"width"_s, 128);
    set(u"model"_s, u"sequence"_s, 128);
    set(u"pipeline"_s, u"microbatch_samples"_s, 16);
    auto topology = document[u"topology"_s].toObject();
    auto nodes = topology[u"nodes"_s].toArray();
    for (auto&& node : nodes) {
        auto changed = node.toObject();
        changed[u"seconds_per_sample_per_block"_s] = 0.0002;
        node = changed;
    }
    topology[u"nodes"_s] = nodes;
    document[u"topology"_s] = topology;
    return scene.write(u"large.json"_s, QJsonDocument(document).toJson());
}

}  // namespace

class TestHosts : public QObject {
    Q_OBJECT

    /// Both ranks end well.
    void run_both(const TwoHosts& hosts, const QString& experiment, const QString& left, const QString& right) {
        auto second = hosts.start(1, experiment, right);
        auto first = hosts.start(0, experiment, left);
        QVERIFY2(first.ended(90'000), (first.text() + second.text()).constData());
        QVERIFY2(first.exit_code() == 0, (first.text() + second.text()).constData());
        QVERIFY2(second.ended(20'000) && second.exit_code() == 0, second.text().constData());
    }

    /// bytes a second of each transfer from host to host in the newest run, sorted.
    static std::vector<double> rates(const Scene& scene) {
        std::vector<double> rates;
        const auto host = [](int node) { return node < 2 ? 0 : 1; };
        for (const auto& [row, iteration, offset_s, span] :
             skippipe::Reader(scene.record().toStdString()).spans(scene.last_run()->id))
            if (skippipe::is_transfer(span.kind) && host(span.node) != host(span.to_node))
                rates.push_back(span.bytes / std::max(1e-9, span.end_s - span.start_s));
        std::sort(rates.begin(), rates.end());
        return rates;
    }

private Q_SLOTS:
    void init() {
        if (const auto why = no_worker(); !why.isEmpty()) QSKIP(qPrintable(why));
    }

    void two_hosts_train_as_one() {
        const Scene scene;
        {
            const TwoHosts hosts(scene);
            if (!hosts.why_not().isEmpty()) QSKIP(qPrintable(hosts.why_not()));
            run_both(hosts, scene.tiny(u"tiny.json"_s, gloo, 6, true), u"left"_s, u"right"_s);
            if (QTest::currentTestFailed()) return;
        }
        check_finished(scene, 2);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 5000));
    }

    /// The other host's rank is killed while both train, and started there again: this host goes on alone, and with it
    /// once it is back, and losses are those of an undisturbed training.
    void a_host_is_lost_and_comes_back() {
        const Scene scene;
        const auto experiment = laid_out(scene, {{0, 1}, {0, 1}, {0, 1}}, 100'000);
        const auto trains = [&](int iterations, skippipe::RunId after) {
            return wait_until(
                [&] {
                    const auto run = scene.last_run();
                    return run && run->id != after && run->iterations_done >= iterations;
                },
                patient_ms);
        };
        const auto stop = [&](Process& process) {
            auto asked = launched::start(scene, {u"stop"_s, u"latest"_s});
            QVERIFY(asked.ended(patient_ms));
            QVERIFY2(process.ended(patient_ms), process.text());
            QVERIFY2(process.exit_code() == 0, process.text());
        };
        auto undisturbed = launched::start(scene, {u"run"_s, experiment});
        QVERIFY2(trains(60, 0), undisturbed.text());
        stop(undisturbed);
        const auto whole = scene.last_run()->id;
        {
            const TwoHosts hosts(scene);
            if (!hosts.why_not().isEmpty()) QSKIP(qPrintable(hosts.why_not()));
            auto second = hosts.start(1, experiment, u"right"_s);
            auto first = hosts.start(0, experiment, u"left"_s);
            QVERIFY2(trains(5, whole), first.text());
            QCOMPARE(::kill(static_cast<pid_t>(second.process->processId()), SIGKILL), 0);
            QVERIFY(second.ended(patient_ms));
            QVERIFY2(wait_until([&] { return first.text().contains("the others go on"); }, patient_ms), first.text());
            auto again = hosts.start(1, experiment, u"right"_s);
            QVERIFY2(wait_until([&] { return first.text().contains("rank 1 is back"); }, patient_ms), first.text());
            QVERIFY2(trains(std::max(60, scene.last_run()->iterations_done) + 5, whole), first.text());
            stop(first);
            QVERIFY2(again.ended(patient_ms) && again.exit_code() == 0, again.text());
        }
        const auto run = scene.last_run()->id;
        QCOMPARE(total(scene, run, "nodes_lost"), 3.0);
        const auto expected = scene.losses(whole), got = scene.losses(run);
        QVERIFY(expected.size() >= 60 && got.size() >= 65);
        for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i)
            QVERIFY2(std::abs(got[i] / expected[i] - 1) < 1e-5, qPrintable(QString::number(i)));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// The cable at 20 Mbit/s: every transfer takes what such a line takes, and the record says so.
    void a_slow_line_is_seen_in_the_record() {
        const Scene scene;
        const TwoHosts hosts(scene);
        if (!hosts.why_not().isEmpty()) QSKIP(qPrintable(hosts.why_not()));
        const auto experiment = large_messages(scene);
        run_both(hosts, experiment, u"left"_s, u"right"_s);
        if (QTest::currentTestFailed()) return;
        const auto fast = rates(scene);
        if (const auto why = hosts.limit(u"20mbit"_s); !why.isEmpty()) QSKIP(qPrintable(why));
        run_both(hosts, experiment, u"left"_s, u"right"_s);
        if (QTest::currentTestFailed()) return;
        const auto slow = rates(scene);
        QVERIFY(slow.size() >= 4);
        QCOMPARE(fast.size(), slow.size());
        const double line = 20e6 / 8, median = slow[slow.size() / 2];
        qInfo("%zu transfers; free: %.1f MB/s; at 2.5 MB/s: median %.3f, fastest %.3f MB/s", slow.size(),
              fast[fast.size() / 2] / 1e6, median / 1e6, slow.back() / 1e6);
        // Never faster than the line (its burst of 16 KiB aside), and near it: headers take 5 %.
        QVERIFY(slow.back() < 1.03 * line);
        QVERIFY(median > 0.5 * line);
        QVERIFY(fast[fast.size() / 2] > 2 * line);
    }
};

QTEST_GUILESS_MAIN(TestHosts)
#include "test_hosts.moc"
