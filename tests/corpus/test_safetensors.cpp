// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <bit>
#include <cmath>

#include "core/data/safetensors.h"
#include "data_files.h"

using namespace skippipe;
using namespace skippipe::testing;
namespace fs = std::filesystem;

namespace {

std::string packed(std::string header, const std::string& data) {
    return number(static_cast<std::uint64_t>(header.size())) + header + data;
}

}  // namespace

class TestSafetensors : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    fs::path at(const char* name) const { return fs::path(folder_.path().toStdString()) / name; }
    std::string refused(const std::string& bytes) const {
        write(at("r.safetensors"), bytes);
        return refusal([&] { SafeTensors(at("r.safetensors"), "W"); });
    }

private Q_SLOTS:
    void initTestCase() { QVERIFY(folder_.isValid()); }

    void halves_and_bfloats() {
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {  // every one survives the way to float and back
            const auto half = static_cast<std::uint16_t>(bits);
            if (!std::isnan(from_half(half))) QCOMPARE(to_half(from_half(half)), half);
            if (!std::isnan(from_bfloat(half))) QCOMPARE(to_bfloat(from_bfloat(half)), half);
        }
        QCOMPARE(from_half(0x3C00), 1.0f);
        QCOMPARE(from_half(0x0001), std::ldexp(1.0f, -24));
        QCOMPARE(from_half(0x7BFF), 65504.0f);
        QCOMPARE(from_bfloat(0x3F80), 1.0f);
        // Nearest, ties to even: by going through all neighbours.
        Rng rng(1);
        for (int i = 0; i < 20'000; ++i) {
            const float value = static_cast<float>((rng.uniform() - 0.5) * std::exp2(rng.uniform() * 44 - 28));
            const auto distance = [&](std::uint16_t half) {
                return std::abs(static_cast<double>(from_half(half)) - value);
            };
            const auto half = to_half(value);
            for (const int step : {-1, 1}) {
                const auto other = static_cast<std::uint16_t>(half + step);
                if (std::isnan(from_half(other)) || std::isinf(from_half(other)) || (half & 0x7FFF) == 0) continue;
                QVERIFY(distance(half) < distance(other) || (distance(half) == distance(other) && half % 2 == 0));
            }
        }
        QCOMPARE(to_half(65519.0f), std::uint16_t{0x7BFF});
        QCOMPARE(to_half(65520.0f), std::uint16_t{0x7C00});
        QCOMPARE(to_bfloat(1.00390625f), std::uint16_t{0x3F80});  // halfway between 0x3F80 and 0x3F81
        QCOMPARE(to_bfloat(1.01171875f), std::uint16_t{0x3F82});  // halfway between 0x3F81 and 0x3F82
        QVERIFY(std::isnan(from_half(to_half(NAN))) && std::isnan(from_bfloat(to_bfloat(NAN))));
        QVERIFY(std::isinf(from_bfloat(to_bfloat(std::numeric_limits<float>::max()))));
    }

    void round_trip() {
        const std::vector<std::vector<float>> all{{1.5f, -2, 3, 1e-30f, 0.1f, -0.0f}, {7}, {}};
        for (const auto type : {FloatType::f32, FloatType::f16, FloatType::bf16}) {
            write_safetensors(at("t.safetensors"), {{"a.weight", {2, 3}}, {"b", {}}, {"none", {0, 4}}}, type,
                              {{"format", "pt"}}, [&](std::size_t i) { return all[i]; });
            const SafeTensors file(at("t.safetensors"), "W");
            QCOMPARE(file.tensors().size(), std::size_t{3});
            const auto a = file.read("a.weight", {2, 3});
            for (std::size_t i = 0; i < a.size(); ++i) {
                const float stored = type == FloatType::f32   ? all[0][i]
                                     : type == FloatType::f16 ? from_half(to_half(all[0][i]))
                                                              : from_bfloat(to_bfloat(all[0][i]));
                QCOMPARE(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(stored));
            }
            QCOMPARE(file.read("b", {}), all[1]);
            QVERIFY(file.read("none", {0, 4}).empty());
            std::uint64_t length = 0;
            std::ifstream(at("t.safetensors"), std::ios::binary).read(reinterpret_cast<char*>(&length), 8);
            QCOMPARE(length % 8, std::uint64_t{0});
            QVERIFY(refusal([&] {
                        file.read("a.weight", {3, 2});
                    }).find("of shape [2, 3]; the model's is [3, 2]") != std::string::npos);
            QVERIFY(refusal([&] { file.read("c", {1}); }).find("has no tensor \"c\"") != std::string::npos);
        }
        QVERIFY_THROWS_EXCEPTION(std::logic_error, write_safetensors(at("u.safetensors"), {{"a", {5}}}, FloatType::f32,
                                                                     {}, [&](std::size_t) { return all[0]; }));
        QVERIFY(!fs::exists(at("u.safetensors")));
    }

    void faults_data() {
        QTest::addColumn<QString>("header");
        QTest::addColumn<int>("bytes");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* header, int bytes, const char* words) {
            QTest::newRow(name) << header << bytes << words;
        };
        row("fine", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, "");
        row("metadata", R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8,
            "");
        row("cut off", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7, "beyond the end");
        row("left over", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9, "belong to no tensor");
        row("type", R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8, "unknown dtype");
        row("size", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "another size");
        row("wraps", R"({"a":{"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]}})", 8, "another size");
        row("product wraps", R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
            "impossible shape");
        row("negative", R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "impossible shape");
        row("backwards", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "beyond the end");
        row("overlap",
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12, "overlap");
        row("twice",
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            8, "overlap");
        row("gap", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "leave a gap");
        row("no JSON", "{", 0, "no JSON object");
        row("a list", "[]", 0, "no JSON object");
        row("entry", R"({"a":5})", 0, "lacks dtype");
    }
    void faults() {
        QFETCH(QString, header);
        QFETCH(int, bytes);
        QFETCH(QString, words);
        const auto fault = refused(packed(header.toStdString(), std::string(static_cast<std::size_t>(bytes), '\0')));
        QVERIFY2(words.isEmpty() ? fault.empty() : fault.find(words.toStdString()) != std::string::npos, fault.c_str());
    }

    void damage_never_crashes() {
        QVERIFY(refused("").find("too short") != std::string::npos);
        QVERIFY(refused(number(~std::uint64_t{0}) + "{}").find("says its header has") != std::string::npos);
        write_safetensors(at("d.safetensors"), {{"a", {3, 4}}, {"b", {5}}}, FloatType::bf16, {},
                          [](std::size_t i) { return std::vector<float>(i == 0 ? 12 : 5, 1.0f); });
        std::ifstream file(at("d.safetensors"), std::ios::binary);
        const std::string whole((std::istreambuf_iterator<char>(file)), {});
        Rng rng(9);
        int refused_ones = 0;
        for (int i = 0; i < 1500; ++i) {
            write(at("d.safetensors"), damaged(whole, rng));
            try {
                const SafeTensors opened(at("d.safetensors"), "W");
                for (const auto& [name, tensor] : opened.tensors()) opened.read(name, tensor.shape);
            } catch (const InputError&) {
                ++refused_ones;
            }
        }
        QVERIFY(refused_ones > 600);
    }
};

QTEST_APPLESS_MAIN(TestSafetensors)
#include "test_safetensors.moc"
