// SPDX-License-Identifier: GPL-3.0-or-later
// What is found wrong with an experiment's files before anything is planned.
#include <QtTest>

#include <map>
#include <numeric>

#include "core/data/check_files.h"
#include "core/data/llama_file.h"
#include "data_files.h"

using namespace skippipe;
using namespace skippipe::testing;
namespace fs = std::filesystem;

class TestFiles : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    fs::path at(const std::string& name) const { return fs::path(folder_.path().toStdString()) / name; }

    Experiment experiment_;
    /// Everything said of the experiment, a line each.
    QString said(const std::function<void(Experiment&)>& change, const TokenScan& scan = {}) const {
        auto experiment = experiment_;
        change(experiment);
        QStringList lines;
        for (const auto& fault : check_files(experiment, at("."), {}, scan))
            lines << (fault.severity == Fault::Severity::warning ? "warning " : "") +
                         QString::fromStdString(to_string(fault));
        return lines.join('\n');
    }
    QString said_of_tokens(const std::string& file, int vocabulary, const TokenScan& scan = {}) const {
        return said(
            [&](Experiment& e) {
                e.data = {.source = DataSource::tokens, .path = file};
                e.model.vocabulary = vocabulary;
            },
            scan);
    }
    QString said_of_weights(const std::string& file) const {
        return said([&](Experiment& e) { e.training.initial_weights = file; });
    }

    /// Weights of the experiment's model, but for what `change` makes of their names and shapes.
    void write_weights(const std::string& name, const std::function<void(std::vector<TensorName>&)>& change,
                       ModelSpec model) const {
        auto tensors = llama_tensors(model);
        change(tensors);
        fs::create_directories(at(name).parent_path());
        write_safetensors(at(name), tensors, FloatType::f32, {}, [&](std::size_t i) {
            std::size_t size = 1;
            for (const auto extent : tensors[i].shape) size *= static_cast<std::size_t>(extent);
            return std::vector<float>(size, static_cast<float>(i));
        });
    }
    static void drop(std::vector<TensorName>& tensors, const std::string& name) {
        std::erase_if(tensors, [&](const TensorName& tensor) { return tensor.name == name; });
    }

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(folder_.isValid());
        experiment_.model = {.blocks = 2, .width = 8, .heads = 2, .ffn_width = 12, .vocabulary = 256, .sequence = 16};
        experiment_.data = {.source = DataSource::text, .path = "text.txt"};
        write(at("text.txt"), std::string(1000, 'x'));
        QCOMPARE(said([](Experiment&) {}), "");
    }

    void data_that_is_missing_empty_or_unreadable() {
        const auto path = [&](const char* name) { return said([&](Experiment& e) { e.data.path = name; }); };
        QVERIFY(path("none.txt").startsWith("/data/path: "));
        QVERIFY(path("none.txt").contains("none.txt is not there; it is the data to train on"));
        QVERIFY(path("/dev/null").contains("is neither a file nor a folder"));
        write(at("short.txt"), std::string(16, 'x'));
        QVERIFY(path("short.txt").contains("is too small: 16 tokens leave nothing to train on"));
        write(at("just.txt"), std::string(17, 'x'));
        QCOMPARE(path("just.txt"), "");
        const auto several = said([](Experiment& e) {
            e.data.path.clear();
            e.data.files = {{"text.txt", 1}, {"no-1.txt", 1}, {"no-2.txt", 1}};
        });
        QVERIFY(several.contains("/data/files/1/path: ") && several.contains("/data/files/2/path: "));
        QVERIFY(said([](Experiment& e) { e.data.tokenizer = "no.model"; }).startsWith("/data/tokenizer: "));
        // Where nothing is computed nothing is read.
        QCOMPARE(said([](Experiment& e) {
                     e.data.path = "none.txt";
                     e.execution.compute = Compute::cost;
                 }),
                 "");
    }

    void tokens_beyond_the_vocabulary() {
        std::vector<std::uint16_t> tokens(100'000);
        for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint16_t>(i % 300);
        write(at("tokens.bin"), bytes_of(tokens));
        QCOMPARE(said_of_tokens("tokens.bin", 300), "");
        QVERIFY(said_of_tokens("tokens.bin", 299).contains("token 299 of "));
        QVERIFY(said_of_tokens("tokens.bin", 299).startsWith("/data/path: "));
        tokens[77'777] = 300;
        write(at("one.bin"), bytes_of(tokens));
        QVERIFY(said_of_tokens("one.bin", 300).contains("token 77,777 of ") &&
                said_of_tokens("one.bin", 300).contains("is 300; the model knows tokens 0 to 299"));
        tokens[77'777] = 0;
        tokens.back() = 300;
        write(at("last.bin"), bytes_of(tokens));
        QVERIFY(said_of_tokens("last.bin", 300).contains("token 99,999 of "));
        // A large file is sampled: all over it and at its end; a single token may then be missed, a wrong type not.
        const TokenScan sampled{.whole_bytes = 1000, .samples = 10, .sample_tokens = 16};
        QCOMPARE(said_of_tokens("one.bin", 300, sampled), "");
        QVERIFY(said_of_tokens("last.bin", 300, sampled).contains("token 99,999 of "));
        QVERIFY(said_of_tokens("tokens.bin", 200, sampled).contains("the model knows tokens 0 to 199"));
        write(at("odd.bin"), "abc");
        QVERIFY(said_of_tokens("odd.bin", 300).contains("which 2 does not divide"));
        write(at("few.bin"), bytes_of(std::vector<std::uint16_t>(16)));
        QVERIFY(said_of_tokens("few.bin", 300).contains("is too small: 16 tokens"));
    }

    void weights_that_fit() {
        write_weights(
            "fits.safetensors", [](auto&) {}, experiment_.model);
        QCOMPARE(said_of_weights("fits.safetensors"), "");
        write_weights(
            "old.safetensors",
            [](auto& tensors) {
                tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {2}});
            },
            experiment_.model);
        QCOMPARE(said_of_weights("old.safetensors"), "");
    }

    void missing_weights_say_what_they_are_for() {
        const auto missing = said_of_weights("none.safetensors");
        QVERIFY2(missing.startsWith("/training/initial_weights: ") &&
                     missing.contains("none.safetensors cannot be read: No such file") &&
                     missing.contains("; the model takes its weights from there."),
                 qPrintable(missing));
        QVERIFY(said_of_weights("text.txt").contains("it is no safetensors file"));
    }

    void weights_of_another_depth() {
        auto other = experiment_.model;
        other.blocks = 3;
        write_weights(
            "deep.safetensors", [](auto&) {}, other);
        const auto deep = said_of_weights("deep.safetensors");
        QVERIFY2(deep.contains("deep.safetensors holds a model of 3 blocks, this one has 2; "
                               "the last blocks would be left out. Set /model/blocks to 3"),
                 qPrintable(deep));
        other.blocks = 1;
        write_weights(
            "shallow.safetensors", [](auto&) {}, other);
        QVERIFY(said_of_weights("shallow.safetensors").contains("holds a model of 1 blocks, this one has 2"));
    }

    void weights_of_other_tensors() {
        const auto with = [&](const std::function<void(std::vector<TensorName>&)>& change) {
            write_weights("other.safetensors", change, experiment_.model);
            return said_of_weights("other.safetensors");
        };
        QVERIFY(with([](auto& t) { drop(t, "model.norm.weight"); }).contains("has no tensor \"model.norm.weight\""));
        QVERIFY(with([](auto& t) { t[0].shape = {300, 8}; }).contains("of shape [300, 8]; the model's is [256, 8]"));
        // A bias would be left out without a word.
        QVERIFY(with([](auto& t) {
                    t.push_back({"model.layers.1.self_attn.q_proj.bias", {8}});
                }).contains("has a tensor \"model.layers.1.self_attn.q_proj.bias\""));
    }

    void a_text_that_memory_would_not_hold() {
        write(at("long.txt"), std::string(1001, 'x'));
        auto experiment = experiment_;
        experiment.data.path = "long.txt";
        const auto first = [&] {
            const auto faults = check_files(experiment, at("."), {.bytes = 1000});
            return faults.empty() ? std::string() : to_string(faults.front());
        };
        QVERIFY(first().find("the text is larger than 1,000 bytes") != std::string::npos);
        write(at("tokenizer.model"), "pieces");
        experiment.data.tokenizer = "tokenizer.model";
        QCOMPARE(first(), std::string());
    }

    void two_models_in_one_folder() {
        for (const char* name : {"both/one.safetensors", "both/two.safetensors"})
            write_weights(
                name, [](auto&) {}, experiment_.model);
        const auto said = said_of_weights("both");
        QVERIFY2(
            said.contains("both/one.safetensors and ") && said.contains("both/two.safetensors both hold \"lm_head"),
            qPrintable(said));
    }

    void a_shared_head_must_be_said() {
        const auto shared = [](auto& tensors) { drop(tensors, "lm_head.weight"); };
        write_weights("alone/shared.safetensors", shared, experiment_.model);
        const auto unsaid = said_of_weights("alone/shared.safetensors");
        QVERIFY2(
            unsaid.startsWith("/training/initial_weights: ") &&
                unsaid.contains("has no tensor \"lm_head.weight\"; the head would start as a copy of the embedding"),
            qPrintable(unsaid));
        write(at("alone/config.json"), R"({"tie_word_embeddings": false})");
        QCOMPARE(said_of_weights("alone/shared.safetensors"), unsaid);
        write(at("alone/config.json"), R"({"tie_word_embeddings": true})");
        const auto tied = said_of_weights("alone/shared.safetensors");
        QVERIFY2(tied.startsWith("warning ") && tied.contains("shares the head with the embedding"), qPrintable(tied));
        const LlamaFile file(at("alone/shared.safetensors"), experiment_.model);
        QVERIFY(file.shares_head());
        QVERIFY(file.read("lm_head.weight", {256, 8}) == file.read("model.embed_tokens.weight", {256, 8}));
        write_weights(
            "alone/own.safetensors", [](auto&) {}, experiment_.model);
        QCOMPARE(said_of_weights("alone/own.safetensors"), "");  // it has one of its own all the same
    }
};

QTEST_APPLESS_MAIN(TestFiles)
#include "test_files.moc"
