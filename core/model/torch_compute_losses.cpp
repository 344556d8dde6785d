// SPDX-License-Identifier: GPL-3.0-or-later
// TorchCompute when nodes are lost: what goes with them, what is left, and with what they come back.
#include "core/model/torch_compute_state.h"

namespace skippipe {

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
    self.gradient_feedback.lose(node);
    for (auto& [microbatch, state] : self.microbatches) {
        if (state.inputs.empty()) continue;  // no iteration has begun
        const int length = state.length();
        for (auto& visit : state.visits)
            if (visit.node == node) give_up(gone, visit);
        if (length > 0 && state.path.front() == node) state.loss = 0, state.device_loss.reset(), state.loss_tokens = 0;
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
    self.disturbed = true;
    const auto& residual = rest.residual;
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        const int microbatch = residual.microbatches[i];
        const auto first = rest.residual_plan.nodes.begin() + static_cast<std::ptrdiff_t>(i) * residual.length;
        const auto last = first + residual.length;
        const bool passes_here = std::any_of(first, last, [&](int node) { return self.hosted(node); });
        if (!passes_here && !self.microbatches.contains(microbatch)) continue;
        auto& state = self.microbatches[microbatch];
        state.visits.resize(at(residual.length));
        for (int hop = 0; hop < residual.length; ++hop) {
            auto& visit = state.visits[at(hop)];
            const bool moves = visit.node != first[hop];
            if (!moves && residual.holds(i, hop)) continue;
            if (visit.held) give_up(self.node(visit.node), visit);
            visit = {};
        }
        self.take_path(microbatch, state, {first, last});
        const auto before = state.submitted;
        for (int step = 0; step < residual.steps(); ++step)
            state.submitted[at(step)] = step < residual.next_step[at(i)] && !residual.redone(i, step);
        for (const auto& open : residual.open)  // what runs goes on; what runs again is submitted when it has ended
            if (open.index == i && open.running && !open.weight) state.submitted[at(open.step)] = before[at(open.step)];
    }
}

void TorchCompute::rebuild(int node, const std::vector<NeighbourWeights>& from, double learning_rate) {
    auto& self = *implementation_;
    self.settle();
    std::vector<BlockSource> sources;
    for (const auto& source : from) {
        const int blocks = self.schedule.plan.blocks[at(source.stage)];
        sources.push_back({stage_segments(self.experiment.model, source.stage, blocks), blocks, source.share,
                           torch::from_blob(const_cast<float*>(source.weights.data()),
                                            {static_cast<std::int64_t>(source.weights.size())})});
        const auto& last = sources.back().segments.back();
        if (last.offset + last.size() != sources.back().weights.numel())
            throw std::logic_error(
                fmt::format("{} weights for stage {}, which has others", source.weights.size(), source.stage));
    }
    auto& rebuilt = self.node(node);
    const auto stage = at(rebuilt.stage.stage());
    mean_blocks(rebuilt.stage, sources);
    torch::NoGradGuard no_gradient;
    rebuilt.m.zero_();
    rebuilt.v.zero_();
    self.steps.at(stage) = 0;
    self.learning_rates.at(stage) = learning_rate;
}

/// A node that had no stage, or another one, is made anew; what rounding left of a stage stays with it.
void TorchCompute::move(const RankSchedule& schedule, const std::vector<NodeMove>& moves,
                        const FetchedStates& fetched) {
    auto& self = *implementation_;
    self.settle();
    self.give_up_all();
    auto owed = residuals().gradients;
    owed.insert(owed.end(), fetched.owed.begin(), fetched.owed.end());
    auto given = fetched.stages;
    const auto is_here = [&](int node) { return schedule.rank_of[at(node)] == self.rank; };
    for (const auto& move : moves)
        if (move.from >= 0 && is_here(move.node) && !given.contains(move.stage))
            given.emplace(move.stage, state(move.from));
    for (const auto& move : moves) {
        if (!is_here(move.node)) continue;
        auto& node = self.nodes.at(at(move.node));
        node.reset();
        std::erase(self.lost, move.node);
        if (move.stage < 0) continue;
        node.emplace(empty_node(self.experiment, move.node, move.stage, schedule.plan.blocks[at(move.stage)]));
        self.take_queue(move.node);
        if (move.from >= 0) set_state(move.node, given.at(move.stage));
    }
    follow(schedule);
    for (std::size_t stage = 0; stage < self.sums.size(); ++stage)
        if (self.copies_of(static_cast<int>(stage)).nodes.empty()) self.sums[stage].reset();
    self.take_over(owed);
}

void TorchCompute::rejoin(int node, int sibling) {
    implementation_->settle();
    set_state(node, state(sibling));
    std::erase(implementation_->lost, node);
}

}  // namespace skippipe
