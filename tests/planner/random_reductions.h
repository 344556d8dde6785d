// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded pieces of every form.
#pragma once
#include <limits>

#include "core/base/rng.h"
#include "core/planner/plan/plan.h"

namespace skippipe::examples {

inline Piece random_piece(int replicas, double share, Rng& rng) {
    const auto pick = [&](int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); };
    if (pick(4) == 0) return {share, PieceForm::exchange, 0, {}, {}};
    Piece piece = star_piece(replicas, pick(replicas), share);
    std::vector<int> order;
    for (auto* parents : {&piece.up, &piece.down}) {
        order.clear();
        for (int k = 0; k < replicas; ++k)
            if (k != piece.root) order.push_back(k);
        rng.shuffle(order);
        order.insert(order.begin(), piece.root);
        for (int k = 1; k < replicas; ++k)
            (*parents)[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])] =
                order[static_cast<std::size_t>(pick(k))];
    }
    return piece;
}

/// Of each stage one to four, or none: then it has the default.
inline PerStage<Pieces> random_reductions(const Plan& plan, Rng& rng) {
    PerStage<Pieces> reductions(plan.stages.size());
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const int replicas = static_cast<int>(plan.stages[s].size());
        const int count = replicas > 1 ? static_cast<int>(rng.below(5)) : 0;
        for (int k = 0; k < count; ++k) reductions[s].push_back(random_piece(replicas, 1.0 / count, rng));
    }
    return reductions;
}

/// Uplinks and downlinks of two nodes in three, often of equal rates, that messages and gradients wait for.
inline Problem with_uplinks(Problem problem, Rng& rng) {
    const bool ties = rng.below(2) == 0;
    const auto amount = [&] { return ties ? static_cast<double>(rng.below(3)) : 3 * rng.uniform(); };
    for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
        for (int n = 0; n < problem.nodes(); ++n)
            rates->push_back(rng.below(3) == 0 ? std::numeric_limits<double>::infinity() : ties ? 1 : 0.2 + amount());
    for (const char* what : {"uplink of ", "downlink of "})
        for (const auto& id : problem.node_ids) problem.line_names.push_back(what + id);
    problem.forward_bytes = amount();
    problem.backward_bytes = amount();
    return problem;
}

}  // namespace skippipe::examples
