// SPDX-License-Identifier: GPL-3.0-or-later
// The hand-written stage against LibTorch's own operations and autograd.
#include <QtTest>

#include "core/engine/devices.h"
#include "core/experiment/counts.h"
#include "core/model/fused_stage.h"
#include "core/model/matmul.h"
#include "core/model/torch_compat.h"
#include "tests/kernels/closeness.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

using Tensor = torch::Tensor;

struct Shape {
    int stage, blocks, width, heads, ffn_width, vocabulary, sequence, samples;
};

/// A stage with weights off their start, its input, and what LibTorch makes of it.
struct Sample {
    explicit Sample(const Shape& s, ProductType products = ProductType::fp32)
        : model{.blocks = std::max(1, s.blocks),
                .width = s.width,
                .heads = s.heads,
                .ffn_width = s.ffn_width,
                .vocabulary = s.vocabulary,
                .sequence = s.sequence},
          stage(model, s.stage, s.blocks, torch::kCPU),
          n(s.sequence * s.samples) {
        torch::manual_seed(7);
        stage.initialise(3);
        {
            torch::NoGradGuard no_gradient;
            stage.weights().add_(torch::randn_like(stage.weights()), 0.1);
        }
        x = torch::randn({n, s.width});
        dy = torch::randn({n, s.width});
        tokens = torch::randint(0, s.vocabulary, {n}, torch::kInt64);
        fused.emplace(stage, model, products);
        kept = torch::full({activation_floats(model, s.blocks, n) + 1}, 3e33f);
        between = torch::full({split_floats(model, s.blocks, n) + 1}, 3e33f);
    }
    /// Gradients since the last call, which are cleared.
    Tensor gradients() {
        auto taken = stage.gradient().clone();
        stage.gradient().zero_();
        return taken;
    }
    /// Nothing was written behind the buffers.
    bool bounds_kept() const { return kept[-1].item<float>() == 3e33f && between[-1].item<float>() == 3e33f; }

    ModelSpec model;
    Stage stage;
    std::int64_t n;
    Tensor x, dy, tokens, kept, between;
    std::optional<FusedStage> fused;
};

float* data(const Tensor& tensor) { return tensor.data_ptr<float>(); }
Tensor like(const Tensor& tensor) { return torch::full_like(tensor, 5e33f).detach(); }

double relative(const Tensor& a, const Tensor& b) {
    const double norm = b.norm().item<double>(), difference = (a - b).norm().item<double>();
    return norm > 0 ? difference / norm : difference;
}

double worst_segment(const Stage& stage, const Tensor& gradients, const Tensor& expected) {
    double worst = 0;
    for (const auto& segment : stage.segments())
        worst = std::max(worst, relative(gradients.narrow(0, segment.offset, segment.size()),
                                         expected.narrow(0, segment.offset, segment.size())));
    return worst;
}

const std::vector<std::pair<const char*, Shape>> shapes{{"one block", {1, 1, 32, 2, 0, 256, 16, 2}},
                                                        {"three blocks, stage 0", {0, 3, 48, 3, 40, 300, 33, 2}},
                                                        {"odd widths", {0, 2, 20, 2, 13, 257, 21, 3}},
                                                        {"long", {1, 2, 64, 1, 0, 256, 150, 1}},
                                                        {"no blocks", {0, 0, 16, 2, 0, 256, 8, 2}}};

}  // namespace

class TestFusedStage : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void equals_autograd_data() { add_shapes(); }
    void equals_autograd() {
        QFETCH(int, index);
        Sample s(shapes[static_cast<std::size_t>(index)].second);
        const auto x = s.x.clone().set_requires_grad(true);
        const auto expected = s.stage.forward(x);
        if (expected.requires_grad() && !s.stage.segments().empty()) expected.backward(s.dy);
        const auto expected_gradients = s.gradients();

        auto out = like(s.x), dx = like(s.x), evaluated = like(s.x);
        s.fused->forward(data(out), data(s.x), data(s.kept), s.n);
        s.fused->forward(data(evaluated), data(s.x), nullptr, s.n);
        s.fused->backward(data(dx), data(s.dy), data(s.x), data(s.kept), s.n);
        const auto gradients = s.gradients();
        QVERIFY_BELOW(relative(out, expected.detach()), 2e-6);
        QVERIFY(torch::equal(evaluated, out));
        QVERIFY_BELOW(relative(dx, x.grad()), 1e-5);
        QVERIFY_BELOW(worst_segment(s.stage, gradients, expected_gradients), 1e-5);
        QVERIFY(s.bounds_kept());
    }

    void split_and_recomputed_backward_are_the_same_to_the_bit_data() { add_shapes(); }
    void split_and_recomputed_backward_are_the_same_to_the_bit() {
        QFETCH(int, index);
        Sample s(shapes[static_cast<std::size_t>(index)].second);
        auto out = like(s.x), dx = like(s.x), dx_split = like(s.x), dx_recomputed = like(s.x);
        s.fused->forward(data(out), data(s.x), data(s.kept), s.n);
        s.fused->backward(data(dx), data(s.dy), data(s.x), data(s.kept), s.n);
        const auto whole = s.gradients();

        s.fused->forward(nullptr, data(s.x), data(s.kept), s.n);
        s.fused->input_gradient(data(dx_split), data(s.dy), data(s.x), data(s.kept), data(s.between), s.n);
        QCOMPARE(s.stage.gradient().norm().item<double>(), 0.0);
        s.fused->weight_gradient(data(s.dy), data(s.kept), data(s.between), s.n);
        const auto split = s.gradients();

        auto* recomputed = s.fused->recomputed(s.n);
        s.fused->forward(nullptr, data(s.x), recomputed, s.n);
        s.fused->backward(data(dx_recomputed), data(s.dy), data(s.x), recomputed, s.n);
        QVERIFY(torch::equal(dx_split, dx) && torch::equal(split, whole));
        QVERIFY(torch::equal(dx_recomputed, dx) && torch::equal(s.gradients(), whole));
        QVERIFY(s.bounds_kept());
    }

    void ends_of_the_model_data() { add_shapes(); }
    void ends_of_the_model() {
        QFETCH(int, index);
        const auto& shape = shapes[static_cast<std::size_t>(index)].second;
        if (shape.stage > 0) return;
        Sample s(shape);
        const auto x = s.x.clone().set_requires_grad(true);
        const auto loss = s.stage.loss_sum(x, s.tokens);
        loss.backward();
        s.stage.embed(s.tokens).backward(s.dy);
        const auto expected = s.gradients();
        auto dx = like(s.x), embedded = like(s.x);
        const double sum = s.fused->loss_backward(data(dx), data(s.x), s.tokens.data_ptr<std::int64_t>(), s.n);
        s.fused->embed(data(embedded), s.tokens.data_ptr<std::int64_t>(), s.n);
        s.fused->embed_backward(data(s.dy), s.tokens.data_ptr<std::int64_t>(), s.n);
        QVERIFY_BELOW(std::abs(sum / loss.item<double>() - 1), 1e-6);
        QVERIFY_BELOW(std::abs(s.fused->loss(data(s.x), s.tokens.data_ptr<std::int64_t>(), s.n) / sum - 1), 1e-12);
        QVERIFY_BELOW(relative(dx, x.grad()), 1e-5);
        QVERIFY(torch::equal(embedded, s.stage.embed(s.tokens).detach()));
        QVERIFY_BELOW(worst_segment(s.stage, s.gradients(), expected), 1e-5);
    }

    /// The logits of a large vocabulary are made in parts.
    void large_vocabulary() {
        Sample s({0, 1, 16, 2, 0, 4'000, 40, 15});
        QVERIFY(s.n > 2 * head_rows(s.model, s.n));
        const auto x = s.x.clone().set_requires_grad(true);
        const auto loss = s.stage.loss_sum(x, s.tokens);
        loss.backward();
        const auto expected = s.gradients();
        auto dx = like(s.x);
        const double sum = s.fused->loss_backward(data(dx), data(s.x), s.tokens.data_ptr<std::int64_t>(), s.n);
        QVERIFY_BELOW(std::abs(sum / loss.item<double>() - 1), 1e-6);
        QVERIFY_BELOW(relative(dx, x.grad()), 1e-5);
        QVERIFY_BELOW(worst_segment(s.stage, s.gradients(), expected), 1e-5);
    }

    /// bf16 has 8 bits: products are off by some 0.4 %, and not by less than fp32's rounding.
    void bf16_products() {
        if (!has_bf16_products()) QSKIP("this processor does not multiply bf16");
        const auto& shape = shapes[0].second;
        Sample exact(shape), rounded(shape, ProductType::bf16);
        Tensor outs[2], gradients[2];
        for (auto* s : {&exact, &rounded}) {
            auto &out = outs[s == &rounded], dx = like(s->x);
            out = like(s->x);
            s->fused->forward(data(out), data(s->x), data(s->kept), s->n);
            s->fused->backward(data(dx), data(s->dy), data(s->x), data(s->kept), s->n);
            gradients[s == &rounded] = s->gradients();
        }
        QVERIFY_BELOW(relative(outs[1], outs[0]), 0.01);
        QVERIFY_BELOW(worst_segment(exact.stage, gradients[1], gradients[0]), 0.03);
        QVERIFY(relative(outs[1], outs[0]) > 1e-4);
    }

private:
    static void add_shapes() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < shapes.size(); ++i) QTest::newRow(shapes[i].first) << static_cast<int>(i);
    }
};

QTEST_GUILESS_MAIN(TestFusedStage)
#include "test_fused_stage.moc"
