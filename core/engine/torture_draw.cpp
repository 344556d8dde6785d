// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/torture_draw.h"

#include <numeric>

#include "core/base/infinite.h"

namespace skippipe {

Problem random_network(Draw& draw, int stages, int length, int nodes, int microbatches) {
    Problem problem;
    problem.stages = stages;
    problem.path_length = length;
    problem.microbatches = microbatches;
    problem.blocks.assign(at(stages), 1);
    const bool ties = draw.chance(0.5);
    for (int n = 0; n < nodes; ++n) {
        problem.node_ids.push_back("n" + std::to_string(n));
        problem.seconds_per_sample_per_block.push_back(ties ? 1 : 0.5 + draw.rng.uniform());
        problem.memory.push_back(draw.between(1, 4));
    }
    std::vector<Hop> pairs;
    for (int k = 0; k < nodes * nodes; ++k) {
        const auto seconds = [&] { return ties ? draw.between(0, 2) * 0.5 : draw.rng.uniform(); };
        pairs.push_back({seconds(), 1 + draw.rng.uniform(), seconds(), seconds(), draw.between(0, nodes)});
        problem.line_names.push_back("line " + std::to_string(k));
    }
    problem.hops = std::move(pairs);
    problem.shared_links = draw.chance(0.5);
    problem.charge_all_reduce = draw.chance(0.5);
    problem.step_seconds = 0.25;
    problem.gradient_bytes.assign(at(stages), 5);
    problem.forward_bytes = 3;
    problem.backward_bytes = 2;
    problem.balance_data_nodes = false;
    problem.constraints.uniform_execution = problem.constraints.bounded_disorder = false;
    return problem;
}

Pieces random_pieces(Draw& draw, int replicas) {
    Pieces pieces;
    const int count = replicas > 1 ? draw.between(0, 4) : 0;
    for (int k = 0; k < count; ++k) {
        if (draw.chance(0.2)) {
            pieces.push_back({.share = 1.0 / count, .form = PieceForm::exchange});
            continue;
        }
        Piece piece = star_piece(replicas, draw.between(0, replicas - 1), 1.0 / count);
        std::vector<int> order{piece.root};
        for (auto* parents : {&piece.up, &piece.down}) {
            order.resize(1);
            for (int place = 0; place < replicas; ++place)
                if (place != piece.root) order.push_back(place);
            for (int place = 1; place < replicas; ++place)
                (*parents)[at(order[at(place)])] = order[draw.rng.below(at(place))];
        }
        pieces.push_back(piece);
    }
    return pieces;
}

Plan random_plan(Draw& draw, const Problem& problem) {
    Plan plan{.planner = "torture", .split_backward = draw.chance(0.3), .blocks = problem.blocks};
    plan.stages.resize(at(problem.stages));
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        plan.stages[at(n < problem.stages ? static_cast<int>(n) : draw.between(0, problem.stages - 1))].push_back(n);
    std::vector<int> others(at(problem.stages - 1));
    std::iota(others.begin(), others.end(), 1);
    for (MicrobatchIndex m = 0; m < problem.microbatches; ++m) {
        Path path{m, {}};
        const auto visit = [&](int stage) {
            const auto& ring = plan.stages[at(stage)];
            path.nodes.push_back(ring[draw.rng.below(ring.size())]);
        };
        visit(0);
        draw.rng.shuffle(others);
        for (int hop = 1; hop < problem.path_length; ++hop) visit(others[at(hop - 1)]);
        plan.paths.push_back(path);
    }
    return plan;
}

void draw_transfers(Draw& draw, Problem& problem, Plan& plan) {
    problem.plan_reductions = !problem.charge_all_reduce && draw.chance(0.7);
    if (problem.plan_reductions && draw.chance(0.7))
        for (const auto& nodes : plan.stages)
            plan.reductions.push_back(random_pieces(draw, static_cast<int>(nodes.size())));
    if (!problem.shared_links || !draw.chance(0.5)) return;
    const bool ties = draw.chance(0.5);
    for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
        for (int n = 0; n < problem.nodes(); ++n)
            rates->push_back(draw.chance(0.4) ? infinite : ties ? 4 : 1 + 5 * draw.rng.uniform());
    for (const char* queue : {"uplink", "downlink"})
        for (const auto& id : problem.node_ids) problem.line_names.push_back(queue + (" of " + id));
}

void leave_microbatches(Problem& problem, Plan& plan, int microbatches) {
    if (microbatches <= 0 || microbatches >= problem.microbatches) return;
    plan.paths.resize(at(microbatches));
    problem.microbatches = microbatches;
}

}  // namespace skippipe
