// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/step.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {

Commit share_sums(const RankSchedule& schedule, const std::vector<StageSum>& sums, const ComputeBackend& compute,
                  RankTransport& transport) {
    const auto loss = compute.loss();
    std::vector<double> mine{loss.sum_nats, static_cast<double>(loss.tokens)};
    for (std::size_t s = 0; s < schedule.plan.stages.size(); ++s) {
        const auto hosts = schedule.ranks_of_stage(static_cast<int>(s));  // none: its nodes are all lost
        const bool first_host = !hosts.empty() && hosts.front() == transport.rank();
        mine.push_back(first_host ? static_cast<double>(sums[s].tokens) : 0);
        mine.push_back(first_host ? sums[s].squared_norm : 0);
    }
    return transport.all_gather(mine);
}

IterationResult take_step(int iteration, const Commit& commit, ComputeBackend& compute) {
    IterationResult result;
    std::vector<StageSum> all;
    for (std::size_t rank = 0; rank < commit.size(); ++rank) {
        const auto& of_rank = commit[rank];
        if (of_rank.empty()) continue;
        if (all.empty()) all.assign(of_rank.size() / 2 - 1, {0, 0, 0});
        if (of_rank.size() != 2 * all.size() + 2)
            throw PeerFault(static_cast<int>(rank), fmt::format("gave {} sums of an iteration", of_rank.size()));
        result.loss_sum_nats += of_rank[0];
        result.tokens += static_cast<std::int64_t>(of_rank[1]);
        for (std::size_t s = 0; s < all.size(); ++s) {
            all[s].tokens += static_cast<std::int64_t>(of_rank[2 + 2 * s]);
            all[s].squared_norm += of_rank[3 + 2 * s];
        }
    }
    double total = 0;
    for (const auto& stage : all) {
        result.stage_tokens.push_back(stage.tokens);
        result.squared_norms.push_back(stage.squared_norm);
        if (!(stage.squared_norm < 0)) total += stage.squared_norm;
    }
    result.gradient_norm = std::sqrt(total);
    if (!std::isfinite(result.gradient_norm) || !std::isfinite(result.loss_sum_nats))
        throw std::runtime_error(
            fmt::format("iteration {}: the loss or its gradient is no longer a finite number; training diverged. "
                        "Lower training.learning_rate or add training.warmup_iterations",
                        iteration));
    compute.step(iteration, all);
    return result;
}

IterationResult finish_iteration(int iteration, const RankSchedule& schedule, const std::vector<StageSum>& sums,
                                 ComputeBackend& compute, RankTransport& transport) {
    return take_step(iteration, share_sums(schedule, sums, compute, transport), compute);
}

}  // namespace skippipe
