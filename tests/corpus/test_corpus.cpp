// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <fstream>
#include <functional>

#include <zlib.h>

#include "core/base/fault.h"
#include "core/data/corpus.h"
#include "core/data/process.h"

using namespace skippipe;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, std::string_view bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

/// The first fault in full, empty where nothing was refused.
std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return to_string(error.faults().front());
    }
    return {};
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
        const auto corpus = load_corpus(text("one.txt"), base());
        QCOMPARE(corpus.bytes, std::string("Grüße"));
        QVERIFY(corpus.description.find("1 file, 7 bytes") != std::string::npos);
        QVERIFY(!corpus.notice.empty());
        QCOMPARE(load_corpus(text((base() / "one.txt").string()), "/elsewhere").bytes, corpus.bytes);
    }

    void folder_in_sorted_order() {
        write(base() / "many/b.txt", "2");
        write(base() / "many/a/z.txt", "1");
        write(base() / "many/c.txt", "3");
        write(base() / "many/.hidden/x.txt", "\xFF");
        QCOMPARE(load_corpus(text("many"), base()).bytes, std::string("123"));
        QVERIFY(refusal([&] { load_corpus(text("many"), base(), {.files = 2}); }).find("more than 2 files") != std::string::npos);
        QVERIFY(refusal([&] { load_corpus(text("many"), base(), {.bytes = 2}); }).find("larger than 2 bytes") != std::string::npos);
    }

    void faults_say_what_to_do() {
        write(base() / "latin1.txt", "caf\xE9");
        const auto encoding = refusal([&] { load_corpus(text("latin1.txt"), base()); });
        QVERIFY2(encoding.find("byte 3 is 0xe9") != std::string::npos && encoding.find("iconv") != std::string::npos, encoding.c_str());
        const auto missing = refusal([&] { load_corpus(text("nowhere.txt"), base()); });
        QVERIFY2(missing.find("nowhere.txt is not there") != std::string::npos, missing.c_str());
        QVERIFY(!refusal([&] { load_corpus(text(""), base()); }).empty());
        QVERIFY(refusal([&] { load_corpus(text("/dev/zero"), base()); }).find("neither a file nor a folder") != std::string::npos);
    }

    void bible_is_printed_and_cached() {
        QTemporaryDir cache;
        qputenv("XDG_CACHE_HOME", cache.path().toUtf8());
        const DataSpec spec{.source = DataSource::bible_kjv};
        if (!fs::exists("/usr/bin/bible")) {
            QVERIFY(refusal([&] { load_corpus(spec, base()); }).find("apt install bible-kjv") != std::string::npos);
            return;
        }
        const auto corpus = load_corpus(spec, base());
        QVERIFY(corpus.bytes.size() > 4'000'000);
        QVERIFY(corpus.bytes.starts_with("Ge1:1 In the beginning"));
        QVERIFY(corpus.notice.find("public domain") != std::string::npos);
        const auto cached = cache_folder() / "bible-kjv.txt";
        QCOMPARE(fs::file_size(cached), corpus.bytes.size());
        write(cached, "Ge1:1 damaged");
        QCOMPARE(load_corpus(spec, base()).bytes, corpus.bytes);
        QCOMPARE(fs::file_size(cached), corpus.bytes.size());
        qputenv("XDG_CACHE_HOME", "/proc/not/writable");
        QCOMPARE(load_corpus(spec, base()).bytes, corpus.bytes);
        qunsetenv("XDG_CACHE_HOME");
    }

    void jargon_is_read_or_its_package_named() {
        const DataSpec spec{.source = DataSource::jargon};
        if (fs::exists("/usr/share/dictd/jargon.dict.dz")) QVERIFY(load_corpus(spec, base()).bytes.size() > 1'000'000);
        else QVERIFY(refusal([&] { load_corpus(spec, base()); }).find("apt install dict-jargon") != std::string::npos);
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
