// SPDX-License-Identifier: GPL-3.0-or-later
// What comes with a message over Gloo is checked: a peer here speaks Gloo by hand, and says what cannot be.
#include <QTest>

#include <array>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>

#include "plugins/transports/gloo/gloo.h"
#include "plugins/transports/gloo/posts.h"
#include "tests/transports/liar.h"

using namespace skippipe;

namespace {

/// One node on each rank, no stage shared.
RankSchedule apart(int messages) {
    auto schedule = ranks::everybody_to_everybody(2, messages);
    schedule.plan.stages = {{0}, {1}};
    return schedule;
}

Group group_of_two(RunStore& store, const char* name, int rank) {
    static const auto device = c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
    return make_group(c10::make_intrusive<c10d::PrefixStore>(name, store.shared()), rank, 2, device,
                      std::chrono::minutes(2));
}

/// Rank 1's: the group of what it sends to rank 0, once that of the other direction is there as well.
Group edges_with_first(RunStore& store) {
    const auto forward = group_of_two(store, "0/edge/0-1", 1);
    return group_of_two(store, "0/edge/1-0", 0);
}

}  // namespace

class TestEnvelopes : public QObject {
    Q_OBJECT

private Q_SLOTS:
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
        const auto schedule = apart(1);
        const auto said = ranks::against(
            [&](ControlTransport& control) {
                GlooTransport transport(control, schedule);
                const double now_s = transport.now_s();
                transport.begin_iteration([](const RankTransfer&) { return std::size_t{8}; }, [](Delivery) {});
                transport.send({{0, {OpKind::F, 0}, 0, 1}, {now_s, now_s, now_s}, Buffer(8)});
                sent.set_value();
                transport.end_iteration();
            },
            [&](ranks::Liar& liar) {
                const auto edge = edges_with_first(*liar.store);
                sent.get_future().wait_for(std::chrono::seconds(20));
                std::array<std::byte, 8 + Buffer::envelope_bytes> message{};
                const std::int64_t named = number;
                const double now_s = steady_s(), start = std::isfinite(start_s) && start_s > -1 ? now_s : start_s;
                const double times[3] = {now_s, start, now_s};
                std::memcpy(message.data() + 8, &named, sizeof named);
                std::memcpy(message.data() + 16, times, sizeof times);
                edge->finish(post_send(edge, message, 1, 1));
            });
        QVERIFY2(said.starts_with("rank 1: rank 1 sent transfer"), said.c_str());
    }

    /// Links are measured over what trains: by Gloo goes what is sent beside the plan, once both ranks are there.
    void what_is_sent_beside_the_plan_goes_by_gloo() {
        std::array<std::byte, 8> heard{};
        const auto said = ranks::against(
            [&](ControlTransport& control) {
                GlooTransport transport(control, apart(0));
                const std::array<std::byte, 8> message{std::byte{7}};
                transport.send_to(1, message);
            },
            [&](ranks::Liar& liar) {
                liar.hear(0);
                liar.confirm();
                const auto line = group_of_two(*liar.store, "0/line/0-1", 1);
                line->finish(post_receive(line, heard, 0, 1));
            });
        QVERIFY2(said.empty(), said.c_str());
        QCOMPARE(static_cast<int>(heard[0]), 7);
    }
};

QTEST_GUILESS_MAIN(TestEnvelopes)
#include "test_envelopes.moc"
