// SPDX-License-Identifier: GPL-3.0-or-later
// Training through the pipeline against the same LLaMA trained whole, and skipping against not skipping; one JSON line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "core/model/reference.h"
#include "core/model/torch_compat.h"
#include "core/model/torch_compute.h"

using namespace skippipe;

namespace {

constexpr int threads = 2, microbatches = 12, repeats = 7, stages = 6, replicas = 2;

Experiment make_experiment() {
    Experiment experiment;
    experiment.model = {.blocks = stages, .width = 128, .heads = 4, .vocabulary = 256, .sequence = 128};
    experiment.pipeline.microbatch_samples = 8;
    for (int node = 0; node < stages * replicas; ++node) experiment.topology.nodes.push_back({.id = std::to_string(node)});
    return experiment;
}

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

/// A valid order: hop by hop over all microbatches, at most three of a data node under way.
std::vector<ComputeTask> make_tasks(const Plan& plan) {
    std::vector<ComputeTask> tasks;
    constexpr std::size_t wave = 3 * replicas;
    for (std::size_t begin = 0; begin < plan.paths.size(); begin += wave) {
        const auto end = std::min(begin + wave, plan.paths.size());
        const int hops = static_cast<int>(plan.paths[begin].nodes.size());
        const auto all = [&](OpKind kind, int hop) {
            for (auto i = begin; i < end; ++i) {
                const int node = plan.paths[i].nodes[static_cast<std::size_t>(hop)];
                tasks.push_back({{kind, plan.paths[i].microbatch}, node, node % stages, hop});
            }
        };
        for (int hop = 0; hop < hops; ++hop) all(OpKind::F, hop);
        all(OpKind::L, 0);
        for (int hop = hops - 1; hop >= 0; --hop) all(OpKind::B, hop);
    }
    return tasks;
}

Batches make_batches(const Experiment& experiment) {
    Rng rng(1);
    std::string text(1 << 20, ' ');
    for (auto& c : text) c = static_cast<char>('a' + rng.below(26));
    return {byte_dataset(text), experiment.data, batch_shape(experiment), 1};
}

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// One iteration of the pipeline.
void train_pipeline(TorchCompute& compute, const std::vector<ComputeTask>& tasks, int iteration) {
    compute.begin_iteration(iteration);
    for (const auto& task : tasks) compute.submit(task);
    compute.finish_iteration();
}

/// One iteration of the whole model: data-parallel over the same number of threads, a copy each, summed, one step.
void train_whole(std::vector<WholeModel>& copies, const Batches& batches, int iteration) {
    std::vector<std::jthread> workers;
    for (std::size_t copy = 0; copy < copies.size(); ++copy)
        workers.emplace_back([&, copy] {
            use_one_thread();
            std::vector<StagePath> paths;
            for (int m = static_cast<int>(copy); m < microbatches; m += static_cast<int>(copies.size()))
                paths.push_back({m, {0, 1, 2, 3, 4, 5}});
            copies[copy].accumulate(batches, iteration, paths);
        });
    workers.clear();
    for (std::size_t copy = 1; copy < copies.size(); ++copy) copies[0].add_gradients_of(copies[copy]);
    copies[0].step(iteration);
    for (std::size_t copy = 1; copy < copies.size(); ++copy) copies[copy].copy_state_of(copies[0]);
}

double peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
    return 0;
}

double blocks_in(const Plan& plan) {
    double blocks = 0;
    for (const auto& path : plan.paths) blocks += static_cast<double>(path.nodes.size());
    return blocks;
}

void print(const char* name, double value, const char* unit, const char* baseline, double baseline_value, double ratio, const std::string& ceiling) {
    const nlohmann::ordered_json line{{"name", name}, {"value", value}, {"unit", unit}, {"baseline", baseline}, {"baseline_value", baseline_value},
                                      {"ratio", ratio}, {"threads", threads}, {"ceiling", ceiling}, {"repeat", repeats}};
    std::puts(line.dump().c_str());
}

}  // namespace

int main() {
    use_one_thread();
    prepare_blas();
    keep_freed_memory();
    const auto experiment = make_experiment();
    const auto batches = make_batches(experiment);
    const auto full = make_plan(0), skipping = make_plan(2);
    const auto full_tasks = make_tasks(full), skipping_tasks = make_tasks(skipping);
    TorchCompute pipeline(experiment, full, batches, 1, threads), skipped(experiment, skipping, batches, 1, threads);
    std::vector<WholeModel> copies;
    for (int i = 0; i < threads; ++i) copies.emplace_back(experiment.model, experiment.training, full.blocks, 1);
    std::vector<double> pipeline_s, whole_s, skipped_s, ratios, skip_ratios;
    for (int repeat = 0; repeat <= repeats; ++repeat) {  // the first warms up; the three alternate, so that a busy machine meets all
        const double a = seconds([&] { train_pipeline(pipeline, full_tasks, repeat); });
        const double b = seconds([&] { train_whole(copies, batches, repeat); });
        const double c = seconds([&] { train_pipeline(skipped, skipping_tasks, repeat); });
        if (repeat == 0) continue;
        pipeline_s.push_back(a);
        whole_s.push_back(b);
        skipped_s.push_back(c);
        ratios.push_back(b / a);
        skip_ratios.push_back(c / a);
    }
    const double tokens = static_cast<double>(microbatches) * experiment.pipeline.microbatch_samples * experiment.model.sequence;
    const std::string peak = fmt::format("matrix products {:.0f} GFLOP/s a core; peak memory {:.2f} GB for all three", measure_blas_gflops(), peak_bytes() / 1e9);
    print("pipeline training at skip 0, 6 stages x 2 nodes", tokens / median(pipeline_s), "tokens/s", "same LLaMA whole, tokens/s", tokens / median(whole_s), median(ratios), peak);
    print("time of an iteration at 33 % skip", 1e3 * median(skipped_s), "ms", "at skip 0, ms", 1e3 * median(pipeline_s), median(skip_ratios),
          fmt::format("block work falls to {:.3f}; head, embedding and optimizer do not", blocks_in(skipping) / blocks_in(full)));
}
