// SPDX-License-Identifier: GPL-3.0-or-later
// Replica exchange over binding orders, paths and places: chains that each keep to a temperature of their own, and exchange what they have with their
// neighbours every so many steps. A cold chain gets out of what holds it by way of the hot ones, where annealing that has cooled stays; and nothing hangs on
// how long the search is going to last.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/rng.h"
#include "plugins/planners/order_search.h"

namespace skippipe {

class Ladder {
public:
    static constexpr int rungs = 10;
    static constexpr std::int64_t steps_a_turn = 2000;             ///< of each chain between exchanges
    static constexpr std::int64_t steps_a_round = rungs * steps_a_turn;
    /// The ends of so many chains are cooled down at last, by so many steps each a round.
    static constexpr int elites = 4;
    static constexpr std::int64_t elite_steps_a_round = 625;
    static constexpr std::int64_t steps_a_round_in_all = steps_a_round + elites * elite_steps_a_round;
    static constexpr double finish_share = static_cast<double>(elites * elite_steps_a_round) / steps_a_round;  ///< of the time before

    /// `start` has a binding order on every node and is complete. The temperatures lie between `hot_s` and `cold_s` seconds. Keeps a reference to the problem.
    Ladder(const Problem& problem, const Draft& start, double hot_s, double cold_s, std::uint64_t seed, std::uint64_t stream);

    /// Every chain takes its steps, on up to so many threads, then neighbours exchange. The same on any number of threads.
    void round(int threads);
    /// Cools the best of the coldest chains' drafts down, as long as the rounds before allow. `go_on` is asked by one thread at a time.
    void finish(int threads, const std::function<bool()>& go_on);

    const Draft& best() const { return best_; }
    double best_s() const { return best_s_; }
    std::int64_t rounds() const { return rounds_; }
    std::int64_t steps() const { return steps_; }

private:
    using Chains = std::vector<std::unique_ptr<OrderChain>>;
    void exchange();
    void take_best(const Chains& chains);

    const Problem& problem_;
    std::uint64_t seed_, stream_;
    Rng rng_;
    Chains chains_;                       ///< from hot to cold
    std::vector<double> temperatures_s_;  ///< [chains]
    Draft best_;
    double best_s_;
    std::int64_t rounds_ = 0, steps_ = 0;
};

}  // namespace skippipe
