// SPDX-License-Identifier: GPL-3.0-or-later
// Training through the pipeline against the same LLaMA trained whole with plain LibTorch, against python3-torch,
// against two processes, against the tensor work alone, and skipping against not skipping: one JSON line each, with
// what this machine's matrix products and memory allow in the same run. Parts by name as arguments: two, one, engine,
// skip, processes, python; all without. What is compared alternates, so that a busy machine meets both; ratios are
// medians of pairs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "core/base/statistics.h"
#include "core/engine/virtual_clock.h"
#include "core/experiment/model_size.h"
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
constexpr int threads = 2, microbatches = 12, repeats = 5, stages = 6, replicas = 2;

Experiment make_experiment() {
    Experiment experiment;
    experiment.model = {.blocks = stages, .width = 128, .heads = 4, .vocabulary = 256, .sequence = 128};
    experiment.pipeline.microbatches = microbatches;
    experiment.pipeline.microbatch_samples = 8;
    for (int node = 0; node < stages * replicas; ++node)
        experiment.topology.nodes.push_back({.id = std::to_string(node)});
    experiment.topology.hop_matrix_s.assign(stages * replicas, std::vector<double>(stages * replicas, 0.0));
    return experiment;
}

constexpr double tokens_of_iteration = microbatches * 8.0 * 128;

/// Stage s on nodes s and s + stages; microbatches alternate. `skipped`: of the stages above 0, by turns.
Plan make_plan(int skipped) {
    Plan plan;
    plan.blocks.assign(stages, 1);
    for (int stage = 0; stage < stages; ++stage) plan.stages.push_back({stage, stage + stages});
    for (int m = 0; m < microbatches; ++m) {
        Path path{.microbatch = m};
        for (int stage = 0; stage < stages; ++stage) {
            const bool skip = stage > 0 && (stage - 1 + stages - 1 - m % (stages - 1)) % (stages - 1) < skipped;
            if (!skip) path.nodes.push_back(stage + stages * (m % replicas));
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
    Trained(const Experiment& experiment, const Plan& plan, int workers)
        : plan_(plan),
          problem_(make_problem(experiment)),
          compute_(experiment, plan, make_batches(experiment), 1, workers),
          driver_(problem_, plan_, compute_) {}
    void train() { driver_.train(iteration_++); }

private:
    Plan plan_;
    Problem problem_;
    TorchCompute compute_;
    VirtualDriver driver_;
    int iteration_ = 0;
};

/// The same tensor work, called one after the other without machines, events, tasks or queues.
class BareLoop {
public:
    BareLoop(const Experiment& experiment, const Plan& plan)
        : experiment_(experiment), plan_(plan), batches_(make_batches(experiment)), graph_(1, use_one_thread) {
        for (int node = 0; node < stages * replicas; ++node) {
            nodes_.emplace_back(Stage(experiment.model, node % stages, 1, torch::kCPU), experiment.model);
            nodes_.back().stage.initialise(1);
        }
    }
    void train() {
        for (auto& node : nodes_) {
            node.stage.gradient().zero_();
            node.tokens = 0;
        }
        for (const auto& path : plan_.paths) train_on(path);
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
        for (const int node : path.nodes) state.visits.push_back({.node = node});
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
    Whole(const Experiment& experiment, int intra_op, int blas)
        : intra_op_(intra_op),
          blas_(blas),
          batches_(make_batches(experiment)),
          model_(experiment.model, experiment.training, std::vector<int>(stages, 1), 1) {
        for (int m = 0; m < microbatches; ++m) paths_.push_back({m, {0, 1, 2, 3, 4, 5}});
    }
    void train() {
        at::set_num_threads(intra_op_);
        set_blas_threads(blas_);
        model_.accumulate(batches_, iteration_, paths_);
        model_.step(iteration_++);
        use_one_thread();
        set_blas_threads(1);
    }

private:
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

double total_flops(double blocks_visited) {
    const ModelSpec model = make_experiment().model;
    const double d = model.width, f = ffn_width(model), t = model.sequence;
    return 3 * tokens_of_iteration * (blocks_visited * (8 * d * d + 6 * d * f + 4 * t * d) + 2 * d * model.vocabulary);
}

struct Ceiling {
    double gflops = 0, gb_per_s = 0;
    std::string text(double iteration_s, int cores) const {
        const double reached = total_flops(stages) / iteration_s * 1e-9;
        return fmt::format(
            "{:.0f} GFLOP/s of {:.0f} that 384 x 384 products reach on {} core(s) ({:.0f} %; full attention counted); "
            "memory {:.1f} GB/s a core",
            reached, gflops * cores, cores, 100 * reached / (gflops * cores), gb_per_s);
    }
};

void print(const char* name, double value, const char* unit, const std::string& baseline, double baseline_value,
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
struct Pair {
    double first_s = 0, second_s = 0, ratio = 0;
};

Pair compare(const std::function<void()>& first, const std::function<void()>& second) {
    std::vector<double> a, b, ratios;
    for (int repeat = 0; repeat <= repeats; ++repeat) {
        const double x = seconds(first), y = seconds(second);
        if (repeat == 0) continue;  // warms up
        a.push_back(x);
        b.push_back(y);
        ratios.push_back(y / x);
    }
    return {median(a), median(b), median(ratios)};
}

/// Another process of this program, which trains with one worker from `start` on.
double alone(long long start_ns, double for_s) {
    Trained pipeline(make_experiment(), make_plan(0), 1);
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
    return iterations * tokens_of_iteration / passed;
}

/// Tokens a second of iterations for at least so long.
template <class Model>
double rate_of_trained(Model& model, double for_s) {
    int iterations = 0;
    double passed = 0;
    for (; passed < for_s; ++iterations) passed += seconds([&] { model.train(); });
    return iterations * tokens_of_iteration / passed;
}

/// Another process of this program, which trains the model whole.
double whole(int intra_op, int blas, double for_s) {
    Whole model(make_experiment(), intra_op, blas);
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

/// How two threads may be shared out between an operation's loops and a matrix product. OpenMP's threads yield the core
/// while they wait, without which those of OpenBLAS find none.
struct Threading {
    int intra_op, blas;
    std::string variables() const { return fmt::format("OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS={}", blas); }
    std::string text() const {
        return fmt::format("{} threads in an operation, {} in a matrix product", intra_op, blas);
    }
};
constexpr Threading threadings[] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}};

/// Two workers against another program that prints its tokens a second, under whichever threading that is fastest with.
void bench_against(Trained& two, const char* name, const std::string& baseline, const std::string& remark,
                   const std::function<std::string(const Threading&)>& command) {
    const Threading* best = threadings;
    double best_rate = 0;
    std::string words;
    for (const auto& threading : threadings) {
        const auto [rate, text] = rate_of(popen(command(threading).c_str(), "r"));
        if (words.empty() || rate > best_rate) words = text;
        if (rate > best_rate) best_rate = rate, best = &threading;
    }
    if (best_rate <= 0) return print(name, 0, "tokens/s", baseline + ": " + words, 0, 0, threads, "skipped");
    std::vector<double> ours, theirs, ratios;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        theirs.push_back(rate_of(popen(command(*best).c_str(), "r")).first);
        ours.push_back(rate_of_trained(two, 4));
        ratios.push_back(ours.back() / theirs.back());
    }
    print(name, median(ours), "tokens/s", fmt::format("{}, tokens/s; its best: {}", baseline, best->text()),
          median(theirs), median(ratios), threads, remark);
}

void bench_whole(Trained& two, const Ceiling& ceiling) {
    const double iteration_s = tokens_of_iteration / rate_of_trained(two, 4);
    bench_against(two, "pipeline, two workers, skip 0", "whole with plain LibTorch on two cores",
                  "goal 1.5; " + ceiling.text(iteration_s, 2), [](const Threading& t) {
                      return fmt::format("{} '{}' --whole {} {} 5", t.variables(), own_path(), t.intra_op, t.blas);
                  });
}

void bench_python(Trained& two) {
    bench_against(two, "pipeline, two workers, against python3-torch", "python3-torch, eager, on two cores", "goal 1.5",
                  [](const Threading& t) {
                      return fmt::format(
                          "{} /usr/bin/python3 '{}/tests/benchmarks/llama_eager.py' --threads {} --seconds 5 2>&1",
                          t.variables(), SKIPPIPE_SOURCE_DIR, t.intra_op);
                  });
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
    if (count == 5 && std::strcmp(arguments[1], "--whole") == 0) {
        std::printf("%f\n", whole(std::atoi(arguments[2]), std::atoi(arguments[3]), std::atof(arguments[4])));
        return 0;
    }
    const auto wanted = [&](const char* part) {
        return count < 2 || std::find_if(arguments + 1, arguments + count,
                                         [&](const char* a) { return std::strcmp(a, part) == 0; }) != arguments + count;
    };
    const auto experiment = make_experiment();
    const auto full = make_plan(0), skipping = make_plan(2);
    const Ceiling ceiling{measure_blas_gflops(), memory_gb_per_s()};
    Trained two(experiment, full, 2), one(experiment, full, 1);
    if (wanted("two")) bench_whole(two, ceiling);
    if (wanted("one")) {
        Whole whole(experiment, 1, 1);
        const auto pair = compare([&] { one.train(); }, [&] { whole.train(); });
        print("pipeline, one worker, skip 0", tokens_of_iteration / pair.first_s, "tokens/s",
              "whole with plain LibTorch, one thread, tokens/s", tokens_of_iteration / pair.second_s, pair.ratio, 1,
              "goal 1.2; " + ceiling.text(pair.first_s, 1));
    }
    if (wanted("engine")) {
        BareLoop bare(experiment, full);
        const auto pair = compare([&] { bare.train(); }, [&] { one.train(); });
        print("engine beyond the tensor work, one worker", 100 * (pair.ratio - 1), "%",
              "tensor work in a bare loop, ms", 1e3 * pair.first_s, pair.ratio, 1, "goal 3 %");
    }
    if (wanted("skip")) {
        Trained skipped(experiment, skipping, 2);
        const auto pair = compare([&] { two.train(); }, [&] { skipped.train(); });
        const double saved = 1 - total_flops(4) / total_flops(stages);
        print("33 % skip, two workers", 1e3 * pair.second_s, "ms an iteration", "skip 0, ms", 1e3 * pair.first_s,
              pair.ratio, 2,
              fmt::format("paths save {:.1f} % of the operations; time falls by {:.2f} of that, goal 0.9", 100 * saved,
                          (1 - pair.ratio) / saved));
    }
    if (wanted("processes")) bench_processes(two);
    if (wanted("python")) bench_python(two);
}
