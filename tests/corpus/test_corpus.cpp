// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <functional>

#include <zlib.h>

#include "core/base/fault.h"
#include "core/data/corpus.h"
#include "core/base/subprocess.h"
#include "data_files.h"

using namespace skippipe;
using namespace skippipe::testing;
namespace fs = std::filesystem;

namespace {

/// All text of a source with one place.
std::string text_of(const DataSpec& spec, const fs::path& base, const CorpusLimits& limits = {}) {
    return load_text(spec, data_places(spec, base).front(), limits);
}

}  // namespace

class TestCorpus : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    fs::path base() const { return folder_.path().toStdString(); }
    DataSpec text(std::string path) const { return {.source = DataSource::text, .path = std::move(path)}; }

private Q_SLOTS:
    void initTestCase() { QVERIFY(folder_.isValid()); }

    void utf8_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<qlonglong>("bad_at");
        QTest::newRow("ascii") << QByteArray("abc") << -1ll;
        QTest::newRow("two to four bytes") << QByteArray("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z") << -1ll;
        QTest::newRow("latin 1") << QByteArray("caf\xE9 au") << 3ll;
        QTest::newRow("cut off") << QByteArray("ab\xE2\x82") << 2ll;
        QTest::newRow("overlong") << QByteArray("\xC0\xAF") << 0ll;
        QTest::newRow("overlong of three") << QByteArray("\xE0\x80\xAF") << 0ll;
        QTest::newRow("surrogate") << QByteArray("x\xED\xA0\x80") << 1ll;
        QTest::newRow("above the last") << QByteArray("\xF4\x90\x80\x80") << 0ll;
        QTest::newRow("lone continuation") << QByteArray("\x80") << 0ll;
        QTest::newRow("last byte wrong") << QByteArray("\xF0\x9F\x98x") << 0ll;
    }
    void utf8() {
        QFETCH(QByteArray, bytes);
        QFETCH(qlonglong, bad_at);
        const auto found = find_invalid_utf8({bytes.constData(), static_cast<std::size_t>(bytes.size())});
        QCOMPARE(found == std::string_view::npos ? -1ll : static_cast<qlonglong>(found), bad_at);
    }

    void one_file() {
        write(base() / "one.txt", "Grüße");
        QCOMPARE(text_of(text("one.txt"), base()), std::string("Grüße"));
        QVERIFY(!name_corpus(text("one.txt")).notice.empty());
        QCOMPARE(text_of(text((base() / "one.txt").string()), "/elsewhere"), std::string("Grüße"));
    }

    void folder_in_sorted_order() {
        write(base() / "many/b.txt", "2");
        write(base() / "many/a/z.txt", "1");
        write(base() / "many/c.txt", "3");
        write(base() / "many/.hidden/x.txt", "\xFF");
        QCOMPARE(text_of(text("many"), base()), std::string("123"));
        QVERIFY(refusal([&] { text_of(text("many"), base(), {.files = 2}); }).find("more than 2 files") !=
                std::string::npos);
        QVERIFY(refusal([&] { text_of(text("many"), base(), {.bytes = 2}); }).find("larger than 2 bytes") !=
                std::string::npos);
    }

    /// With a tokenizer it is read piece by piece, however large.
    void one_text_may_be_larger_than_memory() {
        write(base() / "long.txt", "a long text");
        std::string read;
        for_each_document(text("long.txt"), data_places(text("long.txt"), base()).front(), {.bytes = 2},
                          [&](std::string_view document) { read += document; });
        QCOMPARE(read, std::string("a long text"));
        QVERIFY(refusal([&] { text_of(text("long.txt"), base(), {.bytes = 2}); }).find("larger than 2 bytes") !=
                std::string::npos);
    }

    void faults_say_what_to_do() {
        write(base() / "latin1.txt", "caf\xE9");
        const auto encoding = refusal([&] { text_of(text("latin1.txt"), base()); });
        QVERIFY2(encoding.find("byte 3 is 0xe9") != std::string::npos && encoding.find("iconv") != std::string::npos,
                 encoding.c_str());
        const auto missing = refusal([&] { text_of(text("nowhere.txt"), base()); });
        QVERIFY2(missing.find("nowhere.txt is not there") != std::string::npos, missing.c_str());
        QVERIFY(!refusal([&] { text_of(text(""), base()); }).empty());
        QVERIFY(refusal([&] { text_of(text("/dev/zero"), base()); }).find("neither a file nor a folder") !=
                std::string::npos);
        const DataSpec several{.source = DataSource::text, .files = {{"latin1.txt", 1}, {"nowhere.txt", 1}}};
        QVERIFY(refusal([&] {
                    load_text(several, data_places(several, base()).at(1));
                }).starts_with("/data/files/1/path: "));
    }

    void json_lines() {
        const DataSpec spec{.source = DataSource::jsonl, .path = "lines"};
        write(base() / "lines/b.jsonl", "{\"text\": \"z\"}");
        write(base() / "lines/a.jsonl", "{\"id\": 1, \"text\": \"x\\u00e4\"}\n\n{\"text\": \"y\"}\r\n");
        write(base() / "lines/notes.txt", "not read");
        QCOMPARE(text_of(spec, base()), std::string("xä\ny\nz\n"));
        DataSpec other = spec;
        other.text_field = "id";
        QVERIFY(refusal([&] { text_of(other, base()); }).find("a.jsonl line 1 has no text in \"id\"") !=
                std::string::npos);
        other.text_field = "body";
        QVERIFY(refusal([&] { text_of(other, base()); }).find("has no member \"body\"") != std::string::npos);
        write(base() / "lines/c.jsonl", "{\"text\": \"ok\"}\n{\"text\": \"cut");
        QVERIFY(refusal([&] { text_of(spec, base()); }).find("c.jsonl line 2 is no JSON") != std::string::npos);
        write(base() / "lines/c.jsonl", "{\"text\": \"\xE9\"}");
        QVERIFY(refusal([&] { text_of(spec, base()); }).find("c.jsonl line 1 is no JSON") != std::string::npos);
        write(base() / "lines/c.jsonl", std::string(2'000'000, '['));
        QVERIFY(refusal([&] { text_of(spec, base()); }).find("is no JSON") != std::string::npos);
        write(base() / "texts/a.txt", "x");
        QVERIFY(refusal([&] {
                    text_of({.source = DataSource::jsonl, .path = "texts"}, base());
                }).find("no file of this kind") != std::string::npos);
    }

    void bible_is_printed_and_cached() {
        QTemporaryDir cache;
        qputenv("XDG_CACHE_HOME", cache.path().toUtf8());
        const DataSpec spec{.source = DataSource::bible_kjv};
        if (!fs::exists("/usr/bin/bible")) {
            QVERIFY(refusal([&] { text_of(spec, base()); }).find("apt install bible-kjv") != std::string::npos);
            return;
        }
        const auto bible = text_of(spec, base());
        QVERIFY(bible.size() > 4'000'000);
        QVERIFY(bible.starts_with("Ge1:1 In the beginning"));
        QVERIFY(name_corpus(spec).notice.find("public domain") != std::string::npos);
        const auto cached = cache_folder() / "bible-kjv.txt";
        QCOMPARE(fs::file_size(cached), bible.size());
        write(cached, "Ge1:1 damaged");
        QCOMPARE(text_of(spec, base()), bible);
        QCOMPARE(fs::file_size(cached), bible.size());
        qputenv("XDG_CACHE_HOME", "/proc/not/writable");
        QCOMPARE(text_of(spec, base()), bible);
        qunsetenv("XDG_CACHE_HOME");
    }

    void jargon_is_read_or_its_package_named() {
        const DataSpec spec{.source = DataSource::jargon};
        if (fs::exists("/usr/share/dictd/jargon.dict.dz"))
            QVERIFY(text_of(spec, base()).size() > 1'000'000);
        else
            QVERIFY(refusal([&] { text_of(spec, base()); }).find("apt install dict-jargon") != std::string::npos);
    }

    void gzip() {
        const auto path = base() / "packed.gz";
        const std::string content(200'000, 'x');
        const gzFile file = gzopen(path.c_str(), "wb");
        QVERIFY(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) > 0);
        gzclose(file);
        QCOMPARE(read_gzip(path, 1 << 20), content);
        QVERIFY(!refusal([&] { read_gzip(path, 1000); }).empty());
        fs::resize_file(path, fs::file_size(path) - 12);
        QVERIFY(refusal([&] { read_gzip(path, 1 << 20); }).find("is damaged") != std::string::npos);
        QVERIFY(!refusal([&] { read_gzip(base() / "none.gz", 1000); }).empty());
    }

    void processes_end() {
        QCOMPARE(run_process({"/bin/echo", "a b"}, 10, 100).text, std::string("a b\n"));
        QCOMPARE(run_process({"/bin/cat"}, 10, 100).exit_code, 0);
        QVERIFY(!run_process({"/no/such/program"}, 10, 100).started);
        QVERIFY(run_process({"/bin/sleep", "60"}, 0.05, 100).timed_out);
        QVERIFY(run_process({"/bin/cat", "/dev/zero"}, 10, 100).too_long);
    }
};

QTEST_APPLESS_MAIN(TestCorpus)
#include "test_corpus.moc"
