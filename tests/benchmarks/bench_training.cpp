// SPDX-License-Identifier: GPL-3.0-or-later
// Training through the pipeline against the same LLaMA trained whole with plain LibTorch, against python3-torch,
// against two processes, against the tensor work alone, and skipping against not skipping: one JSON line each, with
// what this machine's matrix products and memory allow in the same run. Parts by name as arguments: two, one, engine,
// skip, processes, python, and, at the sizes that people train, llama-15m and llama-42m; all without (the two large
// ones with --long alone, on one core only with --one-core). What is compared alternates, so that a busy machine meets
// both; ratios are medians of pairs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "core/base/statistics.h"
#include "core/engine/virtual_clock.h"
#include "core/experiment/model_size.h"
#include "core/experiment/presets.h"
#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "core/model/optimizer.h"
#include "core/model/reduction.h"
#include "core/model/reference.h"
#include "core/model/torch_compat.h"
#include "core/model/torch_compute.h"

using namespace skippipe;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int threads = 2, repeats = 5, replicas = 2;

/// What is trained. A block is a stage, and every stage is on two nodes.
struct Setup {
    std::string name;  ///< of the preset; "small" for the benchmark's own
    ModelSpec model;
    int samples = 8, microbatches = 12;

    int stages() const { return model.blocks; }
    int nodes() const { return stages() * replicas; }
    double tokens() const { return static_cast<double>(microbatches) * samples * model.sequence; }
};

/// Of the large ones an iteration is 4 x 1,024 tokens.
Setup setup_of(const std::string& name) {
    if (name == "small") return {name, {.blocks = 6, .width = 128, .heads = 4, .vocabulary = 256, .sequence = 128}};
    const auto& model = find_model_preset(name).model;
    return {name, model, 1024 / model.sequence, 4};
}

Experiment make_experiment(const Setup& setup) {
    Experiment experiment;
    experiment.model = setup.model;
    experiment.pipeline.stages = setup.stages();
    experiment.pipeline.microbatches = setup.microbatches;
    experiment.pipeline.microbatch_samples = setup.samples;
    for (int node = 0; node < setup.nodes(); ++node) experiment.topology.nodes.push_back({.id = std::to_string(node)});
    const auto nodes = static_cast<std::size_t>(setup.nodes());
    experiment.topology.hop_matrix_s.assign(nodes, std::vector<double>(nodes, 0.0));
    return experiment;
}

/// Stage s on nodes s and s + stages; microbatches alternate. `skipped`: of the stages above 0, by turns.
Plan make_plan(const Setup& setup, int skipped) {
    const int stages = setup.stages();
    Plan plan;
    plan.blocks.assign(static_cast<std::size_t>(stages), 1);
    for (int stage = 0; stage < stages; ++stage) plan.stages.push_back({NodeIndex(stage), NodeIndex(stage + stages)});
    for (MicrobatchIndex m = 0; m < setup.microbatches; ++m) {
        Path path{.microbatch = m};
        for (int stage = 0; stage < stages; ++stage) {
            const bool skip = stage > 0 && (stage - 1 + stages - 1 - m % (stages - 1)) % (stages - 1) < skipped;
            if (!skip) path.nodes.emplace_back(stage + stages * (m % replicas));
        }
        plan.paths.push_back(path);
    }
    return plan;
}

Batches make_batches(const Experiment& experiment) {
    Rng rng(1);
    std::string text(1 << 20, ' ');
    for (auto& c : text) c = static_cast<char>('a' + rng.below(26));
    return {byte_dataset(text), experiment.data, batch_shape(experiment), 1};
}

double seconds(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Trains as `skippipe run` does, under the virtual clock.
class Trained {
public:
    Trained(const Setup& setup, int workers, int skipped = 0)
        : setup_(setup),
          plan_(make_plan(setup, skipped)),
          problem_(make_problem(make_experiment(setup))),
          compute_(make_experiment(setup), plan_, make_batches(make_experiment(setup)), 1, workers),
          driver_(problem_, plan_, compute_) {}
    double tokens() const { return setup_.tokens(); }
    void train() { driver_.train(iteration_++); }

private:
    Setup setup_;
    Plan plan_;
    Problem problem_;
    TorchCompute compute_;
    VirtualDriver driver_;
    int iteration_ = 0;
};

/// The same tensor work, called one after the other without machines, events, tasks or queues.
class BareLoop {
public:
    explicit BareLoop(const Setup& setup)
        : experiment_(make_experiment(setup)),
          plan_(make_plan(setup, 0)),
          batches_(make_batches(experiment_)),
          graph_(1, use_one_thread) {
        for (int node = 0; node < setup.nodes(); ++node) {
            nodes_.emplace_back(Stage(setup.model, node % setup.stages(), 1, torch::kCPU), setup.model);
            nodes_.back().stage.initialise(1);
        }
    }
    void train() {
        for (auto& node : nodes_) {
            node.stage.gradient().zero_();
            node.tokens = 0;
        }
        for (const auto& path : plan_.paths) train_on(path);
        const auto stages = plan_.stages.size();
        std::vector<StageCopies> copies(stages);
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            copies[node % stages].nodes.push_back(&nodes_[node]);
            copies[node % stages].tokens += nodes_[node].tokens;
        }
        std::vector<double> squared;
        for (auto& stage : copies) squared.push_back(reduce_gradient(stage, ReductionPass::both, graph_));
        const auto factors = clip_factors(experiment_.training, squared);
        std::vector<kernels::AdamW> parameters(stages,
                                               step_parameters(experiment_.training, iteration_, iteration_ + 1));
        for (std::size_t stage = 0; stage < stages; ++stage) parameters[stage].gradient_scale = factors[stage];
        step_stages(copies, parameters, graph_);
        ++iteration_;
    }

private:
    void train_on(const Path& path) {
        MicrobatchState state;
        set_tokens(batches_.batch(iteration_, path.microbatch), torch::kCPU, state.tokens, state.targets);
        state.token_count = state.tokens.numel();
        state.begin(path.nodes);
        const auto node = [&](std::size_t hop) -> NodeState& {
            return nodes_[static_cast<std::size_t>(path.nodes[hop])];
        };
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop)
            run_forward(node(hop), state, state.visits[hop], WireType::fp32);
        run_loss(node(0), state, WireType::fp32);
        for (std::size_t hop = path.nodes.size(); hop-- > 0;)
            run_backward(node(hop), state, state.visits[hop], WireType::fp32);
    }

    Experiment experiment_;
    Plan plan_;
    Batches batches_;
    std::deque<NodeState> nodes_;
    TaskGraph graph_;
    int iteration_ = 0;
};

/// Plain LLaMA training in LibTorch's own operations and autograd, with so many threads inside an operation and a
/// matrix product.
class Whole {
public:
    Whole(const Setup& setup, int intra_op, int blas)
        : setup_(setup),
          intra_op_(intra_op),
          blas_(blas),
          batches_(make_batches(make_experiment(setup))),
          model_(setup.model, Training{}, std::vector<int>(static_cast<std::size_t>(setup.stages()), 1), 1) {
        std::vector<int> all(static_cast<std::size_t>(setup.stages()));
        std::iota(all.begin(), all.end(), 0);
        for (int m = 0; m < setup.microbatches; ++m) paths_.push_back({m, all});
    }
    double tokens() const { return setup_.tokens(); }
    void train() {
        at::set_num_threads(intra_op_);
        set_blas_threads(blas_);
        model_.accumulate(batches_, iteration_, paths_);
        model_.step(iteration_++);
        use_one_thread();
        set_blas_threads(1);
    }

private:
    Setup setup_;
    int intra_op_, blas_;
    Batches batches_;
    WholeModel model_;
    std::vector<StagePath> paths_;
    int iteration_ = 0;
};

/// Bytes a second of one core reading and adding up two large arrays into a third.
double memory_gb_per_s() {
    std::vector<float> a(16 << 20, 1), b(16 << 20, 2);
    double best = 1e9;
    for (int i = 0; i < 5; ++i)
        best = std::min(best, seconds([&] { kernels::sum_into(a.data(), b.data(), a.size()); }));
    return 12.0 * static_cast<double>(a.size()) / best * 1e-9;
}

/// Of an iteration: matrix products and attention, which looks at half of all pairs of tokens.
double total_flops(const Setup& setup, double blocks_visited) {
    const double d = setup.model.width, f = ffn_width(setup.model), t = setup.model.sequence;
    return 3 * setup.tokens() * (blocks_visited * (8 * d * d + 6 * d * f + 2 * t * d) + 2 * d * setup.model.vocabulary);
}

struct Ceiling {
    double gflops = 0, gb_per_s = 0;
    std::string text(const Setup& setup, double tokens_per_s, int cores) const {
        const double reached = total_flops(setup, setup.stages()) * tokens_per_s / setup.tokens() * 1e-9;
        return fmt::format(
            "{:.0f} GFLOP/s of {:.0f} that 384 x 384 products reach on {} core(s) ({:.0f} %; causal attention counted "
            "once); memory {:.1f} GB/s a core",
            reached, gflops * cores, cores, 100 * reached / (gflops * cores), gb_per_s);
    }
};

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

/// Seconds of an iteration: of the first and the second, and the median ratio second / first of pairs.
/// Of this process, all its threads: waiting for a processor is not part of it.
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

struct Pair {
    double first_s = 0, second_s = 0, ratio = 0;
};

Pair compare(const std::function<void()>& first, const std::function<void()>& second,
             double (*takes_s)(const std::function<void()>&) = seconds) {
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

/// Another process of this program, which trains with one worker from `start` on.
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

/// Tokens a second of iterations for at least so long.
template <class Model>
double rate_of_trained(Model& model, double for_s) {
    int iterations = 0;
    double passed = 0;
    for (; passed < for_s; ++iterations) passed += seconds([&] { model.train(); });
    return iterations * model.tokens() / passed;
}

/// Another process of this program, which trains the model whole.
double whole(const std::string& setup, int intra_op, int blas, double for_s) {
    Whole model(setup_of(setup), intra_op, blas);
    model.train();
    return rate_of_trained(model, for_s);
}

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
        rates.push_back(rate_of_trained(ours, 4));
        ratios.push_back(rates.back() / theirs.back());
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    print(rival.name, median(rates), "tokens/s",
          fmt::format("{}, tokens/s; its best: {}", rival.baseline, best->text()), median(theirs), median(ratios),
          cores,
          fmt::format("{}; ratios {:.2f} to {:.2f}; {}", rival.goal, *least, *most,
                      ceiling.text(setup, median(rates), cores)));
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

/// Each number of cores against both rivals.
void bench_size(const Setup& setup, const Ceiling& ceiling, const std::vector<int>& numbers_of_cores) {
    for (const int cores : numbers_of_cores) {
        Trained ours(setup, cores);
        ours.train();
        bench_against(ours, setup, cores, ceiling, plain_libtorch(setup, cores));
        bench_against(ours, setup, cores, ceiling, python_torch(setup, cores));
    }
}

}  // namespace

int main(int count, char** arguments) {
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
    const Ceiling ceiling{measure_blas_gflops(), memory_gb_per_s()};
    const auto numbers_of_cores = named("--one-core") ? std::vector<int>{1} : std::vector<int>{2, 1};
    for (const char* size : {"llama-15m", "llama-42m"})
        if (named(size) || named("--long")) bench_size(setup_of(size), ceiling, numbers_of_cores);
    const auto small = setup_of("small");
    Trained two(small, 2), one(small, 1);
    if (wanted("two")) bench_against(two, small, 2, ceiling, plain_libtorch(small, 2));
    if (wanted("one")) {
        Whole whole(small, 1, 1);
        const auto pair = compare([&] { one.train(); }, [&] { whole.train(); });
        print("pipeline, one worker, skip 0", small.tokens() / pair.first_s, "tokens/s",
              "whole with plain LibTorch, one thread, tokens/s", small.tokens() / pair.second_s, pair.ratio, 1,
              "goal 1.2; " + ceiling.text(small, small.tokens() / pair.first_s, 1));
    }
    if (wanted("engine")) {
        BareLoop bare(small);
        const auto measure = [&](const char* what, double (*takes_s)(const std::function<void()>&)) {
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
    if (wanted("processes")) bench_processes(two);
    if (wanted("python")) bench_against(two, small, 2, ceiling, python_torch(small, 2));
}
