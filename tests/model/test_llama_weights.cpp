// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <cmath>
#include <fstream>
#include <map>

#include "core/base/fault.h"
#include "core/model/blas.h"
#include "core/model/llama_weights.h"
#include "core/model/node_state.h"
#include "core/model/torch_compat.h"
#include "plain_llama.h"
#include "training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;
namespace fs = std::filesystem;

namespace {

double relative(const torch::Tensor& a, const torch::Tensor& b) {
    return ((a.to(torch::kFloat64) - b.to(torch::kFloat64)).norm() / b.to(torch::kFloat64).norm().clamp_min(1e-12))
        .item<double>();
}

std::vector<float> random_weights(const ModelSpec& model, int stage, int blocks) {
    Rng rng(static_cast<std::uint64_t>(stage) + 1);
    const auto segments = stage_segments(model, stage, blocks);
    std::vector<float> values(static_cast<std::size_t>(segments.back().offset + segments.back().size()));
    for (auto& value : values) value = static_cast<float>(rng.uniform() - 0.5);
    return values;
}

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return to_string(error.faults().front());
    }
    return {};
}

}  // namespace

class TestLlamaWeights : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    fs::path at(const char* name) const { return fs::path(folder_.path().toStdString()) / name; }
    ModelSpec model_{
        .blocks = 4, .width = 24, .heads = 4, .kv_heads = 2, .vocabulary = 50, .sequence = 7, .rotary_base = 500};

private Q_SLOTS:
    void initTestCase() {
        use_one_thread();
        QVERIFY(folder_.isValid());
    }

    void round_trip_to_the_bit_through_any_cut() {
        const std::vector<int> blocks{1, 2, 1}, other{3, 1};
        save_llama(at("a.safetensors"), model_, blocks,
                   [&](int stage) { return random_weights(model_, stage, blocks[static_cast<std::size_t>(stage)]); });
        const LlamaWeights read(at("a.safetensors"), model_);
        for (int stage = 0; stage < 3; ++stage)
            QVERIFY(read.stage(stage, blocks) ==
                    random_weights(model_, stage, blocks[static_cast<std::size_t>(stage)]));
        save_llama(at("b.safetensors"), model_, other, [&](int stage) { return read.stage(stage, other); });
        const auto a = tensors_of(at("a.safetensors")), b = tensors_of(at("b.safetensors"));
        QCOMPARE(a.size(), std::size_t{4 * 9 + 3});
        QCOMPARE(a.size(), b.size());
        for (const auto& [name, tensor] : a) QVERIFY2(torch::equal(tensor, b.at(name)), name.c_str());
        QCOMPARE(a.at("model.layers.3.self_attn.k_proj.weight").sizes().vec(), (std::vector<std::int64_t>{12, 24}));
    }

    void means_what_hugging_face_means_data() {
        QTest::addColumn<int>("kv_heads");
        QTest::addColumn<double>("base");
        QTest::newRow("as many") << 0 << 10000.0;
        QTest::newRow("grouped by two") << 2 << 10000.0;
        QTest::newRow("one for all, another base") << 1 << 500000.0;
    }
    /// Loss and every gradient equal those of the formulas above.
    void means_what_hugging_face_means() {
        QFETCH(int, kv_heads);
        QFETCH(double, base);
        auto model = model_;
        model.blocks = 2;
        model.kv_heads = kv_heads;
        model.rotary_base = base;
        Stage stage(model, 0, 2, torch::kCPU);
        const auto flat = random_weights(model, 0, 2);
        {
            torch::NoGradGuard no_gradient;
            stage.weights().copy_(torch::from_blob(const_cast<float*>(flat.data()), {stage.size()}));
        }
        const auto tokens = torch::randint(0, 50, {14}, torch::kInt64),
                   targets = torch::randint(0, 50, {14}, torch::kInt64);
        const auto loss = stage.loss_sum(stage.forward(stage.embed(tokens)), targets);
        loss.backward();
        const auto vector = [](const torch::Tensor& t) {
            return std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
        };
        save_llama(at("w.safetensors"), model, {2}, [&](int) { return flat; });
        save_llama(at("g.safetensors"), model, {2}, [&](int) { return vector(stage.gradient()); });
        auto plain = tensors_of(at("w.safetensors"));
        for (auto& [name, tensor] : plain) tensor = tensor.to(torch::kFloat64).set_requires_grad(true);
        const auto expected = plain_loss(plain, model, tokens.narrow(0, 0, 7), targets.narrow(0, 0, 7)) +
                              plain_loss(plain, model, tokens.narrow(0, 7, 7), targets.narrow(0, 7, 7));
        expected.backward();
        QVERIFY(relative(loss.detach(), expected.detach()) < 1e-6);
        for (const auto& [name, gradient] : tensors_of(at("g.safetensors"))) {
            const double difference = relative(gradient, plain.at(name).grad());
            QVERIFY2(difference < 2e-5, qPrintable(QString("%1: %2").arg(name.c_str()).arg(difference)));
        }
    }

    void training_goes_on_from_saved_weights() {
        auto experiment = small_experiment(3, 5);
        experiment.model.kv_heads = 1;
        const auto plan = make_plan({{0, 3}, {1, 4}, {2}}, {{0, 1, 2}, {3, 4, 2}});
        TorchCompute first(experiment, plan, make_batches(experiment), 4, 2);
        for (int i = 0; i < 3; ++i) run_iteration(first, i, tasks_of(plan, false, Rng(1)));
        save_llama(at("t.safetensors"), experiment.model, plan.blocks,
                   [&](int stage) { return first.weights(plan.stages[static_cast<std::size_t>(stage)].front()); });
        auto resumed = experiment;
        resumed.training.initial_weights = at("t.safetensors").string();
        TorchCompute second(resumed, plan, make_batches(experiment), 99, 2),
            fresh(experiment, plan, make_batches(experiment), 99, 2);
        QVERIFY(validate(fresh).loss_nats != validate(first).loss_nats);
        QCOMPARE(validate(second).loss_nats, validate(first).loss_nats);
        QVERIFY(second.replicas_equal());
        for (int node = 0; node < 5; ++node) QVERIFY(second.weights(node) == first.weights(node));
    }

    void parts_shared_heads_and_faults() {
        const std::vector<int> blocks{4};
        fs::create_directories(at("parts"));
        const auto flat = random_weights(model_, 0, 4);
        save_llama(at("whole.safetensors"), model_, blocks, [&](int) { return flat; });
        const SafeTensors whole(at("whole.safetensors"), "W");
        const auto write_some = [&](const fs::path& path, const std::function<bool(const std::string&)>& wanted) {
            std::vector<TensorName> names;
            for (const auto& [name, tensor] : whole.tensors())
                if (wanted(name)) names.push_back({name, tensor.shape});
            write_safetensors(path, names, FloatType::f32, {},
                              [&](std::size_t i) { return whole.read(names[i].name, names[i].shape); });
        };
        const auto early = [](const std::string& name) { return name < "model.layers.2"; };
        write_some(at("parts/model-1.safetensors"), early);
        write_some(at("parts/model-2.safetensors"), [&](const std::string& name) { return !early(name); });
        QVERIFY(LlamaWeights(at("parts"), model_).stage(0, blocks) == flat);
        fs::create_directories(at("tied"));
        std::ofstream(at("tied/config.json")) << R"({"tie_word_embeddings": true})";
        write_some(at("tied/shared.safetensors"), [](const std::string& name) { return name != "lm_head.weight"; });
        save_llama(at("again.safetensors"), model_, blocks,
                   [&](int) { return LlamaWeights(at("tied/shared.safetensors"), model_).stage(0, blocks); });
        const auto again = tensors_of(at("again.safetensors"));
        QVERIFY(torch::equal(again.at("lm_head.weight"), again.at("model.embed_tokens.weight")));
        write_some(at("lacks.safetensors"), [](const std::string& name) { return name != "model.norm.weight"; });
        QVERIFY(refusal([&] {
                    LlamaWeights(at("lacks.safetensors"), model_).stage(0, blocks);
                }).find("has no tensor \"model.norm.weight\"") != std::string::npos);
        auto other = model_;
        other.ffn_width = 40;
        QVERIFY(refusal([&] {
                    LlamaWeights(at("whole.safetensors"), other).stage(0, blocks);
                }).find("the model's is [40, 24]") != std::string::npos);
        auto shallow = model_;
        shallow.blocks = 2;
        QVERIFY(refusal([&] {
                    LlamaWeights(at("whole.safetensors"), shallow).stage(0, {2});
                }).find("holds a model of 4 blocks, this one has 2") != std::string::npos);
        const auto with = [&](const char* config) {
            std::ofstream(at("parts/config.json")) << config;
            return refusal([&] { LlamaWeights(at("parts"), model_); });
        };
        QVERIFY(
            with(
                R"({"num_attention_heads": 4, "num_key_value_heads": 2, "rope_theta": 500.0, "rms_norm_eps": 1e-05, "rope_scaling": null})")
                .empty());
        QVERIFY(with(R"({"num_attention_heads": 8})").starts_with("/model/heads: 4, but "));
        QVERIFY(with(R"({"num_key_value_heads": 4})").starts_with("/model/kv_heads: 2, but "));
        QVERIFY(with(R"({"rope_theta": 500000})").starts_with("/model/rotary_base: 500, but "));
        QVERIFY(with(R"({"rms_norm_eps": 1e-06})").find("rms_norm_eps") != std::string::npos);
        QVERIFY(with(R"({"rope_scaling": {"factor": 8}})").find("scaled rotary") != std::string::npos);
        QVERIFY(with(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "hidden_act": "silu"})")
                    .empty());
        QVERIFY(with(R"({"rope_parameters": {"rope_theta": 500000}})").starts_with("/model/rotary_base: 500, but "));
        QVERIFY(with(R"({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}})").find("scaled rotary") !=
                std::string::npos);
        QVERIFY(with(R"({"hidden_act": "gelu"})").find("says hidden_act \"gelu\"") != std::string::npos);
        QVERIFY(!with("{").empty());
        fs::create_directories(at("empty"));
        QVERIFY(refusal([&] { LlamaWeights(at("empty"), model_); }).find("holds no .safetensors") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestLlamaWeights)
#include "test_llama_weights.moc"
