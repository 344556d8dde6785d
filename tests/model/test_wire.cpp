// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/base/rng.h"
#include "core/model/device_wire.h"
#include "core/model/wire.h"

using namespace skippipe;

namespace {

using Floats = std::vector<float>;

Floats random_values(std::size_t n, std::uint64_t seed) {
    Rng rng(seed);
    Floats values(n);
    for (auto& value : values) value = static_cast<float>(rng.uniform() - 0.5);
    return values;
}

Floats through(const Floats& values, std::int64_t rows, WireType wire, float* residual = nullptr) {
    const auto width = static_cast<std::int64_t>(values.size()) / rows;
    std::vector<std::byte> bytes(wire_bytes(wire, rows, width) + 1, std::byte{0x5a});
    encode(bytes.data(), values.data(), rows, width, wire, residual);
    if (bytes.back() != std::byte{0x5a}) throw std::logic_error("written behind the message");
    Floats result(values.size());
    decode(result.data(), bytes.data(), rows, width, wire);
    return result;
}

Floats gradient_through(const Floats& values, WireType wire, float* residual = nullptr) {
    const auto size = static_cast<std::int64_t>(values.size());
    std::vector<std::byte> bytes(gradient_wire_bytes(wire, size) + 1, std::byte{0x5a});
    encode_gradient(bytes.data(), values.data(), size, wire, residual);
    if (bytes.back() != std::byte{0x5a}) throw std::logic_error("written behind the message");
    Floats result(values.size());
    decode_gradient(result.data(), bytes.data(), size, wire);
    return result;
}

}  // namespace

class TestWire : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void fp32_is_exact() {
        const auto values = random_values(60, 1);
        QCOMPARE(through(values, 4, WireType::fp32), values);
    }

    void bf16_by_hand() {
        // 1 + 2^-8 lies between 1 and 1 + 2^-7: to even; a little more goes up.
        QCOMPARE(through({1, 1 + 0x1p-8f, 1 + 0x1.8p-8f, 1 + 0x1.8p-7f, -3.5f, 0}, 1, WireType::bf16),
                 (Floats{1, 1, 1 + 0x1p-7f, 1 + 0x1p-6f, -3.5f, 0}));
        QVERIFY(std::isnan(through({std::numeric_limits<float>::quiet_NaN()}, 1, WireType::bf16)[0]));
        QVERIFY(std::isinf(through({std::numeric_limits<float>::infinity()}, 1, WireType::bf16)[0]));
    }

    void int8_by_hand() {
        // A scale of 2 in the first row and 0.5 in the second: each row has its own.
        QCOMPARE(through({254, 3.1f, -100, 0, 63.5f, 0.3f, -0.2f, -63.5f}, 2, WireType::int8),
                 (Floats{254, 4, -100, 0, 63.5f, 0.5f, 0, -63.5f}));
        QCOMPARE(through({0, 0, 0}, 1, WireType::int8), (Floats{0, 0, 0}));
        const auto lost = through({1, std::numeric_limits<float>::infinity(), 1, 2}, 2, WireType::int8);
        QVERIFY(std::isnan(lost[0]) && std::isnan(lost[1]));
        QCOMPARE(lost[3], 2.0f);
    }

    /// By LibTorch's operations, as on a GPU: the same bytes, what is owed too, through several messages.
    void rounded_there_to_the_bit() {
        constexpr std::int64_t rows = 5, width = 37;
        for (const auto wire : {WireType::fp32, WireType::bf16, WireType::int8})
            for (const bool feeds_back : {false, true}) {
                Floats owed(rows * width, 0);
                auto owed_there = torch::zeros({rows * width});
                for (std::uint64_t message = 1; message <= 4; ++message) {
                    auto values = random_values(rows * width, message);
                    for (std::int64_t i = 0; i < width; ++i) {
                        values[static_cast<std::size_t>(i)] = 0;                   // nothing but zeros
                        values[static_cast<std::size_t>(width + i)] *= 0x1p-130f;  // less than a scale can be
                        values[static_cast<std::size_t>(2 * width + i)] *= 1e30f;
                    }
                    const auto there = torch::from_blob(values.data(), {rows, width}).clone();
                    const bool fed = feeds_back && wire != WireType::fp32;
                    const auto bytes = encoded_there(there, wire, fed ? &owed_there : nullptr);
                    std::vector<std::byte> expected(wire_bytes(wire, rows, width));
                    encode(expected.data(), values.data(), rows, width, wire, fed ? owed.data() : nullptr);
                    QCOMPARE(bytes.numel(), static_cast<std::int64_t>(expected.size()));
                    QVERIFY(std::memcmp(bytes.data_ptr(), expected.data(), expected.size()) == 0);
                    QVERIFY(std::memcmp(owed_there.data_ptr(), owed.data(), 4 * owed.size()) == 0);
                    Floats arrived(rows * width);
                    decode(arrived.data(), expected.data(), rows, width, wire);
                    const auto back = decoded_there(bytes, rows, width, wire);
                    QVERIFY(std::memcmp(back.data_ptr(), arrived.data(), 4 * arrived.size()) == 0);
                }
            }
    }

    void what_is_no_number_stays_so_there() {
        auto owed = torch::ones({4});
        const auto values = torch::tensor({1.0F, std::numeric_limits<float>::infinity(), 1.0F, 2.0F}).view({2, 2});
        const auto lost = decoded_there(encoded_there(values, WireType::int8, &owed), 2, 2, WireType::int8);
        QVERIFY(lost[0].isnan().all().item<bool>());
        QVERIFY(owed.narrow(0, 0, 2).eq(0).all().item<bool>());
        QVERIFY(lost[1].isfinite().all().item<bool>());
        const auto nan = torch::full({1, 3}, std::numeric_limits<float>::quiet_NaN());
        for (const auto wire : {WireType::bf16, WireType::int8})
            QVERIFY(decoded_there(encoded_there(nan, wire), 1, 3, wire).isnan().all().item<bool>());
    }

    void int8_is_within_half_a_step() {
        const auto values = random_values(64 * 100, 2), rounded = through(values, 64, WireType::int8);
        for (std::size_t i = 0; i < values.size(); ++i)
            QVERIFY(std::abs(values[i] - rounded[i]) <= 0.5f / 127 * 0.5f * 1.001f);
    }

    /// As they are, or as a message of one row.
    void gradients_travel_as_messages_do() {
        const auto values = random_values(300, 5);
        for (const auto wire : {WireType::fp32, WireType::bf16})
            QCOMPARE(gradient_through(values, wire), through(values, 1, wire));
    }

    /// int8: rows of 128 and what is left, each with a scale of its own, a bf16 not below largest / 127^2. Half a step
    /// of a value is 1/127 of the root of it and the largest.
    void gradients_in_int8_have_rows() {
        auto values = random_values(300, 5);
        for (std::size_t i = 128; i < 256; ++i) values[i] = 0;
        for (std::size_t i = 256; i < 300; ++i) values[i] *= 1e-6F;
        values[5] = 1e-4F;
        Floats residual(300);
        const auto got = gradient_through(values, WireType::int8, residual.data());
        for (std::size_t i = 0; i < 300; ++i) {
            const auto row = values.begin() + static_cast<std::ptrdiff_t>(i / 128 * 128);
            const auto end = i < 256 ? row + 128 : values.end();
            const float largest =
                std::abs(*std::max_element(row, end, [](float a, float b) { return std::abs(a) < std::abs(b); }));
            const float step = 1.0079F * largest / (127 * 127);
            QVERIFY(std::abs(got[i] - values[i]) <= std::sqrt(step * std::abs(values[i])) + 0.26F * step);
            QCOMPARE(residual[i], values[i] - got[i]);
        }
        QVERIFY(std::abs(got[5] - 1e-4F) < 0.3F * 1e-4F && got[299] != 0);
        values[130] = std::numeric_limits<float>::infinity();
        const auto lost = gradient_through(values, WireType::int8);
        QVERIFY(std::isnan(lost[128]) && std::isnan(lost[255]) && lost[127] == got[127] && lost[256] == got[256]);
    }

    /// 1 and 2 are bf16: those scales are exact, and so are squares of them.
    void gradients_in_int8_by_hand() {
        Floats values(130);
        values[0] = -127 * 127, values[1] = 10, values[2] = -7, values[3] = 0.2F, values[127] = 144;
        values[128] = 2 * 127 * 127, values[129] = -31;
        Floats expected = values;
        expected[1] = 9, expected[2] = -9, expected[3] = 0, expected[129] = -32;
        QCOMPARE(gradient_through(values, WireType::int8), expected);
    }

    /// What was sent adds up to what was meant, but for the last residual; without feedback errors of one sign stay.
    void errors_are_fed_back() {
        for (const auto wire : {WireType::bf16, WireType::int8}) {
            const auto values = random_values(200, 3);
            Floats residual(200), sent(200), lost(200);
            const int messages = 50;
            for (int i = 0; i < messages; ++i) {
                const auto with = through(values, 2, wire, residual.data()), without = through(values, 2, wire);
                for (std::size_t k = 0; k < 200; ++k) {
                    sent[k] += with[k];
                    lost[k] += without[k];
                }
            }
            double fed_back = 0, plain = 0;
            for (std::size_t k = 0; k < 200; ++k) {
                const double meant = messages * static_cast<double>(values[k]);
                QVERIFY(std::abs(sent[k] + residual[k] - meant) < 1e-4);
                fed_back += std::abs(sent[k] - meant);
                plain += std::abs(lost[k] - meant);
            }
            QVERIFY(fed_back < 0.1 * plain);
        }
    }
};

QTEST_APPLESS_MAIN(TestWire)
#include "test_wire.moc"
