// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank says is checked, whoever says it: peers here speak to sockets and the store by hand, and say what cannot
// be.
#include <QTest>

#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <sstream>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "core/engine/build_id.h"
#include "plugins/transports/local_store.h"
#include "plugins/transports/run_store.h"
#include "tests/transports/liar.h"

using namespace skippipe;
using ranks::everybody_to_everybody;
using ranks::launch_of;
using namespace std::chrono_literals;

namespace {

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

/// A store in a process of its own, which can be stopped.
class StoreElsewhere {
public:
    explicit StoreElsewhere(const std::string& token) {
        int ends[2];
        if (::pipe(ends) != 0) return;
        child_ = ::fork();
        if (child_ == 0) serve(token, ends[1]);
        if (::read(ends[0], &number_, sizeof number_) != sizeof number_) number_ = 0;
        for (const int end : ends) ::close(end);
    }
    ~StoreElsewhere() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    int number() const { return number_; }
    void stand_still() const {
        ::kill(child_, SIGSTOP);
        ::waitpid(child_, nullptr, WUNTRACED);
    }
    void go_on() const { ::kill(child_, SIGCONT); }

private:
    [[noreturn]] static void serve(const std::string& token, int tell) {
        const LocalStoreServer server(0, token);
        const int number = server.number();
        if (::write(tell, &number, sizeof number) != sizeof number) ::_exit(1);
        for (;;) ::pause();
    }

    pid_t child_ = -1;
    int number_ = 0;
};

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

class TestPeers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Ranks of one host: nothing of theirs listens where another machine can reach it.
    void local_runs_listen_on_loopback_only() {
        std::vector<std::string> sockets;
        const auto look = [&](RankTransport& transport) {
            if (transport.rank() == 0) sockets = listening();
            transport.all_gather({0});
        };
        for (const char* kind : ranks::carriers()) {
            const bool by_threads = std::string(kind) == "thread" || std::string(kind) == "nccl";
            if (!by_threads) ranks::as_ranks(kind, everybody_to_everybody(2, 1), look);
        }
        // While they meet, nothing of theirs listens elsewhere either.
        const auto token = make_token();
        Rendezvous rendezvous(launch_of(0, 2, 0, token), 5);
        const auto store = rendezvous.connect();
        const SocketParty party{{0, 1}, 0, "127.0.0.1", "0", std::chrono::seconds(5)};
        SocketMeeting meeting(*store, party);
        for (const auto& socket : listening()) sockets.push_back(socket);
        QVERIFY(!sockets.empty());
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

    /// Silence is borne for as long as was said. Who gave up does not read the late answer as that to another question.
    void a_store_that_stands_still() {
        const auto token = make_token();
        const StoreElsewhere elsewhere(token);
        LocalStore patient(elsewhere.number(), token, 5s, 20s), hasty(elsewhere.number(), token, 5s, 200ms);
        patient.set("a", bytes_of("1"));
        elsewhere.stand_still();
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, hasty.check({"a"}));
        auto answer = std::async(std::launch::async, [&] { return patient.get("a"); });
        elsewhere.go_on();
        QCOMPARE(answer.get(), bytes_of("1"));
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, hasty.getNumKeys());
    }

    /// Nor does who is told to end wait for an answer.
    void who_ends_waits_for_no_answer() {
        const auto token = make_token();
        const StoreElsewhere elsewhere(token);
        const auto stop = std::make_shared<std::atomic<bool>>(false);
        LocalStore store(elsewhere.number(), token, 5s, 15s, stop);
        elsewhere.stand_still();
        auto answer = std::async(std::launch::async, [&] { store.check({"a"}); });
        *stop = true;
        QCOMPARE(answer.wait_for(2s), std::future_status::ready);
        QVERIFY_THROWS_EXCEPTION(Aborted, answer.get());
    }

    /// It takes its time: ten seconds were once too much for the store, whatever was to be borne.
    void silence_of_the_stores_host_is_borne_as_long_as_any() {
        const auto token = make_token();
        const StoreElsewhere elsewhere(token);
        LocalStore(elsewhere.number(), token, 5s, 5s).set(token + "/build", bytes_of("one"));
        std::atomic<int> losses = 0;
        Rendezvous second(launch_of(1, 2, elsewhere.number(), token), 5, "one");
        second.watch([&](const LostRank&) { ++losses; }, 30);
        elsewhere.stand_still();
        std::this_thread::sleep_for(11s);
        elsewhere.go_on();
        std::this_thread::sleep_for(500ms);
        QCOMPARE(losses.load(), 0);
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

    void what_cannot_be_is_refused_and_not_allocated_data() {
        QTest::addColumn<qint64>("word");
        QTest::addColumn<qint64>("size");
        QTest::addColumn<QString>("says");
        const auto text = static_cast<qint64>(Word::text), values = static_cast<qint64>(Word::values);
        QTest::newRow("a negative size") << text << qint64(-1) << "announced a text of";
        QTest::newRow("a terabyte") << text << (qint64(1) << 40) << "announced a text of";
        QTest::newRow("the most") << text << std::numeric_limits<qint64>::max() << "announced a text of";
        QTest::newRow("another message") << values << qint64(8) << "said 2, where 1 was due";
        QTest::newRow("nonsense") << qint64(77) << qint64(8) << "said 77, where 1 was due";
    }
    void what_cannot_be_is_refused_and_not_allocated() {
        QFETCH(qint64, word);
        QFETCH(qint64, size);
        QFETCH(QString, says);
        const auto said = ranks::against(
            [](RankTransport& transport) { transport.gather("mine"); },
            [&](ranks::Liar& liar) { liar.say(static_cast<std::uint64_t>(word), static_cast<std::uint64_t>(size)); });
        QVERIFY2(said.starts_with("rank 1: rank 1 " + says.toStdString()), said.c_str());
    }

    void values_of_another_number_are_refused() {
        const auto said = ranks::against(
            [](RankTransport& transport) {
                transport.all_gather({1, 2});
            },
            [](ranks::Liar& liar) { liar.say(static_cast<std::uint64_t>(Word::values), 1 << 20); });
        QVERIFY2(said.starts_with("rank 1: rank 1 sent 1048576 bytes, where 24 were due"), said.c_str());
    }

    void numbers_that_are_none_are_refused() {
        const auto said = ranks::against(
            [](RankTransport& transport) {
                transport.follow(everybody_to_everybody(2, 0));
                transport.gather_stage(0, {1});
            },
            [](ranks::Liar& liar) {
                const double none = std::numeric_limits<double>::quiet_NaN();
                liar.say(static_cast<std::uint64_t>(Word::values), sizeof none, std::as_bytes(std::span(&none, 1)));
            });
        QVERIFY2(said.starts_with("rank 1: rank 1 told a number that is none"), said.c_str());
    }

    void lines_are_booked_once() {
        std::mutex mutex;
        std::vector<double> starts;
        ranks::as_ranks("sockets", everybody_to_everybody(3, 0), [&](RankTransport& transport) {
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
