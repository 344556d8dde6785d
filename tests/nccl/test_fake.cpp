// SPDX-License-Identifier: GPL-3.0-or-later
// The fake NCCL refuses what the real one would hang or break on: else the tests that lean on it could not fail.
#include <QTest>

#include <chrono>
#include <future>
#include <vector>

#include "plugins/transports/nccl/communicator.h"
#include "tests/nccl/lanes_in_process.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

using Body = std::function<void(Communicator&, HostQueue&)>;

/// Each body as a rank of one communicator; how often one ended with an error.
int as_members(const std::vector<Body>& bodies, const std::vector<std::string>& devices = {}, double seconds = 1) {
    const auto id = make_unique_id(fake_table());
    std::vector<int> ranks;
    for (std::size_t r = 0; r < bodies.size(); ++r) ranks.push_back(static_cast<int>(r));
    std::vector<std::future<void>> done;
    for (const int rank : ranks)
        done.push_back(std::async(std::launch::async, [&, rank] {
            const auto r = static_cast<std::size_t>(rank);
            const auto queue = devices.empty() ? queue_of(rank) : std::make_shared<HostQueue>(devices[r]);
            queue->make_current();
            Communicator communicator(fake_table(), ranks, rank, id, {[] {}, seconds});
            bodies[r](communicator, *queue);
            const auto end = queue->record();
            for (int i = 0; i < 2000 && !end->done(); ++i) {
                communicator.check();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            if (!end->done()) throw NcclFailure("it hangs");
            communicator.check();
        }));
    int failed = 0;
    for (auto& one : done) try {
            one.get();
        } catch (const NcclFailure&) {
            ++failed;
        }
    return failed;
}

bool refused(const char* words) {
    const auto said = fake_violations();
    reset_fake_nccl();
    return said.size() == 1 && said.front().find(words) != std::string::npos;
}

}  // namespace

class TestFake : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { reset_fake_nccl(); }

    void what_is_sent_is_received_and_summed() {
        std::vector<float> a{1, 2}, b{10, 20}, come(2);
        QCOMPARE(as_members({[&](Communicator& c, HostQueue& q) {
                                 c.send(reinterpret_cast<std::byte*>(a.data()), 8, 1, &q);
                                 c.all_reduce(reinterpret_cast<std::byte*>(a.data()), 2, &q);
                             },
                             [&](Communicator& c, HostQueue& q) {
                                 c.receive(reinterpret_cast<std::byte*>(come.data()), 8, 0, &q);
                                 c.all_reduce(reinterpret_cast<std::byte*>(b.data()), 2, &q);
                             }}),
                 0);
        QCOMPARE(come, (std::vector<float>{1, 2}));
        QCOMPARE(a, (std::vector<float>{11, 22}));
        QCOMPARE(b, a);
        QVERIFY(fake_violations().empty());
        QCOMPARE(fake_counts().transfers, 1);
        QCOMPARE(fake_counts().sums, 1);
    }

    void another_size_is_refused() {
        std::vector<std::byte> a(8), b(8);
        QCOMPARE(as_members({[&](Communicator& c, HostQueue& q) { c.send(a.data(), 8, 1, &q); },
                             [&](Communicator& c, HostQueue& q) { c.receive(b.data(), 7, 0, &q); }}),
                 2);
        QVERIFY(refused("another size or type"));
        QCOMPARE(as_members({[&](Communicator& c, HostQueue& q) { c.all_reduce(a.data(), 2, &q); },
                             [&](Communicator& c, HostQueue& q) { c.all_reduce(b.data(), 1, &q); }}),
                 2);
        QVERIFY(refused("another size or type"));
    }

    /// Both send first: each waits for the other to receive, for ever.
    void an_order_that_does_not_end_is_refused() {
        std::vector<std::byte> a(8), b(8);
        const auto first_sends = [](std::vector<std::byte>& bytes, int other) {
            return [&bytes, other](Communicator& c, HostQueue& q) {
                c.send(bytes.data(), 8, other, &q);
                c.receive(bytes.data(), 8, other, &q);
            };
        };
        QCOMPARE(as_members({first_sends(a, 1), first_sends(b, 0)}), 2);
        QVERIFY(refused("wait for each other"));
        // The same in one group is fine.
        std::vector<std::byte> x(8), y(8);
        const auto grouped = [](std::vector<std::byte>& from, std::vector<std::byte>& to, int other) {
            return [&from, &to, other](Communicator& c, HostQueue& q) {
                c.together([&] {
                    c.send(from.data(), 8, other, &q);
                    c.receive(to.data(), 8, other, &q);
                });
            };
        };
        QCOMPARE(as_members({grouped(a, x, 1), grouped(b, y, 0)}), 0);
        // Three in a ring, and a sum that one comes to too early.
        std::vector<std::byte> c(8);
        QCOMPARE(as_members({first_sends(a, 1), first_sends(b, 2), first_sends(c, 0)}), 3);
        QVERIFY(refused("wait for each other"));
        QCOMPARE(as_members({[&](Communicator& m, HostQueue& q) {
                                 m.all_reduce(a.data(), 2, &q);
                                 m.send(a.data(), 8, 1, &q);
                             },
                             [&](Communicator& m, HostQueue& q) {
                                 m.receive(b.data(), 8, 0, &q);
                                 m.all_reduce(b.data(), 2, &q);
                             }}),
                 2);
        QVERIFY(refused("wait for each other"));
    }

    /// Two communicators of the same ranks, as two stages on them have: in each, only one side comes.
    void another_communicator_is_refused() {
        using Both = std::function<void(Communicator&, Communicator&, HostQueue&)>;
        const auto in_two = [](const Both& first, const Both& second) {
            const auto id = make_unique_id(fake_table());
            const auto with = [id](const Both& body, int rank) {
                return [id, body, rank](Communicator& one, HostQueue& queue) {
                    Communicator other(fake_table(), {0, 1}, rank, id, {[] {}, 1});
                    body(one, other, queue);
                    const auto end = queue.record();
                    for (int i = 0; i < 2000 && !end->done(); ++i) {
                        one.check();
                        other.check();
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    }
                    one.check();  // what is refused ends in its stream too: an end counts after that look
                    other.check();
                };
            };
            return as_members({with(first, 0), with(second, 1)});
        };
        std::vector<std::byte> a(8), b(8);
        const auto sends = [&](Communicator& one, Communicator&, HostQueue& q) { one.send(a.data(), 8, 1, &q); };
        QCOMPARE(
            in_two(sends, [&](Communicator& one, Communicator&, HostQueue& q) { one.receive(b.data(), 8, 0, &q); }), 0);
        QVERIFY(in_two(sends, [&](Communicator&, Communicator& other, HostQueue& q) {
                    other.receive(b.data(), 8, 0, &q);
                }) > 0);
        QVERIFY(refused("in another communicator"));
        const auto sums = [](std::vector<std::byte>& bytes, bool other_first) {
            return [&bytes, other_first](Communicator& one, Communicator& other, HostQueue& q) {
                (other_first ? other : one).all_reduce(bytes.data(), 2, &q);
                (other_first ? one : other).all_reduce(bytes.data(), 2, &q);
            };
        };
        QCOMPARE(in_two(sums(a, false), sums(b, false)), 0);
        QVERIFY(in_two(sums(a, false), sums(b, true)) > 0);
        QVERIFY(refused("in another communicator"));
    }

    void a_group_that_does_not_end_is_refused() {
        std::vector<std::byte> a(8), b(8), c(8);
        // 0's group waits for 2, who waits for 0 to be done with it.
        QVERIFY(as_members({[&](Communicator& m, HostQueue& q) {
                                m.together([&] {
                                    m.send(a.data(), 8, 1, &q);
                                    m.receive(a.data(), 8, 2, &q);
                                });
                                m.send(a.data(), 8, 2, &q);
                            },
                            [&](Communicator& m, HostQueue& q) { m.receive(b.data(), 8, 0, &q); },
                            [&](Communicator& m, HostQueue& q) {
                                m.receive(c.data(), 8, 0, &q);
                                m.send(c.data(), 8, 0, &q);
                            }}) > 0);
        QVERIFY(refused("wait for each other"));
    }

    void a_stream_of_another_device_is_refused() {
        std::vector<std::byte> a(8), b(8);
        HostQueue other("gpu-9");
        QVERIFY(as_members({[&](Communicator& m, HostQueue&) { m.send(a.data(), 8, 1, &other); },
                            [&](Communicator& m, HostQueue& q) { m.receive(b.data(), 8, 0, &q); }}) > 0);
        QVERIFY(refused("a stream of another device"));
    }

    void a_peer_that_is_none_is_refused() {
        std::vector<std::byte> a(8);
        for (const int peer : {0, 2}) {  // itself, and one beyond the two
            QVERIFY(as_members({[&](Communicator& m, HostQueue& q) { m.send(a.data(), 8, peer, &q); },
                                [](Communicator&, HostQueue&) {}}) > 0);
            QVERIFY(refused("a peer that is none"));
        }
    }

    void a_communicator_that_was_given_up_is_refused() {
        std::vector<std::byte> a(8);
        const auto queue = queue_of(0);
        queue->make_current();
        NcclComm* comm = nullptr;
        NcclConfig config;
        fake_table().init(&comm, 1, make_unique_id(fake_table()), 0, &config);
        fake_table().abort(comm);
        QCOMPARE(fake_table().all_reduce(a.data(), a.data(), 2, NcclType::float32, NcclOperation::sum, comm,
                                         queue->native()),
                 NcclResult::invalid_argument);
        QVERIFY(refused("not there"));
        QCOMPARE(fake_table().abort(comm), NcclResult::invalid_argument);
    }

    void a_device_twice_is_refused() {
        QCOMPARE(as_members({[](Communicator&, HostQueue&) {}, [](Communicator&, HostQueue&) {}}, {"x", "x"}), 2);
        QVERIFY(refused("duplicate GPU: x"));
    }

    void a_call_too_early_is_refused() {
        std::vector<std::byte> a(8);
        QCOMPARE(as_members({[&](Communicator&, HostQueue& q) {
                     // Without waiting for what was begun: not through Communicator, which waits.
                     const auto id = make_unique_id(fake_table());
                     NcclComm* comm = nullptr;
                     NcclConfig config;
                     fake_table().init(&comm, 2, id, 0, &config);
                     fake_table().send(a.data(), 8, NcclType::bytes, 1, comm, &q);
                     fake_table().abort(comm);
                 }}),
                 0);
        QVERIFY(refused("still going on"));
    }

    void who_does_not_come_is_waited_for_no_longer_than_told() {
        const auto id = make_unique_id(fake_table());
        const auto queue = queue_of(0);
        queue->make_current();
        const auto begin = std::chrono::steady_clock::now();
        QVERIFY_THROWS_EXCEPTION(NcclFailure, Communicator(fake_table(), {0, 1}, 0, id, {[] {}, 0.1}));
        QVERIFY(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
        QCOMPARE(fake_counts().aborts, 1);
    }
};

QTEST_GUILESS_MAIN(TestFake)
#include "test_fake.moc"
