// SPDX-License-Identifier: GPL-3.0-or-later
// Replica exchange (parallel tempering: Swendsen and Wang 1986, Geyer 1991) over binding orders, paths and placement:
// chains that each keep to a temperature of their own, and
// exchange what they have with their neighbours every so many steps. A cold chain gets out of what holds it by way of
// the hot ones, where annealing that has cooled stays; and nothing hangs on how long the search is going to last.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/rng.h"
#include "plugins/planners/joint/orders/order_annealer.h"

namespace skippipe::planners::joint {

class ReplicaExchange {
public:
    static constexpr int replicas = 10;
    static constexpr std::int64_t steps_a_turn = 2000;  ///< of each chain between exchanges
    static constexpr std::int64_t steps_a_round = replicas * steps_a_turn;
    /// The ends of so many chains are heated up again and cooled down at last, the better half of them longer.
    static constexpr int elites = 4;
    static constexpr std::int64_t reheated_a_round =
        2 * steps_a_round;  ///< steps of all that together, for each round before
    static constexpr std::int64_t steps_a_round_in_all = steps_a_round + reheated_a_round;
    static constexpr double finish_share = 1.6;  ///< of the time before, at most, unless the machine slows down

    /// `start` has a binding order on every node and is complete. The temperatures lie between `hot_s` and `cold_s`
    /// seconds. Keeps a reference to the problem.
    ReplicaExchange(const Problem& problem, const PlanCandidate& start, double hot_s, double cold_s, std::uint64_t seed,
                    std::uint64_t stream);

    /// Every chain takes its steps, on up to so many threads, then neighbours exchange. The same on any number of
    /// threads.
    void round(int threads);
    /// Heats the best candidates of the chains a little and cools them down, again and again, each time from the best
    /// that came of it: a replica exchange alone ends about a second above what can be had. `go_on` is asked by one
    /// thread at a time. `besides`, with a binding order on every node: another candidate to be among them, may be
    /// null.
    void finish(int threads, const PlanCandidate* besides, const std::function<bool()>& go_on);

    const PlanCandidate& best() const { return best_; }
    double best_s() const { return best_s_; }
    std::int64_t rounds() const { return rounds_; }
    std::int64_t steps() const { return steps_; }

private:
    using Chains = std::vector<std::unique_ptr<OrderAnnealer>>;
    struct Elite {
        PlanCandidate candidate;
        double seconds;
    };
    void swap_neighbours();
    std::vector<Elite> best_ends() const;
    void reheat(std::vector<Elite>& ends, int count, std::int64_t steps, int threads,
                const std::function<bool()>& go_on);
    void take_best(const Chains& chains);

    const Problem& problem_;
    std::uint64_t seed_, stream_;
    Rng rng_;
    Chains chains_;                       ///< from hot to cold
    std::vector<double> temperatures_s_;  ///< [chains]
    PlanCandidate best_;
    double best_s_;
    std::int64_t rounds_ = 0, steps_ = 0;
    std::uint64_t reheats_ = 0;
};

}  // namespace skippipe::planners::joint
