// SPDX-License-Identifier: GPL-3.0-or-later
// What bench_training measures with, compares and prints.
#pragma once
#include <chrono>
#include <functional>

#include "tests/benchmarks/bench_training/subjects.h"

namespace skippipe::bench {

using Clock = std::chrono::steady_clock;
inline constexpr int repeats = 5;

/// How long work takes, in seconds.
using Stopwatch = double (*)(const std::function<void()>&);
/// By the clock on the wall.
double seconds(const std::function<void()>& work);
/// Of this process, all its threads: waiting for a processor is not part of it.
double processor_seconds(const std::function<void()>& work);
/// What an iteration on so many cores is measured with: one thread by its processor time, which other programs on the
/// machine disturb less; more than one by the clock, since what matters is how long they wait for each other.
Stopwatch stopwatch(int cores);

/// Seconds of an iteration: of the first and the second, and the median ratio second / first of pairs.
struct Pair {
    double first_s = 0, second_s = 0, ratio = 0;
};
Pair compare(const std::function<void()>& first, const std::function<void()>& second, Stopwatch takes_s = seconds);

/// Tokens a second of iterations for at least so long.
template <class Model>
double rate_of_trained(Model& model, double for_s, Stopwatch takes_s = seconds) {
    int iterations = 0;
    double passed = 0;
    for (; passed < for_s; ++iterations) passed += takes_s([&] { model.train(); });
    return iterations * model.tokens() / passed;
}

/// Of an iteration: matrix products and attention, which looks at half of all pairs of tokens.
double total_flops(const Setup& setup, double blocks_visited);

/// What the machine allows, measured in the same run.
struct Ceiling {
    double gflops = 0, gb_per_s = 0;
    std::string text(const Setup& setup, double tokens_per_s, int cores) const;
};
Ceiling measured_ceiling();

/// One JSON line.
void print(const std::string& name, double value, const char* unit, const std::string& baseline, double baseline_value,
           double ratio, int cores, const std::string& ceiling);

}  // namespace skippipe::bench
