// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/probe.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/rng.h"
#include "core/engine/task_graph.h"
#include "core/model/blas.h"
#include "core/model/node_build.h"
#include "core/model/optimizer.h"
#include "core/model/reduction.h"
#include "core/model/torch_compute_state.h"
#include "core/model/torch_piece_sums.h"

namespace skippipe {

namespace {

constexpr int warm_ups = 3, repeats = 9;

double thread_s() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Batch random_batch(const Experiment& experiment, std::uint64_t seed) {
    Batch batch{experiment.pipeline.microbatch_samples, experiment.model.sequence, {}};
    Rng rng(seed);
    batch.tokens.resize(static_cast<std::size_t>(batch.samples) * static_cast<std::size_t>(batch.sequence + 1));
    for (auto& token : batch.tokens)
        token = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(experiment.model.vocabulary)));
    return batch;
}

/// Until a device is through with what was queued for it: reading one number back waits for that.
void settle(const torch::Tensor& tensor) {
    if (tensor.defined() && !tensor.device().is_cpu()) tensor.detach().view(-1)[0].item<float>();
}

NodeSpeed measure_node(const Experiment& experiment, NodeState& node, int index) {
    const bool device_is_cpu = node.stage.device().is_cpu();
    const auto now_s = [&] { return device_is_cpu ? thread_s() : steady_s(); };
    const bool first = node.stage.stage() == 0;
    const auto wire = experiment.costs.wire;
    const auto batch = random_batch(experiment, static_cast<std::uint64_t>(index));
    const std::int64_t rows = std::int64_t{batch.samples} * batch.sequence;
    std::vector<double> forward, backward, loss;
    for (int i = 0; i < warm_ups + repeats; ++i) {
        MicrobatchState state{.token_count = rows};
        // At the last hop of its path: what arrives comes from nowhere.
        state.path.assign(first ? 1 : 2, NodeIndex(index));
        state.visits.resize(state.path.size());
        state.inputs.resize(2 * state.path.size() + 1);
        Visit& visit = state.visits.back();
        visit.node = index;
        visit.hop = state.length() - 1;
        set_tokens(batch, node.stage.device(), state.tokens, state.targets);
        // On a GPU it comes from the node before, where ranks do not hand each other the host's memory.
        const bool comes_by_host = experiment.execution.transport == Transport::gloo;
        const auto message =
            torch::randn({rows, experiment.model.width}, comes_by_host ? torch::kCPU : node.stage.device());
        settle(message);
        const auto forward_step = static_cast<std::size_t>(visit.hop), loss_step = state.path.size();
        if (!first) state.inputs[forward_step].values = message.clone();
        const double start_s = now_s();
        run_forward(node, state, visit, wire);
        settle(state.inputs[forward_step + 1].values);
        const double forward_s = now_s();
        if (first) run_loss(node, state, wire);
        settle(state.inputs[loss_step + 1].values);
        const double loss_s = now_s();
        if (!first) state.inputs[loss_step + 1].values = message.clone();
        const double back_s = now_s();
        run_backward(node, state, visit, wire);
        settle(state.inputs.back().values);
        settle(node.stage.gradient());
        if (i < warm_ups) continue;
        forward.push_back(forward_s - start_s);
        if (first) loss.push_back(loss_s - forward_s);
        backward.push_back(now_s() - back_s);
    }
    return {index, summarize(std::move(forward)), summarize(std::move(backward)), summarize(std::move(loss))};
}

/// Of the memory of a GPU, where one message goes to another place.
double device_copy_bytes_per_s(torch::Device device) {
    const auto from = torch::ones({std::int64_t{64} << 20}, torch::TensorOptions().dtype(torch::kUInt8).device(device));
    auto to = torch::empty_like(from);
    std::vector<double> seconds;
    for (int i = 0; i < warm_ups + repeats; ++i) {
        settle(to.view(torch::kFloat32));
        const double start_s = steady_s();
        to.copy_(from);
        settle(to.view(torch::kFloat32));
        if (i >= warm_ups) seconds.push_back(steady_s() - start_s);
    }
    return static_cast<double>(from.numel()) / summarize(std::move(seconds)).median;
}

/// Seconds of a step of all stages here, each by its copies on this rank.
Measured measure_step(const Experiment& experiment, std::vector<StageCopies>& stages, TaskGraph& graph,
                      const std::function<void()>& together) {
    std::vector<kernels::AdamW> parameters(stages.size());
    std::vector<double> seconds;
    for (int i = 0; i < warm_ups + repeats; ++i) {
        for (auto& step : parameters) step = step_parameters(experiment.training, i, i + 1);
        together();
        const double start_s = steady_s();
        step_stages(stages, parameters, graph);
        for (const auto& stage : stages)
            for (const auto* node : stage.nodes) settle(node->stage.weights());
        if (i >= warm_ups) seconds.push_back(steady_s() - start_s);
    }
    return summarize(std::move(seconds));
}

/// Work of a core for a byte of a part or sum: two replicas of one block, each on a rank of its own, hand each other a
/// half and its sum.
double measure_sums(Experiment experiment) {
    experiment.model.blocks = 2;
    experiment.topology.nodes.assign(3, {});            // on the CPU, where sums are made
    experiment.execution.products = ProductType::fp32;  // which no sum has; a CPU may not have those of a GPU
    experiment.training.initial_weights.clear();
    RankSchedule schedule{.ranks = 3, .plan = {}, .rank_of = {0, 1, 2}, .transfers = {}, .reduce_order = {}};
    schedule.plan.stages = {{0}, {1, 2}};
    schedule.plan.blocks = {1, 1};
    schedule.pieces = {{}, default_pieces(2)};
    TorchCompute::Implementation ranks[] = {{experiment, schedule, 1, std::nullopt, 1},
                                            {experiment, schedule, 2, std::nullopt, 1}};
    TorchPieceSums sums[] = {TorchPieceSums(ranks[0]), TorchPieceSums(ranks[1])};
    for (const int place : {0, 1}) {
        auto& node = ranks[place].node(place + 1);
        node.stage.gradient().normal_();
        node.tokens = 1;
    }
    std::vector<double> cpu_s_per_byte;
    for (int i = 0; i < warm_ups + repeats; ++i) {
        const double before_s = process_cpu_s();
        std::size_t bytes = 0;
        for (auto& one : sums) one.begin(schedule);
        for (const int piece : {0, 1}) {
            const int root = schedule.pieces[1][at(piece)].root, child = 1 - root;
            auto part = sums[child].part(1, piece, child);
            bytes += 2 * part.size();
            sums[root].take_part(1, piece, root, child, std::move(part));
            sums[child].take_sum(1, piece, child, sums[root].sum(1, piece, root));
        }
        for (auto& one : sums) one.finish(1);
        if (i >= warm_ups) cpu_s_per_byte.push_back((process_cpu_s() - before_s) / static_cast<double>(bytes));
    }
    return summarize(std::move(cpu_s_per_byte)).median;
}

}  // namespace

void measure_nodes(const Experiment& experiment, const RankSchedule& schedule, int workers,
                   const std::function<void()>& together, int rank, RankProbe& probe) {
    auto nodes = build_nodes(experiment, schedule.plan, experiment.seed,
                             [&](int node) { return schedule.rank_of[static_cast<std::size_t>(node)] == rank; });
    const auto hosted = schedule.nodes_of(rank);
    std::vector<NodeSpeed> speeds(hosted.size());
    TaskGraph graph(prepare_blas() ? workers : 1, use_one_thread);
    std::map<std::string, std::mutex> gpus;  // by name: one node after the other, as the prediction has it
    for (const int index : hosted)
        if (const auto device = nodes[static_cast<std::size_t>(index)]->stage.device(); !device.is_cpu())
            gpus[device.str()];
    graph.for_each(hosted.size(), [&](std::size_t i) {
        auto& node = nodes[static_cast<std::size_t>(hosted[i])].value();
        const auto gpu = gpus.find(node.stage.device().str());
        const auto alone = gpu == gpus.end() ? std::unique_lock<std::mutex>() : std::unique_lock(gpu->second);
        node.refresh();
        speeds[i] = measure_node(experiment, node, hosted[i]);
    });
    probe.nodes = std::move(speeds);
    std::vector<StageCopies> stages(schedule.plan.stages.size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        for (const int node : schedule.plan.stages[stage])
            if (schedule.rank_of[static_cast<std::size_t>(node)] == rank) {
                stages[stage].nodes.push_back(&nodes[static_cast<std::size_t>(node)].value());
                stages[stage].tokens = 1;
            }
    probe.step_s = measure_step(experiment, stages, graph, together);
    const auto is_on_gpu = [&](int node) { return !nodes[static_cast<std::size_t>(node)]->stage.device().is_cpu(); };
    if (!hosted.empty() && std::all_of(hosted.begin(), hosted.end(), is_on_gpu))
        probe.copy_bytes_per_s =
            device_copy_bytes_per_s(nodes[static_cast<std::size_t>(hosted.front())]->stage.device());
    if (experiment.costs.all_reduce != AllReduceRule::planned) return;
    // On a worker's thread, as in training: others would count threads of LibTorch that wait.
    graph.for_each(1, [&](std::size_t) { probe.reduction_cpu_s_per_byte = measure_sums(experiment); });
}

}  // namespace skippipe
