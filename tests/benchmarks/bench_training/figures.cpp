// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_training/figures.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/statistics.h"
#include "core/experiment/model_size.h"
#include "core/model/blas.h"

namespace skippipe::bench {
namespace {

/// Bytes a second of one core reading and adding up two large arrays into a third.
double memory_gb_per_s() {
    std::vector<float> a(16 << 20, 1), b(16 << 20, 2);
    double best = 1e9;
    for (int i = 0; i < 5; ++i)
        best = std::min(best, seconds([&] { kernels::sum_into(a.data(), b.data(), a.size()); }));
    return 12.0 * static_cast<double>(a.size()) / best * 1e-9;
}

}  // namespace

double seconds(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double processor_seconds(const std::function<void()>& work) {
    const auto now_s = [] {
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    const double start_s = now_s();
    work();
    return now_s() - start_s;
}

Stopwatch stopwatch(int cores) { return cores == 1 ? processor_seconds : seconds; }

Pair compare(const std::function<void()>& first, const std::function<void()>& second, Stopwatch takes_s) {
    std::vector<double> a, b, ratios;
    for (int repeat = 0; repeat <= repeats; ++repeat) {
        const double x = takes_s(first), y = takes_s(second);
        if (repeat == 0) continue;  // warms up
        a.push_back(x);
        b.push_back(y);
        ratios.push_back(y / x);
    }
    return {median(a), median(b), median(ratios)};
}

double total_flops(const Setup& setup, double blocks_visited) {
    const double d = setup.model.width, f = ffn_width(setup.model), t = setup.model.sequence;
    return 3 * setup.tokens() * (blocks_visited * (8 * d * d + 6 * d * f + 2 * t * d) + 2 * d * setup.model.vocabulary);
}

std::string Ceiling::text(const Setup& setup, double tokens_per_s, int cores) const {
    const double reached = total_flops(setup, setup.stages()) * tokens_per_s / setup.tokens() * 1e-9;
    return fmt::format(
        "{:.0f} GFLOP/s of {:.0f} that 384 x 384 products reach on {} core(s) ({:.0f} %; causal attention counted "
        "once); memory {:.1f} GB/s a core",
        reached, gflops * cores, cores, 100 * reached / (gflops * cores), gb_per_s);
}

Ceiling measured_ceiling() { return {measure_blas_gflops(), memory_gb_per_s()}; }

void print(const std::string& name, double value, const char* unit, const std::string& baseline, double baseline_value,
           double ratio, int cores, const std::string& ceiling) {
    const nlohmann::ordered_json line{{"name", name},
                                      {"value", value},
                                      {"unit", unit},
                                      {"baseline", baseline},
                                      {"baseline_value", baseline_value},
                                      {"ratio", ratio},
                                      {"threads", cores},
                                      {"ceiling", ceiling},
                                      {"repeat", repeats}};
    std::puts(line.dump().c_str());
    std::fflush(stdout);
}

}  // namespace skippipe::bench
