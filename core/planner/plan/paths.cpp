// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/paths.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/index.h"

namespace skippipe {

namespace {

constexpr double impossible = -1e300;

/// The ascending sequence of `length` stages with the greatest sum of values, by dynamic programming; empty where CC3
/// leaves none.
class BestSequence {
public:
    BestSequence(const Problem& problem, int length) : stages_(problem.stages), length_(length) {
        const auto& rules = problem.constraints;
        reach_ = rules.bounded_disorder ? std::min(stages_, rules.max_passed_over + 1) : stages_;
        value_.resize(at(length) * at(stages_));
        from_.resize(value_.size());
    }

    std::vector<StageIndex> find(const PerStage<double>& values) {
        std::fill(value_.begin(), value_.end(), impossible);
        value_[0] = 0;
        for (int hop = 1; hop < length_; ++hop)
            for (StageIndex stage(hop); stage < stages_; ++stage)
                for (StageIndex before(std::max(0, stage - reach_)); before < stage; ++before) {
                    const double value = value_[at((hop - 1) * stages_ + before)] + values[stage];
                    if (value <= value_[at(hop * stages_ + stage)] || value < impossible / 2) continue;
                    value_[at(hop * stages_ + stage)] = value;
                    from_[at(hop * stages_ + stage)] = before;
                }
        const double* last = value_.data() + (length_ - 1) * stages_;
        StageIndex stage(std::max_element(last, last + stages_) - last);
        if (last[stage] < impossible / 2) return {};
        std::vector<StageIndex> sequence(at(length_), 0);
        for (int hop = length_ - 1; hop > 0; --hop) {
            sequence[at(hop)] = stage;
            stage = from_[at(hop * stages_ + stage)];
        }
        return sequence;
    }

private:
    int stages_, length_, reach_;
    std::vector<double> value_;
    std::vector<StageIndex> from_;
};

/// Takes microbatches off stages above their cap, one sequence at a time, for as long as that lowers the excess.
void lower_excess(BestSequence& best, std::vector<std::vector<StageIndex>>& sequences, PerStage<int>& visits, int cap) {
    const auto change = [&](const std::vector<StageIndex>& sequence, int by) {
        for (std::size_t hop = 1; hop < sequence.size(); ++hop) visits[sequence[hop]] += by;
    };
    PerStage<double> values(visits.size());
    const int rounds = 4 * static_cast<int>(visits.size());
    for (int round = 0; round<rounds&& * std::max_element(visits.begin() + 1, visits.end())> cap; ++round)
        for (auto& sequence : sequences) {
            change(sequence, -1);
            // Marginal price of a squared load: every change lowers the sum of squares, so this ends.
            for (std::size_t s = 1; s < values.size(); ++s)
                values[s] = -1.0 * visits[s] - (visits[s] >= cap ? 1e6 * (visits[s] - cap + 1) : 0);
            sequence = best.find(values);
            change(sequence, +1);
        }
}

/// The stages dealt out in order, round after round: every path steps by (S-1)/(p-1) stages, the shortest hops that
/// even use allows.
std::vector<std::vector<StageIndex>> dealt_sequences(const Problem& problem, int length) {
    const int count = problem.microbatches, others = problem.stages - 1;
    const std::int64_t all = static_cast<std::int64_t>(count) * (length - 1);
    std::vector<std::vector<StageIndex>> sequences(at(count), std::vector<StageIndex>{0});
    for (std::int64_t k = 0; k < all; ++k)
        sequences[static_cast<std::size_t>(k % count)].emplace_back(1 + k * others / all);
    return sequences;
}

/// balanced_sequences, or nothing where there are none.
std::vector<std::vector<StageIndex>> find_sequences(const Problem& problem, int length) {
    std::vector<std::vector<StageIndex>> sequences(at(problem.microbatches));
    if (length == problem.stages) {
        std::vector<StageIndex> all(at(length));
        std::iota(all.begin(), all.end(), StageIndex(0));
        std::fill(sequences.begin(), sequences.end(), all);
        return sequences;
    }
    BestSequence best(problem, length);
    PerStage<int> visits(at(problem.stages), 0);
    PerStage<double> values(at(problem.stages), 0);
    for (auto& sequence : sequences) {
        // Always the stages that are furthest behind: without CC3 that alone meets CC2 (Gale-Ryser).
        for (std::size_t s = 1; s < values.size(); ++s) values[s] = -1.0 * visits[s];
        sequence = best.find(values);
        if (sequence.empty()) return {};
        for (int hop = 1; hop < length; ++hop) ++visits[sequence[at(hop)]];
    }
    if (!problem.constraints.uniform_execution) return sequences;
    const int cap = problem.visits_cap(length);
    lower_excess(best, sequences, visits, cap);
    if (*std::max_element(visits.begin() + 1, visits.end()) <= cap) return sequences;
    sequences = dealt_sequences(problem, length);
    for (const auto& sequence : sequences)
        if (!allowed_sequence(problem, sequence)) return {};
    return sequences;
}

/// How many stages a hop must be allowed to pass over for such paths to exist; -1: more do not help.
int passing_needed(Problem problem, int length) {
    int& over = problem.constraints.max_passed_over;
    int too_few = over, enough = problem.stages;
    while (enough - too_few > 1) {
        over = too_few + (enough - too_few) / 2;
        (find_sequences(problem, length).empty() ? too_few : enough) = over;
    }
    return enough < problem.stages ? enough : -1;
}

[[noreturn]] void refuse(const Problem& problem, int length) {
    const int needed = problem.constraints.bounded_disorder ? passing_needed(problem, length) : -1;
    throw InputError(
        "/pipeline/constraints",
        fmt::format("no paths of {} of {} stages use every stage at most {} times", length, problem.stages,
                    problem.visits_cap(length)),
        fmt::format("a hop may pass over at most {} stages (CC3), and {} microbatches must use the stages evenly (CC2)",
                    problem.constraints.max_passed_over, problem.microbatches),
        fmt::format(
            "{}ower the skip ratio, or switch off Uniform execution (uniform_execution)",
            needed < 0 ? std::string("L") : fmt::format("Raise Max passed over (max_passed_over) to {}, l", needed)));
}

}  // namespace

bool allowed_sequence(const Problem& problem, const std::vector<StageIndex>& stages) {
    if (stages.empty() || stages.front() != 0) return false;
    PathProgress progress;
    for (std::size_t hop = 1; hop < stages.size(); ++hop) {
        if (std::find(stages.begin(), stages.begin() + static_cast<std::ptrdiff_t>(hop), stages[hop]) !=
            stages.begin() + static_cast<std::ptrdiff_t>(hop))
            return false;
        if (!advance(problem.constraints, progress, stages[hop])) return false;
    }
    return true;
}

std::vector<std::vector<StageIndex>> balanced_sequences(const Problem& problem, int length) {
    auto sequences = find_sequences(problem, length);
    if (sequences.empty()) refuse(problem, length);
    return sequences;
}

}  // namespace skippipe
