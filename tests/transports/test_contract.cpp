// SPDX-License-Identifier: GPL-3.0-or-later
// What every transport keeps: between threads (tests of the engine lean on it), Gloo over loopback beside sockets, and
// lanes over a NCCL in memory.
#include <QTest>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <latch>
#include <mutex>
#include <numeric>

#include "tests/transports/ranks.h"

using namespace skippipe;
using ranks::as_ranks;
using ranks::everybody_to_everybody;
using ranks::threads_now;

namespace {

Buffer text_message(const std::string& text) {
    Buffer buffer(text.size());
    std::memcpy(buffer.data(), text.data(), text.size());
    return buffer;
}

/// "from>to#number", padded to a length that differs from message to message.
std::string text_of(const RankTransfer& transfer) {
    auto text = std::to_string(transfer.from_node) + ">" + std::to_string(transfer.to_node) + "#" +
                std::to_string(transfer.number);
    text.resize(20 + static_cast<std::size_t>(transfer.number % 7) * 1000, '.');
    return text;
}

Delivery filled(const RankTransport& transport, const RankTransfer& transfer) {
    const double now_s = transport.now_s();
    return {transfer, {now_s, now_s, now_s}, text_message(text_of(transfer))};
}

std::size_t size_of(const RankTransfer& transfer) { return text_of(transfer).size(); }

void send_all(RankTransport& transport, const RankSchedule& schedule) {
    for (const auto& transfer : schedule.transfers)
        if (transfer.from_node == transport.rank()) transport.send(filled(transport, transfer));
}

/// Calls `waits` and, a moment later from another thread, `abort`; seconds from then until it threw Aborted, and a day
/// where it did otherwise.
double seconds_to_end(RankTransport& transport, const std::function<void()>& waits) {
    std::atomic<double> aborted_s{0};
    std::thread aborting([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        aborted_s = steady_s();
        transport.abort();
    });
    double ended_s = 1e9;
    try {
        waits();
    } catch (const Aborted&) {
        ended_s = steady_s();
    } catch (const std::exception& error) {
        qWarning("ended with: %s", error.what());
    }
    aborting.join();
    return ended_s - aborted_s;
}

}  // namespace

class TestContract : public QObject {
    Q_OBJECT

    static void transports() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : ranks::carriers()) QTest::newRow(kind) << kind;
    }
    static std::string kind() {
        QFETCH(QString, kind);
        return kind.toStdString();
    }

private Q_SLOTS:
    void init() { skippipe::testing::reset_fake_nccl(); }
    void cleanup() {
        const auto said = skippipe::testing::fake_violations();
        QVERIFY2(said.empty(), said.empty() ? "" : said.front().c_str());
    }

    void messages_arrive_whole_and_in_their_order_data() { transports(); }
    void messages_arrive_whole_and_in_their_order() {
        const auto schedule = everybody_to_everybody(3, 40);
        std::mutex mutex;
        std::map<std::pair<int, int>, std::vector<int>> numbers;
        std::atomic<int> wrong{0};
        as_ranks(kind(), schedule, [&](RankTransport& transport) {
            for (int iteration = 0; iteration < 3; ++iteration) {
                transport.begin_iteration(size_of, [&](Delivery message) {
                    const auto expected = text_of(message.transfer);
                    wrong += message.bytes.size() < expected.size() ||
                             std::memcmp(message.bytes.data(), expected.data(), expected.size()) != 0;
                    const std::lock_guard lock(mutex);
                    numbers[{message.transfer.from_node, message.transfer.to_node}].push_back(message.transfer.number);
                });
                send_all(transport, schedule);
                transport.end_iteration();
                transport.all_gather({0});
            }
        });
        QCOMPARE(wrong.load(), 0);
        QCOMPARE(numbers.size(), std::size_t{6});
        for (const auto& [pair, got] : numbers) {
            std::vector<int> expected;
            for (int iteration = 0; iteration < 3; ++iteration)
                for (const auto& transfer : schedule.between(pair.first, pair.second))
                    expected.push_back(transfer.number);
            QCOMPARE(got, expected);
        }
    }

    /// Whoever begins an iteration may be gone soon after: sizes are asked at once.
    void sizes_are_asked_while_an_iteration_begins_data() { transports(); }
    void sizes_are_asked_while_an_iteration_begins() {
        const auto schedule = everybody_to_everybody(3, 40);
        std::atomic<int> late{0};
        as_ranks(kind(), schedule, [&](RankTransport& transport) {
            std::atomic<bool> begins{true};
            transport.begin_iteration(
                [&](const RankTransfer& transfer) {
                    late += !begins;
                    return size_of(transfer);
                },
                [](Delivery) {});
            begins = false;
            send_all(transport, schedule);
            transport.end_iteration();
            transport.all_gather({0});
        });
        QCOMPARE(late.load(), 0);
    }

    void collectives_data() { transports(); }
    void collectives() {
        std::atomic<int> wrong{0};
        // More than go round in a ring.
        as_ranks(kind(), everybody_to_everybody(6, 0), [&](RankTransport& transport) {
            for (int round = 0; round < 20; ++round) {
                const auto all = transport.all_gather({static_cast<double>(transport.rank()), round + 0.5});
                wrong += all.size() != 6;
                for (std::size_t r = 0; r < all.size(); ++r)
                    wrong += all[r] != std::vector<double>{static_cast<double>(r), round + 0.5};
            }
        });
        QCOMPARE(wrong.load(), 0);
        as_ranks(kind(), everybody_to_everybody(3, 0), [&](RankTransport& transport) {
            const int me = transport.rank();
            const auto expect = [&](bool right) { wrong += !right; };
            for (int round = 0; round < 3; ++round) {
                std::vector<float> sum{1.f, static_cast<float>(me)};
                transport.all_reduce(0, sum);
                expect(sum == std::vector<float>{3.f, 3.f});
                const std::vector<std::vector<double>> all{{0, 0.5}, {1, 0.5}, {2, 0.5}};
                expect(transport.gather_stage(0, {static_cast<double>(me), 0.5}) == all);
                expect(transport.all_gather({static_cast<double>(me), 0.5}) == all);
                const auto texts = transport.gather(std::string(static_cast<std::size_t>(me) * 100'000, 'x'));
                expect(me != 0 ? texts.empty()
                               : texts.size() == 3 && texts[0].empty() && texts[1].size() == 100'000 &&
                                     texts[2] == std::string(200'000, 'x'));
                for (const std::size_t size : {0, 5, 4096, 4097, 300'000}) {
                    const std::string text(size, 'y');
                    expect(transport.broadcast(me == 0 ? text : "") == text);
                }
                std::array<double, 3> message{1, 2, 3}, received{};
                if (me == 1) transport.send_to(2, std::as_bytes(std::span(message)));
                if (me == 2) transport.receive_from(1, std::as_writable_bytes(std::span(received)));
                expect(me != 2 || received == message);
            }
        });
        QCOMPARE(wrong.load(), 0);
    }

    /// Rank 1 waits for what rank 0 never does.
    void abort_ends_every_wait_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("what");
        for (const char* kind : ranks::carriers())
            for (const char* what : {"receiving", "sending", "not handed over", "all_reduce", "latest", "all_gather",
                                     "gather", "broadcast", "send_to", "receive_from"})
                QTest::addRow("%s: %s", kind, what) << kind << what;
    }
    void abort_ends_every_wait() {
        QFETCH(QString, what);
        const auto schedule = everybody_to_everybody(2, 20);
        std::latch over(2);
        double took_s = 1e9;
        const auto waiting = [&](RankTransport& transport) {
            std::vector<float> values(1000, 1.f);
            std::vector<std::byte> bytes(1 << 20);
            const auto iterate = [&](bool sends) {
                transport.begin_iteration(size_of, [](Delivery) {});
                if (sends) send_all(transport, schedule);
                transport.end_iteration();
            };
            if (what == "receiving" || what == "sending") iterate(true);
            if (what == "not handed over") iterate(false);
            if (what == "all_reduce") transport.all_reduce(0, values);
            if (what == "latest") transport.gather_stage(0, {1});
            if (what == "all_gather") transport.all_gather({1, 2});
            if (what == "gather") transport.gather("text");
            if (what == "broadcast") transport.broadcast("text");
            if (what == "send_to") transport.send_to(1 - transport.rank(), bytes);
            if (what == "receive_from") transport.receive_from(1 - transport.rank(), bytes);
        };
        // A gather waits where it is gathered.
        const int waits = what == "gather" ? 0 : 1;
        try {
            as_ranks(kind(), schedule, [&](RankTransport& transport) {
                if (transport.rank() == waits) {
                    took_s = seconds_to_end(transport, [&] { waiting(transport); });
                } else if (what == "receiving") {
                    transport.begin_iteration(size_of, [](Delivery) {});  // takes what comes, sends nothing
                }
                over.arrive_and_wait();
            });
        } catch (const Aborted&) {}
        QVERIFY2(took_s < 1, qPrintable(QString::number(took_s)));
    }

    void after_abort_every_call_says_so_data() { transports(); }
    void after_abort_every_call_says_so() {
        const auto schedule = everybody_to_everybody(2, 3);
        std::latch over(2);
        std::atomic<int> wrong{0};
        as_ranks(kind(), schedule, [&](RankTransport& transport) {
            if (transport.rank() == 1) {
                transport.abort();
                transport.abort();
                std::vector<float> values(2);
                std::vector<std::byte> bytes(2);
                const std::vector<std::function<void()>> calls{
                    [&] { transport.follow(schedule); },
                    [&] { transport.begin_iteration(size_of, [](Delivery) {}); },
                    [&] { transport.send(filled(transport, schedule.between(1, 0).front())); },
                    [&] { transport.end_iteration(); },
                    [&] { transport.all_reduce(0, values); },
                    [&] { transport.gather_stage(0, {1}); },
                    [&] { transport.all_gather({1}); },
                    [&] { transport.gather("x"); },
                    [&] { transport.broadcast("x"); },
                    [&] { transport.send_to(0, bytes); },
                    [&] { transport.receive_from(0, bytes); },
                    [&] { transport.line_book(1); },
                };
                for (std::size_t i = 0; i < calls.size(); ++i) try {
                        calls[i]();
                        qWarning("call %zu returned", i);
                        ++wrong;
                    } catch (const Aborted&) {
                    } catch (const std::exception& error) {
                        qWarning("call %zu: %s", i, error.what());
                        ++wrong;
                    }
            }
            over.arrive_and_wait();
        });
        QCOMPARE(wrong.load(), 0);
    }

    void nothing_is_delivered_after_abort_data() { transports(); }
    void nothing_is_delivered_after_abort() {
        const auto schedule = everybody_to_everybody(2, 300);
        std::latch over(2);
        std::atomic<bool> gone{false};
        std::atomic<int> delivered{0}, late{0}, told{0};
        as_ranks(kind(), schedule, [&](RankTransport& transport) {
            if (transport.rank() == 0) {
                transport.when_broken([](std::exception_ptr) {});  // the other one's end
                transport.begin_iteration(size_of, [](Delivery) {});
                send_all(transport, schedule);
                over.arrive_and_wait();
                return transport.abort();
            }
            transport.when_broken([&](std::exception_ptr) { ++told; });
            transport.begin_iteration(size_of, [&](Delivery) {
                late += gone;
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                late += gone;
                ++delivered;
            });
            send_all(transport, schedule);  // where all share one order, one direction waits for the other
            while (delivered < 5) std::this_thread::yield();
            transport.abort();
            gone = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            over.arrive_and_wait();
        });
        QCOMPARE(late.load(), 0);
        QCOMPARE(told.load(), 1);
        QVERIFY(delivered < 300);
    }

    /// The engine may find out inside of what it is given.
    void abort_from_inside_a_delivery_data() { transports(); }
    void abort_from_inside_a_delivery() {
        const auto schedule = everybody_to_everybody(2, 5);
        std::latch over(2);
        std::atomic<int> ended{0};
        as_ranks(kind(), schedule, [&](RankTransport& transport) {
            if (transport.rank() == 0) {
                transport.when_broken([](std::exception_ptr) {});
                transport.begin_iteration(size_of, [](Delivery) {});
                send_all(transport, schedule);
                over.arrive_and_wait();
                return transport.abort();
            }
            transport.begin_iteration(size_of, [&](Delivery) { transport.abort(); });
            try {
                transport.end_iteration();
            } catch (const Aborted&) {
                ++ended;
            }
            over.arrive_and_wait();
        });
        QCOMPARE(ended.load(), 1);
    }

    void what_a_delivery_throws_ends_the_iteration_data() { transports(); }
    void what_a_delivery_throws_ends_the_iteration() {
        const auto schedule = everybody_to_everybody(2, 5);
        std::latch over(2);
        std::string said;
        as_ranks(kind(), schedule, [&](RankTransport& transport) {
            if (transport.rank() == 0) {
                transport.when_broken([](std::exception_ptr) {});
                transport.begin_iteration(size_of, [](Delivery) {});
                send_all(transport, schedule);
                over.arrive_and_wait();
                return transport.abort();
            }
            transport.begin_iteration(size_of, [](Delivery) { throw std::runtime_error("no room"); });
            try {
                transport.end_iteration();
            } catch (const std::exception& error) {
                said = error.what();
            }
            over.arrive_and_wait();
        });
        QCOMPARE(said, std::string("no room"));
    }

    void no_thread_is_left_data() { transports(); }
    void no_thread_is_left() {
        const auto schedule = everybody_to_everybody(3, 4);
        const auto run = [&](bool aborts) {
            std::latch over(3);
            as_ranks(kind(), schedule, [&](RankTransport& transport) {
                transport.when_broken([](std::exception_ptr) {});
                transport.begin_iteration(size_of, [](Delivery) {});
                if (!aborts) {
                    send_all(transport, schedule);
                    transport.end_iteration();
                    transport.all_gather({0});
                }
                over.arrive_and_wait();
                if (aborts) transport.abort();
            });
        };
        run(false);  // what libraries start once
        const int before = threads_now();
        run(false);
        run(true);
        QTRY_COMPARE_WITH_TIMEOUT(threads_now(), before, 2000);
    }

    /// One rank alone: abort and what it says hold there too.
    void one_rank() {
        LocalTransport transport;
        int told = 0;
        transport.when_broken([&](std::exception_ptr) { ++told; });
        QCOMPARE(transport.broadcast("a"), std::string("a"));
        QCOMPARE(transport.all_gather({1, 2}), (std::vector<std::vector<double>>{{1, 2}}));
        transport.abort();
        transport.abort();
        QCOMPARE(told, 1);
        QVERIFY_EXCEPTION_THROWN(transport.all_gather({1}), Aborted);
        QVERIFY_EXCEPTION_THROWN(transport.end_iteration(), Aborted);
    }

    /// Clocks that start apart and run at different speeds show one time, and go on showing it.
    void clocks_are_compared_again_while_running() {
        constexpr double too_fast = 0.005, lasts_s = 2.5;
        const double start_s = steady_s();
        const auto options = [&](int rank) {
            ControlOptions given{.one_clock_a_host = false, .compare_clocks_every_s = 0.2};
            if (rank == 1)
                given.local_s = [start_s] {
                    const double now_s = steady_s();
                    return now_s + 500 + too_fast * (now_s - start_s);
                };
            return given;
        };
        double first_s = 1e9, last_s = 1e9, backwards_s = 0;
        as_ranks(
            "sockets", everybody_to_everybody(2, 0),
            [&](RankTransport& transport) {
                const bool second = transport.rank() == 1;
                // At one moment, as well as ranks can agree on one: the best of some tries.
                const auto apart_s = [&] {
                    double best_s = 1e9;
                    for (int i = 0; i < 50; ++i) {
                        transport.all_gather({0});
                        const auto times = transport.all_gather({transport.now_s()});
                        best_s = std::min(best_s, std::abs(times[0][0] - times[1][0]));
                    }
                    return best_s;
                };
                const double at_first_s = apart_s();
                double before_s = transport.now_s();
                bool goes_on = true;
                while (goes_on) {
                    goes_on = transport.all_gather({steady_s() - start_s < lasts_s ? 1.0 : 0.0})[0][0] == 1;
                    const double now_s = transport.now_s();
                    if (second) backwards_s = std::max(backwards_s, before_s - now_s);
                    before_s = now_s;
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                }
                const double at_last_s = apart_s();
                if (second) first_s = at_first_s, last_s = at_last_s;
            },
            options);
        QVERIFY2(first_s < 0.004, qPrintable(QString::number(first_s)));
        QVERIFY2(last_s < 0.004, qPrintable(QString::number(last_s)));  // compared once: 0.0125
        QVERIFY(backwards_s <= 0);
    }
};

QTEST_GUILESS_MAIN(TestContract)
#include "test_contract.moc"
