// SPDX-License-Identifier: GPL-3.0-or-later
// LLaMA as eight stages, each a node, all on one GPU: the sizes, microbatches and optimizer of whole_model.py.
#pragma once
#include <algorithm>
#include <chrono>

#include "core/experiment/model_size.h"
#include "tests/model/training_fixture.h"

namespace skippipe::gpu {

struct TrainingSize {
    const char* name;
    ModelSpec model;
    PerStage<int> blocks;
    int samples = 0;  ///< of a microbatch
};

inline std::vector<TrainingSize> training_sizes() {
    return {{"124M",
             {.blocks = 12, .width = 768, .heads = 12, .vocabulary = 32000, .sequence = 1024},
             {1, 1, 1, 1, 2, 2, 2, 2},
             8},
            {"1.5B",
             {.blocks = 48, .width = 1600, .heads = 25, .vocabulary = 32000, .sequence = 1024},
             {6, 6, 6, 6, 6, 6, 6, 6},
             4}};
}

inline constexpr int training_stages = 8, training_microbatches = 8;

inline Experiment training_experiment(const TrainingSize& size, const std::string& device) {
    auto experiment = testing::small_experiment(training_stages, training_stages);
    experiment.model = size.model;
    experiment.pipeline.microbatches = training_microbatches;
    experiment.pipeline.microbatch_samples = size.samples;
    experiment.training.learning_rate = 1e-3;
    experiment.execution.products = ProductType::bf16;
    for (auto& node : experiment.topology.nodes) node.device = device;
    return experiment;
}

/// Microbatch m passes over `skipped` of the stages but the first, others from microbatch to microbatch.
inline Plan training_plan(const TrainingSize& size, int skipped) {
    PerStage<std::vector<NodeIndex>> stages(training_stages);
    std::vector<std::vector<NodeIndex>> paths(training_microbatches);
    for (int stage = 0; stage < training_stages; ++stage) stages[StageIndex(stage)].push_back(NodeIndex(stage));
    for (int m = 0; m < training_microbatches; ++m)
        for (int stage = 0; stage < training_stages; ++stage)
            if (stage == 0 || (stage - 1 + m * skipped) % (training_stages - 1) >= skipped)
                paths[static_cast<std::size_t>(m)].push_back(NodeIndex(stage));
    auto plan = testing::make_plan(stages, paths);
    plan.blocks = size.blocks;
    return plan;
}

/// Floating-point operations of an iteration: 6 a parameter and token but for the embedding's, and causal attention's.
inline double training_flops(const TrainingSize& size, const Plan& plan) {
    const double tokens = static_cast<double>(size.samples) * size.model.sequence, width = size.model.width;
    const double block = 6 * block_parameters(size.model) + 6 * width * size.model.sequence;
    double flops = 0;
    for (const auto& path : plan.paths) {
        flops += tokens * 6 * width * size.model.vocabulary;
        for (const int node : path.nodes) flops += tokens * block * plan.blocks[StageIndex(static_cast<int>(node))];
    }
    return flops;
}

/// Median seconds of an iteration. Microbatches come one after the other: what is in flight is in no other order on one
/// GPU.
inline double training_seconds(TorchCompute& compute, const Plan& plan, const std::function<void()>& synchronise) {
    std::vector<ComputeTask> tasks;
    for (const auto& path : plan.paths) {
        Plan one = plan;
        one.paths = {path};
        const auto its = testing::tasks_of(one, false, Rng(1));
        tasks.insert(tasks.end(), its.begin(), its.end());
    }
    constexpr int warm = 3, times = 5;
    std::vector<double> seconds;
    for (int i = 0; i < warm + times; ++i) {
        synchronise();
        const auto begin = std::chrono::steady_clock::now();
        const auto result = testing::run_iteration(compute, i, tasks);
        synchronise();
        if (!std::isfinite(result.loss_sum_nats)) throw std::runtime_error("the loss is no number");
        if (i >= warm)
            seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[times / 2];
}

}  // namespace skippipe::gpu
