// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>
#include <limits>
#include <set>

#include "core/base/rng.h"
#include "core/engine/span_codec.h"
#include "core/engine/transport.h"

using namespace skippipe;

namespace {

constexpr SpanLimits limits{.nodes = 5, .stages = 3, .microbatches = 8, .most = 1000};

std::vector<Span> one_of_each() {
    return {{SpanKind::forward, 4, -1, 2, 7, 0.5, 1, 2, 0},
            {SpanKind::loss, 0, -1, 0, 0, 0, 0, 0, 0},
            {SpanKind::backward, 1, -1, 1, 3, -0.5, 1, 2, 0},
            {SpanKind::input_gradient, 1, -1, 1, 3, 1, 1, 2, 0},
            {SpanKind::weight_gradient, 1, -1, 1, 3, 1, 1, 2, 0},
            {SpanKind::transfer_forward, 0, 4, 2, 3, 1, 2, 3, 1e6},
            {SpanKind::transfer_backward, 4, 0, 0, 3, 1, 2, 3, 1e-3},
            {SpanKind::all_reduce, 2, -1, 1, -1, 1, 1, 9, 4e9},
            {SpanKind::step, 2, -1, 1, -1, 9, 9, 10, 0},
            {SpanKind::down, 3, -1, 1, -1, 0, 2, 10, 0},
            {SpanKind::transfer_reduction, 2, 4, 1, -1, 3, 4, 9, 5e8}};
}

bool refused(const std::string& message) {
    try {
        decode_spans(message, limits, 3);
        return false;
    } catch (const PeerFault& fault) {
        return fault.rank() == 3 && !fault.faults().front().remedy.empty();
    }
}

}  // namespace

class TestSpanCodec : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void there_and_back() {
        QVERIFY(decode_spans(encode_spans({}), limits, 1).empty());
        const auto spans = one_of_each();
        QVERIFY(decode_spans(encode_spans(spans), limits, 1) == spans);
        std::set<SpanKind> kinds;
        for (const auto& span : spans) kinds.insert(span.kind);
        QCOMPARE(kinds.size(), static_cast<std::size_t>(last_span_kind) + 1);
    }

    void what_cannot_be_is_refused_data() {
        QTest::addColumn<int>("index");
        QTest::addColumn<int>("field");
        QTest::addColumn<double>("value");
        const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
        QTest::newRow("a node too many") << 0 << 0 << 5.0;
        QTest::newRow("a node below 0") << 0 << 0 << -1.0;
        QTest::newRow("no receiver") << 5 << 1 << -1.0;
        QTest::newRow("a receiver too many") << 5 << 1 << 5.0;
        QTest::newRow("a receiver of an operation") << 0 << 1 << 2.0;
        QTest::newRow("a stage too many") << 0 << 2 << 3.0;
        QTest::newRow("no stage") << 0 << 2 << -1.0;
        QTest::newRow("a microbatch too many") << 0 << 3 << 8.0;
        QTest::newRow("an all-reduce of a microbatch") << 7 << 3 << 0.0;
        QTest::newRow("a gradient's part of a microbatch") << 10 << 3 << 0.0;
        QTest::newRow("a gradient's part to nobody") << 10 << 1 << -1.0;
        QTest::newRow("ready at no time") << 0 << 4 << nan;
        QTest::newRow("starts at no time") << 0 << 5 << nan;
        QTest::newRow("ends never") << 0 << 6 << inf;
        QTest::newRow("ends before it starts") << 0 << 6 << 0.5;
        QTest::newRow("long ago") << 0 << 4 << -1e300;
        QTest::newRow("less than nothing") << 5 << 7 << -1.0;
        QTest::newRow("bytes without number") << 5 << 7 << nan;
    }
    void what_cannot_be_is_refused() {
        QFETCH(int, index);
        QFETCH(int, field);
        QFETCH(double, value);
        auto spans = one_of_each();
        auto& s = spans[static_cast<std::size_t>(index)];
        int* const indices[] = {&s.node.number(), &s.to_node.number(), &s.stage.number(), &s.microbatch.number()};
        double* const numbers[] = {&s.ready_s, &s.start_s, &s.end_s, &s.bytes};
        if (field < 4)
            *indices[field] = static_cast<int>(value);
        else
            *numbers[field - 4] = value;
        QVERIFY(refused(encode_spans(spans)));
    }

    void another_format_is_refused() {
        const auto good = encode_spans(one_of_each());
        QVERIFY(refused(""));
        QVERIFY(refused("SPAN"));
        QVERIFY(refused(good + "x"));
        QVERIFY(refused(good.substr(0, good.size() - 1)));
        auto version = good, magic = good, kind = good, count = good;
        version[4] = 2;
        magic[0] = 'T';
        kind[9] = 11;
        count[8] = '\x7f';  // two billion spans: not allocated
        for (const auto& bad : {version, magic, kind, count}) QVERIFY(refused(bad));
        QVERIFY(refused(encode_spans(std::vector<Span>(1001, one_of_each().front()))));
    }

    /// Whatever bytes change: refused, or spans that the run can have.
    void mutations() {
        const auto good = encode_spans(one_of_each());
        Rng rng(7);
        int accepted = 0;
        for (int i = 0; i < 20'000; ++i) {
            auto bad = good;
            for (int changes = 1 + static_cast<int>(rng.below(4)); changes > 0; --changes) {
                const auto at = rng.below(bad.size());
                if (rng.below(8) == 0)
                    bad.erase(at, 1 + rng.below(9));
                else
                    bad[at] = static_cast<char>(rng.below(256));
                if (bad.empty()) bad = "S";
            }
            try {
                for (const auto& s : decode_spans(bad, limits, 0)) {
                    QVERIFY(s.node >= 0 && s.node < 5 && s.to_node < 5 && s.stage >= 0 && s.stage < 3);
                    QVERIFY(s.microbatch < 8 && std::isfinite(s.ready_s + s.start_s + s.end_s + s.bytes));
                }
                ++accepted;
            } catch (const PeerFault&) {}
        }
        QVERIFY2(accepted > 100 && accepted < 15'000, qPrintable(QString::number(accepted)));
    }
};

QTEST_APPLESS_MAIN(TestSpanCodec)
#include "test_span_codec.moc"
