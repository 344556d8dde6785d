// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank says is checked, whoever says it: peers here speak Gloo and the store by hand, and say what cannot be.
#include <QTest>

#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <sstream>

#include "core/engine/build_id.h"
#include "plugins/transports/gloo_posts.h"
#include "plugins/transports/local_store.h"
#include "plugins/transports/run_store.h"
#include "tests/transports/ranks.h"

using namespace skippipe;
using ranks::everybody_to_everybody;
using ranks::launch_of;

namespace {

/// Rank 0 over GlooTransport, rank 1 by hand: the group of the world and, where there are transfers, of the edge to 0.
struct Peer {
    std::shared_ptr<RunStore> store;
    Group world, edge;
};

/// What rank 0's `honest` ended with.
std::string against(const RankSchedule& schedule, const std::function<void(RankTransport&)>& honest,
                    const std::function<void(Peer&)>& lies) {
    std::promise<int> port;
    const auto token = make_token();
    std::promise<void> over;
    auto told = std::async(std::launch::async, [&]() -> std::string {
        Rendezvous rendezvous(launch_of(0, 2, 0, token), 20);
        port.set_value(rendezvous.port());
        GlooTransport transport(rendezvous, schedule);
        std::string said;
        try {
            honest(transport);
        } catch (const PeerFault& fault) {
            said = fault.what();
        } catch (const std::exception& error) {
            said = std::string("untyped: ") + error.what();
        }
        over.set_value();
        return said;
    });
    Rendezvous rendezvous(launch_of(1, 2, port.get_future().get(), token), 20);
    Peer peer{rendezvous.connect(), {}, {}};
    const auto device = c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
    const auto group = [&](const char* name, int rank) {
        return make_group(c10::make_intrusive<c10d::PrefixStore>(name, peer.store->shared()), rank, 2, device,
                          std::chrono::minutes(2));
    };
    peer.world = group("0/world", 1);
    if (!schedule.transfers.empty()) {
        const auto forward = group("0/edge/0-1", 1);
        peer.edge = group("0/edge/1-0", 0);
    }
    // Whose clock it is: the same host's.
    constexpr int values_tag = 6;
    double mine[2] = {0, 0}, theirs[2];
    const auto heard = post_receive(peer.world, std::as_writable_bytes(std::span(theirs)), 0, values_tag);
    peer.world->finish(post_send(peer.world, std::as_bytes(std::span(mine)), 0, values_tag));
    peer.world->finish(heard);
    lies(peer);
    over.get_future().wait_for(std::chrono::seconds(20));
    return told.get();
}

/// One node on each rank, no stage shared; transfers from rank 1 to rank 0.
RankSchedule apart(int messages) {
    auto schedule = everybody_to_everybody(2, messages);
    schedule.plan.stages = {{0}, {1}};
    return schedule;
}

/// Local addresses and ports that TCP sockets of this process listen on, as /proc/net/tcp has them ("0100007F:1F90").
std::vector<std::string> listening() {
    std::set<std::string> own;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(entry.path(), error).string();
        if (target.starts_with("socket:[")) own.insert(target.substr(8, target.size() - 9));
    }
    std::vector<std::string> found;
    for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);) {
            std::istringstream fields(line);
            std::string number, local, remote, state, skipped, inode;
            fields >> number >> local >> remote >> state;
            for (int i = 0; i < 5; ++i) fields >> skipped;
            fields >> inode;
            if (state == "0A" && own.contains(inode)) found.push_back(local);
        }
    }
    return found;
}

}  // namespace

class TestPeers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Ranks of one host: nothing of theirs listens where another machine can reach it.
    void local_runs_listen_on_loopback_only() {
        std::vector<std::string> sockets;
        ranks::as_ranks("gloo", everybody_to_everybody(2, 1), [&](RankTransport& transport) {
            if (transport.rank() == 0) sockets = listening();
            transport.all_gather({0});
        });
        for (const auto& socket : sockets)
            QVERIFY2(socket.starts_with("0100007F:") || socket.starts_with("0000000000000000FFFF00000100007F:"),
                     socket.c_str());
    }

    /// Who has not the token is not even let in; nor who asks with a wrong one.
    void strangers_meet_nothing() {
        const auto token = make_token();
        Rendezvous rendezvous(launch_of(0, 2, 0, token), 5);
        rendezvous.share("job", "secret");
        const auto own = rendezvous.connect();
        QCOMPARE(own->text("share/job"), std::string("secret"));
        for (const auto& wrong : {std::string(), std::string("0123456789abcdef0123456789abcdef"), make_token()})
            QVERIFY_EXCEPTION_THROWN(LocalStore(rendezvous.port(), wrong, std::chrono::seconds(1)), std::exception);
        // Not even with the door open: keys begin with the token.
        LocalStore inside(rendezvous.port(), token, std::chrono::seconds(1));
        for (const char* key :
             {"job", "share/job", "lost/0", "failed", "meeting", "beat/0", "build", "boot", "address/0", "/share/job"})
            QVERIFY2(!inside.check({key}), key);
        QVERIFY(inside.check({token + "/share/job"}));
    }

    /// On several hosts the store is LibTorch's, open to the network: it holds nothing under a name that can be
    /// guessed.
    void strangers_on_the_network_find_no_key() {
        auto launch = launch_of(0, 2, 0, make_token());
        launch.local_world_size = 1;  // the other one is elsewhere
        Rendezvous rendezvous(launch, 5);
        rendezvous.share("job", "secret");
        rendezvous.report_failed({{"a", "b", "c", "d"}});
        const auto stranger = make_store("127.0.0.1", rendezvous.port(), false, std::chrono::seconds(5));
        QVERIFY(stranger->getNumKeys() >= 3);  // it is there
        for (const char* key :
             {"job", "share/job", "lost/0", "failed", "meeting", "beat/0", "build", "boot", "address/0", "/share/job"})
            QVERIFY2(!stranger->check({key}), key);
        const std::string intruder = "nonsense";
        stranger->set("lost/0", std::vector<std::uint8_t>(intruder.begin(), intruder.end()));
        const auto own = rendezvous.connect();
        QVERIFY(own->text("lost/0").find("cannot go on") != std::string::npos);
        QCOMPARE(own->text("share/job"), std::string("secret"));
    }

    void the_store_keeps_what_it_is_told() {
        const auto token = make_token();
        LocalStoreServer server(0, token);
        LocalStore store(server.number(), token, std::chrono::seconds(2));
        const auto bytes = [](const std::string& text) { return std::vector<std::uint8_t>(text.begin(), text.end()); };
        QVERIFY(!store.check({"a"}));
        store.set("a", bytes(std::string(3'000'000, 'x')));
        QCOMPARE(store.get("a").size(), std::size_t{3'000'000});
        QCOMPARE(store.add("n", 2), 2);
        QCOMPARE(store.add("n", 3), 5);
        QCOMPARE(store.compareSet("c", {}, bytes("1")), bytes("1"));
        QCOMPARE(store.compareSet("c", {}, bytes("2")), bytes("1"));
        QCOMPARE(store.compareSet("c", bytes("1"), bytes("2")), bytes("2"));
        QCOMPARE(store.getNumKeys(), 3);
        QVERIFY(store.deleteKey("c"));
        QVERIFY(!store.deleteKey("c"));
        QVERIFY(store.check({"a", "n"}));
        QVERIFY(!store.check({"a", "c"}));
        auto waiting = std::async(std::launch::async, [&] {
            return LocalStore(server.number(), token, std::chrono::seconds(10)).get("later");
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        store.set("later", bytes("now"));
        QCOMPARE(waiting.get(), bytes("now"));
        QVERIFY_EXCEPTION_THROWN(LocalStoreServer(server.number(), token), std::exception);
        // Many at once, each adding: none is lost.
        std::vector<std::future<void>> adding;
        for (int i = 0; i < 8; ++i)
            adding.push_back(std::async(std::launch::async, [&] {
                LocalStore own(server.number(), token, std::chrono::seconds(10));
                for (int k = 0; k < 200; ++k) own.add("sum", 1);
            }));
        for (auto& one : adding) one.get();
        QCOMPARE(store.add("sum", 0), 1600);
    }

    void a_foreign_build_is_refused_and_both_are_named() {
        const auto token = make_token();
        Rendezvous first(launch_of(0, 2, 0, token), 5);
        try {
            Rendezvous second(launch_of(1, 2, first.port(), token), 5, "another build");
            QFAIL("it was let in");
        } catch (const InputError& error) {
            const std::string said = error.what();
            QVERIFY2(said.find("another build") != std::string::npos && said.find(build_id()) != std::string::npos,
                     said.c_str());
        }
        // Rank 0 hears of it.
        std::promise<LostRank> lost;
        first.watch([&](const LostRank& loss) { lost.set_value(loss); }, 5);
        const auto loss = lost.get_future().get();
        QCOMPARE(loss.rank, 1);
        QVERIFY(!loss.faults.empty() && loss.faults.front().what.find("another build") != std::string::npos);
    }

    void sizes_that_cannot_be_are_not_allocated_data() {
        QTest::addColumn<qint64>("size");
        QTest::newRow("negative") << qint64(-1);
        QTest::newRow("a terabyte") << (qint64(1) << 40);
        QTest::newRow("the most") << std::numeric_limits<qint64>::max();
    }
    void sizes_that_cannot_be_are_not_allocated() {
        QFETCH(qint64, size);
        const auto said = against(
            apart(0), [](RankTransport& transport) { transport.gather("mine"); },
            [&](Peer& peer) { peer.world->finish(post_send(peer.world, std::as_bytes(std::span(&size, 1)), 0, 1)); });
        QVERIFY2(said.starts_with("rank 1: rank 1 announced a text of"), said.c_str());
    }

    void envelopes_that_cannot_be_are_refused_data() {
        QTest::addColumn<int>("number");
        QTest::addColumn<double>("start_s");
        QTest::newRow("no time") << 1 << std::numeric_limits<double>::quiet_NaN();
        QTest::newRow("no end") << 1 << std::numeric_limits<double>::infinity();
        QTest::newRow("long ago") << 1 << -1e9;
        QTest::newRow("another transfer") << 3 << 0.0;
    }
    void envelopes_that_cannot_be_are_refused() {
        QFETCH(int, number);
        QFETCH(double, start_s);
        std::promise<void> sent;  // where the lie comes first, sending is what ends
        const auto said = against(
            apart(1),
            [&](RankTransport& transport) {
                const double now_s = transport.now_s();
                transport.begin_iteration([](const RankTransfer&) { return std::size_t{8}; }, [](Delivery) {});
                transport.send({{0, {OpKind::F, 0}, 0, 1}, {now_s, now_s, now_s}, Buffer(8)});
                sent.set_value();
                transport.end_iteration();
            },
            [&](Peer& peer) {
                sent.get_future().wait_for(std::chrono::seconds(20));
                std::array<std::byte, 8 + Buffer::envelope_bytes> message{};
                const std::int64_t named = number;
                const double now_s = steady_s(), start = std::isfinite(start_s) && start_s > -1 ? now_s : start_s;
                const double times[3] = {now_s, start, now_s};
                std::memcpy(message.data() + 8, &named, sizeof named);
                std::memcpy(message.data() + 16, times, sizeof times);
                peer.edge->finish(post_send(peer.edge, message, 1, 1));
            });
        QVERIFY2(said.starts_with("rank 1: rank 1 sent transfer"), said.c_str());
    }

    void lines_are_booked_once() {
        std::mutex mutex;
        std::vector<double> starts;
        ranks::as_ranks("gloo", everybody_to_everybody(3, 0), [&](RankTransport& transport) {
            const auto book = transport.line_book(1);
            for (int i = 0; i < 20; ++i) {
                const double start_s = book->reserve(0, 0, 1);
                const std::lock_guard lock(mutex);
                starts.push_back(start_s);
            }
            transport.all_gather({0});
        });
        std::sort(starts.begin(), starts.end());
        QCOMPARE(starts.size(), std::size_t{60});
        for (std::size_t i = 0; i < starts.size(); ++i) QCOMPARE(starts[i], static_cast<double>(i));
    }
};

QTEST_GUILESS_MAIN(TestPeers)
#include "test_peers.moc"
