// SPDX-License-Identifier: GPL-3.0-or-later
// Groups of Gloo's by themselves: whoever waits in one wakes when it is broken up, also where a message was half there,
// and what members of a stage sum up is the same everywhere.
#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <thread>

#include <QtTest>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "plugins/transports/gloo/mesh.h"
#include "tests/transports/waits.h"

using namespace skippipe;
using waits::is_told;
using waits::threw;

namespace {

/// Groups of one process, one a member; each has a device of its own, as processes have.
std::vector<Group> make_groups(int members) {
    const auto store = c10::make_intrusive<c10d::HashStore>();
    std::vector<std::future<Group>> made;
    for (int rank = 0; rank < members; ++rank)
        made.push_back(std::async(std::launch::async, [&store, rank, members] {
            return make_group(store, rank, members, c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"),
                              std::chrono::seconds(20));
        }));
    std::vector<Group> groups;
    for (auto& group : made) groups.push_back(group.get());
    return groups;
}

void as_members(int members, const std::function<void(const Group&)>& work) {
    const auto groups = make_groups(members);
    std::vector<std::future<void>> done;
    for (const auto& group : groups) done.push_back(std::async(std::launch::async, [&] { work(group); }));
    for (auto& one : done) one.get();
}

class TestGroup : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { std::signal(SIGPIPE, SIG_IGN); }  // as a process that meets others does

    void a_message_that_is_half_there_ends_with_its_group() {
        constexpr std::size_t size = std::size_t{1} << 29;
        const auto groups = make_groups(2);
        const auto sent = std::make_shared<std::vector<std::byte>>(size, std::byte{1}),
                   received = std::make_shared<std::vector<std::byte>>(size);
        const auto posting = post_receive(groups[0], *received, 1, 1);
        auto receives = threw([=, group = groups[0]] { (void)received, group->finish(posting); });
        auto sends = threw([=, group = groups[1]] { group->finish(post_send(group, *sent, 0, 1)); });
        const std::atomic_ref first(received->front()), last(received->back());
        while (first.load() == std::byte{0}) std::this_thread::yield();
        groups[0]->break_up();
        QVERIFY2(last.load() == std::byte{0}, "the message was there before its group was broken up");
        QVERIFY2(is_told(receives, std::chrono::seconds(10)), "who waits for the rest of a message waits for ever");
        QVERIFY(receives.get());
        groups[1]->break_up();
        QVERIFY2(is_told(sends, std::chrono::seconds(10)), "who has sent half of a message waits for ever");
        QVERIFY(sends.get());
    }

    void nothing_waits_in_a_group_that_is_broken_up() {
        const auto groups = make_groups(2);
        double value = 0;
        const auto posting = post_receive(groups[0], std::as_writable_bytes(std::span(&value, 1)), 1, 1);
        groups[0]->break_up();
        QVERIFY_EXCEPTION_THROWN(groups[0]->finish(posting), std::exception);
    }

    void sums_have_equal_bits_data() {
        QTest::addColumn<int>("members");
        for (const int members : {2, 3, 5}) QTest::addRow("%d", members) << members;
    }
    /// In the members' order, whatever share of the values a member sums.
    void sums_have_equal_bits() {
        QFETCH(int, members);
        for (const std::size_t count : {0, 1, 2, 7, 4096, 100001}) {
            std::vector<std::vector<float>> values(skippipe::at(members), std::vector<float>(count));
            Rng rng(count);
            for (auto& of_member : values)
                for (auto& value : of_member) value = static_cast<float>(rng.uniform() * 2 - 1);
            std::vector<float> expected = values.front();
            for (int member = 1; member < members; ++member)
                for (std::size_t i = 0; i < count; ++i) expected[i] += values[skippipe::at(member)][i];
            as_members(members,
                       [&](const Group& group) { mesh_all_reduce(group, values[skippipe::at(group->getRank())]); });
            for (const auto& of_member : values) QCOMPARE(of_member, expected);
        }
    }
};

}  // namespace

QTEST_GUILESS_MAIN(TestGroup)
#include "test_group.moc"
