// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated annealing over placement, paths and priorities against the exact timeline. A chain is a value of its own:
// the same start, seed and number of steps give the same result on any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/rng.h"
#include "plugins/planners/joint/robust.h"

namespace skippipe {

struct TemperatureSchedule {
    double first = 0.004,
           last = 0.0002;  ///< temperatures, as parts of the start's iteration time (found by trial, 300,000 steps)

    /// The fewer operations a problem has, the more of the iteration one change of a path is.
    static TemperatureSchedule of(const Problem& problem);
};

class PathAnnealer {
public:
    /// `start` is complete and within CC1-CC3, without a binding order. Keeps a reference to the problem.
    /// With `scenarios` (kept by reference) their TailCost is minimised instead of the iteration on the network as
    /// drawn, and best_s is that.
    PathAnnealer(const Problem& problem, const Network& network, const PlanCandidate& start, std::uint64_t seed,
                 std::uint64_t stream, const Scenarios* scenarios = nullptr);

    /// The blocks of the stages stay as they are.
    void hold_blocks();

    /// Takes up to `steps` steps; `clock_fraction` (may be empty) sets the temperature by the clock instead. `go_on` is
    /// asked every few hundred steps with the fraction done.
    void run(std::int64_t steps, const TemperatureSchedule& temperatures, const std::function<double()>& clock_fraction,
             const std::function<bool(double)>& go_on);

    const PlanCandidate& best() const { return best_; }
    double best_s() const { return best_s_; }
    std::int64_t steps() const { return steps_; }

private:
    enum class Move {
        exchange_hops,
        reorder,
        exchange_data,
        exchange_priority,
        shift_priority,
        sibling,
        exchange_nodes,
        restage,
        resize,
        turn_ring,
        move_blocks,
        exchange_sizes
    };
    struct Change {
        Move move = Move::exchange_hops;
        int i = 0, j = 0, a = 0, b = 0;
    };

    /// What is minimised.
    struct Cost {
        double iteration_s = 0, mean_end_s = 0;
        double seconds() const { return iteration_s + mean_weight * mean_end_s; }
    };
    static constexpr double mean_weight = 0.5;

    Cost cost(double cutoff_s);
    Cost robust_cost(double cutoff_s);
    bool step(double temperature_s);
    bool propose(Change& change);
    bool propose_exchange(Change& change);
    bool propose_reorder(Change& change);
    bool propose_data(Change& change);
    bool propose_sibling(Change& change);
    bool propose_nodes(Change& change);
    bool propose_restage(Change& change);
    bool propose_resize();
    bool propose_ring(Change& change);
    bool propose_blocks(Change& change);
    bool propose_sizes(Change& change);
    void move_blocks(int from, int to, int count);
    void leave_stage(int node);
    void enter_stage(int node, int stage);
    bool fill_stage_0(bool more);
    void spread_data();
    void restore();
    void set_places(int stage);
    void undo(const Change& change);
    void exchange_nodes(int u, int v);
    void shift(int from, int to);
    bool fits(int index) const;
    int pick(std::size_t n) { return static_cast<int>(rng_.below(n)); }
    int* path(int index) { return candidate_.schedule.path(index); }
    int stage_of(int node) const { return candidate_.schedule.stage_of[static_cast<std::size_t>(node)]; }
    void keep_best();

    std::optional<Problem> own_;  ///< where blocks are planned: with the candidate's
    const Problem& problem_;
    Rng rng_;
    Simulator simulator_;
    std::optional<TailCost> tail_cost_;
    std::vector<double> operation_end_s_;  ///< for tail_cost_
    PlanCandidate candidate_, best_;
    Cost current_;
    double best_s_ = 0;
    std::int64_t steps_ = 0;
    int length_ = 0, count_ = 0, cap_ = 0, replaced_ = 0;
    bool may_move_blocks_ = false;
    bool missing_lines_ = false, may_reorder_ = false, may_restage_ = false, free_placement_ = false;
    std::vector<int> visits_;     ///< [stages]
    std::vector<int> place_;      ///< [nodes] index within its stage
    std::vector<int> all_nodes_;  ///< candidates for an exchange of places
    std::vector<Move> moves_;     ///< drawn from uniformly
    PlanCandidate before_;        ///< what a resize started from
};

}  // namespace skippipe
