// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/torch_compute.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "core/model/blas.h"
#include "core/model/node_build.h"
#include "core/model/optimizer.h"
#include "core/model/reduction.h"

namespace skippipe {

namespace {

std::vector<float> to_vector(const torch::Tensor& flat) {
    const auto values = flat.to(torch::kCPU).contiguous();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
    const auto x = a.to(torch::kCPU).contiguous(), y = b.to(torch::kCPU).contiguous();
    return x.numel() == y.numel() && std::memcmp(x.data_ptr<float>(), y.data_ptr<float>(),
                                                 static_cast<std::size_t>(x.numel()) * sizeof(float)) == 0;
}

}  // namespace

struct TorchCompute::Implementation {
    Implementation(const Experiment& given, const Plan& given_plan, Batches given_batches, std::uint64_t seed,
                   int threads)
        : experiment(given),
          stages(given_plan.stages),
          batches(std::move(given_batches)),
          graph(prepare_blas() ? threads : 1, use_one_thread) {
        require_vocabulary(experiment, batches);
        nodes = build_nodes(experiment, given_plan, seed, [](int) { return true; });
        steps.assign(stages.size(), 0);
        std::size_t longest = stages.size();
        for (const auto& path : given_plan.paths) longest = std::max(longest, path.nodes.size());
        most_visits = longest;
    }

    NodeState& node(int index) { return nodes.at(static_cast<std::size_t>(index)).value(); }
    NodeState& first_node(std::size_t stage) { return node(stages[stage].front()); }

    std::vector<StageCopies> copies() {
        std::vector<StageCopies> result(stages.size());
        for (std::size_t stage = 0; stage < stages.size(); ++stage)
            for (const int index : stages[stage]) {
                result[stage].nodes.push_back(&node(index));
                result[stage].tokens += node(index).tokens;
            }
        return result;
    }

    void submit(const ComputeTask& task);
    std::function<void()> work(const ComputeTask& task, NodeState& node, Journey& journey);
    void require_next(const ComputeTask& task, const Journey& journey) const;
    double validation_loss(int first, int count);

    Experiment experiment;
    std::vector<std::vector<int>> stages;
    Batches batches;
    std::vector<std::optional<NodeState>> nodes;
    std::vector<long long> steps;        ///< of each stage's optimizer
    std::map<int, Journey> journeys;     ///< by microbatch
    std::map<int, Residuals> residuals;  ///< the same
    std::size_t most_visits = 0;
    int iteration = 0;
    TaskGraph graph;  ///< last: its threads end before what they work on
};

void TorchCompute::Implementation::require_next(const ComputeTask& task, const Journey& journey) const {
    const auto kind = task.operation.kind;
    const auto refuse = [&](const char* why) {
        throw std::logic_error(
            fmt::format("{} on node {} at hop {}: {}", to_string(task.operation), task.node, task.hop, why));
    };
    if (task.node < 0 || static_cast<std::size_t>(task.node) >= nodes.size() ||
        !nodes[static_cast<std::size_t>(task.node)] ||
        nodes[static_cast<std::size_t>(task.node)]->stage.stage() != task.stage)
        refuse("the node does not host that stage");
    const auto hop = static_cast<std::size_t>(std::max(task.hop, 0));
    if (kind == OpKind::F) {
        if (journey.next != OpKind::F || hop != journey.visits.size() || hop >= most_visits)
            refuse("it is not the microbatch's next operation");
        if ((hop == 0) != (task.stage == 0)) refuse("a path begins in stage 0 and never comes back to it");
        return;
    }
    if (hop >= journey.visits.size() || journey.visits[hop].node != task.node)
        refuse("the microbatch did not pass there");
    if (kind == OpKind::L && (journey.next != OpKind::F || hop != 0))
        refuse("it is not the microbatch's next operation");
    if ((kind == OpKind::B || kind == OpKind::I) && (journey.next != OpKind::B || task.hop != journey.next_hop))
        refuse("it is not the microbatch's next operation");
    if (kind == OpKind::W && !journey.visits[hop].input_gradient_task) refuse("its I comes first");
}

std::function<void()> TorchCompute::Implementation::work(const ComputeTask& task, NodeState& node, Journey& journey) {
    const auto wire = experiment.costs.wire;
    Visit* visit = &journey.visits[static_cast<std::size_t>(task.hop)];
    switch (task.operation.kind) {
        case OpKind::F:
            return [this, task, wire, &node, &journey, visit] {
                if (task.hop == 0) {
                    set_tokens(batches.batch(iteration, task.operation.microbatch), node.stage.device(), journey.tokens,
                               journey.targets);
                    journey.token_count = journey.tokens.numel();
                }
                run_forward(node, journey, *visit, wire);
            };
        case OpKind::L: return [wire, &node, &journey] { run_loss(node, journey, wire); };
        case OpKind::B: return [wire, &node, &journey, visit] { run_backward(node, journey, *visit, wire); };
        case OpKind::I: return [wire, &node, &journey, visit] { run_input_gradient(node, journey, *visit, wire); };
        case OpKind::W: return [&node, &journey, visit] { run_weight_gradient(node, journey, *visit); };
    }
    throw std::logic_error("unknown operation");
}

void TorchCompute::Implementation::submit(const ComputeTask& task) {
    auto& journey = journeys[task.operation.microbatch];
    require_next(task, journey);
    const auto kind = task.operation.kind;
    if (kind == OpKind::F) {
        journey.visits.reserve(most_visits);
        journey.visits.push_back({.node = task.node});
        journey.residuals = &residuals[task.operation.microbatch];
    }
    auto& on = node(task.node);
    auto& visit = journey.visits[static_cast<std::size_t>(task.hop)];
    std::vector<TaskGraph::Id> after;
    if (on.last_task) after.push_back(*on.last_task);
    const auto before = kind == OpKind::W ? std::exchange(visit.input_gradient_task, std::nullopt) : journey.last_task;
    if (before) after.push_back(*before);
    const auto id = graph.add(work(task, on, journey), after);
    on.last_task = id;
    if (kind == OpKind::W) return;
    journey.last_task = id;
    if (kind == OpKind::I) visit.input_gradient_task = id;
    if (kind == OpKind::L) {
        journey.next = OpKind::B;
        journey.next_hop = static_cast<int>(journey.visits.size());
    }
    if (kind != OpKind::F) --journey.next_hop;
}

double TorchCompute::Implementation::validation_loss(int first, int count) {
    torch::NoGradGuard no_gradient;
    torch::Tensor tokens, targets;
    const auto& head = first_node(0);
    set_tokens(batches.validation(first, count), head.stage.device(), tokens, targets);
    auto x = head.stage.embed(tokens);
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        x = evaluate(first_node(stage), x.to(first_node(stage).stage.device()));
    return evaluate_loss(head, x.to(head.stage.device()), targets);
}

TorchCompute::TorchCompute(const Experiment& experiment, const Plan& plan, Batches batches, std::uint64_t seed,
                           int threads)
    : implementation_(std::make_unique<Implementation>(experiment, plan, std::move(batches), seed, threads)) {}

TorchCompute::~TorchCompute() = default;

void TorchCompute::begin_iteration(int iteration) {
    auto& self = *implementation_;
    self.graph.wait();
    self.iteration = iteration;
    self.journeys.clear();
    std::vector<NodeState*> all;
    for (auto& node : self.nodes)
        if (node) all.push_back(&*node);
    self.graph.for_each(all.size(), [&](std::size_t i) {
        all[i]->stage.gradient().zero_();
        all[i]->tokens = 0;
        all[i]->last_task.reset();
    });
}

void TorchCompute::submit(const ComputeTask& task) { implementation_->submit(task); }

IterationResult TorchCompute::finish_iteration() {
    auto& self = *implementation_;
    self.graph.wait();
    IterationResult result;
    for (const auto& [microbatch, journey] : self.journeys) {
        result.loss_sum_nats += journey.loss;
        result.tokens += journey.loss_tokens;
    }
    self.journeys.clear();
    auto copies = self.copies();
    for (const auto& stage : copies) result.stage_tokens.push_back(stage.tokens);
    const auto squared_norms = reduce_gradients(copies, self.graph);
    result.gradient_norm = total_norm(squared_norms);
    if (!std::isfinite(result.gradient_norm) || !std::isfinite(result.loss_sum_nats))
        throw std::runtime_error(
            fmt::format("iteration {}: the loss or its gradient is no longer a finite number; training diverged. "
                        "Lower training.learning_rate or add training.warmup_iterations",
                        self.iteration));
    const auto factors = clip_factors(self.experiment.training, squared_norms);
    std::vector<kernels::AdamW> parameters(copies.size());
    for (std::size_t stage = 0; stage < copies.size(); ++stage) {
        if (copies[stage].tokens == 0) continue;
        parameters[stage] = step_parameters(self.experiment.training, self.iteration, ++self.steps[stage]);
        parameters[stage].gradient_scale = factors[stage];
    }
    step_stages(copies, parameters, self.graph);
    return result;
}

ValidationResult TorchCompute::validate() {
    auto& self = *implementation_;
    const int total = self.batches.validation_samples(),
              each = std::max(1, self.experiment.pipeline.microbatch_samples);
    const int count = (total + each - 1) / each;
    std::vector<double> losses(static_cast<std::size_t>(count));
    self.graph.for_each(losses.size(), [&](std::size_t i) {
        const int first = static_cast<int>(i) * each;
        losses[i] = self.validation_loss(first, std::min(each, total - first));
    });
    double sum = 0;
    for (const double loss : losses) sum += loss;
    const double mean = sum / (static_cast<double>(total) * self.experiment.model.sequence);
    const double bytes = self.batches.bytes_per_token();
    return {.loss_nats = mean, .bits_per_byte = bytes > 0 ? mean / std::numbers::ln2 / bytes : 0};
}

int TorchCompute::threads() const { return implementation_->graph.threads(); }

std::vector<float> TorchCompute::reduced_gradient(int stage) const {
    return to_vector(implementation_->first_node(static_cast<std::size_t>(stage)).stage.gradient());
}

std::vector<float> TorchCompute::weights(int node) const {
    return to_vector(implementation_->node(node).stage.weights());
}

int TorchCompute::most_held(int node) const { return implementation_->node(node).most_held; }

bool TorchCompute::replicas_equal() const {
    for (const auto& copies : implementation_->copies())
        for (const auto* node : copies.nodes) {
            const auto& first = *copies.nodes.front();
            if (!same_bits(node->stage.weights(), first.stage.weights()) || !same_bits(node->m, first.m) ||
                !same_bits(node->v, first.v))
                return false;
        }
    return true;
}

}  // namespace skippipe
