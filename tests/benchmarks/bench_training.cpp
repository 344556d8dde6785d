// SPDX-License-Identifier: GPL-3.0-or-later
// Training through the pipeline against the same LLaMA trained whole with plain LibTorch, against python3-torch,
// against two processes, against the tensor work alone, and skipping against not skipping: one JSON line each, with
// what this machine's matrix products and memory allow in the same run. Parts by name as arguments: two, one, engine,
// skip, hashes, processes, python, and, at the sizes that people train, llama-15m and llama-42m; all without (the two
// large ones with --long alone, on one core only with --one-core). What is compared alternates, so that a busy machine
// meets both; ratios are medians of pairs, on one core of processor time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "core/model/torch_compat.h"
#include "tests/benchmarks/bench_training/rivals.h"

using namespace skippipe;
using namespace skippipe::bench;

namespace {

/// Each number of cores against both rivals.
void bench_size(const Setup& setup, const Ceiling& ceiling, const std::vector<int>& numbers_of_cores) {
    for (const int cores : numbers_of_cores) {
        Trained ours(setup, cores);
        ours.train();
        bench_against_plain(ours, setup, cores, ceiling);
        bench_against_python(ours, setup, cores, ceiling);
    }
}
}  // namespace

int main(int count, char** arguments) {
    take_better_blas_kernels(arguments);
    use_one_thread();
    prepare_blas();
    keep_freed_memory();
    if (count == 4 && std::strcmp(arguments[1], "--alone") == 0) {
        std::printf("%f\n", alone(std::atoll(arguments[2]), std::atof(arguments[3])));
        return 0;
    }
    if (count == 6 && std::strcmp(arguments[1], "--whole") == 0) {
        std::printf("%f\n",
                    whole(arguments[2], std::atoi(arguments[3]), std::atoi(arguments[4]), std::atof(arguments[5])));
        return 0;
    }
    const std::vector<std::string> parts(arguments + 1, arguments + count);
    const bool everything = parts.empty() || parts.front() == "--long";
    const auto named = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
    const auto wanted = [&](const char* part) { return everything || named(part); };
    const Ceiling ceiling = measured_ceiling();
    const auto numbers_of_cores = named("--one-core") ? std::vector<int>{1} : std::vector<int>{2, 1};
    for (const char* size : {"llama-15m", "llama-42m"})
        if (named(size) || named("--long")) bench_size(setup_of(size), ceiling, numbers_of_cores);
    const auto small = setup_of("small");
    Trained two(small, 2), one(small, 1);
    if (wanted("two")) bench_against_plain(two, small, 2, ceiling);
    if (wanted("one")) {
        Whole whole(small, 1, 1);
        const auto pair = compare([&] { one.train(); }, [&] { whole.train(); }, stopwatch(1));
        print("pipeline, one worker, skip 0", small.tokens() / pair.first_s, "tokens/s",
              "whole with plain LibTorch, one thread, tokens/s", small.tokens() / pair.second_s, pair.ratio, 1,
              "goal 1.2; " + ceiling.text(small, small.tokens() / pair.first_s, 1));
    }
    if (wanted("engine")) {
        BareLoop bare(small);
        const auto measure = [&](const char* what, Stopwatch takes_s) {
            const auto pair = compare([&] { bare.train(); }, [&] { one.train(); }, takes_s);
            print(what, 100 * (pair.ratio - 1), "%", "tensor work in a bare loop, ms", 1e3 * pair.first_s, pair.ratio,
                  1, "goal 3 %");
        };
        measure("engine beyond the tensor work, one worker", seconds);
        measure("the same in processor time", processor_seconds);
    }
    if (wanted("skip")) {
        Trained skipped(small, 2, 2);
        const auto pair = compare([&] { two.train(); }, [&] { skipped.train(); });
        const double saved = 1 - total_flops(small, 4) / total_flops(small, small.stages());
        print("33 % skip, two workers", 1e3 * pair.second_s, "ms an iteration", "skip 0, ms", 1e3 * pair.first_s,
              pair.ratio, 2,
              fmt::format("paths save {:.1f} % of the operations; time falls by {:.2f} of that, goal 0.9", 100 * saved,
                          (1 - pair.ratio) / saved));
    }
    if (wanted("hashes"))
        for (const char* size : {"small", "llama-15m"}) {
            const auto setup = setup_of(size);
            Trained ours(setup, 1);
            ours.train();
            const auto pair = compare([&] { ours.train(); }, [&] { ours.hash(); }, processor_seconds);
            print(fmt::format("copies hashed after a step, {}", size), 100 * pair.ratio, "% of processor time",
                  "an iteration, ms", 1e3 * pair.first_s, pair.ratio, 1, "goal 1 %");
        }
    if (wanted("processes")) bench_processes(two);
    if (wanted("python")) bench_against_python(two, small, 2, ceiling);
}
