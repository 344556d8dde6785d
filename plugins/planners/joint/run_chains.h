// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/parallel.h"
#include "plugins/planners/common/search.h"
#include "plugins/planners/joint/anneal/temperature_schedule.h"

namespace skippipe::planners::joint {

/// Annealers that a search runs side by side: as many as its steps say and not as many as there are threads, so that
/// threads never change the result.
template <typename Chain>
using Chains = std::vector<std::unique_ptr<Chain>>;

/// Each chain by what it begins with.
inline auto from_start(const RelativeTemperatures& temperatures) {
    return [temperatures](const auto& chain) { return temperatures.times(chain.best_s()); };
}

/// Runs every chain, each with its share of the steps, or by the clock. `schedule_of(chain)`: its TemperatureSchedule.
/// `shown_s`: what progress shows as the best so far; 0: the chain's own.
template <typename Chain, typename ScheduleOf>
void run_chains(Chains<Chain>& chains, std::int64_t steps, int threads, const Budget& budget,
                const ScheduleOf& schedule_of, double shown_s = 0) {
    const auto count = static_cast<int>(chains.size());
    const auto clock = budget.clock();
    std::mutex one_at_a_time;
    parallel_for(count, threads, [&](int c) {
        auto& chain = *chains[static_cast<std::size_t>(c)];
        const std::int64_t own =
            budget.by_clock() ? std::numeric_limits<std::int64_t>::max() : steps / count + (c < steps % count ? 1 : 0);
        chain.run(own, schedule_of(chain), clock, [&](double fraction) {
            const std::lock_guard lock(one_at_a_time);
            return budget.go_on(fraction, shown_s > 0 ? shown_s : chain.best_s());
        });
    });
}

}  // namespace skippipe::planners::joint
