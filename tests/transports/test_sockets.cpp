// SPDX-License-Identifier: GPL-3.0-or-later
// Connections between ranks by themselves: who is let in, what wakes who waits, and that who hands over waits.
#include <QTest>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/base/index.h"
#include "core/engine/launch.h"
#include "core/engine/transport.h"
#include "plugins/transports/local_store.h"
#include "plugins/transports/run_store.h"
#include "plugins/transports/socket_meeting.h"
#include "tests/transports/waits.h"

using namespace skippipe;
using waits::is_told;
using waits::threw;
using namespace std::chrono_literals;

namespace {

/// The store of a run, and ranks that meet in it.
struct Run {
    std::string token = make_token();
    LocalStoreServer server{0, token};

    c10::intrusive_ptr<RunStore> store(const StopFlag& stop = {}) const {
        return c10::make_intrusive<RunStore>(c10::make_intrusive<LocalStore>(server.number(), token, 10s), token, stop,
                                             10s);
    }
    static SocketParty party(int rank, int members, std::chrono::milliseconds patience = 10s) {
        SocketParty party{{}, rank, "127.0.0.1", "0", patience};
        for (int member = 0; member < members; ++member) party.members.push_back(member);
        return party;
    }
    std::future<std::shared_ptr<RankSockets>> come(int rank, int members) const {
        return std::async(std::launch::async, [=, this] {
            const auto own = store();
            return std::make_shared<RankSockets>(*own, party(rank, members));
        });
    }
    std::vector<std::shared_ptr<RankSockets>> all(int members) const {
        std::vector<std::future<std::shared_ptr<RankSockets>>> coming;
        for (int rank = 0; rank < members; ++rank) coming.push_back(come(rank, members));
        std::vector<std::shared_ptr<RankSockets>> ranks;
        for (auto& one : coming) ranks.push_back(one.get());
        return ranks;
    }
};

/// Somebody at a rank's port, who says this.
Descriptor stranger_at(int port, std::span<const std::byte> says) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port)), .sin_addr = {}, .sin_zero = {}};
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return Descriptor();
    ::send(socket.get(), says.data(), says.size(), MSG_NOSIGNAL);
    return socket;
}

std::span<const std::byte> bytes_of(const SocketMeeting::Hello& hello) { return std::as_bytes(std::span(&hello, 1)); }

}  // namespace

class TestSockets : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Who says nothing, who knows no secret, and who has the secret of a rank but is none keep nobody from meeting and
    /// are heard by nobody.
    void strangers_are_not_let_in() {
        const Run run;
        const auto store = run.store();
        auto first = run.come(0, 2);
        store->wait({SocketMeeting::key("0", 0)});
        const auto place = SocketMeeting::read_place(store->text(SocketMeeting::key("0", 0)), 0);
        const auto hello = [&](const std::string& secret, int rank) {
            SocketMeeting::Hello says{{}, rank};
            std::memcpy(says.secret, secret.data(), sizeof says.secret);
            return says;
        };
        std::vector<Descriptor> strangers;
        for (int i = 0; i < 5; ++i) strangers.push_back(stranger_at(place.port, {}));
        for (const auto& says : {hello(make_token(), 1), hello(std::string(32, '\0'), 1), hello(place.secret, 0),
                                 hello(place.secret, 2), hello(place.secret, -1)})
            strangers.push_back(stranger_at(place.port, bytes_of(says)));
        strangers.push_back(stranger_at(place.port, bytes_of(hello(place.secret, 1)).first(20)));
        for (const auto& one : strangers) QVERIFY(one.get() >= 0);
        std::this_thread::sleep_for(100ms);
        QVERIFY(first.wait_for(0s) != std::future_status::ready);
        const auto second = run.come(1, 2).get();
        const auto sockets = first.get();
        second->send(0, Word::text, std::as_bytes(std::span("hello", 5)));
        QCOMPARE(sockets->receive_text(1, 100), std::string("hello"));
    }

    void who_does_not_come_is_named() {
        const Run run;
        const auto store = run.store();
        try {
            SocketMeeting meeting(*store, Run::party(0, 2, 200ms));
            meeting.admit();
            QFAIL("nobody came");
        } catch (const std::exception& error) {
            QCOMPARE(std::string(error.what()), std::string("rank 1 does not connect"));
        }
    }

    /// No descriptor is left: it is not waited for what cannot come.
    void who_can_let_nobody_in_says_so() {
        const Run run;
        const auto store = run.store();
        SocketMeeting meeting(*store, Run::party(0, 2, 5s));
        const auto place = SocketMeeting::read_place(store->text(SocketMeeting::key("0", 0)), 0);
        const auto stranger = stranger_at(place.port, {});
        rlimit usual{};
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &usual), 0);
        rlimit none = usual;
        none.rlim_cur = static_cast<rlim_t>(Descriptor(::dup(0)).get());
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
        int said = 0;
        try {
            meeting.admit();
        } catch (const std::system_error& error) {
            said = error.code().value();
        } catch (const std::exception&) {
            said = -1;
        }
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &usual), 0);
        QCOMPARE(said, EMFILE);
    }

    /// Whatever name a host goes by: the others need ask no name server.
    void places_are_numbers() {
        const Run run;
        const auto store = run.store();
        auto party = Run::party(0, 2);
        party.address = "localhost";
        const SocketMeeting meeting(*store, party);
        const auto place = SocketMeeting::read_place(store->text(SocketMeeting::key("0", 0)), 0);
        QVERIFY2(place.address == "127.0.0.1" || place.address == "::1", place.address.c_str());
    }

    void places_that_cannot_be_are_refused() {
        const std::string secret(32, 'a');
        QCOMPARE(SocketMeeting::read_place("80 " + secret + " fe80::1%eth0", 3).address, std::string("fe80::1%eth0"));
        for (const auto& text : {std::string(), std::string("80"), "0 " + secret + " here", "65536 " + secret + " here",
                                 "8x " + secret + " here", std::string("80 short here"), " " + secret + " here"})
            QVERIFY_EXCEPTION_THROWN(SocketMeeting::read_place(text, 3), PeerFault);
    }

    /// Whoever waits wakes: also for the rest of a message that is half there or half gone.
    void what_waits_ends_when_it_is_broken_up() {
        const Run run;
        const auto ranks = run.all(3);
        const auto half = std::make_shared<std::vector<std::byte>>(std::size_t{1} << 28);
        auto receives = threw([=] { ranks[0]->receive(1, Word::data, *half); });
        auto sends = threw([=] { ranks[0]->send(2, Word::data, *half); });
        auto waits = threw([=] { ranks[0]->receive(ranks[0]->first_of({2}), Word::data, *half); });
        std::thread beginning([&] {
            try {
                ranks[1]->send(0, Word::data, *half);
            } catch (const std::exception&) {
                // Its end: the other one is gone.
            }
        });
        std::this_thread::sleep_for(1ms);
        ranks[0]->break_up();
        QVERIFY2(is_told(receives, 5s), "who waits for the rest of a message waits for ever");
        QVERIFY2(is_told(sends, 5s), "who has sent half of a message waits for ever");
        QVERIFY2(is_told(waits, 5s), "who waits for any message waits for ever");
        QVERIFY(sends.get() && waits.get());
        beginning.join();
        QVERIFY_EXCEPTION_THROWN(ranks[0]->send(1, Word::text, {}), std::exception);
    }

    /// However small: the sockets' own buffers would take it.
    void who_hands_over_waits_until_it_is_there() {
        const Run run;
        const auto ranks = run.all(2);
        const std::array<std::byte, 4> sent{std::byte{1}, std::byte{2}};
        std::array<std::byte, 4> received{};
        std::atomic<bool> over{false};
        auto handing = std::async(std::launch::async, [&] {
            ranks[0]->hand_over(1, sent);
            over = true;
        });
        std::this_thread::sleep_for(100ms);
        QVERIFY(!over);
        ranks[1]->take_over(0, received);
        handing.get();
        QCOMPARE(received, sent);
    }

    /// Both directions of a pair at once, each large.
    void both_directions_at_once() {
        const Run run;
        const auto ranks = run.all(2);
        std::vector<std::future<bool>> done;
        for (const int me : {0, 1}) {
            done.push_back(std::async(std::launch::async, [&, me] {
                ranks[skippipe::at(me)]->hand_over(1 - me, std::vector<std::byte>(20'000'000, std::byte(me + 1)));
                return true;
            }));
            done.push_back(std::async(std::launch::async, [&, me] {
                std::vector<std::byte> received(20'000'000);
                ranks[skippipe::at(me)]->take_over(1 - me, received);
                return received == std::vector<std::byte>(20'000'000, std::byte(2 - me));
            }));
        }
        for (auto& one : done) QVERIFY(one.get());
    }

    void who_is_stopped_waits_for_nobody() {
        const Run run;
        const auto stop = std::make_shared<std::atomic<bool>>(false);
        const auto store = run.store(stop);
        auto party = Run::party(0, 2);
        party.check = [&] {
            if (*stop) throw Aborted();
        };
        auto coming = std::async(std::launch::async, [&] { RankSockets(*store, party); });
        std::this_thread::sleep_for(50ms);
        const double begin_s = steady_s();
        *stop = true;
        QVERIFY_EXCEPTION_THROWN(coming.get(), Aborted);
        QVERIFY(steady_s() - begin_s < 1);
    }
};

QTEST_GUILESS_MAIN(TestSockets)
#include "test_sockets.moc"
