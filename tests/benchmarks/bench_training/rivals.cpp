// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_training/rivals.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "core/base/statistics.h"
#include "core/experiment/model_size.h"

namespace skippipe::bench {
namespace {

constexpr int threads = 2;

/// Tokens a second of what a command prints; 0 and its words where it prints no number.
std::pair<double, std::string> rate_of(FILE* process) {
    std::string text;
    char part[256];
    while (process && std::fgets(part, sizeof part, process)) text += part;
    if (process) pclose(process);
    return {std::atof(text.c_str()), text.substr(0, text.find('\n'))};
}

std::string own_path() {
    char path[4096] = "";
    return {path, static_cast<std::size_t>(std::max<ssize_t>(readlink("/proc/self/exe", path, sizeof path), 0))};
}

double rate_of_processes(double for_s) {
    const auto start = (Clock::now() + std::chrono::seconds(4)).time_since_epoch();
    const auto command = fmt::format("'{}' --alone {} {}", own_path(),
                                     std::chrono::duration_cast<std::chrono::nanoseconds>(start).count(), for_s);
    FILE* processes[threads];
    for (auto& process : processes) process = popen(command.c_str(), "r");
    double sum = 0;
    for (auto* process : processes) sum += rate_of(process).first;
    return sum;
}

/// How two threads may be shared out between an operation's loops and a matrix product, and whose products: OpenBLAS'
/// own threads or OpenMP's, where that build is found. OpenMP's threads yield the core while they wait, without which
/// those of OpenBLAS find none. Freed memory is kept, without which every large tensor is faulted in anew.
struct Threading {
    int intra_op, blas;
    std::string preloaded;  ///< loaded first; empty: the system's, with pthreads
    std::string variables() const {
        return fmt::format(
            "OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS={} OMP_NUM_THREADS={} "
            "MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=1073741824{}",
            blas, std::max(intra_op, blas), preloaded.empty() ? "" : " LD_PRELOAD='" + preloaded + "'");
    }
    std::string text() const {
        return fmt::format("{} threads in an operation, {} in a matrix product, OpenBLAS with {}", intra_op, blas,
                           preloaded.empty() ? "pthreads" : "OpenMP");
    }
};

/// OPENBLAS_OPENMP names libblas.so.3 of Debian's libopenblas0-openmp where it is unpacked elsewhere.
std::vector<Threading> threadings(int cores) {
    const char* given = std::getenv("OPENBLAS_OPENMP");
    const std::string openmp = given ? given : "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3";
    std::vector<Threading> all;
    for (const auto& preloaded : {std::string{}, openmp}) {
        if (!preloaded.empty() && !std::filesystem::exists(preloaded)) continue;
        for (const int intra_op : {cores, 1})
            for (const int blas : {cores, 1})
                if (std::none_of(all.begin(), all.end(), [&](const Threading& t) {
                        return t.intra_op == intra_op && t.blas == blas && t.preloaded == preloaded;
                    }))
                    all.push_back({intra_op, blas, preloaded});
    }
    return all;
}

struct Rival {
    std::string name, baseline, goal;
    std::function<std::string(const Threading&)> command;  ///< prints its tokens a second
};
/// Against another program under whichever threading that is fastest with.
void bench_against(Trained& ours, const Setup& setup, int cores, const Ceiling& ceiling, const Rival& rival) {
    const auto choices = threadings(cores);
    const Threading* best = &choices.front();
    double best_rate = 0;
    std::string words;
    for (const auto& threading : choices) {
        const auto [rate, text] = rate_of(popen(rival.command(threading).c_str(), "r"));
        if (words.empty() || rate > best_rate) words = text;
        if (rate > best_rate) best_rate = rate, best = &threading;
    }
    if (best_rate <= 0) return print(rival.name, 0, "tokens/s", rival.baseline + ": " + words, 0, 0, cores, "skipped");
    std::vector<double> rates, theirs, ratios;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        theirs.push_back(rate_of(popen(rival.command(*best).c_str(), "r")).first);
        rates.push_back(rate_of_trained(ours, 4, stopwatch(cores)));
        ratios.push_back(rates.back() / theirs.back());
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    print(rival.name, median(rates), "tokens/s",
          fmt::format("{}, tokens/s; its best: {}", rival.baseline, best->text()), median(theirs), median(ratios),
          cores,
          fmt::format("{}{}; ratios {:.2f} to {:.2f}; {}", rival.goal, cores == 1 ? ", by processor time" : "", *least,
                      *most, ceiling.text(setup, median(rates), cores)));
}

std::string words_of(int workers) { return workers == 1 ? "one worker" : "two workers"; }

Rival plain_libtorch(const Setup& setup, int cores) {
    return {fmt::format("{}, {}, skip 0", setup.name == "small" ? "pipeline" : setup.name, words_of(cores)),
            fmt::format("whole with plain LibTorch on {}", cores == 1 ? "one core" : "two cores"),
            cores == 1 ? "goal 1.2" : "goal 1.5", [setup](const Threading& t) {
                return fmt::format("{} '{}' --whole {} {} {} 5", t.variables(), own_path(), setup.name, t.intra_op,
                                   t.blas);
            }};
}

Rival python_torch(const Setup& setup, int cores) {
    const auto& m = setup.model;
    const auto shape = fmt::format(
        "--blocks {} --width {} --heads {} --hidden {} --vocabulary {} --sequence {} --samples {} --microbatches {}",
        m.blocks, m.width, m.heads, ffn_width(m), m.vocabulary, m.sequence, setup.samples, setup.microbatches);
    return {
        fmt::format("{}, {}, against python3-torch", setup.name == "small" ? "pipeline" : setup.name, words_of(cores)),
        fmt::format("python3-torch, eager, on {}", cores == 1 ? "one core" : "two cores"),
        cores == 1 ? "goal 1.2" : "goal 1.5", [shape](const Threading& t) {
            return fmt::format(
                "{} /usr/bin/python3 '{}/tests/benchmarks/llama_eager.py' --threads {} --seconds 5 {} 2>&1",
                t.variables(), SKIPPIPE_SOURCE_DIR, t.intra_op, shape);
        }};
}

}  // namespace

double alone(long long start_ns, double for_s) {
    Trained pipeline(setup_of("small"), 1);
    pipeline.train();
    std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(start_ns)));
    int iterations = 0;
    double passed = 0;
    const auto start = Clock::now();
    while (passed < for_s) {
        pipeline.train();
        ++iterations;
        passed = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return iterations * pipeline.tokens() / passed;
}

double whole(const std::string& setup, int intra_op, int blas, double for_s) {
    Whole model(setup_of(setup), intra_op, blas);
    model.train();
    return rate_of_trained(model, for_s, stopwatch(std::max(intra_op, blas)));
}

void bench_processes(Trained& two) {
    std::vector<double> here, apart, ratios;
    for (int repeat = 0; repeat < 3; ++repeat) {
        here.push_back(rate_of_trained(two, 4));
        apart.push_back(rate_of_processes(4));
        ratios.push_back(here.back() / apart.back());
    }
    print("two workers against two processes of one worker", median(here), "tokens/s", "both processes, tokens/s",
          median(apart), median(ratios), threads, "goal 0.95");
}

void bench_against_plain(Trained& ours, const Setup& setup, int cores, const Ceiling& ceiling) {
    bench_against(ours, setup, cores, ceiling, plain_libtorch(setup, cores));
}

void bench_against_python(Trained& ours, const Setup& setup, int cores, const Ceiling& ceiling) {
    bench_against(ours, setup, cores, ceiling, python_torch(setup, cores));
}

}  // namespace skippipe::bench
