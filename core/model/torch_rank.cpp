// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/torch_rank.h"

#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "core/experiment/validate.h"
#include "core/model/blas.h"
#include "core/model/node_build.h"
#include "core/model/optimizer.h"
#include "core/model/reduction.h"
#include "core/model/wire.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::span<float> values_of(torch::Tensor& flat) {
    return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}

}  // namespace

/// A microbatch's stay on this rank.
struct LocalJourney {
    Journey journey;
    Buffer arrived;  ///< a message not yet decoded
};

struct TorchRank::Implementation {
    Implementation(const Experiment& given, const RankSchedule& given_schedule, int given_rank,
                   std::optional<Batches> given_batches, int workers)
        : experiment(given),
          schedule(given_schedule),
          rank(given_rank),
          batches(std::move(given_batches)),
          nodes(build_nodes(experiment, schedule.plan, experiment.seed,
                            [&](int node) { return schedule.rank_of[at(node)] == rank; })),
          steps(schedule.plan.stages.size(), 0),
          graph(prepare_blas() ? workers : 1, use_one_thread) {
        if (batches) require_vocabulary(experiment, *batches);
        expect_journeys();
    }

    void expect_journeys() {
        journeys.clear();
        residuals.clear();
        for (const auto& path : schedule.plan.paths)
            for (const int node : path.nodes)
                if (schedule.rank_of[at(node)] == rank)
                    journeys[path.microbatch].journey.visits.resize(path.nodes.size());
    }

    NodeState& node(int index) { return nodes.at(at(index)).value(); }
    std::int64_t tokens_of(int microbatch) const {
        return std::int64_t{samples_of(experiment.pipeline, microbatch)} * experiment.model.sequence;
    }
    std::int64_t width() const { return experiment.model.width; }
    WireType wire() const { return experiment.costs.wire; }

    /// This rank's copies of a stage, in the plan's order; empty where it hosts none.
    StageCopies copies_of(int stage) {
        StageCopies copies;
        for (const int index : schedule.plan.stages[at(stage)])
            if (nodes[at(index)]) copies.nodes.push_back(&node(index));
        return copies;
    }
    int first_rank(std::size_t stage) const { return schedule.rank_of[at(schedule.plan.stages[stage].front())]; }
    NodeState& first_node(std::size_t stage) { return node(schedule.plan.stages[stage].front()); }

    void run(const ComputeTask& task);
    double validation_loss(int first, int count, RankTransport& transport);
    torch::Tensor pass_on(torch::Tensor x, int from, int to, int rows, RankTransport& transport) const;

    Experiment experiment;
    RankSchedule schedule;
    int rank = 0, iteration = 0;
    std::optional<Batches> batches;
    std::vector<std::optional<NodeState>> nodes;
    std::vector<long long> steps;
    std::map<int, LocalJourney>
        journeys;  ///< of the microbatches that pass here; during an iteration the map itself never changes
    std::map<int, Residuals> residuals;  ///< of those microbatches' messages from here
    TaskGraph graph;                     ///< last: its threads end before what they work on
};

void TorchRank::Implementation::run(const ComputeTask& task) {
    auto& local = journeys.at(task.operation.microbatch);
    auto& journey = local.journey;
    auto& on = node(task.node);
    auto& visit = journey.visits.at(at(task.hop));
    if (local.arrived.size() > 0)
        put_message(journey, std::exchange(local.arrived, Buffer{}).data(), tokens_of(task.operation.microbatch),
                    width(), wire());
    switch (task.operation.kind) {
        case OpKind::F:
            visit.node = task.node;
            if (task.hop == 0)
                set_tokens(batches.value().batch(iteration, task.operation.microbatch), on.stage.device(),
                           journey.tokens, journey.targets);
            journey.token_count = tokens_of(task.operation.microbatch);
            return run_forward(on, journey, visit, wire());
        case OpKind::L: return run_loss(on, journey, wire());
        case OpKind::B: return run_backward(on, journey, visit, wire());
        case OpKind::I: return run_input_gradient(on, journey, visit, wire());
        case OpKind::W: return run_weight_gradient(on, journey, visit);
    }
}

TorchRank::TorchRank(const Experiment& experiment, const RankSchedule& schedule, int rank,
                     std::optional<Batches> batches, int workers)
    : implementation_(std::make_unique<Implementation>(experiment, schedule, rank, std::move(batches), workers)) {}

TorchRank::~TorchRank() = default;

bool TorchRank::needs_data(const RankSchedule& schedule, int rank) {
    for (const int node : schedule.plan.stages.front())
        if (schedule.rank_of[at(node)] == rank) return true;
    return false;
}

std::function<void()> TorchRank::at_start() const { return use_one_thread; }
int TorchRank::most_workers() const { return prepare_blas() ? 0 : 1; }

void TorchRank::follow(const RankSchedule& schedule) {
    implementation_->schedule = schedule;
    implementation_->expect_journeys();
}

void TorchRank::begin_iteration(int iteration) {
    auto& self = *implementation_;
    self.iteration = iteration;
    for (auto& [microbatch, local] : self.journeys) {
        const auto visits = local.journey.visits.size();
        local = {};
        local.journey.visits.resize(visits);
        local.journey.residuals = &self.residuals[microbatch];
    }
    std::vector<NodeState*> all;
    for (auto& node : self.nodes)
        if (node) all.push_back(&*node);
    self.graph.for_each(all.size(), [&](std::size_t i) {
        all[i]->stage.gradient().zero_();
        all[i]->tokens = 0;
    });
}

void TorchRank::run(const ComputeTask& task) { implementation_->run(task); }

std::size_t TorchRank::message_bytes(const Operation& operation) const {
    const auto& self = *implementation_;
    return wire_bytes(self.wire(), self.tokens_of(operation.microbatch), self.width());
}

Buffer TorchRank::take_message(const RankTransfer& transfer) {
    auto& self = *implementation_;
    Buffer bytes(message_bytes(transfer.operation));
    const auto kind = transfer.operation.kind;
    skippipe::take_message(self.journeys.at(transfer.operation.microbatch).journey, transfer.to_node,
                           kind == OpKind::B || kind == OpKind::I, self.wire(), bytes.data());
    return bytes;
}

void TorchRank::receive(const RankTransfer& transfer, Buffer message) {
    implementation_->journeys.at(transfer.operation.microbatch).arrived = std::move(message);
}

void TorchRank::reduce(int stage, RankTransport& transport) {
    auto copies = implementation_->copies_of(stage);
    auto& sum = copies.nodes.front()->stage.gradient();
    for (std::size_t copy = 1; copy < copies.nodes.size(); ++copy) {
        torch::NoGradGuard no_gradient;
        sum.add_(copies.nodes[copy]->stage.gradient().to(sum.device()));
    }
    if (sum.device().is_cpu()) return transport.all_reduce(stage, values_of(sum));
    auto staged = sum.to(torch::kCPU);
    transport.all_reduce(stage, values_of(staged));
    sum.copy_(staged);
}

double TorchRank::squared_norm(int stage) const {
    torch::NoGradGuard no_gradient;
    const auto& sum = implementation_->copies_of(stage).nodes.front()->stage.gradient();
    if (sum.device().is_cpu())
        return kernels::sum_of_squares(sum.data_ptr<float>(), static_cast<std::size_t>(sum.numel()));
    return sum.square().sum(torch::kFloat64).item<double>();
}

RankSums TorchRank::sums() const {
    RankSums result{.stage_tokens = std::vector<std::int64_t>(implementation_->schedule.plan.stages.size(), 0)};
    for (const auto& [microbatch, local] : implementation_->journeys) {
        result.loss_sum_nats += local.journey.loss;
        result.loss_tokens += local.journey.loss_tokens;
    }
    for (std::size_t stage = 0; stage < result.stage_tokens.size(); ++stage)
        for (const auto* node : implementation_->copies_of(static_cast<int>(stage)).nodes)
            result.stage_tokens[stage] += node->tokens;
    return result;
}

void TorchRank::step(int iteration, const std::vector<std::int64_t>& tokens, const std::vector<double>& squared_norms) {
    auto& self = *implementation_;
    const auto factors = clip_factors(self.experiment.training, squared_norms);
    std::vector<StageCopies> stages(tokens.size());
    std::vector<kernels::AdamW> parameters(tokens.size());
    for (std::size_t stage = 0; stage < tokens.size(); ++stage) {
        if (tokens[stage] == 0) continue;
        ++self.steps[stage];
        stages[stage] = self.copies_of(static_cast<int>(stage));
        if (stages[stage].nodes.empty()) continue;
        stages[stage].tokens = tokens[stage];
        parameters[stage] = step_parameters(self.experiment.training, iteration, self.steps[stage]);
        parameters[stage].gradient_scale = factors[stage] / static_cast<double>(tokens[stage]);
    }
    step_stages(stages, parameters, self.graph);
}

torch::Tensor TorchRank::Implementation::pass_on(torch::Tensor x, int from, int to, int rows,
                                                 RankTransport& transport) const {
    if (from == to) return x;
    if (from == rank) {
        const auto sent = x.to(torch::kCPU).contiguous();
        transport.send_to(to, std::as_bytes(std::span(sent.data_ptr<float>(), static_cast<std::size_t>(sent.numel()))));
    } else if (to == rank) {
        x = torch::empty({rows, width()});
        transport.receive_from(from, std::as_writable_bytes(values_of(x)));
    }
    return x;
}

double TorchRank::Implementation::validation_loss(int first, int count, RankTransport& transport) {
    torch::NoGradGuard no_gradient;
    torch::Tensor tokens, targets, x;
    const int home = first_rank(0), rows = count * experiment.model.sequence;
    if (rank == home) {
        set_tokens(batches.value().validation(first, count), first_node(0).stage.device(), tokens, targets);
        x = first_node(0).stage.embed(tokens);
    }
    int where = home;
    for (std::size_t stage = 0; stage < schedule.plan.stages.size(); ++stage) {
        x = pass_on(std::move(x), where, first_rank(stage), rows, transport);
        where = first_rank(stage);
        if (where == rank) x = evaluate(first_node(stage), x.to(first_node(stage).stage.device()));
    }
    x = pass_on(std::move(x), where, home, rows, transport);
    return rank == home ? evaluate_loss(first_node(0), x.to(first_node(0).stage.device()), targets) : 0;
}

ValidationResult TorchRank::validate(RankTransport& transport) {
    auto& self = *implementation_;
    use_one_thread();
    // Only a rank that has the data knows how many samples are held out, and how much text they are.
    const auto known = transport.all_gather({self.batches ? static_cast<double>(self.batches->validation_samples()) : 0,
                                             self.batches ? self.batches->bytes_per_token() : 0});
    const auto& home = known[at(self.first_rank(0))];
    const int total = static_cast<int>(home[0]), each = std::max(1, self.experiment.pipeline.microbatch_samples);
    double sum = 0;
    for (int first = 0; first < total; first += each)
        sum += self.validation_loss(first, std::min(each, total - first), transport);
    const auto sums = transport.all_gather({sum});
    const double mean =
        sums[at(self.first_rank(0))].front() / (static_cast<double>(total) * self.experiment.model.sequence);
    return {.loss_nats = mean, .bits_per_byte = home[1] > 0 ? mean / std::numbers::ln2 / home[1] : 0};
}

std::vector<float> TorchRank::weights(int node) const {
    const auto values = implementation_->node(node).stage.weights().to(torch::kCPU).contiguous();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

}  // namespace skippipe
