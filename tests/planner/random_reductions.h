// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded pieces of every form.
#pragma once
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

}  // namespace skippipe::examples
