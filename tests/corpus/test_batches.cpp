// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <thread>

#include "core/base/fault.h"
#include "core/base/rng.h"
#include "core/data/batches.h"

using namespace skippipe;

namespace {

std::string text(std::size_t bytes) {
    Rng rng(5);
    std::string result(bytes, ' ');
    for (auto& c : result) c = static_cast<char>('a' + rng.below(26));
    return result;
}

std::string sample(const Batch& batch, int i) {
    const auto length = static_cast<std::size_t>(batch.sequence) + 1;
    const auto begin = batch.tokens.begin() + static_cast<std::ptrdiff_t>(length) * i;
    return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

class TestBatches : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void training_part_only() {
        const Batches batches(text(1000), {.validation_fraction = 0.1}, 4, 16, 1);
        QCOMPARE(batches.training_part().size(), std::size_t{900});
        const std::string training(batches.training_part().begin(), batches.training_part().end());
        for (int m = 0; m < 200; ++m) {
            const auto batch = batches.batch(0, m);
            QCOMPARE(batch.samples, 4);
            QCOMPARE(batch.tokens.size(), std::size_t{4 * 17});
            for (int i = 0; i < 4; ++i) QVERIFY(training.find(sample(batch, i)) != std::string::npos);
        }
    }

    void sizes_repeat() {
        const Batches even(text(1000), {}, 3, 16, 1), batches(text(1000), {}, 3, 16, 1, {1, 3, 2});
        for (int m = 0; m < 9; ++m) {
            const auto batch = batches.batch(4, m);
            QCOMPARE(batch.samples, m % 3 == 0 ? 1 : m % 3 == 1 ? 3 : 2);
            QCOMPARE(batch.tokens.size(), static_cast<std::size_t>(batch.samples) * 17);
            QCOMPARE(sample(batch, 0), sample(even.batch(4, m), 0));
        }
        QVERIFY_THROWS_EXCEPTION(InputError, Batches(text(1000), {}, 3, 16, 1, {1, 0}));
    }

    void depends_on_seed_and_numbers_alone() {
        const Batches first(text(5000), {}, 3, 8, 7), second(text(5000), {}, 3, 8, 7), other(text(5000), {}, 3, 8, 8);
        std::vector<Batch> forwards(40), backwards(40);
        std::thread thread([&] {
            for (int m = 39; m >= 0; --m) backwards[static_cast<std::size_t>(m)] = second.batch(m / 10, m % 10);
        });
        for (int m = 0; m < 40; ++m) forwards[static_cast<std::size_t>(m)] = first.batch(m / 10, m % 10);
        thread.join();
        QVERIFY(forwards == backwards);
        for (int m = 1; m < 40; ++m) QVERIFY(!(forwards[static_cast<std::size_t>(m)] == forwards[0]));
        QVERIFY(!(other.batch(0, 0) == first.batch(0, 0)));
    }

    void validation_is_even_and_held_out() {
        const Batches batches(text(1000), {.validation_fraction = 0.5, .validation_samples = 5}, 4, 16, 1);
        const std::string held_out(batches.held_out_part().begin(), batches.held_out_part().end());
        const auto all = batches.validation(0, 5);
        QCOMPARE(all.samples, 5);
        QCOMPARE(sample(all, 0), held_out.substr(0, 17));
        QCOMPARE(sample(all, 4), held_out.substr(held_out.size() - 17));
        QCOMPARE(sample(all, 2), sample(batches.validation(2, 1), 0));
        QVERIFY_THROWS_EXCEPTION(std::out_of_range, batches.validation(3, 3));
    }

    void too_small() {
        const auto make = [](std::size_t bytes, double fraction) { Batches(text(bytes), {.validation_fraction = fraction}, 1, 16, 1); };
        make(34, 0.5);
        QVERIFY_THROWS_EXCEPTION(InputError, make(33, 0.5));
        QVERIFY_THROWS_EXCEPTION(InputError, make(0, 0.5));
        QVERIFY_THROWS_EXCEPTION(InputError, make(300, 0.05));
        QVERIFY_THROWS_EXCEPTION(InputError, make(100, 0));
    }
};

QTEST_APPLESS_MAIN(TestBatches)
#include "test_batches.moc"
