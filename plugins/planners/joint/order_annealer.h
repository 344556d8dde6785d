// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated annealing over the binding order of each node, and over paths and places with it: what first come, first
// served cannot express (a node that waits for a more urgent operation, a fresh forward before a ready backward).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/rng.h"
#include "plugins/planners/joint/order_times.h"

namespace skippipe {

/// The order in which each node runs its operations in the candidate's timeline. Empty where the timeline is
/// incomplete.
std::vector<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const PlanCandidate& candidate);

class OrderAnnealer {
public:
    /// `start` has a binding order on every node and is complete. Keeps a reference to the problem.
    OrderAnnealer(const Problem& problem, const PlanCandidate& start, std::uint64_t seed, std::uint64_t stream);

    /// Takes up to `steps` steps, the temperature falling from `first_s` to `last_s` seconds; by the clock where
    /// `clock_fraction` is given. `go_on` is asked every few hundred steps with the fraction done.
    void run(std::int64_t steps, double first_s, double last_s, const std::function<double()>& clock_fraction,
             const std::function<bool(double)>& go_on);
    /// Takes so many steps at one temperature.
    void stay(std::int64_t steps, double temperature_s);

    const PlanCandidate& best() const { return best_; }
    double best_s() const { return best_s_; }
    /// What is minimised, of the candidate at hand; infinite where the start was incomplete.
    double current_s() const { return current_s_; }
    std::int64_t steps() const { return steps_; }

private:
    /// Of the data nodes' mean end in what is minimised. The greater, the more chains come out of the iterations that
    /// one data node holds up (found by trial).
    static constexpr double mean_end_weight = 1;

    enum class Move { shift, critical, exchange, relocate, turn, cross, sibling, restage, places, blocks, sizes };
    struct SavedHop {
        int index, hop, node;
    };

    bool step(double temperature_s);
    bool propose();
    bool propose_shift();
    bool propose_critical();
    bool shift(int node, int from, int to);
    bool propose_exchange(bool keep_places);
    bool exchange(int i, int a, int j, int b, bool keep_places);
    bool move(int index, int hop, int node);
    bool propose_turn();
    bool propose_cross();
    bool propose_sibling();
    bool propose_restage();
    bool propose_places();
    bool propose_blocks();
    bool propose_sizes();
    void move_blocks(int from, int to, int count);
    void exchange_sizes(int i, int j);
    void exchange_places(int u, int v);
    void rename(int node, int from_index, int from_hop, int to_index, int to_hop);
    void take_out(int index, int hop);
    bool put_in(int index, int hop, double shift_s);
    double jitter_s(int node);
    bool holds(int node, int last) const;
    bool fits(int index) const;
    void accept();
    void save(int node);
    void change_path(int index);
    void set_hop(int index, int hop, int node);
    void undo();
    bool admissible(int node, int first, int last) const;
    double cost_s(double cutoff_s);
    int pick(std::size_t n) { return static_cast<int>(rng_.below(n)); }
    int stage_of(int node) const { return candidate_.schedule.stage_of[static_cast<std::size_t>(node)]; }

    std::optional<Problem> own_;  ///< where blocks are planned: with the candidate's
    const Problem& problem_;
    Rng rng_;
    PlanCandidate candidate_, best_;
    OrderTimes times_;
    bool exact_;  ///< times_ are; else the simulator's count, and times_ only say about when what runs
    Simulator simulator_;
    double iteration_s_ = 0, mean_end_s_ = 0, current_s_ = 0, best_s_ = 0;
    std::int64_t steps_ = 0;
    int cap_ = 0;
    std::vector<Move> moves_;                                   ///< drawn from uniformly
    std::vector<int> visits_;                                   ///< [stages]
    OrderChange change_;                                        ///< in hand
    std::vector<OrderChange::Order> orders_;                    ///< the first change_.orders: what it began with
    std::vector<SavedHop> hops_;                                ///< likewise
    std::vector<int> paths_;                                    ///< that it goes through
    int u_ = -1, v_ = -1;                                       ///< nodes whose places it exchanged
    int blocks_from_ = -1, blocks_to_ = -1, blocks_moved_ = 0;  ///< stages between which it moved blocks
    int size_i_ = -1, size_j_ = -1;                             ///< release indices whose microbatches it exchanged
};

}  // namespace skippipe
