// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

namespace {

std::size_t place_in(const std::string& text, Rng& rng) { return rng.below(text.size() + 1); }

std::string slice(const std::string& text, Rng& rng) { return text.substr(place_in(text, rng), 1 + rng.below(40)); }

/// Puts another number where one stands.
void swap_number(std::string& text, Rng& rng) {
    static const char* numbers[] = {"0",
                                    "-1",
                                    "3.5",
                                    "1e999",
                                    "NaN",
                                    "-Infinity",
                                    "1e-320",
                                    "4294967296",
                                    "2147483647",
                                    "18446744073709551615",
                                    "123456789012345678901234567890",
                                    "1e15",
                                    "256",
                                    "null",
                                    "\"1\"",
                                    "[]"};
    const auto start = text.find_first_of("0123456789", place_in(text, rng));
    if (start == std::string::npos) return;
    const auto end = std::min(text.find_first_not_of("0123456789.eE+-", start), text.size());
    text.replace(start, end - start, numbers[rng.below(std::size(numbers))]);
}

void mutate(std::string& text, Rng& rng) {
    switch (rng.below(6)) {
        case 0:
            if (!text.empty()) text[rng.below(text.size())] ^= static_cast<char>(1u << rng.below(8));
            break;
        case 1:
            if (!text.empty()) text.erase(rng.below(text.size()), 1 + rng.below(30));
            break;
        case 2: text.insert(place_in(text, rng), slice(text, rng)); break;
        case 3: swap_number(text, rng); break;
        case 4: text.resize(place_in(text, rng)); break;
        case 5: text.insert(place_in(text, rng), 1, static_cast<char>(rng.below(256))); break;
    }
}

/// Whatever was understood can be written, and is then well-formed.
bool survives(const std::string& text, int& sound) {
    const auto parsed = parse_experiment(text);
    sound += parsed.faults.empty();
    for (const auto& fault : parsed.faults)
        if (fault.what.empty() || fault.remedy.empty()) return false;
    experiment_hash(parsed.experiment);
    Faults faults;
    parse_json(to_text(parsed.experiment), faults);
    return faults.empty();
}

}  // namespace

class TestMutations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ten_thousand_mutated_files_do_no_harm() {
        const std::string small = samples::small();
        const std::string large = samples::text_of(samples::resources() / "experiments" / "quick-start.json");
        QElapsedTimer clock;
        clock.start();
        qint64 slowest_ms = 0;
        int sound = 0;
        for (std::uint64_t i = 0; i < 10'000; ++i) {
            Rng rng(2024, i);
            std::string text = i % 20 == 0 ? large : small;
            for (auto left = 1 + rng.below(4); left > 0; --left) mutate(text, rng);
            const qint64 before = clock.elapsed();
            QVERIFY2(survives(text, sound), text.c_str());
            slowest_ms = std::max(slowest_ms, clock.elapsed() - before);
        }
        QVERIFY(sound < 5000);
        QVERIFY(sound > 100);  // mutations that change a name or a value within its range
        QVERIFY(slowest_ms < 5000);
    }

    void large_files_full_of_faults_take_linear_time() {
        constexpr int count = 20'000;
        std::string links = "{\"format\": 1, \"topology\": {\"nodes\": [{\"id\": \"node\"}], \"links\": [";
        std::string keys = "{\"format\": 1", regions = "{\"format\": 1, \"topology\": {\"nodes\": [", twice = "{";
        for (int i = 0; i < count; ++i) {
            const std::string number = std::to_string(i), comma = i + 1 < count ? "," : "";
            links += "{\"from\": \"nod" + number + "\", \"to\": \"nid" + number + "\", \"latency_s\": 1}" + comma;
            keys += ", \"topolog" + number + "\": null";
            regions += "{\"id\": \"n" + number + "\", \"region\": \"r" + number + "\"}" + comma;
            twice += "\"a\": NaN" + comma;
        }
        for (const auto& text : {links + "]}}", keys + "}", regions + "]}}", twice + "}"}) {
            QElapsedTimer clock;
            clock.start();
            const auto faults = parse_experiment(text).faults;
            QVERIFY(has_errors(faults) && faults.size() <= 1001);
            QVERIFY2(clock.elapsed() < 5000, text.substr(0, 80).c_str());
        }
    }
};

QTEST_APPLESS_MAIN(TestMutations)
#include "test_mutations.moc"
