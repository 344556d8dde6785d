// SPDX-License-Identifier: GPL-3.0-or-later
// What a machine carries for several others at once, over lines that are held to their rates.
#include <QTest>

#include <atomic>

#include "core/engine/calibrate.h"
#include "core/engine/delay_queue.h"
#include "core/engine/probe.h"
#include "tests/transports/ranks.h"

using namespace skippipe;
using ranks::as_ranks;
using ranks::everybody_to_everybody;

namespace {

constexpr int hosts = 3;
constexpr double line_rate = 20e6;

/// Each ordered pair has a line; rank 0 has an uplink and rank 1 a downlink that are no faster.
struct Network {
    LocalLineBook book{hosts * hosts + 2};

    double arrival_s(int from, int to, std::size_t bytes) {
        const double seconds = static_cast<double>(bytes) / line_rate, now_s = steady_s();
        double start_s = book.reserve(from * hosts + to, now_s, seconds);
        if (from == 0) start_s = std::max(start_s, book.reserve(hosts * hosts, start_s, seconds));
        if (to == 1) start_s = std::max(start_s, book.reserve(hosts * hosts + 1, start_s, seconds));
        return start_s + seconds;
    }
};

/// A transport whose single messages take what the network says.
class Shaped final : public RankTransport {
public:
    Shaped(RankTransport& inner, Network& network) : inner_(inner), network_(network) {}
    void send_to(int peer, std::span<const std::byte> bytes) override {
        const double wait_s = network_.arrival_s(rank(), peer, bytes.size()) - steady_s();
        std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.0, wait_s)));
        inner_.send_to(peer, bytes);
    }
    void receive_from(int peer, std::span<std::byte> bytes) override { inner_.receive_from(peer, bytes); }
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override {
        return inner_.all_gather(values);
    }
    int rank() const override { return inner_.rank(); }
    int ranks() const override { return inner_.ranks(); }
    void abort() noexcept override { inner_.abort(); }
    void when_broken(std::function<void(std::exception_ptr)> broken) override { inner_.when_broken(std::move(broken)); }
    double now_s() const override { return inner_.now_s(); }
    void follow(const RankSchedule& schedule) override { inner_.follow(schedule); }
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override {
        inner_.begin_iteration(std::move(bytes), std::move(deliver));
    }
    void send(Delivery message) override { inner_.send(std::move(message)); }
    void end_iteration() override { inner_.end_iteration(); }
    void all_reduce(int stage, std::span<float> values) override { inner_.all_reduce(stage, values); }
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) override {
        return inner_.gather_stage(stage, values);
    }
    std::vector<std::string> gather(const std::string& text) override { return inner_.gather(text); }
    std::string broadcast(const std::string& text) override { return inner_.broadcast(text); }
    std::unique_ptr<LineBook> line_book(std::size_t lines) override { return inner_.line_book(lines); }

private:
    RankTransport& inner_;
    Network& network_;
};

}  // namespace

class TestConnections : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Ranks 0 to 2 on a machine each, rank 3 beside rank 1. The upper limits hold on any machine, however busy.
    void several_at_once_show_the_uplink_data() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"thread", "sockets"}) QTest::newRow(kind) << kind;
    }
    void several_at_once_show_the_uplink() {
        QFETCH(QString, kind);
        Network network;
        std::vector<RankProbe> found(hosts + 1);
        as_ranks(kind.toStdString(), everybody_to_everybody(hosts + 1, 0), [&](RankTransport& inner) {
            Shaped transport(inner, network);
            auto& mine = found[static_cast<std::size_t>(transport.rank())];
            mine.connection = measure_connection(transport, {0, 1, 2, 1}, {}, std::size_t{1} << 20);
        });
        QCOMPARE(found[0].connection.peers, (std::vector<int>{1, 2}));
        QCOMPARE(found[2].connection.peers, (std::vector<int>{0, 1}));
        QCOMPARE(found[3].connection.peers, found[1].connection.peers);
        QCOMPARE(found[3].connection.up_bytes_per_s.median, found[1].connection.up_bytes_per_s.median);
        const double up[] = {found[0].connection.up_bytes_per_s.median, found[1].connection.up_bytes_per_s.median,
                             found[2].connection.up_bytes_per_s.median},
                     down[] = {found[0].connection.down_bytes_per_s.median, found[1].connection.down_bytes_per_s.median,
                               found[2].connection.down_bytes_per_s.median};
        for (int host = 0; host < hosts; ++host)
            qInfo("rank %d: up %.1f MB/s, down %.1f MB/s", host, up[host] / 1e6, down[host] / 1e6);
        QVERIFY(up[0] < 1.1 * line_rate && up[0] > 0.3 * line_rate);
        QVERIFY(down[1] < 1.1 * line_rate && down[1] > 0.3 * line_rate);
        QVERIFY(up[2] < 2.2 * line_rate && up[2] > 1.3 * up[0]);
        QVERIFY(down[2] > 1.3 * down[1]);
        // As probe goes on: the links one by one are as fast as each line.
        for (int from = 0; from < hosts; ++from)
            for (int to = 0; to < hosts; ++to)
                if (from != to)
                    found[static_cast<std::size_t>(from)].links.push_back({from, to, {}, {line_rate, 0}, {}});
        QVERIFY(connection_limits(found, 0).up_bytes_per_s.has_value());
        QVERIFY(connection_limits(found, 1).down_bytes_per_s.has_value());
    }

    void two_machines_have_a_link_only() {
        std::atomic<int> wrong{0};
        as_ranks("thread", everybody_to_everybody(3, 0), [&](RankTransport& transport) {
            wrong += !measure_connection(transport, {0, 1, 1}, {}).peers.empty();
            wrong += connections_of(transport) != std::vector<int>(3, 0);
        });
        QCOMPARE(wrong.load(), 0);
    }
};

QTEST_GUILESS_MAIN(TestConnections)
#include "test_connections.moc"
