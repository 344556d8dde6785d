// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/data/dataset.h"
#include "data_files.h"

using namespace skippipe;
using namespace skippipe::testing;
namespace fs = std::filesystem;

class TestTokenFiles : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    fs::path at(const char* name) const { return fs::path(folder_.path().toStdString()) / name; }
    TokenArray open(const char* name) const { return open_tokens(at(name), "/data/path"); }
    std::string refused(const char* name) const {
        return refusal([&] { open(name); });
    }

    /// Opens what is left of a file after damage and reads all that it claims to hold.
    void survive(const char* name, const std::string& bytes, int rounds, std::uint64_t seed) {
        Rng rng(seed);
        int refused_ones = 0;
        for (int i = 0; i < rounds; ++i) {
            write(at(name), damaged(bytes, rng));
            try {
                const auto tokens = open(name);
                QCOMPARE(all_of(tokens).size(), static_cast<std::size_t>(tokens.size));
            } catch (const InputError&) {
                ++refused_ones;
            }
        }
        QVERIFY2(refused_ones > rounds / 5, qPrintable(QString::number(refused_ones)));
    }

private Q_SLOTS:
    void initTestCase() { QVERIFY(folder_.isValid()); }

    void nanogpt() {
        write(at("train.bin"), bytes_of(std::vector<std::uint16_t>{0, 50256, 65535, 7}));
        QCOMPARE(all_of(open("train.bin")), (std::vector<std::int32_t>{0, 50256, 65535, 7}));
        write(at("odd.bin"), "abc");
        QVERIFY2(refused("odd.bin").find("2 does not divide") != std::string::npos, refused("odd.bin").c_str());
        write(at("none.bin"), "");
        QVERIFY(refused("none.bin").find("holds no token") != std::string::npos);
        write(at("a.parquet"), "PAR1");
        QVERIFY(refused("a.parquet").find("unknown ending") != std::string::npos);
        QVERIFY(refused("missing.bin").find("cannot be read") != std::string::npos);
    }

    void numpy_types_data() {
        QTest::addColumn<QByteArray>("descr");
        QTest::addColumn<QByteArray>("data");
        const auto row = [](const char* descr, const std::string& data) {
            QTest::newRow(descr) << QByteArray(descr) << QByteArray::fromStdString(data);
        };
        row("|u1", bytes_of(std::vector<std::uint8_t>{1, 2, 100}));
        row("|i1", bytes_of(std::vector<std::int8_t>{1, 2, 100}));
        row("<u2", bytes_of(std::vector<std::uint16_t>{1, 2, 100}));
        row("<i2", bytes_of(std::vector<std::int16_t>{1, 2, 100}));
        row("<u4", bytes_of(std::vector<std::uint32_t>{1, 2, 100}));
        row("<i4", bytes_of(std::vector<std::int32_t>{1, 2, 100}));
        row("<u8", bytes_of(std::vector<std::uint64_t>{1, 2, 100}));
        row("<i8", bytes_of(std::vector<std::int64_t>{1, 2, 100}));
    }
    void numpy_types() {
        QFETCH(QByteArray, descr);
        QFETCH(QByteArray, data);
        write(at("t.npy"), numpy(descr.toStdString(), "(3,)", data.toStdString()));
        QCOMPARE(all_of(open("t.npy")), (std::vector<std::int32_t>{1, 2, 100}));
        QCOMPARE(open("t.npy").text_bytes(0, 3), -1);  // a token of one byte is no byte of text
    }

    void numpy_refused_data() {
        QTest::addColumn<QString>("descr");
        QTest::addColumn<QString>("shape");
        QTest::addColumn<int>("bytes");
        QTest::addColumn<QString>("words");
        QTest::newRow("floating point") << "<f4"
                                        << "(2,)" << 8 << "not little-endian integers";
        QTest::newRow("big-endian") << ">u2"
                                    << "(2,)" << 4 << "not little-endian integers";
        QTest::newRow("two dimensions") << "<u2"
                                        << "(2, 2)" << 8 << "not one dimension";
        QTest::newRow("none") << "<u2"
                              << "()" << 2 << "not one dimension";
        QTest::newRow("endless") << "<u2"
                                 << "(99999999999999999999999,)" << 4 << "not one dimension";
        QTest::newRow("too few") << "<u2"
                                 << "(3,)" << 4 << "says 3 tokens and holds 2";
        QTest::newRow("too many") << "<u2"
                                  << "(1,)" << 4 << "says 1 tokens and holds 2";
        QTest::newRow("odd") << "<u2"
                             << "(2,)" << 5 << "does not divide";
    }
    void numpy_refused() {
        QFETCH(QString, descr);
        QFETCH(QString, shape);
        QFETCH(int, bytes);
        QFETCH(QString, words);
        write(at("r.npy"),
              numpy(descr.toStdString(), shape.toStdString(), std::string(static_cast<std::size_t>(bytes), '\1')));
        QVERIFY2(refused("r.npy").find(words.toStdString()) != std::string::npos, refused("r.npy").c_str());
        auto cut = numpy("<u2", "(2,)", "abcd");
        cut.replace(8, 2, "\xFF\xFF");
        write(at("cut.npy"), cut);
        QVERIFY2(refused("cut.npy").find("ends within its header") != std::string::npos, refused("cut.npy").c_str());
        write(at("text.npy"), "not numpy at all");
        QVERIFY(refused("text.npy").find("does not begin as a NumPy file") != std::string::npos);
    }

    void megatron() {
        const std::vector<std::uint16_t> tokens{5, 6, 7, 8, 9, 10};
        write(at("m.bin"), bytes_of(tokens));
        write(at("m.idx"), megatron_index(8, 2, {2, 1, 0, 3}));
        for (const char* name : {"m.bin", "m.idx"})
            QCOMPARE(all_of(open(name)), (std::vector<std::int32_t>{5, 6, 7, 8, 9, 10}));
        write(at("m.bin"), bytes_of(std::vector<std::int32_t>{70000, 1}));
        write(at("m.idx"), megatron_index(4, 4, {2}));
        QCOMPARE(all_of(open("m.idx")), (std::vector<std::int32_t>{70000, 1}));
        const auto with = [&](const std::string& index) {
            write(at("m.idx"), index);
            return refused("m.idx");
        };
        QVERIFY(with(megatron_index(6, 4, {2})).find("token type 6") != std::string::npos);
        QVERIFY(with(megatron_index(4, 4, {3})).find("points beyond the 8 bytes") != std::string::npos);
        QVERIFY(with(megatron_index(4, 4, {1})).find("names 4 bytes") != std::string::npos);
        QVERIFY(with(megatron_index(4, 4, {-1, 3})).find("puts sequence 0") != std::string::npos);
        QVERIFY(with("TNTIDX" + std::string(60, '\0')).find("does not begin as a Megatron index") != std::string::npos);
        auto endless = megatron_index(4, 4, {2});
        endless.replace(18, 8, number(std::uint64_t{0x1555555555555556}));  // x 12 wraps around
        QVERIFY(with(endless).find("more than its") != std::string::npos);
        auto version = megatron_index(4, 4, {2});
        version[9] = 2;
        QVERIFY(with(version).find("has version 2") != std::string::npos);
        QVERIFY(with(megatron_index(4, 4, {2}).substr(0, 20)).find("ends too early") != std::string::npos);
    }

    void damage_never_crashes() {
        survive("d.npy", numpy("<u2", "(50,)", bytes_of(std::vector<std::uint16_t>(50, 3))), 1000, 1);
        write(at("e.bin"), bytes_of(std::vector<std::uint16_t>(50, 3)));
        survive("e.idx", megatron_index(8, 2, {20, 10, 20}), 1000, 2);
        write(at("e.idx"), megatron_index(8, 2, {20, 10, 20}));
        survive("e.bin", bytes_of(std::vector<std::uint16_t>(50, 3)), 300, 3);
    }

    void negative_and_huge_are_not_tokens() {
        write(at("n.npy"), numpy("<i8", "(3,)", bytes_of(std::vector<std::int64_t>{-1, 1ll << 40, 4})));
        QCOMPARE(all_of(open("n.npy")), (std::vector<std::int32_t>{-1, -1, 4}));
        write(at("n.npy"), numpy("<u8", "(2,)", bytes_of(std::vector<std::uint64_t>{~0ull, 4})));
        QCOMPARE(all_of(open("n.npy")), (std::vector<std::int32_t>{-1, 4}));
    }

    void data_sets() {
        write(at("set/a.bin"), bytes_of(std::vector<std::uint16_t>(300, 1)));
        write(at("set/b.npy"), numpy("<u2", "(100,)", bytes_of(std::vector<std::uint16_t>(100, 2))));
        const auto folder = open_dataset({.source = DataSource::tokens, .path = at("set").string()}, "/");
        QCOMPARE(folder.sources.size(), std::size_t{2});
        QCOMPARE(folder.sources[0].weight, 0.75);
        QCOMPARE(folder.sources[1].weight, 0.25);
        QVERIFY(folder.description.ends_with(", 400 tokens"));
        const auto files = open_dataset(
            {.source = DataSource::tokens, .files = {{at("set/b.npy").string(), 3}, {at("set/a.bin").string(), 1}}},
            "/");
        QCOMPARE(files.sources[0].weight, 3.0);
        QCOMPARE(all_of(files.sources[0].tokens).front(), 2);
        QCOMPARE(files.sources[1].pointer, std::string("/data/files/1/path"));
    }
};

QTEST_APPLESS_MAIN(TestTokenFiles)
#include "test_token_files.moc"
