// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include <hwy/highway.h>

#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/norm.h"
#include "kernels/reference.h"
#include "kernels/rotary.h"
#include "kernels/swiglu.h"
#include "tests/kernels/closeness.h"

using namespace skippipe;
using namespace skippipe::kernels;
using namespace skippipe::testing;

namespace {

/// How far a reference's gradient is from central differences of the reference itself, where the function is the dot
/// product of `weights` with what `forward` makes of x.
double gradcheck(const std::function<Doubles(const Doubles&)>& forward, const Doubles& weights, Doubles x,
                 const Doubles& gradient) {
    const auto value = [&] {
        const auto y = forward(x);
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
        return sum;
    };
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double step = 1e-5, before = x[i];
        x[i] = before + step;
        const double above = value();
        x[i] = before - step;
        const double below = value();
        x[i] = before;
        worst = std::max(worst, std::abs((above - below) / (2 * step) - gradient[i]));
        largest = std::max(largest, std::abs(gradient[i]));
    }
    return worst / largest;
}

constexpr double rounding = 2e-6, numeric = 1e-7;
}  // namespace

class TestFused : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void norm_data() { widths(); }
    void norm() {
        QFETCH(std::size_t, width);
        const std::size_t rows = 5, n = rows * width;
        const auto x = random_values(n, 1, 3), added = random_values(n, 2), weight = random_values(width, 3),
                   gradient = random_values(n, 4), residual = random_values(n, 5);
        Doubles normed64(n), dx64(n), weight_gradient64(width);
        reference::rms_norm(normed64.data(), exact(x).data(), exact(weight).data(), rows, width, 1e-5f);
        Floats normed(n);
        rms_norm(normed.data(), x.data(), weight.data(), rows, width, 1e-5f);
        QVERIFY_BELOW(difference(normed, normed64), rounding);

        reference::rms_norm_backward(dx64.data(), weight_gradient64.data(), exact(gradient).data(), exact(x).data(),
                                     exact(weight).data(), rows, width, 1e-5f);
        const auto forward = [&](const Doubles& at) {
            Doubles y(n);
            reference::rms_norm(y.data(), at.data(), exact(weight).data(), rows, width, 1e-5f);
            return y;
        };
        QVERIFY_BELOW(gradcheck(forward, exact(gradient), exact(x), dx64), numeric);
        Floats dx(n), in_out = gradient, weight_gradient(width, 1);
        rms_norm_backward(dx.data(), in_out.data(), weight_gradient.data(), residual.data(), x.data(), weight.data(),
                          rows, width, 1e-5f);
        for (std::size_t i = 0; i < n; ++i) dx64[i] += residual[i];
        for (auto& value : weight_gradient64) value += 1;
        QVERIFY_BELOW(difference(dx, dx64), rounding);
        QVERIFY_BELOW(difference(weight_gradient, weight_gradient64), rounding);
        QVERIFY(in_out == normed);

        auto sum = x;
        Floats sum_normed(n), expected(n), plain(n);
        add_rms_norm(sum_normed.data(), sum.data(), added.data(), weight.data(), rows, width, 1e-5f);
        for (std::size_t i = 0; i < n; ++i) plain[i] = x[i] + added[i];
        rms_norm(expected.data(), plain.data(), weight.data(), rows, width, 1e-5f);
        QVERIFY(sum == plain);
        QVERIFY(sum_normed == expected);
    }

    void swiglu_data() { widths(); }
    void swiglu() {
        QFETCH(std::size_t, width);
        const std::size_t rows = 3, n = rows * width;
        const auto gate_up = random_values(2 * n, 1, 6), gradient = random_values(n, 2);
        Doubles out64(n), gate_up_gradient64(2 * n);
        reference::swiglu(out64.data(), exact(gate_up).data(), rows, width);
        reference::swiglu_backward(gate_up_gradient64.data(), exact(gradient).data(), exact(gate_up).data(), rows,
                                   width);
        const auto forward = [&](const Doubles& at) {
            Doubles y(n);
            reference::swiglu(y.data(), at.data(), rows, width);
            return y;
        };
        QVERIFY_BELOW(gradcheck(forward, exact(gradient), exact(gate_up), gate_up_gradient64), numeric);
        Floats out(n), slopes = gate_up, result = gradient;
        kernels::swiglu(out.data(), gate_up.data(), rows, width);
        kernels::swiglu_backward(slopes.data(), result.data(), rows, width);
        QVERIFY_BELOW(difference(out, out64), rounding);
        QVERIFY_BELOW(difference(slopes, gate_up_gradient64), rounding);
        QVERIFY(result == out);
    }

    void swiglu_of_large_gates() {
        Floats gate_up{-200, 200, 3, 3}, out(2), gradient{1, 1};
        kernels::swiglu(out.data(), gate_up.data(), 1, 2);
        QVERIFY_BELOW(difference(out, {0, 600}), 1e-30);
        kernels::swiglu_backward(gate_up.data(), gradient.data(), 1, 2);
        QVERIFY_BELOW(difference(gate_up, {0, 3, 0, 200}), 1e-30);
    }

    void cross_entropy_data() { widths(); }
    void cross_entropy() {
        QFETCH(std::size_t, width);
        const std::size_t rows = 7, n = rows * width;
        const auto logits = random_values(n, 1, 20);
        std::vector<std::int64_t> targets;
        for (std::size_t row = 0; row < rows; ++row) targets.push_back(static_cast<std::int64_t>(row * 5 % width));
        Doubles gradient64(n);
        const double expected =
            reference::cross_entropy(gradient64.data(), exact(logits).data(), targets.data(), rows, width);
        const auto forward = [&](const Doubles& at) {
            return Doubles{reference::cross_entropy(nullptr, at.data(), targets.data(), rows, width)};
        };
        if (width > 1) QVERIFY_BELOW(gradcheck(forward, {1}, exact(logits), gradient64), numeric);
        auto gradient = logits, overwritten = logits;
        const double loss = softmax_cross_entropy(gradient.data(), targets.data(), rows, width);
        QVERIFY_BELOW(std::abs(loss - expected) / std::max(1.0, expected), 1e-6);
        QVERIFY_BELOW(difference(gradient, gradient64) * (width > 1 ? 1 : 0), rounding);
        QCOMPARE(kernels::cross_entropy(overwritten.data(), targets.data(), rows, width), loss);
    }

    void rotary() {
        for (const auto& shape :
             {RotaryShape{3, 2, 2}, RotaryShape{5, 3, 6}, RotaryShape{7, 1, 24}, RotaryShape{4, 2, 64}}) {
            const std::size_t rows = 2 * shape.sequence, n = rows * 3 * shape.heads * shape.head_width;
            Floats table(rotary_table_size(shape));
            fill_rotary_table(table.data(), shape, 10000);
            for (const bool back : {false, true}) {
                auto turned = random_values(n, 9);
                auto turned64 = exact(turned);
                reference::rotary(turned64.data(), rows, shape, 10000, 0.3f, back);
                (back ? rotary_backward : kernels::rotary)(turned.data(), table.data(), rows, shape, 0.3f);
                QVERIFY_BELOW(difference(turned, turned64), rounding);
            }
            const auto x = random_values(n, 1), gradient = random_values(n, 2);
            auto back = exact(gradient);
            reference::rotary(back.data(), rows, shape, 10000, 0.3, true);
            const auto forward = [&](Doubles at) {
                reference::rotary(at.data(), rows, shape, 10000, 0.3, false);
                return at;
            };
            QVERIFY_BELOW(gradcheck(forward, exact(gradient), exact(x), back), numeric);
        }
    }

    void attention_data() {
        QTest::addColumn<std::size_t>("sequence");
        QTest::addColumn<std::size_t>("heads");
        QTest::addColumn<std::size_t>("head_width");
        for (const auto& [sequence, heads, width] :
             {std::tuple{1, 1, 2}, {7, 2, 4}, {33, 1, 6}, {40, 3, 16}, {70, 2, 32}, {64, 1, 40}, {129, 1, 64}})
            QTest::addRow("%d positions, %d heads of %d", sequence, heads, width)
                << std::size_t(sequence) << std::size_t(heads) << std::size_t(width);
    }
    void attention() {
        QFETCH(std::size_t, sequence);
        QFETCH(std::size_t, heads);
        QFETCH(std::size_t, head_width);
        const AttentionShape shape{sequence, heads, head_width};
        const std::size_t n = sequence * heads * head_width;
        auto qkv = random_values(3 * n, 1, 2);
        const auto gradient = random_values(n, 2);
        Doubles out64(n), log_sums64(heads * sequence), qkv_gradient64(3 * n);
        reference::causal_attention(out64.data(), log_sums64.data(), exact(qkv).data(), shape);
        reference::causal_attention_backward(qkv_gradient64.data(), exact(gradient).data(), exact(qkv).data(), shape);
        const auto forward = [&](const Doubles& at) {
            Doubles y(n);
            reference::causal_attention(y.data(), nullptr, at.data(), shape);
            return y;
        };
        if (n <= 560) QVERIFY_BELOW(gradcheck(forward, exact(gradient), exact(qkv), qkv_gradient64), numeric);
        const std::size_t size = attention_workspace(shape);
        Floats out(n), log_sums(heads * sequence), workspace(size + 1, 7e30f);
        causal_attention(out.data(), log_sums.data(), qkv.data(), shape, workspace.data());
        QVERIFY_BELOW(difference(out, out64), 3 * rounding);
        QVERIFY_BELOW(difference(log_sums, log_sums64), rounding);
        causal_attention_backward(qkv.data(), gradient.data(), out.data(), log_sums.data(), shape, workspace.data());
        QVERIFY_BELOW(difference(qkv, qkv_gradient64), 4 * rounding);
        QCOMPARE(workspace[size], 7e30f);
    }

private:
    static void widths() {
        QTest::addColumn<std::size_t>("width");
        for (const std::size_t width : {1u, 3u, 8u, 16u, 31u, 32u, 100u, 128u, 261u})
            QTest::addRow("%zu", width) << width;
    }
};

/// All of it once for each kind of processor that the kernels are built for and this machine can run.
int main(int count, char** arguments) {
    int failed = 0;
    for (const auto target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        std::printf("kernels for %s\n", hwy::TargetName(target));
        TestFused test;
        failed += QTest::qExec(&test, count, arguments);
    }
    return failed;
}
#include "test_fused.moc"
