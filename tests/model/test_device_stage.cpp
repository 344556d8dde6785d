// SPDX-License-Identifier: GPL-3.0-or-later
// A stage on a device, its kernels run on the CPU: against the stage's own operations with autograd, in fp32, within
// what bf16 rounds.
#include <QtTest>

#include "core/experiment/model_size.h"
#include "core/model/device_stage.h"
#include "core/model/node_state.h"
#include "core/model/torch_compat.h"
#include "tests/model/emulated_kernels.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

const ModelSpec model{.blocks = 2, .width = 32, .heads = 2, .vocabulary = 64, .sequence = 8};
constexpr std::int64_t samples = 2;

/// |difference| / |reference|.
double off(const torch::Tensor& found, const torch::Tensor& expected) {
    return ((found - expected).norm() / expected.norm()).item<double>();
}

/// A stage of weights larger than those that training starts from, so that all parts of it matter.
Stage stage_of(int number) {
    Stage stage(model, number, 2, torch::kCPU);
    stage.initialise(7);
    torch::NoGradGuard no_gradient;
    for (const auto& segment : stage.segments()) {
        auto part = stage.weights().narrow(0, segment.offset, segment.size());
        if (segment.decays())
            part.mul_(8);
        else
            part.add_(torch::linspace(-0.3, 0.3, segment.size()));
    }
    return stage;
}

torch::Tensor input() {
    torch::manual_seed(5);
    return torch::randn({samples * model.sequence, model.width});
}
torch::Tensor tokens() {
    torch::manual_seed(6);
    return torch::randint(0, model.vocabulary, {samples * model.sequence}, torch::kInt64);
}

/// Of bf16, 8 bits, through two blocks.
constexpr double rounding = 0.02;

/// Gradients and loss of one microbatch by way of two nodes.
struct Walked {
    std::vector<torch::Tensor> gradients;
    double loss;
};
Walked walk(bool on_device, bool split, bool recompute, WireType wire = WireType::fp32) {
    std::vector<NodeState> nodes;
    nodes.reserve(2);
    for (int number = 0; number < 2; ++number) {
        auto& node = nodes.emplace_back(stage_of(number), model, ProductType::fp32);
        node.recompute = recompute;
        if (!on_device) continue;
        node.fused.reset();
        node.device.emplace(node.stage, model, emulated_kernels());
        node.refresh();
    }
    Residuals residuals;
    MicrobatchState state;
    state.begin({NodeIndex(0), NodeIndex(1)});
    state.residuals = &residuals;
    state.tokens = tokens();
    state.targets = tokens().flip(0);
    state.token_count = samples * model.sequence;
    const auto at = [](auto& all, int i) -> auto& { return all[static_cast<std::size_t>(i)]; };
    for (int hop = 0; hop < 2; ++hop) run_forward(at(nodes, hop), state, at(state.visits, hop), wire);
    run_loss(nodes.front(), state, wire);
    for (int hop = 1; hop >= 0; --hop)
        split ? run_input_gradient(at(nodes, hop), state, at(state.visits, hop), wire)
              : run_backward(at(nodes, hop), state, at(state.visits, hop), wire);
    for (int hop = 0; split && hop < 2; ++hop) run_weight_gradient(at(nodes, hop), state, at(state.visits, hop));
    Walked walked{{}, state.loss + (on_device ? state.device_loss.item<double>() : 0)};
    for (auto& node : nodes) {
        if (node.held != 0 || node.tokens != state.token_count) throw std::logic_error("a visit did not end");
        walked.gradients.push_back(node.stage.gradient());
    }
    return walked;
}

}  // namespace

class TestDeviceStage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void blocks_and_their_gradients() {
        for (const bool split : {false, true}) {
            auto exact = stage_of(1), stage = stage_of(1);
            DeviceStage device(stage, model, emulated_kernels());
            device.refresh();
            const auto x = input(), slope = torch::randn_like(x);
            const auto leaf = x.clone().set_requires_grad(true);
            const auto expected = exact.forward(leaf);
            accumulate_gradients(gradient_edge(expected), slope);
            DeviceKept kept;
            const auto found = device.forward(x, &kept);
            QVERIFY(off(found, expected.detach()) < rounding);
            QVERIFY(torch::equal(device.forward(x, nullptr), found));
            torch::Tensor dx;
            if (split) {
                dx = device.input_gradient(slope, kept);
                QCOMPARE(stage.gradient().abs().max().item<double>(), 0.0);
                device.weight_gradient(kept);
            } else {
                dx = device.backward(slope, kept);
            }
            QVERIFY(kept.empty());
            QVERIFY(off(dx, leaf.grad()) < rounding);
            for (const auto& segment : stage.segments()) {
                const auto part = [&](const Stage& of) {
                    return of.gradient().narrow(0, segment.offset, segment.size());
                };
                QVERIFY2(off(part(stage), part(exact)) < rounding, segment.name.c_str());
            }
        }
    }

    void embedding_head_and_loss() {
        auto exact = stage_of(0), stage = stage_of(0);
        DeviceStage device(stage, model, emulated_kernels());
        device.refresh();
        const auto x = input(), targets = tokens(), words = tokens().flip(0);
        auto expected_dx = torch::empty_like(x), dx = torch::empty_like(x);
        const double expected = exact.loss_backward(expected_dx, x, targets).item<double>();
        const double found = device.loss_backward(dx, x, targets).item<double>();
        const auto whole = stage.gradient().clone();
        // By pieces of five tokens it is the same, but for rounding.
        DeviceStage pieces(stage, model, emulated_kernels(), 5 * model.vocabulary + 3);
        pieces.refresh();
        stage.gradient().zero_();
        auto by_pieces = torch::empty_like(x);
        QVERIFY(std::abs(pieces.loss_backward(by_pieces, x, targets).item<double>() / found - 1) < rounding);
        QVERIFY(off(by_pieces, dx) < rounding && off(stage.gradient(), whole) < rounding);
        stage.gradient().copy_(whole);
        QVERIFY(std::abs(found / expected - 1) < rounding);
        QCOMPARE(device.loss(x, targets).item<double>(), found);
        QVERIFY(off(dx, expected_dx) < rounding);
        const auto slope = torch::randn_like(x);
        accumulate_gradients(gradient_edge(exact.embed(words)), slope);
        device.embed_backward(slope, words);
        for (const auto& segment : stage.segments()) {
            if (segment.name.starts_with("block")) continue;
            const auto part = [&](const Stage& of) { return of.gradient().narrow(0, segment.offset, segment.size()); };
            QVERIFY2(off(part(stage), part(exact)) < rounding, segment.name.c_str());
        }
    }

    /// Gradients of several microbatches are added up.
    void gradients_add_up() {
        auto once = stage_of(1), twice = stage_of(1);
        const auto run = [](Stage& stage, int times) {
            DeviceStage device(stage, model, emulated_kernels());
            device.refresh();
            for (int i = 0; i < times; ++i) {
                DeviceKept kept;
                device.forward(input(), &kept);
                device.backward(input().flip(0), kept);
            }
        };
        run(once, 1);
        run(twice, 2);
        QVERIFY(once.gradient().norm().item<double>() > 0);
        QVERIFY(off(twice.gradient(), 2 * once.gradient()) < 1e-6);
    }

    /// Products read the weights of the last refresh, and a refresh sees every change.
    void weights_are_rounded_anew() {
        auto stage = stage_of(1);
        DeviceStage device(stage, model, emulated_kernels());
        QVERIFY_EXCEPTION_THROWN(device.forward(input(), nullptr), std::logic_error);
        device.refresh();
        const auto before = device.forward(input(), nullptr);
        {
            torch::NoGradGuard no_gradient;
            stage.weights().narrow(0, 0, 100).mul_(3);
        }
        QVERIFY(torch::equal(device.forward(input(), nullptr), before));
        device.refresh();
        const auto after = device.forward(input(), nullptr);
        QVERIFY(!torch::equal(after, before));
        auto moved = std::move(stage);
        QVERIFY(torch::equal(device.forward(input(), nullptr), after));
    }

    /// A microbatch goes through nodes on a device as through those on the CPU: whole, split, and computed again.
    void nodes_on_a_device() {
        const auto expected = walk(false, false, false);
        Walked whole;
        for (const bool split : {false, true})
            for (const bool recompute : {false, true}) {
                const auto found = walk(true, split, recompute);
                QVERIFY(std::abs(found.loss / expected.loss - 1) < rounding);
                for (std::size_t i = 0; i < 2; ++i) {
                    const double apart = off(found.gradients[i], expected.gradients[i]);
                    QVERIFY2(apart < 2 * rounding, std::to_string(apart).c_str());
                    if (!whole.gradients.empty()) QVERIFY(off(found.gradients[i], whole.gradients[i]) < 1e-5);
                }
                if (whole.gradients.empty()) whole = found;
            }
    }

    /// Messages between them are rounded where they lie, which is no more off than on the CPU.
    void messages_between_nodes_on_a_device() {
        const auto exact = walk(true, false, false);
        for (const auto wire : {WireType::bf16, WireType::int8}) {
            const auto here = walk(false, false, false, wire), there = walk(true, false, false, wire);
            QVERIFY(std::abs(there.loss / here.loss - 1) < rounding);
            for (std::size_t i = 0; i < 2; ++i) {
                const double apart = off(there.gradients[i], here.gradients[i]);
                QVERIFY2(apart < 2 * rounding, std::to_string(apart).c_str());
                QVERIFY(!torch::equal(there.gradients[i], exact.gradients[i]));
            }
        }
    }

    void models_that_fit() {
        QVERIFY(DeviceStage::fits(model, ProductType::bf16));
        QVERIFY(!DeviceStage::fits(model, ProductType::fp32));
        auto other = model;
        other.kv_heads = 1;
        QVERIFY(!DeviceStage::fits(other, ProductType::bf16));
        other = model;
        other.heads = 8;  // of 4 values
        QVERIFY(!DeviceStage::fits(other, ProductType::bf16));
    }

    void a_kernel_that_is_refused_is_named() {
        auto stage = stage_of(1);
        auto broken = emulated_kernels();
        broken.swiglu = [](Bf16*, const Bf16*, std::size_t, std::size_t, Launched) { return 98; };
        DeviceStage device(stage, model, broken);
        device.refresh();
        try {
            device.forward(input(), nullptr);
            QFAIL("it was taken");
        } catch (const std::runtime_error& error) {
            QCOMPARE(QString(error.what()), QString("the kernel swiglu was not launched: CUDA's error 98"));
        }
    }
};

QTEST_APPLESS_MAIN(TestDeviceStage)
#include "test_device_stage.moc"
