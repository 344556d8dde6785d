// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/state_transfer.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/index.h"
#include "core/engine/peer_text.h"
#include "core/experiment/model_size.h"

namespace skippipe {

namespace {

bool is_one_of(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Of a stage's state as it travels.
struct StateHeader {
    double values = 0, steps = 0, learning_rate = 1;
};

void send_state(const StageState& state, int to, RankTransport& transport) {
    const StateHeader header{static_cast<double>(state.weights.size()), static_cast<double>(state.steps),
                             state.learning_rate};
    transport.send_to(to, std::as_bytes(std::span(&header, 1)));
    for (const auto* values : {&state.weights, &state.m, &state.v})
        transport.send_to(to, std::as_bytes(std::span(*values)));
}

/// `values`: how many of each this rank's own copy has.
StageState receive_state(std::size_t values, int from, RankTransport& transport) {
    StateHeader header;
    transport.receive_from(from, std::as_writable_bytes(std::span(&header, 1)));
    if (header.values != static_cast<double>(values) || !(header.steps >= 0) || header.steps > 1e15 ||
        !(header.learning_rate > 0) || header.learning_rate > 1e15)
        throw PeerFault(from, fmt::format("offers a stage of {} weights after {} steps, where it has {}", header.values,
                                          header.steps, values));
    StageState state{.steps = static_cast<std::int64_t>(header.steps), .learning_rate = header.learning_rate};
    for (auto* part : {&state.weights, &state.m, &state.v}) {
        part->resize(values);
        transport.receive_from(from, std::as_writable_bytes(std::span(*part)));
    }
    return state;
}

std::size_t parameters_of(const Experiment& experiment, const Plan& plan, int stage) {
    return static_cast<std::size_t>(stage_parameters(experiment.model, plan.blocks[at(stage)], stage == 0));
}

/// What int8 owes of a stage's gradient by a node that leaves it goes to the stage's first node, as in one process.
void fetch_owed(const Experiment& experiment, const RankSchedule& before, const RankSchedule& after,
                const std::vector<NodeMove>& moves, const ComputeBackend& compute, RankTransport& transport,
                std::vector<GradientResidual>& owed) {
    if (experiment.training.gradient_wire != WireType::int8) return;
    const auto stage_of = stage_of_nodes(before.plan, static_cast<int>(before.rank_of.size()));
    const auto mine = compute.residuals().gradients;
    for (const auto& move : moves) {
        const int stage = stage_of[at(move.node)];
        if (stage < 0 || after.plan.stages[at(stage)].empty()) continue;
        const int from = before.rank_of[at(move.node)], to = before.rank_of[at(after.plan.stages[at(stage)].front())];
        if (from == to) continue;
        if (transport.rank() == from) {
            const auto found =
                std::find_if(mine.begin(), mine.end(), [&](const auto& one) { return one.node == move.node; });
            const auto values = found == mine.end() ? std::vector<float>{} : found->values;
            const auto count = static_cast<double>(values.size());
            transport.send_to(to, std::as_bytes(std::span(&count, 1)));
            if (!values.empty()) transport.send_to(to, std::as_bytes(std::span(values)));
        } else if (transport.rank() == to) {
            double count = 0;
            transport.receive_from(from, std::as_writable_bytes(std::span(&count, 1)));
            const auto whole = parameters_of(experiment, before.plan, stage);
            if (count == 0) continue;
            if (count != static_cast<double>(whole))
                throw PeerFault(from, fmt::format("owes {} values of a stage of {}", count, whole));
            auto& one = owed.emplace_back(GradientResidual{stage, move.node, std::vector<float>(whole)});
            transport.receive_from(from, std::as_writable_bytes(std::span(one.values)));
        }
    }
}

}  // namespace

void fetch_states(const RankSchedule& everybody, const std::vector<int>& members, const std::vector<int>& joined,
                  ComputeBackend& compute, RankTransport& transport) {
    const auto rank_of = [&](NodeIndex node) { return everybody.rank_of[at(node)]; };
    for (const int rank : joined)
        for (const auto& ring : everybody.plan.stages) {
            std::vector<NodeIndex> there;
            for (const NodeIndex node : ring)
                if (rank_of(node) == rank) there.push_back(node);
            const auto source = std::find_if(ring.begin(), ring.end(), [&](NodeIndex node) {
                return is_one_of(members, rank_of(node)) && !is_one_of(joined, rank_of(node));
            });
            if (there.empty() || source == ring.end()) continue;
            if (transport.rank() == rank_of(*source)) {
                if (const auto state = compute.state(*source); !state.weights.empty())
                    send_state(state, rank, transport);
            } else if (transport.rank() == rank) {
                const auto own = compute.state(there.front()).weights.size();
                if (own == 0) continue;
                const auto state = receive_state(own, rank_of(*source), transport);
                for (const NodeIndex node : there) compute.set_state(node, state);
            }
        }
}

FetchedStates fetch_for_moves(const Experiment& experiment, const RankSchedule& before, const RankSchedule& after,
                              const std::vector<NodeMove>& moves, ComputeBackend& compute, RankTransport& transport) {
    FetchedStates fetched;
    if (experiment.execution.compute == Compute::cost) return fetched;
    std::set<std::pair<int, int>> given;  // stage and rank
    for (const auto& move : moves) {
        if (move.stage < 0) continue;
        const int from = before.rank_of[at(move.from)], to = before.rank_of[at(move.node)];
        if (from == to || !given.emplace(move.stage, to).second) continue;
        if (transport.rank() == from)
            send_state(compute.state(move.from), to, transport);
        else if (transport.rank() == to)
            fetched.stages.emplace(move.stage,
                                   receive_state(parameters_of(experiment, before.plan, move.stage), from, transport));
    }
    fetch_owed(experiment, before, after, moves, compute, transport, fetched.owed);
    return fetched;
}

std::string to_text(const std::vector<NodeMove>& moves) {
    auto all = nlohmann::json::array();
    for (const auto& move : moves) all.push_back({move.node, move.stage, move.from});
    return all.dump();
}

std::vector<NodeMove> read_moves(const std::string& text) {
    return read_from_peer(0, text, [](const nlohmann::json& all) {
        std::vector<NodeMove> moves;
        for (const auto& one : all) moves.push_back({one.at(0), one.at(1), one.at(2)});
        return moves;
    });
}

}  // namespace skippipe
