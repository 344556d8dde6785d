// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "core/data/batches.h"
#include "data_files.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

std::string text(std::size_t bytes, std::uint64_t seed = 5) {
    Rng rng(seed);
    std::string result(bytes, ' ');
    for (auto& c : result) c = static_cast<char>('a' + rng.below(26));
    return result;
}

using Sample = std::vector<std::int32_t>;

Sample sample(const Batch& batch, int i) {
    const auto length = static_cast<std::ptrdiff_t>(batch.sequence) + 1;
    return {batch.tokens.begin() + length * i, batch.tokens.begin() + length * (i + 1)};
}

/// Every sample of the first `iterations`.
std::vector<Sample> drawn(const Batches& batches, const BatchShape& shape, int iterations) {
    std::vector<Sample> samples;
    for (int i = 0; i < iterations; ++i)
        for (int m = 0; m < shape.microbatches; ++m) {
            const auto batch = batches.batch(i, m);
            for (int s = 0; s < shape.samples; ++s) samples.push_back(sample(batch, s));
        }
    return samples;
}

std::set<Sample> held_out(const Batches& batches, int sequence) {
    std::set<Sample> samples;
    for (const auto& windows : batches.sources())
        for (std::uint64_t k = 0; k < windows.held_out(); ++k) {
            Sample window(static_cast<std::size_t>(sequence) + 1);
            windows.tokens().read(windows.held_out_start(k), window);
            samples.insert(window);
        }
    return samples;
}

Dataset two_files(double first, double second) {
    return {{{byte_tokens(text(3000, 1), "one"), first, "/data/files/0/path"},
             {byte_tokens(text(20'000, 2), "two"), second, "/data/files/1/path"}},
            {},
            {}};
}

}  // namespace

class TestBatches : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void permutations() {
        for (const std::uint64_t n : {1, 2, 3, 4, 5, 15, 16, 17, 1000, 4097}) {
            const Permutation order(n, 7);
            std::set<std::uint64_t> seen;
            for (std::uint64_t i = 0; i < n; ++i) {
                QVERIFY(order(i) < n);
                seen.insert(order(i));
            }
            QCOMPARE(seen.size(), static_cast<std::size_t>(n));
        }
        // Random enough: neighbours end up as far apart as two draws do (n / 3 on average), and fixed points are rare.
        const std::uint64_t n = 10'000;
        const Permutation order(n, 1), other(n, 2);
        double distance = 0;
        int fixed = 0, same = 0;
        for (std::uint64_t i = 0; i + 1 < n; ++i) {
            distance +=
                std::abs(static_cast<double>(order(i)) - static_cast<double>(order(i + 1))) / static_cast<double>(n);
            fixed += order(i) == i;
            same += order(i) == other(i);
        }
        QVERIFY(std::abs(distance / static_cast<double>(n) - 1.0 / 3) < 0.01);
        QVERIFY(fixed < 10 && same < 10);
        QVERIFY(Permutation(1ull << 40, 3)(12345) < 1ull << 40);
    }

    void mixtures_follow_their_weights() {
        for (const auto& weights : std::vector<std::vector<double>>{
                 {1}, {1, 1}, {0.7, 0.3}, {5, 1, 1, 3}, {1e-3, 1, 1e-3}, {0.1, 0.2, 0.3, 0.15, 0.25}}) {
            const Mixture mixture(weights);
            double sum = 0;
            for (const double weight : weights) sum += weight;
            std::vector<std::uint64_t> counts(weights.size());
            for (std::uint64_t k = 0; k < 20'000; ++k) {
                const auto [source, index] = mixture.at(k);
                QCOMPARE(index, counts.at(source));  // places of a source are counted without a gap
                ++counts[source];
                for (std::size_t s = 0; s < weights.size(); ++s)
                    QVERIFY(std::abs(static_cast<double>(counts[s]) - weights[s] / sum * static_cast<double>(k + 1)) <
                            1.5);
            }
        }
    }

    void every_window_once_an_epoch() {
        const BatchShape shape{.microbatches = 3, .samples = 4, .sequence = 16};
        const Batches batches(byte_dataset(text(16 * 300 + 1)), {.validation_fraction = 0.1}, shape, 1);
        const auto& windows = batches.sources().front();
        QCOMPARE(windows.training() + windows.held_out(), std::uint64_t{300});
        QVERIFY(windows.held_out() > 10 && windows.held_out() < 60);
        const auto per_epoch = static_cast<std::size_t>(windows.training());
        const auto samples = drawn(batches, shape, static_cast<int>(2 * per_epoch / 12) + 1);
        std::set<Sample> first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(per_epoch));
        std::set<Sample> second(samples.begin() + static_cast<std::ptrdiff_t>(per_epoch),
                                samples.begin() + static_cast<std::ptrdiff_t>(2 * per_epoch));
        QCOMPARE(first.size(), per_epoch);
        QVERIFY(first == second);
        QVERIFY(!std::equal(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(per_epoch),
                            samples.begin() + static_cast<std::ptrdiff_t>(per_epoch)));
        for (const auto& window : held_out(batches, 16)) QVERIFY(!first.contains(window));
        QCOMPARE(batches.place(0, 0, 3), (SamplePlace{0, 0, 3, batches.place(0, 0, 3).first_token}));
        const auto in_second = batches.place(static_cast<int>(per_epoch / 12), 2, 3);
        QCOMPARE(in_second.epoch, std::uint64_t{1});
    }

    void sizes_repeat() {
        const BatchShape shape{.microbatches = 5, .samples = 9, .sequence = 16, .sizes = {1, 3, 2}};
        const Batches batches(byte_dataset(text(3000)), {}, shape, 1);
        QCOMPARE(shape.samples_before(5), std::uint64_t{10});
        std::uint64_t position = 0;
        for (int iteration = 0; iteration < 2; ++iteration)
            for (int m = 0; m < 5; ++m) {
                const auto batch = batches.batch(iteration, m);
                QCOMPARE(batch.samples, shape.sizes[static_cast<std::size_t>(m) % 3]);
                QCOMPARE(batch.tokens.size(), static_cast<std::size_t>(batch.samples) * 17);
                QCOMPARE(batches.place(iteration, m, 0).position, position);
                position += static_cast<std::uint64_t>(batch.samples);
            }
        QVERIFY_THROWS_EXCEPTION(InputError,
                                 Batches(byte_dataset(text(1000)), {}, BatchShape{.sequence = 16, .sizes = {1, 0}}, 1));
    }

    void resuming_reads_on_at_the_token() {
        const BatchShape shape{.microbatches = 3, .samples = 2, .sequence = 8};
        const auto make = [&](std::uint64_t seed) { return Batches(two_files(2, 1), {}, shape, seed); };
        const auto whole = drawn(make(7), shape, 60);
        const auto resumed = make(7);
        std::vector<Batch> backwards(30);
        std::thread thread([&] {
            for (int k = 29; k >= 0; --k) backwards[static_cast<std::size_t>(k)] = resumed.batch(50 + k / 3, k % 3);
        });
        thread.join();
        for (int k = 0; k < 30; ++k)
            for (int s = 0; s < 2; ++s)
                QCOMPARE(sample(backwards[static_cast<std::size_t>(k)], s),
                         whole[static_cast<std::size_t>(300 + 2 * k + s)]);
        QVERIFY(drawn(make(8), shape, 5) != drawn(make(7), shape, 5));
    }

    void files_by_weight() {
        const BatchShape shape{.microbatches = 2, .samples = 5, .sequence = 8};
        const Batches batches(two_files(1, 3), {.validation_samples = 40}, shape, 7);
        std::map<std::size_t, int> counts;
        for (int i = 0; i < 100; ++i)
            for (int s = 0; s < 10; ++s) ++counts[batches.place(i, s / 5, s % 5).source];
        QCOMPARE(counts[0], 250);
        QCOMPARE(counts[1], 750);
        QCOMPARE(batches.validation_samples(), 40);
    }

    void the_split_never_moves() {
        const BatchShape shape{.sequence = 8};
        const auto split = [&](Dataset dataset) { return held_out(Batches(std::move(dataset), {}, shape, 1), 8); };
        const auto one = split(byte_dataset(text(3000, 1))), two = split(byte_dataset(text(20'000, 2)));
        auto both = one;
        both.insert(two.begin(), two.end());
        QVERIFY(one.size() > 5);
        QVERIFY(split(two_files(1, 9)) == both);
        // Neither a longer file nor another storage of the same tokens moves what was there.
        const auto longer = split(byte_dataset(text(3000, 1) + text(500, 9)));
        QVERIFY(std::includes(longer.begin(), longer.end(), one.begin(), one.end()));
        std::vector<std::uint16_t> wide;
        for (const char c : text(3000, 1)) wide.push_back(static_cast<std::uint8_t>(c));
        const auto stored = bytes_of(wide);
        auto owner = std::make_shared<const std::string>(stored);
        const TokenArray tokens{owner, reinterpret_cast<const std::byte*>(owner->data()), wide.size(),
                                TokenType::uint16, "wide"};
        QVERIFY(split({{{tokens, 1, "/data"}}, {}, {}}) == one);
        // What occurs twice is on one side.
        const auto twice = text(3000, 1).substr(0, 8 * 300);
        const Batches repeated(byte_dataset(twice + twice + "x"), {}, shape, 1);
        const auto outside = held_out(repeated, 8);
        for (const auto& window : drawn(repeated, shape, 600)) QVERIFY(!outside.contains(window));
    }

    /// Of what is read, whatever windows it is cut into.
    void the_hash_tells_data_apart() {
        const auto hash = [](std::string text, int sequence) {
            return Batches(byte_dataset(std::move(text)), {.validation_fraction = 0.3, .validation_samples = 2},
                           {.sequence = sequence}, 1)
                .hash();
        };
        std::string text;
        for (int i = 0; i < 1001; ++i) text += static_cast<char>('a' + i * i % 23);
        const auto as_it_is = hash(text, 8);
        QCOMPARE(hash(text, 9), as_it_is);
        for (const std::size_t changed : {std::size_t{0}, std::size_t{500}, text.size() - 1}) {
            auto other = text;
            other[changed] = '.';
            QVERIFY(hash(other, 8) != as_it_is);
        }
    }

    void validation_is_even() {
        const Batches batches(byte_dataset(text(4000)), {.validation_fraction = 0.4, .validation_samples = 5},
                              {.sequence = 16}, 1);
        const auto& windows = batches.sources().front();
        const auto all = batches.validation(0, 5);
        const auto window = [&](std::uint64_t k) {
            Sample values(17);
            windows.tokens().read(windows.held_out_start(k), values);
            return values;
        };
        QCOMPARE(all.samples, 5);
        QCOMPARE(sample(all, 0), window(0));
        QCOMPARE(sample(all, 4), window(windows.held_out() - 1));
        QCOMPARE(sample(all, 2), sample(batches.validation(2, 1), 0));
        QCOMPARE(batches.bytes_per_token(), 1.0);
        QVERIFY_THROWS_EXCEPTION(std::out_of_range, batches.validation(3, 3));
        const Batches few(byte_dataset(text(4000)), {.validation_samples = 5000}, {.sequence = 16}, 1);
        QCOMPARE(static_cast<std::uint64_t>(few.validation_samples()), few.sources().front().held_out());
    }

    void too_small() {
        const auto make = [](std::size_t bytes, double fraction) {
            return refusal(
                [&] { Batches(byte_dataset(text(bytes)), {.validation_fraction = fraction}, {.sequence = 16}, 1); });
        };
        QVERIFY(make(4000, 0.5).empty());
        QVERIFY(make(16, 0.5).find("too small") != std::string::npos);
        QVERIFY(make(0, 0.5).find("too small") != std::string::npos);
        QVERIFY(make(40, 1e-6).find("no sample is held out") != std::string::npos);
        QVERIFY(!make(4000, 0).empty());
    }

    void tokens_above_the_vocabulary_are_found_before_training() {
        auto bytes = text(2000);
        bytes[1234] = '\xFF';
        const auto fault = refusal([&] { Batches(byte_dataset(bytes), {}, {.sequence = 16, .vocabulary = 200}, 1); });
        QVERIFY2(fault.find("token 1,234 of the text is 255") != std::string::npos &&
                     fault.find("0 to 199") != std::string::npos,
                 fault.c_str());
        QVERIFY(refusal([&] { Batches(byte_dataset(bytes), {}, {.sequence = 16, .vocabulary = 256}, 1); }).empty());
    }
};

QTEST_APPLESS_MAIN(TestBatches)
#include "test_batches.moc"
