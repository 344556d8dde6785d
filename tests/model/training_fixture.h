// SPDX-License-Identifier: GPL-3.0-or-later
// Small experiments, hand-made plans, and the two ways to train them.
#pragma once
#include <cmath>
#include <vector>

#include "core/base/rng.h"
#include "core/engine/trainer.h"
#include "core/model/reference.h"
#include "core/model/torch_compute.h"

namespace skippipe::testing {

inline Experiment small_experiment(int stages, int nodes) {
    Experiment experiment;
    experiment.model = {.blocks = stages, .width = 32, .heads = 2, .vocabulary = 256, .sequence = 16};
    experiment.pipeline.stages = stages;
    experiment.pipeline.microbatch_samples = 2;
    experiment.training.learning_rate = 3e-3;
    experiment.training.warmup_iterations = 3;
    experiment.data.validation_samples = 5;
    for (int i = 0; i < nodes; ++i) experiment.topology.nodes.push_back({.id = "n" + std::to_string(i)});
    return experiment;
}

inline Plan make_plan(PerStage<std::vector<NodeIndex>> stages, const std::vector<std::vector<NodeIndex>>& paths) {
    Plan plan;
    plan.blocks.assign(stages.size(), 1);
    plan.stages = std::move(stages);
    for (std::size_t m = 0; m < paths.size(); ++m) plan.paths.push_back({MicrobatchIndex(m), paths[m]});
    return plan;
}

/// Of a made-up text of that many bytes.
inline Batches make_batches(const Experiment& experiment, std::uint64_t seed = 11, std::size_t text_bytes = 20'000) {
    Rng rng(3);
    std::string text;
    const char* words[] = {"in ", "the ", "beginning ", "was ", "word ", "and ", "light ", "\n"};
    while (text.size() < text_bytes) text += words[rng.below(8)];
    return {byte_dataset(text), experiment.data, batch_shape(experiment), seed};
}

inline int stage_of(const Plan& plan, int node) {
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
        for (const int member : plan.stages[stage])
            if (member == node) return static_cast<int>(stage);
    return -1;
}

/// Each microbatch's operations in their own order; microbatches interleaved at random, so that nodes see many orders.
inline std::vector<ComputeTask> tasks_of(const Plan& plan, bool split, Rng rng, int dropped = -1) {
    std::vector<std::vector<ComputeTask>> queues;
    for (const auto& path : plan.paths) {
        if (path.microbatch == dropped) continue;
        auto& queue = queues.emplace_back();
        const int last = static_cast<int>(path.nodes.size()) - 1;
        const auto add = [&](OpKind kind, int hop) {
            const int node = path.nodes[static_cast<std::size_t>(hop)];
            queue.push_back({{kind, path.microbatch}, node, stage_of(plan, node), hop});
        };
        for (int hop = 0; hop <= last; ++hop) add(OpKind::F, hop);
        add(OpKind::L, 0);
        for (int hop = last; hop >= 0; --hop) add(split ? OpKind::I : OpKind::B, hop);
        if (split)
            for (int hop = last; hop >= 0; --hop) add(OpKind::W, hop);
    }
    std::vector<ComputeTask> tasks;
    std::vector<std::size_t> next(queues.size());
    for (std::size_t left = queues.size(); left > 0;) {
        const auto i = rng.below(queues.size());
        if (next[i] == queues[i].size()) continue;
        tasks.push_back(queues[i][next[i]++]);
        if (next[i] == queues[i].size()) --left;
    }
    return tasks;
}

inline std::vector<StagePath> stage_paths(const Plan& plan) {
    std::vector<StagePath> paths;
    for (const auto& path : plan.paths) {
        paths.push_back({path.microbatch, {}});
        for (const int node : path.nodes) paths.back().stages.push_back(stage_of(plan, node));
    }
    return paths;
}

/// The sums of all stages and the step, of a back end whose operations have ended.
inline IterationResult finish(TorchCompute& compute, int iteration) {
    LocalTransport alone;
    std::vector<StageSum> sums;
    for (std::size_t stage = 0; stage < compute.schedule().plan.stages.size(); ++stage)
        sums.push_back(compute.reduce(static_cast<int>(stage), alone));
    return finish_iteration(iteration, compute.schedule(), sums, compute, alone);
}

inline ValidationResult validate(TorchCompute& compute) {
    LocalTransport alone;
    return compute.validate(alone);
}

inline IterationResult run_iteration(TorchCompute& compute, int iteration, const std::vector<ComputeTask>& tasks) {
    compute.begin_iteration(iteration);
    for (const auto& task : tasks) compute.submit(task);
    compute.wait();
    return finish(compute, iteration);
}

/// Largest |difference| / |reference| over the stage's tensors.
inline double largest_difference(const std::vector<Segment>& segments, const std::vector<float>& values,
                                 const std::vector<float>& reference) {
    double largest = 0;
    for (const auto& segment : segments) {
        double difference = 0, norm = 0;
        for (auto i = static_cast<std::size_t>(segment.offset);
             i < static_cast<std::size_t>(segment.offset + segment.size()); ++i) {
            difference += std::pow(static_cast<double>(values.at(i)) - reference.at(i), 2);
            norm += std::pow(static_cast<double>(reference.at(i)), 2);
        }
        if (difference > 0) largest = std::max(largest, std::sqrt(difference) / std::sqrt(norm));
    }
    return largest;
}

}  // namespace skippipe::testing
