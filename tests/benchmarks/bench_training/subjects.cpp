// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_training/subjects.h"

#include <numeric>

#include "core/base/rng.h"
#include "core/experiment/presets.h"
#include "core/model/blas.h"

namespace skippipe::bench {
namespace {

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

}  // namespace

Setup setup_of(const std::string& name) {
    if (name == "small") return {name, {.blocks = 6, .width = 128, .heads = 4, .vocabulary = 256, .sequence = 128}};
    const auto& model = find_model_preset(name).model;
    return {name, model, 1024 / model.sequence, 4};
}

Trained::Trained(const Setup& setup, int workers, int skipped)
    : setup_(setup),
      plan_(make_plan(setup, skipped)),
      problem_(make_problem(make_experiment(setup))),
      compute_(make_experiment(setup), plan_, make_batches(make_experiment(setup)), 1, workers),
      driver_(problem_, plan_, compute_) {}

BareLoop::BareLoop(const Setup& setup)
    : experiment_(make_experiment(setup)),
      plan_(make_plan(setup, 0)),
      batches_(make_batches(experiment_)),
      graph_(1, use_one_thread) {
    for (int node = 0; node < setup.nodes(); ++node) {
        nodes_.emplace_back(Stage(setup.model, node % setup.stages(), 1, torch::kCPU), setup.model);
        nodes_.back().stage.initialise(1);
    }
}

void BareLoop::train() {
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
    std::vector<kernels::AdamW> parameters(stages, step_parameters(experiment_.training, iteration_, iteration_ + 1));
    for (std::size_t stage = 0; stage < stages; ++stage) parameters[stage].gradient_scale = factors[stage];
    step_stages(copies, parameters, graph_);
    ++iteration_;
}

void BareLoop::train_on(const Path& path) {
    MicrobatchState state;
    set_tokens(batches_.batch(iteration_, path.microbatch), torch::kCPU, state.tokens, state.targets);
    state.token_count = state.tokens.numel();
    state.begin(path.nodes);
    const auto node = [&](std::size_t hop) -> NodeState& { return nodes_[static_cast<std::size_t>(path.nodes[hop])]; };
    for (std::size_t hop = 0; hop < path.nodes.size(); ++hop)
        run_forward(node(hop), state, state.visits[hop], WireType::fp32);
    run_loss(node(0), state, WireType::fp32);
    for (std::size_t hop = path.nodes.size(); hop-- > 0;)
        run_backward(node(hop), state, state.visits[hop], WireType::fp32);
}

Whole::Whole(const Setup& setup, int intra_op, int blas)
    : setup_(setup),
      intra_op_(intra_op),
      blas_(blas),
      batches_(make_batches(make_experiment(setup))),
      model_(setup.model, Training{}, std::vector<int>(static_cast<std::size_t>(setup.stages()), 1), 1) {
    std::vector<int> all(static_cast<std::size_t>(setup.stages()));
    std::iota(all.begin(), all.end(), 0);
    for (int m = 0; m < setup.microbatches; ++m) paths_.push_back({m, all});
}

void Whole::train() {
    at::set_num_threads(intra_op_);
    set_blas_threads(blas_);
    model_.accumulate(batches_, iteration_, paths_);
    model_.step(iteration_++);
    use_one_thread();
    set_blas_threads(1);
}

}  // namespace skippipe::bench
