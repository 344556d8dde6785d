// SPDX-License-Identifier: GPL-3.0-or-later
// The sources of the CUDA kernels, run by the block emulator: against the float64 references at odd shapes, and with
// each of their barriers left out.
#include <QtTest>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/elements.h"
#include "kernels/cuda/rows.h"
#include "kernels/reference.h"
#include "kernels/vector.h"
#include "tests/kernels/block_emulator.h"
#include "tests/kernels/closeness.h"

using namespace skippipe;
using namespace skippipe::kernels;
using namespace skippipe::testing;

namespace {

constexpr int seeds = 4;
constexpr double rounding = 4e-6;
constexpr float margin = -77;  ///< around what a kernel may write

/// A buffer with a margin on either side, which nobody may touch.
class Guarded {
public:
    explicit Guarded(const Floats& values) : all_(values.size() + 2 * width, margin) {
        std::copy(values.begin(), values.end(), all_.begin() + width);
    }
    explicit Guarded(std::size_t n) : Guarded(Floats(n, std::numeric_limits<float>::quiet_NaN())) {}
    float* data() { return all_.data() + width; }
    Floats values() const { return {all_.begin() + width, all_.end() - width}; }
    bool untouched() const {
        return std::all_of(all_.begin(), all_.begin() + width, [](float v) { return v == margin; }) &&
               std::all_of(all_.end() - width, all_.end(), [](float v) { return v == margin; });
    }

private:
    static constexpr std::ptrdiff_t width = 64;
    Floats all_;
};

/// How many barriers of `kernel` can be left out, one at a time, without any seed giving another result.
int unnoticed_barriers(const std::function<Floats(BlockEmulator&)>& kernel) {
    BlockEmulator whole(1);
    const auto right = kernel(whole);
    int unnoticed = 0;
    for (int left_out = 0; left_out < whole.most_barriers(); ++left_out) {
        bool noticed = false;
        for (std::uint64_t seed = 1; seed <= 40 && !noticed; ++seed) {
            BlockEmulator without(seed, left_out);
            try {
                const auto result = kernel(without);
                noticed = std::memcmp(result.data(), right.data(), 4 * right.size()) != 0;
            } catch (const std::runtime_error&) {
                noticed = true;
            }
        }
        unnoticed += !noticed;
    }
    return unnoticed;
}

struct Shape {
    std::size_t rows, width;
    int blocks, threads;
};
/// Fewer elements than threads, none that a warp divides, more rows than blocks, more blocks than rows.
const std::vector<Shape> shapes{{1, 1, 1, 32}, {3, 31, 2, 64},  {7, 257, 3, 96},  {5, 1000, 8, 256}, {2, 33, 1, 1024},
                                {3, 8, 2, 32}, {4, 296, 3, 64}, {2, 1288, 1, 32}, {3, 1100, 1, 1024}};

/// work(Wide<V>) with all V that kernels take of rows of such a width: one value at once, and 8.
template <int v>
struct Wide {
    static constexpr int value = v;
};
void each_width(std::size_t width, const auto& work) {
    work(Wide<1>{});
    if (width % 8 == 0) work(Wide<8>{});
}

}  // namespace

class TestCuda : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_emulator_finds_what_is_wrong() {
        const auto shifted = [](bool synchronised) {
            return [synchronised](BlockEmulator& emulator) {
                Floats to(64);
                emulator.launch(1, 64, [&](EmulatedBlock& block) {
                    block.scratch()[block.thread()] = static_cast<float>(block.thread());
                    if (synchronised) block.sync();
                    to[static_cast<std::size_t>(block.thread())] = block.scratch()[(block.thread() + 1) % 64];
                });
                return to;
            };
        };
        int wrong = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            BlockEmulator emulator(seed);
            const auto with = shifted(true)(emulator), without = shifted(false)(emulator);
            for (std::size_t i = 0; i < 64; ++i) QCOMPARE(with[i], static_cast<float>((i + 1) % 64));
            wrong += std::memcmp(with.data(), without.data(), 4 * 64) != 0;
        }
        QCOMPARE(wrong, 20);
        BlockEmulator emulator(1);
        QVERIFY_EXCEPTION_THROWN(emulator.launch(1, 64,
                                                 [](EmulatedBlock& block) {
                                                     if (block.thread() != 5) block.sync();
                                                 }),
                                 std::runtime_error);
        QVERIFY_EXCEPTION_THROWN(emulator.launch(1, 64,
                                                 [](EmulatedBlock& block) {
                                                     if (block.thread() > 0) block.shuffle_xor(1, 1);
                                                 }),
                                 std::runtime_error);
    }

    void norms() {
        for (const auto& s : shapes) {
            const std::size_t n = s.rows * s.width;
            const auto x = random_values(n, 1), before = random_values(n, 2), weight = random_values(s.width, 3);
            Doubles sums = exact(x);
            for (std::size_t i = 0; i < n; ++i) sums[i] = static_cast<double>(x[i] + before[i]);
            Doubles expected(n), expected_of_sum(n);
            reference::rms_norm(expected.data(), exact(x).data(), exact(weight).data(), s.rows, s.width, 1e-5);
            reference::rms_norm(expected_of_sum.data(), sums.data(), exact(weight).data(), s.rows, s.width, 1e-5);
            each_width(s.width, [&](auto v) {
                for (std::uint64_t seed = 0; seed < seeds; ++seed) {
                    BlockEmulator emulator(seed);
                    Guarded normed(n), of_sum(n), sum(n), factors(s.rows);
                    emulator.launch(s.blocks, s.threads, [&](auto& block) {
                        device::rms_norm<v.value, EmulatedBlock, float, float>(block, normed.data(), factors.data(),
                                                                               nullptr, x.data(), nullptr,
                                                                               weight.data(), s.rows, s.width, 1e-5f);
                    });
                    emulator.launch(s.blocks, s.threads, [&](auto& block) {
                        device::rms_norm<v.value, EmulatedBlock, float, float>(block, of_sum.data(), nullptr,
                                                                               sum.data(), x.data(), before.data(),
                                                                               weight.data(), s.rows, s.width, 1e-5f);
                    });
                    QVERIFY_BELOW(difference(normed.values(), expected), rounding);
                    QVERIFY_BELOW(difference(of_sum.values(), expected_of_sum), rounding);
                    QVERIFY_BELOW(difference(sum.values(), sums), rounding);
                    QVERIFY(normed.untouched() && of_sum.untouched() && sum.untouched() && factors.untouched());
                }
            });
        }
    }

    void norms_backward() {
        for (const auto& s : shapes) {
            const std::size_t n = s.rows * s.width;
            const auto x = random_values(n, 1), slope = random_values(n, 2), residual = random_values(n, 3),
                       weight = random_values(s.width, 4), so_far = random_values(s.width, 5);
            Doubles dx(n), weight_gradient(s.width), normed(n);
            reference::rms_norm(normed.data(), exact(x).data(), exact(weight).data(), s.rows, s.width, 1e-5);
            reference::rms_norm_backward(dx.data(), weight_gradient.data(), exact(slope).data(), exact(x).data(),
                                         exact(weight).data(), s.rows, s.width, 1e-5);
            for (std::size_t i = 0; i < n; ++i) dx[i] += static_cast<double>(residual[i]);
            for (std::size_t i = 0; i < s.width; ++i) weight_gradient[i] += static_cast<double>(so_far[i]);
            each_width(s.width, [&](auto v) {
                if (s.width > v.value * static_cast<std::size_t>(s.threads)) return;
                for (std::uint64_t seed = 0; seed < seeds; ++seed) {
                    BlockEmulator emulator(seed);
                    const auto blocks = static_cast<std::size_t>(s.blocks);
                    Guarded out(n), factors(s.rows), changed(residual), rounded(n), gradient(slope),
                        parts(blocks * s.width), sums(so_far), alone(n), again(slope);
                    emulator.launch(s.blocks, s.threads, [&](auto& block) {
                        device::rms_norm<v.value, EmulatedBlock, float, float>(block, out.data(), factors.data(),
                                                                               nullptr, x.data(), nullptr,
                                                                               weight.data(), s.rows, s.width, 1e-5f);
                    });
                    emulator.launch(s.blocks, s.threads, [&](auto& block) {
                        device::rms_norm_backward<v.value, EmulatedBlock, float, float>(
                            block, alone.data(), nullptr, again.data(), parts.data(), nullptr, x.data(), weight.data(),
                            factors.data(), s.rows, s.width);
                    });
                    emulator.launch(s.blocks, s.threads, [&](auto& block) {
                        device::rms_norm_backward<v.value>(block, changed.data(), rounded.data(), gradient.data(),
                                                           parts.data(), changed.data(), x.data(), weight.data(),
                                                           factors.data(), s.rows, s.width);
                    });
                    emulator.launch(s.blocks, std::min(s.threads, 256), [&](auto& block) {
                        device::add_rows(block, sums.data(), parts.data(), blocks, s.width);
                    });
                    auto without = exact(changed.values());
                    for (std::size_t i = 0; i < n; ++i) without[i] -= static_cast<double>(residual[i]);
                    QVERIFY_BELOW(difference(changed.values(), dx), rounding);
                    QCOMPARE(rounded.values(), changed.values());
                    QVERIFY_BELOW(difference(alone.values(), without), 2 * rounding);
                    QVERIFY_BELOW(difference(gradient.values(), normed), rounding);
                    QVERIFY_BELOW(difference(sums.values(), weight_gradient), rounding);
                    QVERIFY(changed.untouched() && gradient.untouched() && parts.untouched() && sums.untouched() &&
                            rounded.untouched() && alone.untouched());
                }
            });
        }
    }

    void losses() {
        for (const auto& s : shapes) {
            const std::size_t n = s.rows * s.width;
            const auto logits = random_values(n, 1, 30);
            std::vector<std::int64_t> targets(s.rows);
            for (std::size_t row = 0; row < s.rows; ++row)
                targets[row] = static_cast<std::int64_t>((row * 7 + s.width - 1) % s.width);
            Doubles gradient(n), of_rows(s.rows);
            reference::cross_entropy(gradient.data(), exact(logits).data(), targets.data(), s.rows, s.width);
            for (std::size_t row = 0; row < s.rows; ++row)
                of_rows[row] =
                    reference::cross_entropy(nullptr, exact(logits).data() + row * s.width, &targets[row], 1, s.width);
            each_width(s.width, [&](auto v) {
                for (std::uint64_t seed = 0; seed < seeds; ++seed) {
                    BlockEmulator emulator(seed);
                    Guarded values(logits), found(s.rows);
                    // A thread keeps all that it reads, some of it, nothing.
                    const auto run = [&](auto kept) {
                        emulator.launch(s.blocks, s.threads, [&](auto& block) {
                            device::softmax_cross_entropy<v.value, kept.value>(block, values.data(), found.data(),
                                                                               targets.data(), s.rows, s.width);
                        });
                    };
                    if (seed % 3 == 0) run(Wide<64 / v.value>{});
                    if (seed % 3 == 1) run(Wide<1>{});
                    if (seed % 3 == 2) run(Wide<0>{});
                    QVERIFY_BELOW(difference(values.values(), gradient), rounding);
                    for (std::size_t row = 0; row < s.rows; ++row)
                        QVERIFY_BELOW(std::abs(static_cast<double>(found.values()[row]) - of_rows[row]), 2e-5);
                    QVERIFY(values.untouched() && found.untouched());
                }
            });
        }
    }

    void elements() {
        for (const auto& s : shapes) {
            const std::size_t n = s.rows * s.width;
            const auto gate_up = random_values(2 * n, 1, 4), slope = random_values(n, 2);
            Doubles out(n), gradient(2 * n);
            reference::swiglu(out.data(), exact(gate_up).data(), s.rows, s.width);
            reference::swiglu_backward(gradient.data(), exact(slope).data(), exact(gate_up).data(), s.rows, s.width);
            each_width(s.width, [&](auto v) {
                BlockEmulator emulator(s.rows);
                Guarded forward(n), both(gate_up), back(slope);
                emulator.launch(s.blocks, s.threads, [&](auto& block) {
                    device::swiglu<v.value>(block, forward.data(), gate_up.data(), s.rows, s.width);
                });
                emulator.launch(s.blocks, s.threads, [&](auto& block) {
                    device::swiglu_backward<v.value>(block, both.data(), back.data(), s.rows, s.width);
                });
                QVERIFY_BELOW(difference(forward.values(), out), rounding);
                QVERIFY_BELOW(difference(both.values(), gradient), rounding);
                QVERIFY_BELOW(difference(back.values(), out), rounding);
                QVERIFY(forward.untouched() && both.untouched() && back.untouched());
            });
        }
    }

    /// One pair at once, and four.
    void positions() {
        positions_of<1>({.sequence = 5, .heads = 3, .head_width = 6});
        positions_of<1>({.sequence = 5, .heads = 2, .head_width = 16});
        positions_of<4>({.sequence = 5, .heads = 2, .head_width = 16});
        positions_of<4>({.sequence = 7, .heads = 3, .head_width = 8});
    }

    void steps_and_sums() {
        const std::size_t n = 1001;
        const AdamW parameters{.learning_rate = 1e-2, .step = 3, .gradient_scale = 0.5};
        const device::AdamWStep step{1e-2f,
                                     0.9f,
                                     0.95f,
                                     1e-8f,
                                     0.1f,
                                     0.5f,
                                     static_cast<float>(1 / (1 - std::pow(0.9, 3))),
                                     static_cast<float>(1 / (1 - std::pow(0.95, 3)))};
        const auto weights = random_values(n, 1), gradient = random_values(n, 2), m = random_values(n, 3, 0.1);
        Floats v = random_values(n, 4, 0.1);
        for (auto& value : v) value = std::abs(value);
        auto expected = exact(weights), expected_m = exact(m), expected_v = exact(v);
        adamw_reference(expected.data(), exact(gradient).data(), expected_m.data(), expected_v.data(), n, parameters);
        each_width(8, [&](auto wide) {  // and a rest that 8 does not divide
            BlockEmulator emulator(1);
            Guarded stepped(weights), mean(m), variance(v), sum(weights);
            std::vector<device::Bf16> working(n), packed(n);
            emulator.launch(3, 64, [&](auto& block) {
                device::adamw<wide.value>(block, stepped.data(), working.data(), gradient.data(), mean.data(),
                                          variance.data(), n, step);
            });
            QVERIFY_BELOW(difference(stepped.values(), expected), rounding);
            QVERIFY_BELOW(difference(mean.values(), expected_m), rounding);
            QVERIFY_BELOW(difference(variance.values(), expected_v), rounding);
            for (std::size_t i = 0; i < n; ++i)
                QVERIFY(std::abs(device::load(working.data(), i) - stepped.values()[i]) <=
                        std::abs(stepped.values()[i]) / 256);
            emulator.launch(
                3, 64, [&](auto& block) { device::pack<wide.value>(block, packed.data(), gradient.data(), 0.5f, n); });
            emulator.launch(3, 64,
                            [&](auto& block) { device::accumulate<wide.value>(block, sum.data(), packed.data(), n); });
            for (std::size_t i = 0; i < n; ++i)
                QVERIFY(std::abs(sum.values()[i] - (weights[i] + 0.5f * gradient[i])) <=
                        std::abs(0.5f * gradient[i]) / 256 + 1e-6f);
            QVERIFY(stepped.untouched() && mean.untouched() && variance.untouched() && sum.untouched());
        });
    }

    void bf16_rounds_to_nearest_even() {
        device::Bf16 to;
        const auto rounded = [&](float value) { return device::store(&to, 0, value), device::load(&to, 0); };
        QCOMPARE(rounded(1.0f), 1.0f);
        QCOMPARE(rounded(1.00390625f), 1.0f);       // half way between 1 and 1.0078125: to the even one
        QCOMPARE(rounded(1.01171875f), 1.015625f);  // half way: to the even one above
        QVERIFY(std::isinf(rounded(3.4e38f)));
        QVERIFY(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
    }

    /// What was sent and what is left are what was to be sent.
    void int8_feeds_back_what_it_rounds() {
        for (const auto& s : shapes) {
            const std::size_t n = s.rows * s.width;
            auto values = random_values(n, 1);
            const auto residual = random_values(n, 2, 0.01), before = random_values(n, 3);
            const bool broken = s.rows > 1;
            if (broken) values[s.width] = std::numeric_limits<float>::infinity();
            each_width(s.width, [&](auto v) {
                BlockEmulator emulator(s.rows);
                Guarded left(residual), scales(s.rows), sum(before);
                std::vector<std::int8_t> sent(n, 99);
                emulator.launch(s.blocks, s.threads, [&](auto& block) {
                    device::encode_int8<v.value>(block, sent.data(), scales.data(), values.data(), left.data(), s.rows,
                                                 s.width);
                });
                emulator.launch(s.blocks, s.threads, [&](auto& block) {
                    device::add_int8<v.value>(block, sum.data(), sent.data(), scales.data(), s.rows, s.width);
                });
                for (std::size_t i = 0; i < n; ++i) {
                    const float scale = scales.values()[i / s.width];
                    if (broken && i / s.width == 1) {
                        QVERIFY(std::isnan(scale) && std::isnan(sum.values()[i]) && left.values()[i] == 0);
                        continue;
                    }
                    const float whole = scale * static_cast<float>(sent[i]);
                    QVERIFY(std::abs(whole + left.values()[i] - (values[i] + residual[i])) <= 1e-7f);
                    QVERIFY(std::abs(left.values()[i]) <= 0.5001f * scale);
                    QVERIFY(std::abs(sum.values()[i] - (before[i] + whole)) <= 1e-6f);
                }
                QVERIFY(left.untouched() && scales.untouched() && sum.untouched());
            });
        }
    }

    /// Every barrier is needed: without it some order of the threads gives another result.
    void a_barrier_left_out_shows() {
        const std::size_t rows = 3, width = 1000;  // all warps have a share
        const auto x = random_values(rows * width, 1), weight = random_values(width, 2);
        QCOMPARE(unnoticed_barriers([&](BlockEmulator& emulator) {
                     Floats normed(rows * width);
                     emulator.launch(1, 128, [&](auto& block) {
                         device::rms_norm<8, EmulatedBlock, float, float>(block, normed.data(), nullptr, nullptr,
                                                                          x.data(), nullptr, weight.data(), rows, width,
                                                                          1e-5f);
                     });
                     return normed;
                 }),
                 0);
        QCOMPARE(unnoticed_barriers([&](BlockEmulator& emulator) {
                     Floats values = x, found(rows);
                     const std::vector<std::int64_t> targets{1, 500, 999};
                     emulator.launch(1, 128, [&](auto& block) {
                         device::softmax_cross_entropy<8, 8>(block, values.data(), found.data(), targets.data(), rows,
                                                             width);
                     });
                     values.insert(values.end(), found.begin(), found.end());
                     return values;
                 }),
                 0);
        QCOMPARE(unnoticed_barriers([&](BlockEmulator& emulator) {
                     Floats sums(40, 1.0f);
                     emulator.launch(2, 128, [&](auto& block) {
                         device::add_rows(block, sums.data(), x.data(), rows * width / sums.size(), sums.size());
                     });
                     return sums;
                 }),
                 1);  // the last one, after which nobody writes any more
    }

private:
    template <int P>
    void positions_of(const RotaryShape& shape) {
        const std::size_t rows = 13, width = shape.heads * shape.head_width, n = rows * 3 * width,
                          half = shape.head_width / 2;
        Floats table(2 * shape.sequence * half);
        for (std::size_t i = 0; i < shape.sequence * half; ++i) {
            const double angle =
                static_cast<double>(i / half) *
                std::pow(10000.0, -2 * static_cast<double>(i % half) / static_cast<double>(shape.head_width));
            table[i] = static_cast<float>(std::cos(angle));
            table[shape.sequence * half + i] = static_cast<float>(std::sin(angle));
        }
        const auto values = random_values(n, 1);
        auto expected = exact(values), expected_back = exact(values);
        reference::rotary(expected.data(), rows, shape, 10000, 0.25, false);
        reference::rotary(expected_back.data(), rows, shape, 10000, 0.25, true);
        BlockEmulator emulator(P);
        Guarded turned(values), back(n);
        emulator.launch(
            2, 64, [&](auto& block) { device::rotary<P>(block, turned.data(), table.data(), rows, shape, 0.25f); });
        std::vector<Floats> parts(3);
        for (std::size_t i = 0; i < n; ++i) parts[i / width % 3].push_back(values[i]);
        emulator.launch(2, 64, [&](auto& block) {
            device::rotary_backward<P>(block, back.data(), parts[0].data(), parts[1].data(), parts[2].data(),
                                       table.data(), rows, shape, 0.25f);
        });
        QVERIFY_BELOW(difference(turned.values(), expected), rounding);
        QVERIFY_BELOW(difference(back.values(), expected_back), rounding);
        QVERIFY(turned.untouched() && back.untouched());
    }
};

QTEST_APPLESS_MAIN(TestCuda)
#include "test_cuda.moc"
