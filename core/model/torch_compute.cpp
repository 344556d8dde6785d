// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/torch_compute_state.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/engine/device_task.h"
#include "core/model/optimizer.h"
#include "core/model/torch_piece_sums.h"

namespace skippipe {

namespace {

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
    const int step = state.step_of(kind, task.hop), forward = task.hop;
    if (kind == OpKind::W) {
        if (!visit.weight_gradient_due) refuse("its I comes first");
        return;
    }
    if (state.submitted[at(step)] != 0) refuse("it ran already");
    if (step > state.length() && state.submitted[at(forward)] == 0) refuse("its forward comes first");
    // What was lost is run again from what was kept, whoever ran it before.
    if (disturbed || step == 0) return;
    const int node_before = step == state.length()       ? state.path.back()
                            : step < state.length()      ? state.path[at(step - 1)]
                            : step == state.length() + 1 ? state.path.front()
                                                         : state.path[at(2 * state.length() - step + 1)];
    if (hosted(node_before) && state.submitted[at(step - 1)] == 0) refuse("what comes before it has not run");
}

std::function<void()> TorchCompute::Implementation::work(const ComputeTask& task, NodeState& node,
                                                         MicrobatchState& state) {
    Visit* visit = &state.visits[at(task.hop)];
    const auto decode = [this, task, &node, &state, visit] {
        if (visit->arrived.size() > 0)
            put_message(state, state.step_of(task.operation.kind, task.hop),
                        std::exchange(visit->arrived, Buffer{}).data(),
                        {tokens_of(task.operation.microbatch), width(), wire()}, node.stage.device());
    };
    const auto read = [this, task, &node, &state] {
        set_tokens(batches.value().batch(iteration, task.operation.microbatch), node.stage.device(), state.tokens,
                   state.targets);
    };
    switch (task.operation.kind) {
        case OpKind::F:
            return [this, decode, read, task, &node, &state, visit] {
                decode();
                state.token_count = tokens_of(task.operation.microbatch);
                if (task.hop == 0) read();
                run_forward(node, state, *visit, wire());
            };
        case OpKind::L:
            return [this, decode, read, &node, &state] {
                decode();
                // Where the data node is lost, the loss may be due here before the first forward has run again; its
                // targets may be on another device then.
                if (!state.targets.defined() || state.targets.device() != node.stage.device()) read();
                run_loss(node, state, wire());
            };
        case OpKind::B:
            return [this, decode, &node, &state, visit] { decode(), run_backward(node, state, *visit, wire()); };
        case OpKind::I:
            return [this, decode, &node, &state, visit] { decode(), run_input_gradient(node, state, *visit, wire()); };
        case OpKind::W: return [&node, &state, visit] { run_weight_gradient(node, state, *visit); };
    }
    throw std::logic_error("unknown operation");
}

TorchCompute::TorchCompute(const Experiment& experiment, const RankSchedule& schedule, int rank,
                           std::optional<Batches> batches, int workers, QueueOfDevice queues)
    : implementation_(std::make_unique<Implementation>(experiment, schedule, rank, std::move(batches), workers,
                                                       std::move(queues))) {
    implementation_->piece_sums = std::make_unique<TorchPieceSums>(*implementation_);
}

TorchCompute::TorchCompute(const Experiment& experiment, const Plan& plan, Batches batches, std::uint64_t seed,
                           int workers)
    : TorchCompute(with_seed(experiment, seed), alone(experiment, plan), 0, std::move(batches), workers) {}

TorchCompute::~TorchCompute() = default;

bool TorchCompute::needs_data(const Experiment& experiment, const RankSchedule& schedule, int rank) {
    if (nodes_may_move(experiment)) return true;
    const auto& data_nodes = schedule.plan.stages.front();
    return std::any_of(data_nodes.begin(), data_nodes.end(),
                       [&](int node) { return schedule.rank_of[at(node)] == rank; });
}

/// What nodes hold of an iteration that could not go on.
void TorchCompute::Implementation::give_up_all() {
    for (auto& [microbatch, state] : microbatches)
        for (auto& visit : state.visits)
            if (hosted(visit.node)) give_up(node(visit.node), visit);
}

void TorchCompute::follow(const RankSchedule& schedule) {
    implementation_->settle();
    implementation_->give_up_all();
    implementation_->schedule = schedule;
    implementation_->residuals.clear();
    implementation_->expect_microbatches();
}

void TorchCompute::Implementation::take_path(int microbatch, MicrobatchState& state,
                                             const std::vector<NodeIndex>& path) {
    state.begin(path);
    state.residuals = &residuals[microbatch];
    state.keeps_inputs = keeps_inputs;
}

void TorchCompute::begin_iteration(int iteration) {
    auto& self = *implementation_;
    self.graph.wait();
    self.iteration = iteration;
    self.give_up_all();
    self.gradient_feedback.give_up();
    if (std::exchange(self.disturbed, false)) self.expect_microbatches();
    for (auto& [microbatch, state] : self.microbatches) {
        const auto path = std::move(state.path);
        state = {};
        self.take_path(microbatch, state, path);
    }
    std::vector<NodeState*> all;
    for (auto& node : self.nodes)
        if (node) all.push_back(&*node);
    self.graph.for_each(all.size(), [&](std::size_t i) {
        all[i]->refresh();
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
    const auto run = [work = self.work(task, on, state), name, completed = std::move(completed),
                      queue = self.queues[at(task.node)].get()] {
        queue ? run_on_device(name, work, completed, *queue) : run_task(name, work, completed);
    };
    const auto id = self.graph.add(run, after);
    on.last_task = id;
    if (kind == OpKind::W || kind == OpKind::I) visit.weight_gradient_due = kind == OpKind::I;
    if (kind == OpKind::W) return;
    state.last_task = id;
    const auto step = at(state.step_of(kind, task.hop));
    state.submitted[step] = 1;
    // What runs again does so for itself: who had its result before still has it.
    if (step + 1 < state.arrived.size() && task.operation.attempt == 0) state.arrived[step + 1] = 0;
    if (kind == OpKind::I) visit.input_gradient_task = id;
}

/// While nothing runs here: until devices have done what was queued.
void TorchCompute::Implementation::wait_for_devices() {
    for (const auto& queue : queues) {
        if (!queue) continue;
        queue->make_current();
        queue->record()->wait();
    }
}

/// Waits for what runs; nothing that is submitted later depends on it.
void TorchCompute::Implementation::settle() {
    graph.wait();
    for (auto& node : nodes)
        if (node) node->last_task.reset();
    for (auto& [microbatch, state] : microbatches) {
        state.last_task.reset();
        for (auto& visit : state.visits) visit.input_gradient_task.reset();
    }
}

std::size_t TorchCompute::message_bytes(const Operation& operation) const {
    const auto& self = *implementation_;
    return wire_bytes(self.wire(), self.tokens_of(operation.microbatch), self.width());
}

Buffer TorchCompute::take_message(const RankTransfer& transfer) {
    auto& self = *implementation_;
    Buffer bytes(message_bytes(transfer.operation));
    auto& state = self.microbatches.at(transfer.operation.microbatch);
    const auto hop = std::find(state.path.begin(), state.path.end(), transfer.to_node) - state.path.begin();
    skippipe::take_message(state, state.step_of(transfer.operation.kind, static_cast<int>(hop)), transfer.to_node,
                           self.wire(), bytes.data());
    return bytes;
}

void TorchCompute::wait() { implementation_->graph.wait(); }

StageSum TorchCompute::reduce(int stage, RankTransport& transport) {
    auto& self = *implementation_;
    auto copies = self.copies_of(stage);
    if (self.sums_rounded()) return self.piece_sums->reduce_alone(stage, self.pieces_of(stage));
    try {
        StageSum sum;
        const auto mine = static_cast<double>(copies.tokens);
        copies.tokens = 0;
        for (const auto& of_rank : transport.gather_stage(stage, {mine, transport.now_s()})) {
            copies.tokens += static_cast<std::int64_t>(of_rank[0]);
            sum.all_ready_s = std::max(sum.all_ready_s, of_rank[1]);
        }
        sum.tokens = copies.tokens;
        if (sum.tokens == 0) {
            if (copies.apart.defined()) copies.apart.zero_();
            transport.all_reduce(stage, {});
            return sum;
        }
        if (self.schedule.ranks == 1) {
            sum.squared_norm = reduce_gradient(copies, ReductionPass::both, self.sums_graph);
            return sum;
        }
        reduce_gradient(copies, ReductionPass::add, self.sums_graph);
        auto& gradient = copies.sum();
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
        result.sum_nats += state.loss + (state.device_loss.defined() ? state.device_loss.item<double>() : 0);
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
        parameters[stage].learning_rate *= self.learning_rates[stage];
        parameters[stage].gradient_scale = factors[stage];
    }
    for (std::size_t stage = 0; stage < sums.size(); ++stage)
        for (const int node : self.schedule.plan.stages[stage])
            if (sums[stage].tokens > 0) self.gradient_feedback.commit(node);
    try {
        step_stages(stages, parameters, self.graph);
        self.wait_for_devices();
    } catch (const std::exception& error) {
        throw ComputeError(fmt::format("the optimizer's step on rank {}", self.rank), error.what());
    }
    // The commit point: nobody will take another's place in this iteration any more.
    for (auto& [microbatch, state] : self.microbatches)
        for (auto& input : state.inputs) input = {};
}

double TorchCompute::kept_bytes() const {
    double bytes = 0;
    for (const auto& [microbatch, state] : implementation_->microbatches)
        for (const auto& input : state.inputs)
            if (input.values.defined()) bytes += static_cast<double>(input.values.nbytes());
    return bytes;
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
        if (schedule.plan.stages[at(stage)].empty() && last_lost(stage) < 0) continue;  // nobody has its weights
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
    for (auto& node : self.nodes)
        if (node) node->refresh();
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

const RankSchedule& TorchCompute::schedule() const { return implementation_->schedule; }

int TorchCompute::threads() const { return implementation_->graph.threads(); }

int TorchCompute::most_held(int node) const { return implementation_->node(node).most_held; }

}  // namespace skippipe
