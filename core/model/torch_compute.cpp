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
          learning_rates(schedule.plan.stages.size(), 1),
          sums_graph(prepare_blas() ? workers : 1, use_one_thread),
          graph(prepare_blas() ? workers : 1, use_one_thread) {
        if (batches) require_vocabulary(experiment, *batches);
        keeps_inputs = skippipe::keeps_inputs(experiment);
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
    bool is_lost(int index) const { return std::find(lost.begin(), lost.end(), index) != lost.end(); }
    /// Where all of a stage's nodes here are lost, the last of them has its newest weights on its own disk; -1: none
    /// is.
    int last_lost(int stage) const {
        const auto last = std::find_if(lost.rbegin(), lost.rend(), [&](int index) {
            return hosted(index) && nodes[at(index)]->stage.stage() == stage;
        });
        return last == lost.rend() ? -1 : *last;
    }
    /// The first of a stage's nodes that is not lost, or the one lost last.
    int first_index(int stage) const {
        for (const int index : schedule.plan.stages[at(stage)])
            if (!is_lost(index)) return index;
        if (const int last = last_lost(stage); last >= 0) return last;
        throw std::logic_error(fmt::format("stage {} has no node left", stage));
    }
    NodeState& first_node(int stage) { return node(first_index(stage)); }
    /// The node, or where it is lost one of its stage that is not, or that was lost last.
    NodeState& present(int index) {
        if (!is_lost(index)) return node(index);
        const int stage = node(index).stage.stage();
        for (std::size_t other = 0; other < nodes.size(); ++other)
            if (nodes[other] && nodes[other]->stage.stage() == stage && !is_lost(static_cast<int>(other)))
                return *nodes[other];
        return node(last_lost(stage));
    }
    int first_rank(int stage) const { return schedule.rank_of[at(first_index(stage))]; }
    /// Whether an iteration has begun and not ended.
    bool is_underway() const {
        return std::any_of(microbatches.begin(), microbatches.end(), [](const auto& one) {
            const auto& done = one.second.submitted;
            return std::any_of(done.begin(), done.end(), [](auto step) { return step != 0; }) &&
                   !std::all_of(done.begin(), done.end(), [](auto step) { return step != 0; });
        });
    }
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
            if (hosted(index) && !is_lost(index)) {
                copies.nodes.push_back(&node(index));
                copies.tokens += node(index).tokens;
            }
        return copies;
    }

    void require_next(const ComputeTask& task, const MicrobatchState& state) const;
    void settle();
    void give_up_all();
    void take_path(int microbatch, MicrobatchState& state, const std::vector<NodeIndex>& path);
    std::function<void()> work(const ComputeTask& task, NodeState& node, MicrobatchState& state);
    double validation_loss(int first, int count, RankTransport& transport);
    torch::Tensor pass_on(torch::Tensor x, int from, int to, int rows, RankTransport& transport) const;

    Experiment experiment;
    RankSchedule schedule;
    int rank = 0, iteration = 0;
    std::optional<Batches> batches;
    std::vector<std::optional<NodeState>> nodes;
    std::vector<long long> steps;                 ///< of each stage's optimizer
    std::vector<double> learning_rates;           ///< factor of each stage's
    bool keeps_inputs = false;                    ///< for what is run again where a node is lost
    bool disturbed = false;                       ///< in this iteration nodes were lost
    std::vector<int> lost;                        ///< nodes whose copies are gone, as they were lost
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
    const auto decode = [this, task, &state, visit] {
        if (visit->arrived.size() > 0)
            put_message(state, state.step_of(task.operation.kind, task.hop),
                        std::exchange(visit->arrived, Buffer{}).data(), tokens_of(task.operation.microbatch), width(),
                        wire());
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
    state.path = path;
    state.visits.resize(path.size());
    state.inputs.resize(2 * path.size() + 1);
    state.submitted.resize(2 * path.size() + 1);
    state.arrived.resize(2 * path.size() + 1);
    for (std::size_t hop = 0; hop < path.size(); ++hop) {
        state.visits[hop].node = path[hop];
        state.visits[hop].hop = static_cast<int>(hop);
    }
    state.residuals = &residuals[microbatch];
    state.keeps_inputs = keeps_inputs;
}

void TorchCompute::begin_iteration(int iteration) {
    auto& self = *implementation_;
    self.graph.wait();
    self.iteration = iteration;
    self.give_up_all();
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
    if (kind == OpKind::W || kind == OpKind::I) visit.weight_gradient_due = kind == OpKind::I;
    if (kind == OpKind::W) return;
    state.last_task = id;
    const auto step = at(state.step_of(kind, task.hop));
    state.submitted[step] = 1;
    // What runs again does so for itself: who had its result before still has it.
    if (step + 1 < state.arrived.size() && task.operation.attempt == 0) state.arrived[step + 1] = 0;
    if (kind == OpKind::I) visit.input_gradient_task = id;
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

void TorchCompute::arrived(int node, const Operation& operation) {
    auto& state = implementation_->microbatches.at(operation.microbatch);
    const auto hop = std::find(state.path.begin(), state.path.end(), node) - state.path.begin();
    state.arrived[at(state.step_of(operation.kind, static_cast<int>(hop)))] = 1;
}

/// Its gradient, what it kept of microbatches and what it had sent and never arrived are gone; so are its weights.
void TorchCompute::lose(int node) {
    auto& self = *implementation_;
    if (!self.keeps_inputs && self.is_underway())
        throw std::logic_error("nodes may be lost in an iteration only where the experiment has failures");
    self.settle();
    self.disturbed = true;
    self.lost.push_back(node);
    auto& gone = self.node(node);
    gone.stage.gradient().zero_();
    gone.tokens = 0;
    for (auto& [microbatch, state] : self.microbatches) {
        if (state.inputs.empty()) continue;  // no iteration has begun
        const int length = state.length();
        for (auto& visit : state.visits)
            if (visit.node == node) give_up(gone, visit);
        if (length > 0 && state.path.front() == node) state.loss = 0, state.loss_tokens = 0;
        for (int step = 1; step <= 2 * length; ++step) {
            auto& input = state.inputs[at(step)];
            const auto to =
                step == length ? state.path.front() : state.path[at(step < length ? step : 2 * length - step)];
            if (input.from == node && (state.arrived[at(step)] == 0 || self.is_lost(to))) input = {};
        }
    }
}

void TorchCompute::go_on(const Replan& rest) {
    auto& self = *implementation_;
    self.settle();
    const auto& residual = rest.residual;
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        const int microbatch = residual.microbatches[i];
        auto& state = self.microbatches.at(microbatch);
        const auto first = rest.residual_plan.nodes.begin() + static_cast<std::ptrdiff_t>(i) * residual.length;
        for (int hop = 0; hop < residual.length; ++hop) {
            auto& visit = state.visits[at(hop)];
            const bool moves = visit.node != first[hop];
            if (!moves && residual.holds(i, hop)) continue;
            give_up(self.node(visit.node), visit);
            visit = {};
        }
        self.take_path(microbatch, state, {first, first + residual.length});
        const auto before = state.submitted;
        for (int step = 0; step < residual.steps(); ++step)
            state.submitted[at(step)] = step < residual.next_step[at(i)] && !residual.redone(i, step);
        for (const auto& open : residual.open)  // what runs goes on; what runs again is submitted when it has ended
            if (open.index == i && open.running && !open.weight) state.submitted[at(open.step)] = before[at(open.step)];
    }
}

void TorchCompute::rebuild(int node, const std::vector<RebuildSource>& from, double learning_rate) {
    auto& self = *implementation_;
    self.settle();
    std::vector<std::pair<const Stage*, double>> sources;
    for (const auto& source : from) sources.emplace_back(&self.present(source.node).stage, source.share);
    auto& rebuilt = self.node(node);
    const auto stage = at(rebuilt.stage.stage());
    mean_blocks(rebuilt.stage, sources);
    torch::NoGradGuard no_gradient;
    rebuilt.m.zero_();
    rebuilt.v.zero_();
    self.steps.at(stage) = 0;
    self.learning_rates.at(stage) *= learning_rate;
}

void TorchCompute::rejoin(int node, int sibling) {
    implementation_->settle();
    set_state(node, state(sibling));
    std::erase(implementation_->lost, node);
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
        parameters[stage].learning_rate *= self.learning_rates[stage];
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
    return to_vector(implementation_->present(node).stage.weights());
}

StageState TorchCompute::state(int node) const {
    const auto& of = implementation_->present(node);
    return {to_vector(of.stage.weights()), to_vector(of.m), to_vector(of.v),
            implementation_->steps.at(at(of.stage.stage())), implementation_->learning_rates.at(at(of.stage.stage()))};
}

void TorchCompute::set_state(int node, const StageState& state) {
    auto& of = implementation_->node(node);
    set_values(of.stage.weights(), state.weights, "weights");
    set_values(of.m, state.m, "AdamW's first moment");
    set_values(of.v, state.v, "AdamW's second moment");
    implementation_->steps.at(at(of.stage.stage())) = state.steps;
    implementation_->learning_rates.at(at(of.stage.stage())) = state.learning_rate;
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
