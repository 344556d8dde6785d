// SPDX-License-Identifier: GPL-3.0-or-later
// Under the wall clock: nodes and lines that the document's failures make slower, or let vary, for whole iterations.
// Rank 0 says which do; the others take its word.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/failures.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

/// One node or line that is slower, or varies.
struct SpeedChange {
    bool of_line = false;
    int index = 0;           ///< of the node, or the line
    double factor = 1;       ///< of its times; 1: it varies alone
    double deviation = 0;    ///< of a lognormal factor of mean 1, drawn for each operation or transfer; 0: none
    std::uint64_t seed = 0;  ///< of those draws
    bool operator==(const SpeedChange&) const = default;
};

/// A change that makes slower, or lets vary; `seed`: of its draws.
SpeedChange speed_change(const Problem& problem, const NetworkChange& change, std::uint64_t seed);

/// What the document's failures change, iteration by iteration. On rank 0.
class SpeedFailures {
public:
    /// Both outlive it.
    SpeedFailures(const Experiment& experiment, const Problem& problem)
        : experiment_(experiment), problem_(problem), schedule_(experiment, problem) {}

    /// What is in force in an iteration that begins at `network_s` of the run's clock: what happened before that, by
    /// time and rate, and what happens in it, by iteration and chance, for as long as each lasts. Iterations ascend;
    /// one that begins again has what it had. Those before the first that is asked for count as well, but for what
    /// would have come back.
    std::vector<SpeedChange> in_force(int iteration, double network_s, const PerStage<std::vector<NodeIndex>>& stages);

private:
    void add(const FailureEvent& event, double until_s);

    const Experiment& experiment_;
    const Problem& problem_;
    FailureSchedule schedule_;
    struct Lasting {
        SpeedChange change;
        double until_s = 0;
    };
    std::vector<Lasting> lasting_;
    int next_ = 0;        ///< iteration whose events are not among them
    double since_s_ = 0;  ///< nor are those by time from then on
};

/// Whether a document has failures that only change speeds.
bool has_speed_failures(const Experiment& experiment);

std::string to_text(const std::vector<SpeedChange>& changes);
/// Rank 0's word. Throws PeerFault where it names what is not there, or is none.
std::vector<SpeedChange> read_speed_changes(const std::string& text, const Problem& problem);
/// "node-3 is 3 times as slow", for people.
std::string describe(const SpeedChange& change, const Problem& problem);

/// How many times as long an operation takes on a node; never below 1, for a real clock makes nothing shorter.
double stretch_of(const std::vector<SpeedChange>& changes, int node, const Operation& operation, int iteration);

}  // namespace skippipe
