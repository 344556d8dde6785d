// SPDX-License-Identifier: GPL-3.0-or-later
// Which of several runs is best, which is quickest, and whether that says anything. Pure: values in, values out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/accounting.h"
#include "core/experiment/document.h"
#include "core/record/record.h"

namespace skippipe {

/// Whether the run failed before its first iteration: there is nothing to hold it against others by.
bool did_nothing(const RunInfo& run);

/// Whether it goes on: what it has come to so far is not held against others.
bool goes_on(const RunInfo& run);

/// Whether it is held against others: it neither goes on nor failed or died.
bool is_judged(const RunInfo& run);

/// The same model on the same data: only then does a figure make one run better than another.
bool train_the_same(const Experiment& a, const Experiment& b);

/// Which runs are held against each other, in verdicts, races and curves alike: those that train the same as the one at
/// `baseline`; where no other does, those that most train the same as, the first of several as many; all where no two
/// train the same: then there would be nothing to see.
std::vector<bool> held_against(const std::vector<const Experiment*>& runs, std::size_t baseline);

struct RankedRun {
    const RunInfo* info = nullptr;
    const Experiment* experiment = nullptr;
};

/// By the last validation loss, where all have one; else by the iteration's network time. Runs are indices.
struct Ranking {
    enum class By { loss, iteration } by = By::loss;
    std::size_t best = 0;
    std::size_t other = 0;  ///< what it is held against: the baseline (0), or where that is best the next
    bool alike = false;     ///< all losses differ by less than those of two seeds would
    bool equal = false;     ///< best and other have the same figure
    bool unequal = false;   ///< they did not do the same number of iterations: a lower loss may come of that alone
    /// Of the best run's last losses and the other's, each with the runs that differ from it in their seeds alone (one
    /// a seed), by Welch's test; absent where one of them has no such runs, or where they are two seeds of one
    /// experiment.
    std::optional<double> p;
    std::size_t best_seeds = 1, other_seeds = 1;
    bool may_be_chance = false;  ///< p says so, or without seeds: so small a difference of losses may come of them
    /// Whose iterations are the shortest, and the longest; absent where `best` is that run (unless all are alike),
    /// where all take as long, or not all have ended one.
    std::optional<std::size_t> quickest;
    std::size_t slowest = 0;
};

/// Whose iterations are the shortest and the longest on the network; nothing where one has ended none, or all take as
/// long in three digits.
struct Paces {
    std::size_t quickest = 0, slowest = 0;
};
std::optional<Paces> paces(const std::vector<RankedRun>& runs);

/// Whether the losses of two runs differ by no more than those of two seeds of one experiment may.
bool seeds_may_explain(double loss, double other);

/// The figure by which they are ranked: a loss in nats, or seconds of network time.
double ranked_value(const Ranking& ranking, const RunInfo& run);

/// Which of several runs differ in their seeds alone, worked out once for all pairs of them. Runs are indices.
class SeedGroups {
public:
    explicit SeedGroups(const std::vector<RankedRun>& runs);
    /// Whether nothing but the seed differs in their experiments, if that does.
    bool are_alike_but_seed(std::size_t a, std::size_t b) const { return runs_[a].group == runs_[b].group; }
    /// The same, planned by one planner: where the seed does not differ they repeat each other.
    bool are_of_one(std::size_t a, std::size_t b) const {
        return runs_[a].planner == runs_[b].planner && are_alike_but_seed(a, b);
    }
    /// Whether the two are seeds of one experiment: all that differs between them is their seeds. Two runs of one seed
    /// repeat each other, or were planned by hand.
    bool are_seeds(std::size_t a, std::size_t b) const { return runs_[a].seed != runs_[b].seed && are_of_one(a, b); }

private:
    struct Run {
        std::size_t group = 0;
        std::uint64_t seed = 0;
        std::string planner;
    };
    std::vector<Run> runs_;
};

/// Nothing for fewer than two runs, or where not all have a figure in common. The first is the baseline.
std::optional<Ranking> rank_runs(const std::vector<RankedRun>& runs, const SeedGroups& groups);

/// A run as it is judged.
struct JudgedRun {
    const RunInfo* info = nullptr;
    const Experiment* experiment = nullptr;
    const std::vector<Metric>* metrics = nullptr;
    const Accounting* iteration = nullptr;  ///< absent: not accounted for
};

/// Of that many times the least another time is no longer: in three digits it is 1.00.
inline constexpr double as_long = 1.005;

/// Who is first at the loss that all get to, by the clock of the runs: what the shorter iteration and the lower loss
/// come to.
struct Soonest {
    std::string metric;           ///< "loss" or "validation_loss"
    double target = 0;            ///< the loss
    std::vector<double> seconds;  ///< of each run
    std::size_t quickest = 0;
};

/// Why no run is called best, where that is known.
enum class Undecided {
    no,
    only_seeds,   ///< all that differs is the seed: whatever one of them does better, chance does
    unequal_work  ///< a lower loss may come of more iterations alone, and who is soonest at one loss is not known
};

/// What is said of runs wherever they are compared.
struct Judgement {
    Ranking ranking;
    std::optional<Soonest> soonest;  ///< absent: not ranked by loss, or readings are too far apart to tell
    std::optional<Paces> paces;      ///< absent: not ranked by loss, or none is quicker
    /// By the first of these that is sure and does not make all of them equal: who is soonest, who is lowest, who is
    /// quickest; with those that are as good in three digits, and with other seeds of those: none is sure that puts
    /// one seed of an experiment before others and another behind them. Empty: nothing is sure.
    std::vector<std::size_t> best;
    Undecided undecided = Undecided::no;
};

/// Runs that take as long as the quickest, but for less than is told.
std::vector<std::size_t> as_good_as(const std::vector<double>& seconds, std::size_t quickest);

/// Nothing where they cannot be ranked. The first is the baseline.
std::optional<Judgement> judge(const std::vector<JudgedRun>& runs);

}  // namespace skippipe
