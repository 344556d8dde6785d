// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated annealing over the binding order of each node, where a plan's paths are settled: what first come, first served cannot
// express (a node that waits for a more urgent operation, a fresh forward before a ready backward).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/rng.h"
#include "plugins/planners/draft.h"

namespace skippipe {

/// The order in which each node runs its operations in the draft's timeline. Empty where the timeline is incomplete.
std::vector<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const Draft& draft);

class OrderChain {
public:
    /// `start` has a binding order on every node and is complete. Keeps a reference to the problem.
    OrderChain(const Problem& problem, const Draft& start, std::uint64_t seed, std::uint64_t stream);

    /// Takes up to `steps` steps, the temperature falling from `first_s` to `last_s` seconds; by the clock where `clock_fraction` is
    /// given. `go_on` is asked every few hundred steps with the fraction done.
    void run(std::int64_t steps, double first_s, double last_s, const std::function<double()>& clock_fraction, const std::function<bool(double)>& go_on);

    const Draft& best() const { return best_; }
    double best_s() const { return best_s_; }
    std::int64_t steps() const { return steps_; }

private:
    enum class Move { shift, exchange, sibling, places, blocks, sizes };
    struct Change {
        Move move = Move::shift;
        int node = 0, from = 0, to = 0;  ///< shift: places in the node's order
        int i = 0, j = 0, a = 0, b = 0;  ///< exchange: release indices and hops; sibling: of i, hop a, from node `from` to node `to`;
                                         ///< places: nodes `from` and `to` hold each other's stage
                                         ///< blocks: `a` of them from stage i to stage j; sizes: i and j take each other's microbatch
    };

    bool step(double temperature_s);
    bool propose(Change& change);
    bool propose_shift(Change& change);
    bool propose_exchange(Change& change);
    bool propose_sibling(Change& change);
    bool propose_places(Change& change);
    bool propose_blocks(Change& change);
    bool propose_sizes(Change& change);
    void move_blocks(int from, int to, int count);
    void exchange_places(int u, int v);
    void restore(const Change& change);
    bool reaches(int index, int hop, int node) const;
    void apply_exchange(const Change& change);
    void undo(const Change& change);
    bool admissible(int node, int first, int last) const;
    void rename(std::vector<std::uint32_t>& order, int from_index, int from_hop, int to_index, int to_hop) const;
    double cost_s(double cutoff_s);
    int pick(std::size_t n) { return static_cast<int>(rng_.below(n)); }

    std::optional<Problem> own_;  ///< where blocks are planned: with the draft's
    const Problem& problem_;
    Rng rng_;
    Simulator simulator_;
    Draft draft_, best_;
    double iteration_s_ = 0, mean_end_s_ = 0, current_s_ = 0, best_s_ = 0;
    std::int64_t steps_ = 0;
    std::vector<std::uint32_t> order_from_, order_to_;  ///< what a sibling move started from
};

}  // namespace skippipe
