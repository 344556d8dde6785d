// SPDX-License-Identifier: GPL-3.0-or-later
// A small sentencepiece model is trained here, with the library's own trainer.
#include <QtTest>

#include <chrono>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "core/data/batches.h"
#include "core/tokenizer/tokenizer.h"
#include "data_files.h"

using namespace skippipe;
using namespace skippipe::testing;
namespace fs = std::filesystem;

namespace {

std::string verses(int count) {
    Rng rng(3);
    const char* words[] = {"in",       "the",  "beginning", "was",  "word", "and",  "light",
                           "darkness", "upon", "waters",    "face", "God",  "said", "Grüße"};
    std::string text;
    for (int v = 0; v < count; ++v) {
        for (int w = 0; w < 9; ++w)
            text += std::string(words[rng.below(14)]) + (w == 8 ? ".\n" : rng.below(9) == 0 ? "  " : " ");
    }
    return text;
}

/// As a run does: tokenised first, then opened.
Dataset prepared(const DataSpec& spec, const fs::path& base, int vocabulary, const Progress& progress = {}) {
    tokenise(spec, base, vocabulary, progress);
    return open_dataset(spec, base);
}

}  // namespace

class TestTokenizer : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    fs::path base() const { return folder_.path().toStdString(); }
    DataSpec spec() const { return {.source = DataSource::text, .path = "verses.txt", .tokenizer = "tiny.model"}; }
    int cached() const {
        std::error_code error;
        return static_cast<int>(std::distance(fs::directory_iterator(base() / "cache/skippipe-studio/tokens", error),
                                              fs::directory_iterator{}));
    }

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(folder_.isValid());
        qputenv("XDG_CACHE_HOME", (folder_.path() + "/cache").toUtf8());
        write(base() / "verses.txt", verses(2000));
        const auto made = sentencepiece::SentencePieceTrainer::Train(
            "--input=" + (base() / "verses.txt").string() + " --model_prefix=" + (base() / "tiny").string() +
            " --vocab_size=340 --model_type=bpe --byte_fallback=true --num_threads=1 --minloglevel=2");
        QVERIFY2(made.ok(), made.ToString().c_str());
    }
    void cleanupTestCase() { qunsetenv("XDG_CACHE_HOME"); }

    void bytes_add_up_and_tokens_are_the_librarys() {
        const Tokenizer tokenizer(base() / "tiny.model");
        QCOMPARE(tokenizer.vocabulary(), 340);
        sentencepiece::SentencePieceProcessor library;
        QVERIFY(library.Load((base() / "tiny.model").string()).ok());
        for (const std::string text : {"in the beginning", "  two   blanks ", "Grüße an 日本", "", "\n\n\n", "x"}) {
            std::vector<int> ids;
            std::uint64_t bytes = 0;
            bytes += tokenizer.encode(text, [&](const auto& tokens) {
                for (const auto& token : tokens) {
                    ids.push_back(static_cast<int>(token.id));
                    bytes += token.bytes;
                }
            });
            auto expected = library.EncodeAsIds(text);
            expected.push_back(library.eos_id());
            QCOMPARE(ids, expected);
            QCOMPARE(bytes, text.size());
        }
    }

    void long_documents_are_cut_at_lines() {
        const Tokenizer tokenizer(base() / "tiny.model");
        const auto text = verses(12'000);
        QVERIFY(text.size() > 2 * 262'144);
        int pieces = 0;
        std::uint64_t bytes = 0;
        bytes += tokenizer.encode(text, [&](const auto& tokens) {
            ++pieces;
            for (const auto& token : tokens) bytes += token.bytes;
        });
        QCOMPARE(bytes, text.size());
        QVERIFY(pieces >= 3);
        const std::string letters(600'000, 'x');  // nowhere to cut
        QCOMPARE(tokenizer.encode(letters, [](const auto&) {}), 0u);
    }

    void cached_by_content() {
        std::vector<std::string> said;
        const auto progress = [&](const std::string& what, double share) {
            said.push_back(what);
            QVERIFY(share >= 0 && share <= 1);
        };
        QVERIFY(refusal([&] { open_dataset(spec(), base()); }).find("has not been tokenised") != std::string::npos);
        const auto first = prepared(spec(), base(), 340, progress);
        QVERIFY(!said.empty() && said.front().find("tokenising") != std::string::npos);
        QCOMPARE(cached(), 1);
        const auto tokens = all_of(first.sources.front().tokens);
        QVERIFY(tokens.size() < fs::file_size(base() / "verses.txt") / 2);
        QCOMPARE(first.sources.front().tokens.text_bytes(0, tokens.size()),
                 static_cast<std::int64_t>(fs::file_size(base() / "verses.txt")));
        said.clear();
        fs::copy_file(base() / "verses.txt", base() / "renamed.txt");
        auto renamed = spec();
        renamed.path = "renamed.txt";
        QCOMPARE(all_of(prepared(renamed, base(), 340, progress).sources.front().tokens), tokens);
        QVERIFY(said.empty());  // nothing was tokenised again
        QCOMPARE(cached(), 1);
        // A damaged file is made again.
        const auto file = fs::directory_iterator(base() / "cache/skippipe-studio/tokens")->path();
        Rng rng(1);
        std::ifstream whole_file(file, std::ios::binary);
        const std::string whole((std::istreambuf_iterator<char>(whole_file)), {});
        for (int i = 0; i < 5; ++i) {
            write(file, damaged(whole, rng));
            QCOMPARE(all_of(prepared(spec(), base(), 340).sources.front().tokens), tokens);
        }
        // Other content is another file.
        write(base() / "verses.txt", verses(1500));
        prepared(spec(), base(), 340);
        QCOMPARE(cached(), 2);
        // No half file is left where writing fails.
        write(base() / "verses.txt", verses(1000));
        qputenv("XDG_CACHE_HOME", "/proc/not/writable");
        QVERIFY(!refusal([&] { prepared(spec(), base(), 340); }).empty());
        qputenv("XDG_CACHE_HOME", (folder_.path() + "/cache").toUtf8());
        QCOMPARE(cached(), 2);
    }

    void bits_per_byte_counts_the_text() {
        write(base() / "verses.txt", verses(2000));
        const Batches batches(prepared(spec(), base(), 340), spec(), {.sequence = 16, .vocabulary = 340}, 1);
        // Measured apart: decode the validation's targets and count.
        sentencepiece::SentencePieceProcessor library;
        QVERIFY(library.Load((base() / "tiny.model").string()).ok());
        const auto all = batches.validation(0, batches.validation_samples());
        double bytes = 0;
        for (int s = 0; s < all.samples; ++s)
            for (int i = 1; i <= 16; ++i) {
                const auto piece = library.IdToPiece(all.tokens[static_cast<std::size_t>(17 * s + i)]);
                const bool single = piece.starts_with("<0x");
                std::string shown = piece;
                for (auto at = shown.find("\u2581"); at != std::string::npos; at = shown.find("\u2581"))
                    shown.replace(at, 3, " ");
                bytes += single ? 1.0 : static_cast<double>(shown.size());
            }
        const double counted = bytes / (16.0 * all.samples);
        QVERIFY(counted > 2);
        QVERIFY2(std::abs(batches.bytes_per_token() / counted - 1) < 0.05,
                 qPrintable(QString("%1 %2").arg(batches.bytes_per_token()).arg(counted)));
    }

    void json_lines_end_with_the_models_token() {
        write(base() / "two.jsonl", "{\"body\": \"in the beginning\"}\n{\"body\": \"was light\"}\n");
        const auto set = prepared(
            {.source = DataSource::jsonl, .path = "two.jsonl", .text_field = "body", .tokenizer = "tiny.model"}, base(),
            340);
        const auto tokens = all_of(set.sources.front().tokens);
        QCOMPARE(std::count(tokens.begin(), tokens.end(), 2), 2);  // </s>
        QCOMPARE(tokens.back(), 2);
    }

    void faults() {
        QVERIFY(refusal([&] {
                    prepared(spec(), base(), 339);
                }).find("/model/vocabulary: the tokenizer has 340 pieces") != std::string::npos);
        auto other = spec();
        other.tokenizer = "verses.txt";
        QVERIFY(refusal([&] { prepared(other, base(), 340); }).find("/data/tokenizer") != std::string::npos);
        std::ifstream file(base() / "tiny.model", std::ios::binary);
        const std::string model((std::istreambuf_iterator<char>(file)), {});
        Rng rng(4);
        for (int i = 0; i < 300; ++i) {  // opened or refused, and what is opened encodes
            write(base() / "damaged.model", damaged(model, rng));
            refusal([&] { Tokenizer(base() / "damaged.model").encode("in the beginning", [](const auto&) {}); });
        }
        other.tokenizer = "missing.model";
        QVERIFY(refusal([&] { prepared(other, base(), 340); }).find("missing.model cannot be read") !=
                std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestTokenizer)
#include "test_tokenizer.moc"
