// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/torch_piece_sums.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/model/wire.h"
#include "kernels/vector.h"

namespace skippipe {

namespace {

Buffer copy_of(const Buffer& message) {
    Buffer copy(message.size());
    std::memcpy(copy.data(), message.data(), message.size());
    return copy;
}

}  // namespace

void TorchPieceSums::begin(const RankSchedule& schedule) {
    of_.gradient_feedback.give_up();
    parts_.clear();
    stages_.clear();
    stages_.resize(schedule.plan.stages.size());
    for (StageIndex stage = 0; at(stage) < stages_.size(); ++stage) {
        auto& state = stages_[at(stage)];
        state.nodes = schedule.plan.stages[stage];
        state.pieces = schedule.pieces[stage];
        begin_stage(state);
    }
}

void TorchPieceSums::begin_stage(Stage& stage) {
    for (const NodeIndex node : stage.nodes)
        if (of_.hosted(node)) stage.ends = piece_ends(stage.pieces, of_.node(node).stage.size());
    stage.tokens.assign(stage.pieces.size(), -1);
    stage.rounded.resize(stage.pieces.size());
}

std::size_t TorchPieceSums::size_of(int stage, int piece) const {
    const auto& state = stages_.at(at(stage));
    return static_cast<std::size_t>(state.ends.at(at(piece)) - begin_of(state, piece));
}

std::size_t TorchPieceSums::value_bytes(int stage, int piece) const {
    return gradient_wire_bytes(wire(), static_cast<std::int64_t>(size_of(stage, piece)));
}

std::size_t TorchPieceSums::message_bytes(int stage, int piece) const {
    return value_bytes(stage, piece) + sizeof(std::int64_t);
}

torch::Tensor TorchPieceSums::piece_of(const torch::Tensor& flat, int stage, int piece) const {
    return flat.narrow(0, begin_of(stages_.at(at(stage)), piece), static_cast<std::int64_t>(size_of(stage, piece)));
}

bool TorchPieceSums::is_exchange(int stage, int piece) const {
    return stages_.at(at(stage)).pieces.at(at(piece)).form == PieceForm::exchange;
}

void TorchPieceSums::wait_for(NodeIndex node) {
    const auto& queue = of_.queues.at(at(node));
    if (!queue) return;
    queue->make_current();
    queue->record()->wait();
}

Buffer TorchPieceSums::message_of(int stage, int piece, int place, const torch::Tensor& values, std::int64_t tokens) {
    Buffer message(message_bytes(stage, piece));
    const auto& state = stages_.at(at(stage));
    const auto size = static_cast<std::int64_t>(size_of(stage, piece));
    const int node = state.nodes.at(at(place));
    if (wire() == WireType::bf16 && !values.is_cpu()) {  // small before it is fetched
        const auto here = values.to(torch::kBFloat16).to(torch::kCPU);
        std::memcpy(message.data(), here.data_ptr(), value_bytes(stage, piece));
    } else if (const auto here = values.to(torch::kCPU); wire() == WireType::int8) {
        of_.gradient_feedback.encode(node, of_.node(node).stage.size(), begin_of(state, piece), here.data_ptr<float>(),
                                     size, message.data());
    } else {
        encode_gradient(message.data(), here.data_ptr<float>(), size, wire());
    }
    std::memcpy(message.data() + value_bytes(stage, piece), &tokens, sizeof tokens);
    return message;
}

/// Of fp32 the message's own bytes.
torch::Tensor TorchPieceSums::decoded(int stage, int piece, const Buffer& message) const {
    const auto size = static_cast<std::int64_t>(size_of(stage, piece));
    if (wire() == WireType::fp32)
        return torch::from_blob(const_cast<std::byte*>(message.data()), {size}, torch::kFloat32);
    auto values = torch::empty({size}, torch::kFloat32);
    decode_gradient(values.data_ptr<float>(), message.data(), size, wire());
    return values;
}

std::int64_t TorchPieceSums::tokens_in(const Buffer& message, int stage, int piece, int from) const {
    const auto fail = [&](const std::string& what) {
        throw PeerFault(of_.schedule.rank_of.at(at(stages_[at(stage)].nodes.at(at(from)))), what);
    };
    if (message.size() != message_bytes(stage, piece))
        fail(fmt::format("sent {} bytes of piece {} of stage {}", message.size(), piece, stage));
    std::int64_t tokens = 0, most = 0;
    std::memcpy(&tokens, message.data() + value_bytes(stage, piece), sizeof tokens);
    for (int microbatch = 0; microbatch < of_.experiment.pipeline.microbatches; ++microbatch)
        most += of_.tokens_of(microbatch);
    if (tokens < 0 || tokens > most) fail(fmt::format("sent the gradient of {} tokens of {}", tokens, most));
    return tokens;
}

/// Adds up, in the order of the stage, what the replica has of a piece.
std::int64_t TorchPieceSums::add_parts(int stage, int piece, int place, bool own_alone, const torch::Tensor& to) {
    const auto& state = stages_.at(at(stage));
    const auto& node = of_.node(state.nodes.at(at(place)));
    const auto own = piece_of(node.stage.gradient(), stage, piece);
    const auto parts = own_alone ? parts_.end() : parts_.find({stage, piece, place});
    std::int64_t tokens = 0;
    bool any = false;
    const auto add = [&](const torch::Tensor& part, std::int64_t of_part) {
        tokens += of_part;
        if (of_part == 0 && wire() != WireType::int8) return;
        if (!std::exchange(any, true)) {
            if (part.data_ptr() != to.data_ptr()) to.copy_(part);
        } else if (to.device().is_cpu() && part.device().is_cpu()) {
            const auto exact = part.to(torch::kFloat32);
            kernels::sum_into(to.data_ptr<float>(), exact.data_ptr<float>(), size_of(stage, piece));
        } else {
            to.add_(part.to(to.device()));
        }
    };
    // In an exchange all replicas add up the same: what the others got of this one's part.
    auto here = own;
    if (!own_alone && is_exchange(stage, piece)) {
        if (wire() == WireType::bf16) here = own.to(torch::kBFloat16);
        if (wire() == WireType::int8) here = decoded(stage, piece, message_of(stage, piece, place, own, node.tokens));
    }
    for (int from = 0; at(from) < state.nodes.size(); ++from) {
        if (from == place) add(here, node.tokens);
        if (parts == parts_.end()) continue;
        if (const auto part = parts->second.find(from); part != parts->second.end()) {
            const auto& [message, of_part, values] = part->second;
            add(values.defined() ? values : decoded(stage, piece, message), of_part);
        }
    }
    if (!any) to.zero_();
    if (parts != parts_.end()) parts_.erase(parts);
    return tokens;
}

/// What the replica hands on: in a tree with what came from below; where there is nothing below, its own gradient as it
/// lies.
TorchPieceSums::PartOf TorchPieceSums::sum_of_parts(int stage, int piece, int place) {
    const auto& node = of_.node(stages_.at(at(stage)).nodes.at(at(place)));
    PartOf part;
    part.values = piece_of(node.stage.gradient(), stage, piece);
    part.tokens = node.tokens;
    if (is_exchange(stage, piece) || !parts_.contains({stage, piece, place})) return part;
    auto sum = torch::empty_like(part.values);
    part.tokens = add_parts(stage, piece, place, false, sum);
    part.values = std::move(sum);
    wait_for(stages_[at(stage)].nodes.at(at(place)));
    return part;
}

Buffer TorchPieceSums::part(int stage, int piece, int place) {
    torch::NoGradGuard no_gradient;
    const auto part = sum_of_parts(stage, piece, place);
    const bool adds = part.tokens > 0 || wire() == WireType::int8;
    return message_of(stage, piece, place, adds ? part.values : torch::zeros_like(part.values), part.tokens);
}

void TorchPieceSums::take_part(int stage, int piece, int place, int from, Buffer message) {
    const auto tokens = tokens_in(message, stage, piece, from);
    parts_[{stage, piece, place}][from] = {std::move(message), tokens, {}};
}

void TorchPieceSums::hand_part(int stage, int piece, int from, int to) {
    if (wire() == WireType::int8) return take_part(stage, piece, to, from, part(stage, piece, from));
    torch::NoGradGuard no_gradient;
    auto part = sum_of_parts(stage, piece, from);
    if (wire() == WireType::bf16) part.values = part.values.to(torch::kBFloat16);
    parts_[{stage, piece, to}][from] = std::move(part);
}

/// All replicas here share the sum: who has it first makes it.
void TorchPieceSums::make_sum(int stage, int piece, int place) {
    torch::NoGradGuard no_gradient;
    auto& state = stages_.at(at(stage));
    if (!state.sum.defined()) state.sum = of_.copies_of(stage).sum();
    if (place < 0 || state.tokens[at(piece)] >= 0) return;
    const auto to = piece_of(state.sum, stage, piece);
    auto& tokens = state.tokens[at(piece)];
    tokens = add_parts(stage, piece, place, false, to);
    if (!is_exchange(stage, piece) && wire() == WireType::bf16) to.copy_(to.to(torch::kBFloat16));
    if (!is_exchange(stage, piece) && wire() == WireType::int8) {
        auto message = message_of(stage, piece, place, to, tokens);
        to.copy_(decoded(stage, piece, message));
        state.rounded[at(piece)] = std::move(message);
    }
    wait_for(of_.first_here(stage));
}

Buffer TorchPieceSums::sum(int stage, int piece, int place) {
    make_sum(stage, piece, place);
    const auto& state = stages_.at(at(stage));
    if (wire() == WireType::int8) return copy_of(state.rounded.at(at(piece)));
    return message_of(stage, piece, place, piece_of(state.sum, stage, piece), state.tokens[at(piece)]);
}

void TorchPieceSums::take_sum(int stage, int piece, int place, Buffer message) {
    auto& state = stages_.at(at(stage));
    const auto tokens = tokens_in(message, stage, piece, state.pieces.at(at(piece)).down.at(at(place)));
    make_sum(stage, piece, -1);
    if (state.tokens[at(piece)] >= 0) return;  // another replica here had it before, and it is the same
    state.tokens[at(piece)] = tokens;
    torch::NoGradGuard no_gradient;
    piece_of(state.sum, stage, piece).copy_(decoded(stage, piece, message));
    if (wire() == WireType::int8) state.rounded[at(piece)] = std::move(message);
}

void TorchPieceSums::hand_sum(int stage, int piece, int place) { make_sum(stage, piece, place); }

/// From the replicas below it in a tree, or from all others, to this one.
void TorchPieceSums::hand_up(int stage, int piece, int place) {
    const auto& state = stages_.at(at(stage));
    const auto& form = state.pieces.at(at(piece));
    for (int other = 0; at(other) < state.nodes.size(); ++other) {
        const bool tree = form.form == PieceForm::tree;
        if (other == place || (tree && (other == form.root || form.up[at(other)] != place))) continue;
        if (tree) hand_up(stage, piece, other);
        hand_part(stage, piece, other, place);
    }
}

StageSum TorchPieceSums::reduce_alone(int stage, const Pieces& pieces) {
    stages_.resize(std::max(stages_.size(), at(stage) + 1));
    auto& state = stages_.at(at(stage));
    state = {};
    state.nodes = of_.schedule.plan.stages[at(stage)];
    state.pieces = pieces;
    if (std::erase_if(state.nodes, [&](NodeIndex node) { return of_.is_lost(node); }) > 0)
        state.pieces = default_pieces(static_cast<int>(state.nodes.size()));
    begin_stage(state);
    for (int piece = 0; at(piece) < state.pieces.size(); ++piece) {
        const auto& form = state.pieces[at(piece)];
        const int root = form.form == PieceForm::tree ? form.root : 0;
        hand_up(stage, piece, root);
        make_sum(stage, piece, root);
    }
    return finish(stage);
}

/// Of a stage that has one replica: what it owed from when there were more goes into its gradient.
void TorchPieceSums::add_alone(StageCopies& copies) {
    reduce_gradient(copies, ReductionPass::add, of_.sums_graph);
    const auto& only = copies.nodes.front()->stage;
    auto& sum = copies.sum();
    auto staged = sum.to(torch::kCPU);
    of_.gradient_feedback.add_alone(of_.first_index(only.stage()), staged.data_ptr<float>(), staged.numel());
    if (!sum.device().is_cpu()) sum.copy_(staged);
}

StageSum TorchPieceSums::finish(int stage) try {
    auto& state = stages_.at(at(stage));
    auto copies = of_.copies_of(stage);
    for (int piece = 0; at(piece) < state.pieces.size(); ++piece) {
        const auto& form = state.pieces[at(piece)];
        for (int place = 0; at(place) < state.nodes.size(); ++place)
            if (of_.hosted(state.nodes[at(place)]) && (form.form == PieceForm::exchange || place == form.root))
                make_sum(stage, piece, place);
        if (state.tokens[at(piece)] < 0 || state.tokens[at(piece)] != state.tokens.front())
            throw std::logic_error(fmt::format("piece {} is of {} tokens, not of {}", piece, state.tokens[at(piece)],
                                               state.tokens.front()));
    }
    if (!state.tokens.empty()) copies.tokens = state.tokens.front();
    StageSum sum{.tokens = copies.tokens};
    if (sum.tokens == 0) {
        copies.sum().zero_();
        return sum;
    }
    if (state.tokens.empty()) add_alone(copies);
    if (!of_.schedule.plan.reductions.empty()) copies.pieces = of_.schedule.plan.reductions[at(stage)];
    sum.squared_norm = reduce_gradient(copies, ReductionPass::divide, of_.sums_graph);
    // What is left are views that would keep whole gradients.
    std::erase_if(parts_, [stage](const auto& of) { return std::get<0>(of.first) == stage; });
    state.sum.reset();
    return sum;
} catch (const std::exception& error) {
    throw ComputeError(fmt::format("reducing the gradient of stage {} on rank {}", stage, of_.rank), error.what());
}

PieceSums* TorchCompute::piece_sums() { return implementation_->piece_sums.get(); }

}  // namespace skippipe
