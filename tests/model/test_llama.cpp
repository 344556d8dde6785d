// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <cstdlib>

#include <malloc.h>

#include "core/base/fault.h"
#include "core/model/blas.h"
#include "core/model/layers.h"
#include "core/model/optimizer.h"
#include "core/engine/task_graph.h"
#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

using Tensor = torch::Tensor;

/// Textbook layers, written apart from core/model: one position and one pair at a time where that is clearer.
Tensor plain_norm(const Tensor& x, const Tensor& weight) {
    return x / (x.pow(2).mean(-1, true) + 1e-5).sqrt() * weight;
}

Tensor plain_rotate(const Tensor& x) {  // [T, hd], pairs (0, 1), (2, 3), ...
    std::vector<Tensor> rows;
    for (int position = 0; position < x.size(0); ++position) {
        std::vector<Tensor> values;
        for (int pair = 0; pair < x.size(1) / 2; ++pair) {
            const double angle = position * std::pow(10000.0, -2.0 * pair / static_cast<double>(x.size(1)));
            const auto a = x[position][2 * pair], b = x[position][2 * pair + 1];
            values.push_back(a * std::cos(angle) - b * std::sin(angle));
            values.push_back(a * std::sin(angle) + b * std::cos(angle));
        }
        rows.push_back(torch::stack(values));
    }
    return torch::stack(rows);
}

/// One sample through one block, [T, D].
Tensor plain_block(const std::map<std::string, Tensor>& w, const Tensor& x, int heads) {
    const auto width = x.size(1), head_width = width / heads;
    const auto qkv = plain_norm(x, w.at("block0.attention_norm")).matmul(w.at("block0.qkv"));
    std::vector<Tensor> outputs;
    for (int head = 0; head < heads; ++head) {
        const auto part = [&](int which) { return qkv.narrow(1, which * width + head * head_width, head_width); };
        auto scores =
            plain_rotate(part(0)).matmul(plain_rotate(part(1)).t()) / std::sqrt(static_cast<double>(head_width));
        scores = scores.masked_fill(torch::ones_like(scores).triu(1).to(torch::kBool), -1e30);
        outputs.push_back(torch::softmax(scores, -1).matmul(part(2)));
    }
    const auto y = x + torch::cat(outputs, 1).matmul(w.at("block0.attention_out"));
    const auto gate_up = plain_norm(y, w.at("block0.ffn_norm")).matmul(w.at("block0.gate_up"));
    const auto hidden = gate_up.size(1) / 2;
    const auto gate = gate_up.narrow(1, 0, hidden);
    return y + (gate * torch::sigmoid(gate) * gate_up.narrow(1, hidden, hidden)).matmul(w.at("block0.down"));
}

/// Fresh leaves with the stage's values.
std::map<std::string, Tensor> copies_of(const Stage& stage) {
    std::map<std::string, Tensor> result;
    for (const auto& segment : stage.segments())
        result[segment.name] = stage.weights()
                                   .narrow(0, segment.offset, segment.size())
                                   .view(segment.shape)
                                   .clone()
                                   .set_requires_grad(true);
    return result;
}

/// Bytes of tensors, now and at their peak.
std::size_t tensor_bytes = 0, most_tensor_bytes = 0;

void* take(std::size_t bytes) {
    void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    tensor_bytes += malloc_usable_size(memory);
    most_tensor_bytes = std::max(most_tensor_bytes, tensor_bytes);
    return memory;
}

void give(void* memory) {
    tensor_bytes -= memory != nullptr ? malloc_usable_size(memory) : 0;
    std::free(memory);
}

double relative(const Tensor& a, const Tensor& b) { return (a - b).norm().item<double>() / b.norm().item<double>(); }

}  // namespace

class TestLlama : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        static CpuMemory counted(take, give);
        use_memory(counted);
        use_one_thread();
    }

    /// Of a large vocabulary never all logits are in memory, and nothing comes out otherwise.
    void a_large_head_goes_by_pieces() {
        ModelSpec model{.blocks = 1, .width = 32, .heads = 2, .vocabulary = 40'000, .sequence = 50};
        Stage stage(model, 0, 1, torch::kCPU);
        stage.initialise(3);
        const std::int64_t tokens = 950;
        QCOMPARE(stage.head_tokens(), std::int64_t{419});
        torch::manual_seed(1);
        const auto x = torch::randn({tokens, model.width});
        const auto targets = torch::randint(model.vocabulary, {tokens}, torch::kLong);
        const auto risen = [&](const auto& work) {
            const auto before = most_tensor_bytes = tensor_bytes;
            work();
            return static_cast<double>(most_tensor_bytes - before);
        };
        const auto input = x.clone().set_requires_grad(true);
        double at_once = 0, by_pieces = 0;
        const double all_bytes = risen([&] {
            const auto loss = stage.loss_sum(input, targets);
            accumulate_gradients(gradient_edge(loss), torch::ones_like(loss));
            at_once = loss.item<float>();
        });
        const auto gradient = stage.gradient().clone();
        stage.gradient().zero_();
        auto dx = torch::empty_like(x);
        const double piece_bytes = risen([&] { by_pieces = stage.loss_backward(dx, x, targets).item<double>(); });
        QVERIFY2(std::abs(by_pieces / at_once - 1) < 1e-6, qPrintable(QString::number(by_pieces / at_once - 1)));
        QVERIFY(relative(dx, input.grad()) < 1e-6 && relative(stage.gradient(), gradient) < 1e-6);
        QVERIFY2(piece_bytes < 0.6 * all_bytes, qPrintable(QString::number(piece_bytes / all_bytes)));
        torch::NoGradGuard no_gradient;
        QVERIFY(std::abs(stage.loss(x, targets).item<double>() / by_pieces - 1) < 1e-12);
    }

    /// Products rounded to bf16, everything that is kept in fp32: near the same, and the same each time.
    void products_in_bf16_are_near() {
        for (const int kv : {4, 2}) {
            ModelSpec model{.blocks = 2, .width = 64, .heads = 4, .vocabulary = 96, .sequence = 24};
            model.kv_heads = kv;
            const auto x = torch::randn({2 * model.sequence, model.width});
            const auto targets = torch::randint(model.vocabulary, {2 * model.sequence}, torch::kLong);
            const auto train = [&](ProductType products) {
                Stage stage(model, 0, 2, torch::kCPU, products);
                stage.initialise(5);
                const auto input = x.clone().set_requires_grad(true);
                const auto out = stage.forward(input);
                auto dout = torch::empty_like(x);
                const double loss = stage.loss_backward(dout, out.detach(), targets).item<double>();
                accumulate_gradients(gradient_edge(out), dout);
                return std::tuple{loss, input.grad(), stage.gradient().clone(), stage.weights().dtype()};
            };
            const auto [loss, dx, gradient, type] = train(ProductType::fp32);
            const auto [near_loss, near_dx, near_gradient, near_type] = train(ProductType::bf16);
            QVERIFY(type == torch::kFloat32 && near_type == torch::kFloat32);
            QVERIFY2(std::abs(near_loss / loss - 1) < 1e-3, qPrintable(QString::number(near_loss / loss - 1)));
            for (const auto& [near, exact] : {std::pair{near_dx, dx}, {near_gradient, gradient}}) {
                QVERIFY(near.dtype() == torch::kFloat32);
                const double off = relative(near, exact);
                QVERIFY2(off > 1e-4 && off < 2e-2, qPrintable(QString::number(off)));
            }
            QVERIFY(std::get<2>(train(ProductType::bf16)).equal(near_gradient));
        }
    }

    void equals_textbook_llama() {
        auto model = small_experiment(1, 1).model;
        model.sequence = 6;
        model.width = 16;
        Stage stage(model, 0, 1, torch::kCPU);
        stage.initialise(3);
        torch::manual_seed(1);
        {
            torch::NoGradGuard no_gradient;
            stage.weights().add_(torch::randn_like(stage.weights()), 0.2);  // norms off one, attention off uniform
        }
        auto plain = copies_of(stage);
        const auto tokens = torch::randint(0, 256, {12}, torch::kInt64),
                   targets = torch::randint(0, 256, {12}, torch::kInt64);
        const auto loss = stage.loss_sum(stage.forward(stage.embed(tokens)), targets);
        loss.backward();
        auto expected = torch::zeros({});
        for (int sample = 0; sample < 2; ++sample) {
            const auto x =
                plain_block(plain, plain.at("embedding").index_select(0, tokens.narrow(0, 6 * sample, 6)), model.heads);
            const auto logits = plain_norm(x, plain.at("final_norm")).matmul(plain.at("head"));
            expected =
                expected - torch::log_softmax(logits, 1).gather(1, targets.narrow(0, 6 * sample, 6).unsqueeze(1)).sum();
        }
        expected.backward();
        QVERIFY(relative(loss.detach(), expected.detach()) < 1e-6);
        for (const auto& segment : stage.segments()) {
            const auto gradient = stage.gradient().narrow(0, segment.offset, segment.size()).view(segment.shape);
            const double difference = relative(gradient, plain.at(segment.name).grad());
            QVERIFY2(difference < 1e-5, qPrintable(QString("%1: %2").arg(segment.name.c_str()).arg(difference)));
        }
    }

    void starting_weights() {
        const auto model = small_experiment(3, 3).model;
        Stage first(model, 1, 1, torch::kCPU), replica(model, 1, 1, torch::kCPU), next(model, 2, 1, torch::kCPU),
            reseeded(model, 1, 1, torch::kCPU);
        first.initialise(5);
        replica.initialise(5);
        next.initialise(5);
        reseeded.initialise(6);
        QVERIFY(torch::equal(first.weights(), replica.weights()));
        QVERIFY(!torch::equal(first.weights(), next.weights()));
        QVERIFY(!torch::equal(first.weights(), reseeded.weights()));
        for (const auto& segment : first.segments()) {
            const auto tensor = first.weights().narrow(0, segment.offset, segment.size());
            QCOMPARE(segment.decays(), segment.offset < first.decayed_size());
            if (segment.decays()) {
                QVERIFY(std::abs(tensor.std().item<double>() / segment.deviation - 1) < 0.1);
                QVERIFY(std::abs(tensor.mean().item<double>()) < 0.1 * segment.deviation);
            } else {
                QVERIFY(torch::equal(tensor, torch::ones_like(tensor)));
            }
        }
    }

    void causal() {
        const auto model = small_experiment(1, 1).model;
        Stage stage(model, 0, 1, torch::kCPU);
        stage.initialise(1);
        torch::NoGradGuard no_gradient;
        auto tokens = torch::arange(16, torch::kInt64);
        const auto before = stage.forward(stage.embed(tokens)).clone();
        tokens[9] = 200;
        const auto after = stage.forward(stage.embed(tokens));
        QVERIFY(torch::equal(before.narrow(0, 0, 9), after.narrow(0, 0, 9)));
        QVERIFY(!torch::equal(before.narrow(0, 9, 7), after.narrow(0, 9, 7)));
    }

    void gradients_stay_in_the_flat_tensor() {
        const auto model = small_experiment(1, 1).model;
        Stage stage(model, 0, 1, torch::kCPU);
        stage.initialise(1);
        const auto tokens = torch::arange(16, torch::kInt64);
        stage.loss_sum(stage.forward(stage.embed(tokens)), tokens).backward();
        const auto once = stage.gradient().clone();
        stage.loss_sum(stage.forward(stage.embed(tokens)), tokens).backward();
        QVERIFY(once.norm().item<double>() > 0);
        QVERIFY(relative(stage.gradient(), 2 * once) < 1e-6);
    }

    void both_optimizers_agree() {
        torch::manual_seed(2);
        auto weights = torch::randn({1000}), m = torch::zeros({1000}), v = torch::zeros({1000});
        auto weights2 = weights.clone(), m2 = m.clone(), v2 = v.clone();
        for (int step = 1; step <= 20; ++step) {
            const auto gradient = torch::randn({1000});
            auto parameters = step_parameters({.learning_rate = 1e-2}, step, step);
            parameters.gradient_scale = 0.3;
            kernels::adamw(weights.data_ptr<float>(), gradient.data_ptr<float>(), m.data_ptr<float>(),
                           v.data_ptr<float>(), 1000, parameters);
            adamw_tensors(weights2, gradient, m2, v2, parameters);
        }
        QVERIFY(relative(weights, weights2) < 1e-6);
        QVERIFY(relative(v, v2) < 1e-6);
    }

    void schedule_and_clipping() {
        const Training training{.learning_rate = 1, .warmup_iterations = 4};
        QCOMPARE(learning_rate(training, 0), 0.25);
        QCOMPARE(learning_rate(training, 3), 1.0);
        QCOMPARE(learning_rate(training, 9), 1.0);
        QCOMPARE(total_norm({9, -1, 16}), 5.0);
        QCOMPARE(clip_factors({.clip = ClipRule::global, .clip_norm = 1}, {9, -1, 16})[0], 0.2);
        QCOMPARE(clip_factors({.clip = ClipRule::per_stage, .clip_norm = 1}, {9, -1, 16})[2], 0.25);
        QCOMPARE(clip_factors({.clip = ClipRule::per_stage, .clip_norm = 3.5}, {9, -1, 16})[0], 1.0);
        QCOMPARE(clip_factors({.clip = ClipRule::none, .clip_norm = 1}, {9, -1, 16})[0], 1.0);
    }

    void blas() {
        QVERIFY2(prepare_blas(),
                 "OpenBLAS without threads gives wrong products on two threads: install libopenblas0-pthread");
        QVERIFY(measure_blas_gflops() > 0.1);
    }

    /// OpenBLAS takes its kernels for SSE3 on a processor that it does not know.
    void kernels_are_those_of_the_processor() {
        if (blas_kernels() == "Prescott" && __builtin_cpu_supports("avx2") &&
            qEnvironmentVariableIsEmpty("OPENBLAS_CORETYPE"))
            QVERIFY(better_blas_kernels() == "Haswell" || better_blas_kernels() == "SkylakeX");
        else
            QCOMPARE(better_blas_kernels(), "");
    }

    void products_are_right_on_two_threads() {
        prepare_blas();
        std::atomic<int> wrong{0};
        const auto multiply = [&](int seed) {
            use_one_thread();
            torch::NoGradGuard no_gradient;
            Rng rng(static_cast<std::uint64_t>(seed));
            for (int i = 0; i < 4000; ++i) {
                const auto rows = static_cast<std::int64_t>(8 + rng.below(200)),
                           inner = static_cast<std::int64_t>(8 + rng.below(40));
                const auto a = torch::ones({rows, inner}), b = torch::full({inner, 24}, 2.0f);
                if (!torch::equal(torch::mm(a, b), torch::full({rows, 24}, 2.0f * static_cast<float>(inner)))) ++wrong;
            }
        };
        std::jthread first(multiply, 1), second(multiply, 2);
        first.join();
        second.join();
        QCOMPARE(wrong.load(), 0);
    }

    void task_graph_order_and_errors() {
        TaskGraph graph(3, [] {});
        std::vector<int> log;
        auto last = graph.add([&] { log.push_back(0); });
        for (int i = 1; i < 50; ++i) last = graph.add([&log, i] { log.push_back(i); }, {last});
        graph.wait();
        for (int i = 0; i < 50; ++i) QCOMPARE(log.at(static_cast<std::size_t>(i)), i);
        std::atomic<bool> ran{false};
        const auto bad = graph.add([] { throw std::runtime_error("first"); });
        graph.add([&] { ran = true; }, {bad});
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, graph.wait());
        QVERIFY(!ran);
        std::atomic<int> sum{0};
        graph.for_each(100, [&](std::size_t i) { sum += static_cast<int>(i); });
        QCOMPARE(sum.load(), 4950);
    }
};

QTEST_APPLESS_MAIN(TestLlama)
#include "test_llama.moc"
