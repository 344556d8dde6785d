// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/failures.h"

namespace skippipe {

/// A node that is made to fail.
struct NodeLoss {
    int node = 0;             ///< -1: the coordinator
    int rank = 0;             ///< that hosts it
    double back_after_s = 0;  ///< of the run's clock; infinite: never
};

/// What a command asks for: {"node": "n3", "back_after_s": 60}; null: never. Throws InputError where it is none of this
/// run.
NodeLoss loss_of_command(const std::string& payload_json, const Problem& problem, const std::vector<int>& rank_of);

/// Nodes, or the coordinator, that the document's failures lose under the wall clock, by killing their ranks, when it
/// is time.
class RankFailures {
public:
    /// `rank_of`: by node. `reached`: up to this iteration the run has come before, so that its coordinator is not lost
    /// there once more; -1: it begins. Experiment and problem outlive it.
    RankFailures(const Experiment& experiment, const Problem& problem, PerStage<std::vector<NodeIndex>> stages,
                 std::vector<int> rank_of, int reached = -1);

    const std::vector<int>& rank_of() const { return rank_of_; }
    /// A plan is in force. Where its nodes have changed their stages, those are what is lost with a stage from now on;
    /// a plan for those who are left alone changes nothing.
    void follow(const PerStage<std::vector<NodeIndex>>& stages);
    /// An iteration begins now, at `network_s` of the run's clock, and lasts about `expected_s`.
    void begin_iteration(int iteration, double network_s, double expected_s);
    /// Those whose time has come; each once.
    std::vector<NodeLoss> take_due();

private:
    using Clock = std::chrono::steady_clock;
    const Experiment& experiment_;
    FailureSchedule schedule_;
    PerStage<std::vector<NodeIndex>> stages_;
    std::vector<int> rank_of_;
    int reached_;
    struct Due {
        Clock::time_point at;
        NodeLoss loss;
        bool once = false;        ///< in its iteration: where that ends early, at its end
        std::size_t failure = 0;  ///< of the document
        double network_s = 0;     ///< the same time, of the run's clock
    };
    bool has_happened(std::size_t failure, int node, double network_s) const;
    void remember(const Due& due);

    std::vector<Due> due_;                            ///< in the order of their times
    std::set<std::pair<std::size_t, int>> happened_;  ///< failures by iteration, and the iteration
    /// The others, which recur: by failure and node, until when of the run's clock. That one stands still where the
    /// machine's goes on: in a pause, for one.
    std::map<std::pair<std::size_t, int>, double> happened_until_s_;
};

}  // namespace skippipe
