// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) over any kind of candidate: draws a move, judges what it makes
// by the exact timeline, takes or undoes it. It knows no move by name. An annealer is a value of its own: the same
// start, seed and number of steps give the same result on any thread.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "plugins/planners/common/search.h"
#include "plugins/planners/joint/anneal/search_state.h"
#include "plugins/planners/joint/anneal/temperature_schedule.h"

namespace skippipe::planners::joint {

/// One kind of change to a candidate. The state's journal undoes it.
template <typename State>
struct Move {
    const char* name;
    int (*weight)(const State&);        ///< it is drawn so much more often than one of weight 1; 0: never possible here
    bool (*propose)(State&, Rng& rng);  ///< makes the change; false where what was drawn is none, or not allowed
};

/// How often a move was drawn, and what became of it.
struct MoveTally {
    const char* name;
    std::int64_t drawn = 0, judged = 0, taken = 0;
};

/// `State` has a candidate(), cost(cutoff_s) of it (infinite iteration from the cutoff on), weight and cutoff of the
/// mean end, accept(), undo() and fault(cost): PathState, OrderState.
template <typename State>
class Annealer {
public:
    using MoveList = std::vector<const Move<State>*>;

    /// The state is made of `of`. Moves are drawn by their weights at the start.
    template <typename... Of>
    Annealer(std::uint64_t seed, std::uint64_t stream, const MoveList& moves, const Of&... of)
        : rng_(seed, stream), state_(of...), best_(state_.candidate()) {
        for (const auto* move : moves) {
            const int weight = move->weight(state_);
            if (weight > 0) tallies_.push_back({move->name});
            drawn_.insert(drawn_.end(), static_cast<std::size_t>(weight), {move, tallies_.size() - 1});
        }
        current_ = state_.cost(std::numeric_limits<double>::infinity());
        best_s_ = current_.iteration_s;
        if (is_complete()) state_.accept();
#ifdef SKIPPIPE_CHECK_MOVES
        check_moves();
#endif
    }

    /// Takes up to `steps` steps; `clock_fraction` (may be empty) sets the temperature by the clock instead. `go_on` is
    /// asked every few hundred steps with the fraction done.
    void run(std::int64_t steps, const TemperatureSchedule& temperatures, const std::function<double()>& clock_fraction,
             const std::function<bool(double)>& go_on) {
        if (drawn_.empty() || !is_complete()) return;
        cool_down(steps, state_.count() * (2 * state_.length() + 1), temperatures.first_s, temperatures.ratio,
                  clock_fraction, go_on, [this](double temperature_s) { step(temperature_s); });
    }
    /// Takes so many steps at one temperature.
    void stay(std::int64_t steps, double temperature_s) {
        if (drawn_.empty() || !is_complete()) return;
        for (std::int64_t k = 0; k < steps; ++k) step(temperature_s);
    }

    const PlanCandidate& best() const { return best_; }
    /// Its iteration time; infinite where the start was incomplete.
    double best_s() const { return best_s_; }
    /// What is minimised, of the candidate at hand.
    double current_s() const { return seconds(current_); }
    std::int64_t steps() const { return steps_; }
    const std::vector<MoveTally>& tallies() const { return tallies_; }

    /// From now on every move that was taken or undone is compared with the evaluator; throws std::logic_error that
    /// names the move. Slow: for tests, and builds with assertions.
    void check_moves() {
        checks_ = true;
        accepted_ = state_.candidate();
    }

private:
    struct Drawn {
        const Move<State>* move;
        std::size_t tally;
    };

    static double seconds(const AnnealingCost& cost) {
        return cost.iteration_s + State::mean_end_weight * cost.mean_end_s;
    }
    bool is_complete() const { return std::isfinite(best_s_); }

    void step(double temperature_s) {
        ++steps_;
        const auto [move, tally] = drawn_[rng_.below(drawn_.size())];
        ++tallies_[tally].drawn;
        const bool taken = move->propose(state_, rng_) && judge(temperature_s, tallies_[tally]);
        if (!taken) state_.undo();
        if (checks_) check(*move, taken);
    }

    bool judge(double temperature_s, MoveTally& tally) {
        ++tally.judged;
        const double threshold_s = seconds(current_) - temperature_s * std::log(1 - rng_.uniform());
        const AnnealingCost proposed = state_.cost(State::cutoff_s(threshold_s, current_, temperature_s));
        if (!(seconds(proposed) < threshold_s)) return false;
        ++tally.taken;
        current_ = proposed;
        state_.accept();
        if (current_.iteration_s < best_s_) {
            best_s_ = current_.iteration_s;
            best_ = state_.candidate();
        }
        return true;
    }

    void check(const Move<State>& move, bool taken) {
        std::string fault = state_.fault(current_);
        if (!taken && !(state_.candidate() == accepted_)) fault = "the candidate is not what it was";
        if (!fault.empty())
            throw std::logic_error(std::string("move \"") + move.name + "\", " + (taken ? "taken" : "undone") + ": " +
                                   fault);
        if (taken) accepted_ = state_.candidate();
    }

    Rng rng_;
    State state_;
    PlanCandidate best_;
    AnnealingCost current_;
    double best_s_ = 0;
    std::int64_t steps_ = 0;
    std::vector<Drawn> drawn_;  ///< drawn from uniformly, each move as often as it weighs
    std::vector<MoveTally> tallies_;
    bool checks_ = false;
    PlanCandidate accepted_;  ///< where moves are checked
};

}  // namespace skippipe::planners::joint
