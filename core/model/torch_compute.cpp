// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/torch_compute.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/experiment/counts.h"
#include "core/model/blas.h"
#include "core/model/node_build.h"
#include "core/model/optimizer.h"
#include "core/model/reduction.h"
#include "core/model/wire.h"

namespace skippipe {

namespace {

std::vector<float> to_vector(const torch::Tensor& flat) {
    const auto values = flat.to(torch::kCPU).contiguous();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

void set_values(torch::Tensor& flat, const std::vector<float>& values, const char* name) {
    if (static_cast<std::int64_t>(values.size()) != flat.numel())
        throw std::logic_error(fmt::format("{}: {} values for a stage of {}", name, values.size(), flat.numel()));
    torch::NoGradGuard no_gradient;
    flat.copy_(torch::from_blob(const_cast<float*>(values.data()), {flat.numel()}));
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
    const auto x = a.to(torch::kCPU).contiguous(), y = b.to(torch::kCPU).contiguous();
    return x.numel() == y.numel() && std::memcmp(x.data_ptr<float>(), y.data_ptr<float>(),
                                                 static_cast<std::size_t>(x.numel()) * sizeof(float)) == 0;
}

std::span<const std::byte> bytes_of(const torch::Tensor& x) {
    return std::as_bytes(std::span(x.data_ptr<float>(), static_cast<std::size_t>(x.numel())));
}

std::span<std::byte> writable_bytes_of(torch::Tensor& x) {
    return std::as_writable_bytes(std::span(x.data_ptr<float>(), static_cast<std::size_t>(x.numel())));
}

/// One process for all of a plan's nodes, numbered as in the topology.
RankSchedule alone(const Experiment& experiment, const Plan& plan) {
    return one_rank_schedule(static_cast<int>(experiment.topology.nodes.size()), plan);
}

Experiment with_seed(Experiment experiment, std::uint64_t seed) {
    experiment.seed = seed;
    return experiment;
}

}  // namespace

struct TorchCompute::Implementation {
    Implementation(const Experiment& given, const RankSchedule& given_schedule, int given_rank,
                   std::optional<Batches> given_batches, int workers)
        : experiment(given),
          schedule(given_schedule),
          rank(given_rank),
          batches(std::move(given_batches)),
          nodes(build_nodes(experiment, schedule.plan, experiment.seed,
                            [&](int node) { return schedule.rank_of.at(at(node)) == rank; })),
          steps(schedule.plan.stages.size(), 0),
          sums_graph(prepare_blas() ? workers : 1, use_one_thread),
          graph(prepare_blas() ? workers : 1, use_one_thread) {
        if (batches) require_vocabulary(experiment, *batches);
        expect_microbatches();
    }

    /// Only in here, and while nothing runs, the maps change.
    void expect_microbatches() {
        microbatches.clear();
        for (const auto& path : schedule.plan.paths)
            for (const int node : path.nodes)
                if (schedule.rank_of[at(node)] == rank) microbatches[path.microbatch].path = path.nodes;
    }

    NodeState& node(int index) { return nodes.at(at(index)).value(); }
    NodeState& first_node(int stage) { return node(schedule.plan.stages[at(stage)].front()); }
    int first_rank(int stage) const { return schedule.rank_of[at(schedule.plan.stages[at(stage)].front())]; }
    bool hosted(int index) const { return index >= 0 && at(index) < nodes.size() && nodes[at(index)].has_value(); }
    std::int64_t width() const { return experiment.model.width; }
    WireType wire() const { return experiment.costs.wire; }
    std::int64_t tokens_of(int microbatch) const {
        return std::int64_t{samples_of(experiment.pipeline, microbatch)} * experiment.model.sequence;
    }
    /// This rank's copies of a stage, in the plan's order; empty where it hosts none.
    StageCopies copies_of(int stage) {
        StageCopies copies;
        for (const int index : schedule.plan.stages[at(stage)])
            if (hosted(index)) {
                copies.nodes.push_back(&node(index));
                copies.tokens += node(index).tokens;
            }
        return copies;
    }

    void require_next(const ComputeTask& task, const MicrobatchState& state) const;
    std::function<void()> work(const ComputeTask& task, NodeState& node, MicrobatchState& state);
    double validation_loss(int first, int count, RankTransport& transport);
    torch::Tensor pass_on(torch::Tensor x, int from, int to, int rows, RankTransport& transport) const;

    Experiment experiment;
    RankSchedule schedule;
    int rank = 0, iteration = 0;
    std::optional<Batches> batches;
    std::vector<std::optional<NodeState>> nodes;
    std::vector<long long> steps;                 ///< of each stage's optimizer
    std::map<int, MicrobatchState> microbatches;  ///< those that pass here
    std::map<int, Residuals> residuals;           ///< of their messages from here
    TaskGraph sums_graph;                         ///< reductions, beside operations
    TaskGraph graph;                              ///< last: its threads end before what they work on
};

void TorchCompute::Implementation::require_next(const ComputeTask& task, const MicrobatchState& state) const {
    const auto kind = task.operation.kind;
    const auto refuse = [&](const char* why) {
        throw std::logic_error(
            fmt::format("{} on node {} at hop {}: {}", to_string(task.operation), task.node, task.hop, why));
    };
    if (!hosted(task.node) || nodes[at(task.node)]->stage.stage() != task.stage)
        refuse("the node does not host that stage");
    if (task.hop < 0 || at(task.hop) >= state.visits.size() || state.path[at(task.hop)] != task.node)
        refuse("the microbatch does not pass there");
    const auto& visit = state.visits[at(task.hop)];
    const auto before = [&](std::size_t hop, bool Visit::*done) {
        return hop >= state.visits.size() || !hosted(state.path[hop]) || state.visits[hop].*done;
    };
    const auto hop = at(task.hop);
    const bool first_here = kind == OpKind::F   ? visit.forward_submitted
                            : kind == OpKind::L ? state.loss_submitted
                            : kind == OpKind::W ? !visit.input_gradient_task
                                                : visit.backward_submitted;
    if (first_here) refuse(kind == OpKind::W ? "its I comes first" : "it ran already");
    if (kind == OpKind::F && hop > 0 && !before(hop - 1, &Visit::forward_submitted))
        refuse("the hop before comes first");
    if (kind == OpKind::L && (hop != 0 || !before(state.visits.size() - 1, &Visit::forward_submitted)))
        refuse("the last forward comes first");
    if ((kind == OpKind::B || kind == OpKind::I) &&
        (!visit.forward_submitted || !before(hop + 1, &Visit::backward_submitted) ||
         (hosted(state.path.front()) && !state.loss_submitted)))
        refuse("the loss and the hops behind come first");
}

std::function<void()> TorchCompute::Implementation::work(const ComputeTask& task, NodeState& node,
                                                         MicrobatchState& state) {
    Visit* visit = &state.visits[at(task.hop)];
    const auto decode = [this, task, &state, visit] {
        if (visit->arrived.size() > 0)
            put_message(state, std::exchange(visit->arrived, Buffer{}).data(), tokens_of(task.operation.microbatch),
                        width(), wire());
    };
    switch (task.operation.kind) {
        case OpKind::F:
            return [this, decode, task, &node, &state, visit] {
                decode();
                state.token_count = tokens_of(task.operation.microbatch);
                if (task.hop == 0)
                    set_tokens(batches.value().batch(iteration, task.operation.microbatch), node.stage.device(),
                               state.tokens, state.targets);
                run_forward(node, state, *visit, wire());
            };
        case OpKind::L: return [this, decode, &node, &state] { decode(), run_loss(node, state, wire()); };
        case OpKind::B:
            return [this, decode, &node, &state, visit] { decode(), run_backward(node, state, *visit, wire()); };
        case OpKind::I:
            return [this, decode, &node, &state, visit] { decode(), run_input_gradient(node, state, *visit, wire()); };
        case OpKind::W: return [&node, &state, visit] { run_weight_gradient(node, state, *visit); };
    }
    throw std::logic_error("unknown operation");
}

TorchCompute::TorchCompute(const Experiment& experiment, const RankSchedule& schedule, int rank,
                           std::optional<Batches> batches, int workers)
    : implementation_(std::make_unique<Implementation>(experiment, schedule, rank, std::move(batches), workers)) {}

TorchCompute::TorchCompute(const Experiment& experiment, const Plan& plan, Batches batches, std::uint64_t seed,
                           int workers)
    : TorchCompute(with_seed(experiment, seed), alone(experiment, plan), 0, std::move(batches), workers) {}

TorchCompute::~TorchCompute() = default;

bool TorchCompute::needs_data(const RankSchedule& schedule, int rank) {
    const auto& data_nodes = schedule.plan.stages.front();
    return std::any_of(data_nodes.begin(), data_nodes.end(),
                       [&](int node) { return schedule.rank_of[at(node)] == rank; });
}

void TorchCompute::follow(const RankSchedule& schedule) {
    implementation_->schedule = schedule;
    implementation_->residuals.clear();
    implementation_->expect_microbatches();
}

void TorchCompute::begin_iteration(int iteration) {
    auto& self = *implementation_;
    self.graph.wait();
    self.iteration = iteration;
    for (auto& [microbatch, state] : self.microbatches) {
        auto path = std::move(state.path);
        state = {};
        state.path = std::move(path);
        state.visits.resize(state.path.size());
        for (std::size_t hop = 0; hop < state.path.size(); ++hop) state.visits[hop].node = state.path[hop];
        state.residuals = &self.residuals[microbatch];
    }
    std::vector<NodeState*> all;
    for (auto& node : self.nodes)
        if (node) all.push_back(&*node);
    self.graph.for_each(all.size(), [&](std::size_t i) {
        all[i]->stage.gradient().zero_();
        all[i]->tokens = 0;
        all[i]->last_task.reset();
    });
}

void TorchCompute::submit(const ComputeTask& task, Buffer input, Completion completed) {
    auto& self = *implementation_;
    auto& state = self.microbatches.at(task.operation.microbatch);
    self.require_next(task, state);
    const auto kind = task.operation.kind;
    auto& on = self.node(task.node);
    auto& visit = state.visits[at(task.hop)];
    if (input.size() > 0) visit.arrived = std::move(input);
    std::vector<TaskGraph::Id> after;
    if (on.last_task) after.push_back(*on.last_task);
    const auto before = kind == OpKind::W ? std::exchange(visit.input_gradient_task, std::nullopt) : state.last_task;
    if (before) after.push_back(*before);
    const auto name = name_of(task, self.experiment.topology.nodes.at(at(task.node)).id);
    const auto run = [work = self.work(task, on, state), name, completed = std::move(completed)] {
        run_task(name, work, completed);
    };
    const auto id = self.graph.add(run, after);
    on.last_task = id;
    if (kind == OpKind::W) return;
    state.last_task = id;
    if (kind == OpKind::F) visit.forward_submitted = true;
    if (kind == OpKind::L) state.loss_submitted = true;
    if (kind == OpKind::B || kind == OpKind::I) visit.backward_submitted = true;
    if (kind == OpKind::I) visit.input_gradient_task = id;
}

std::size_t TorchCompute::message_bytes(const Operation& operation) const {
    const auto& self = *implementation_;
    return wire_bytes(self.wire(), self.tokens_of(operation.microbatch), self.width());
}

Buffer TorchCompute::take_message(const RankTransfer& transfer) {
    auto& self = *implementation_;
    Buffer bytes(message_bytes(transfer.operation));
    const auto kind = transfer.operation.kind;
    skippipe::take_message(self.microbatches.at(transfer.operation.microbatch), transfer.to_node,
                           kind == OpKind::B || kind == OpKind::I, self.wire(), bytes.data());
    return bytes;
}

void TorchCompute::wait() { implementation_->graph.wait(); }

StageSum TorchCompute::reduce(int stage, RankTransport& transport) {
    auto& self = *implementation_;
    auto copies = self.copies_of(stage);
    try {
        StageSum sum;
        const auto mine = static_cast<double>(copies.tokens);
        copies.tokens = 0;
        for (const auto& of_rank : transport.gather_stage(stage, {mine, transport.now_s()})) {
            copies.tokens += static_cast<std::int64_t>(of_rank[0]);
            sum.all_ready_s = std::max(sum.all_ready_s, of_rank[1]);
        }
        sum.tokens = copies.tokens;
        if (sum.tokens == 0) return sum;
        if (self.schedule.ranks == 1) {
            sum.squared_norm = reduce_gradient(copies, ReductionPass::both, self.sums_graph);
            return sum;
        }
        reduce_gradient(copies, ReductionPass::add, self.sums_graph);
        auto& gradient = copies.nodes.front()->stage.gradient();
        auto staged = gradient.to(torch::kCPU);
        transport.all_reduce(stage, {staged.data_ptr<float>(), static_cast<std::size_t>(staged.numel())});
        if (!gradient.device().is_cpu()) gradient.copy_(staged);
        sum.squared_norm = reduce_gradient(copies, ReductionPass::divide, self.sums_graph);
        return sum;
    } catch (const std::exception& error) {
        throw ComputeError(fmt::format("reducing the gradient of stage {} on rank {}", stage, self.rank), error.what());
    }
}

RankLoss TorchCompute::loss() const {
    RankLoss result;
    for (const auto& [microbatch, state] : implementation_->microbatches) {
        result.sum_nats += state.loss;
        result.tokens += state.loss_tokens;
    }
    return result;
}

void TorchCompute::step(int iteration, const std::vector<StageSum>& sums) {
    auto& self = *implementation_;
    std::vector<double> squared;
    for (const auto& sum : sums) squared.push_back(sum.squared_norm);
    const auto factors = clip_factors(self.experiment.training, squared);
    std::vector<StageCopies> stages(sums.size());
    std::vector<kernels::AdamW> parameters(sums.size());
    for (std::size_t stage = 0; stage < sums.size(); ++stage) {
        if (sums[stage].tokens == 0) continue;
        ++self.steps[stage];
        stages[stage] = self.copies_of(static_cast<int>(stage));
        if (stages[stage].nodes.empty()) continue;
        stages[stage].tokens = sums[stage].tokens;
        parameters[stage] = step_parameters(self.experiment.training, iteration, self.steps[stage]);
        parameters[stage].gradient_scale = factors[stage];
    }
    try {
        step_stages(stages, parameters, self.graph);
    } catch (const std::exception& error) {
        throw ComputeError(fmt::format("the optimizer's step on rank {}", self.rank), error.what());
    }
}

torch::Tensor TorchCompute::Implementation::pass_on(torch::Tensor x, int from, int to, int rows,
                                                    RankTransport& transport) const {
    if (from == to) return x;
    if (from == rank) {
        transport.send_to(to, bytes_of(x.to(torch::kCPU).contiguous()));
    } else if (to == rank) {
        x = torch::empty({rows, width()});
        transport.receive_from(from, writable_bytes_of(x));
    }
    return x;
}

double TorchCompute::Implementation::validation_loss(int first, int count, RankTransport& transport) {
    torch::NoGradGuard no_gradient;
    torch::Tensor tokens, targets, x;
    const int home = first_rank(0), rows = count * experiment.model.sequence;
    if (rank == home) {
        set_tokens(batches.value().validation(first, count), first_node(0).stage.device(), tokens, targets);
        x = first_node(0).stage.embed(tokens);
    }
    int where = home;
    for (int stage = 0; at(stage) < schedule.plan.stages.size(); ++stage) {
        x = pass_on(std::move(x), where, first_rank(stage), rows, transport);
        where = first_rank(stage);
        if (where == rank) x = evaluate(first_node(stage), x.to(first_node(stage).stage.device()));
    }
    x = pass_on(std::move(x), where, home, rows, transport);
    return rank == home ? evaluate_loss(first_node(0), x.to(first_node(0).stage.device()), targets) : 0;
}

ValidationResult TorchCompute::validate(RankTransport& transport) {
    auto& self = *implementation_;
    use_one_thread();
    // Only a rank that has the data knows how many samples are held out, and how much text they are.
    const auto known = transport.all_gather({self.batches ? static_cast<double>(self.batches->validation_samples()) : 0,
                                             self.batches ? self.batches->bytes_per_token() : 0});
    const auto& home = known.at(at(self.first_rank(0)));
    const int total = static_cast<int>(home[0]), each = std::max(1, self.experiment.pipeline.microbatch_samples);
    std::vector<double> losses(at((total + each - 1) / each));
    const auto one = [&](std::size_t i) {
        const int first = static_cast<int>(i) * each;
        losses[i] = self.validation_loss(first, std::min(each, total - first), transport);
    };
    // Ranks meet for each in one order; a rank alone does them side by side.
    if (transport.ranks() == 1)
        self.graph.for_each(losses.size(), one);
    else
        for (std::size_t i = 0; i < losses.size(); ++i) one(i);
    double sum = 0;
    for (const double loss : losses) sum += loss;
    if (transport.ranks() > 1) sum = transport.all_gather({sum}).at(at(self.first_rank(0))).front();
    const double mean = sum / (static_cast<double>(total) * self.experiment.model.sequence);
    return {.loss_nats = mean, .bits_per_byte = home[1] > 0 ? mean / std::numbers::ln2 / home[1] : 0};
}

std::vector<float> TorchCompute::weights(int node) const {
    return to_vector(implementation_->node(node).stage.weights());
}

StageState TorchCompute::state(int node) const {
    const auto& of = implementation_->node(node);
    return {to_vector(of.stage.weights()), to_vector(of.m), to_vector(of.v),
            implementation_->steps.at(at(of.stage.stage()))};
}

void TorchCompute::set_state(int node, const StageState& state) {
    auto& of = implementation_->node(node);
    set_values(of.stage.weights(), state.weights, "weights");
    set_values(of.m, state.m, "AdamW's first moment");
    set_values(of.v, state.v, "AdamW's second moment");
    implementation_->steps.at(at(of.stage.stage())) = state.steps;
}

std::vector<MessageResidual> TorchCompute::residuals() const {
    std::vector<MessageResidual> all;
    for (const auto& [microbatch, messages] : implementation_->residuals)
        for (const auto& [message, values] : messages) {
            const auto [from, to, gradient] = message;
            all.push_back({microbatch, from, to, gradient, to_vector(values)});
        }
    return all;
}

void TorchCompute::set_residuals(const std::vector<MessageResidual>& residuals) {
    auto& self = *implementation_;
    self.residuals.clear();
    for (const auto& one : residuals) {
        if (!self.hosted(one.from_node)) continue;
        const auto size = static_cast<std::int64_t>(one.values.size());
        if (size != self.tokens_of(one.microbatch) * self.width())
            throw std::logic_error(fmt::format("what rounding left of microbatch {} has {} values for {} tokens of {}",
                                               one.microbatch, size, self.tokens_of(one.microbatch), self.width()));
        auto values = torch::empty({size});
        set_values(values, one.values, "what rounding left");
        self.residuals[one.microbatch][{one.from_node, one.to_node, one.gradient}] = std::move(values);
    }
}

const RankSchedule& TorchCompute::schedule() const { return implementation_->schedule; }

int TorchCompute::threads() const { return implementation_->graph.threads(); }

std::vector<float> TorchCompute::reduced_gradient(int stage) const {
    return to_vector(implementation_->copies_of(stage).nodes.at(0)->stage.gradient());
}

int TorchCompute::most_held(int node) const { return implementation_->node(node).most_held; }

bool TorchCompute::replicas_equal() const {
    for (int stage = 0; at(stage) < implementation_->schedule.plan.stages.size(); ++stage) {
        const auto copies = implementation_->copies_of(stage);
        for (const auto* node : copies.nodes) {
            const auto& first = *copies.nodes.front();
            if (!same_bits(node->stage.weights(), first.stage.weights()) || !same_bits(node->m, first.m) ||
                !same_bits(node->v, first.v))
                return false;
        }
    }
    return true;
}

}  // namespace skippipe
