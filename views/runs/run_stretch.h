// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "views/runs/run_data.h"

namespace skippipe {

/// What iterations idled, summed up.
struct IdleSums {
    int iterations = 0;
    std::vector<std::array<double, idle_causes>> node_idle_s;  ///< [node]
    std::vector<double> node_busy_s;
    std::map<int, double> of_iteration;  ///< share of the nodes' time

    void add(const IdleReport& report, int iteration);
    void add(const IdleSums& other);
    /// Of all the time of all nodes, by cause: long iterations count as long as they are.
    std::array<double, idle_causes> shares() const;
};

/// Some iterations of a run that follow each other, as lanes with the idle time of each explained.
class RunStretch {
public:
    /// Empty lanes of the run's nodes.
    explicit RunStretch(const RunData& run);

    /// It is kept back until its iteration is explained.
    void add(const RecordedSpan& row);
    /// Iterations before `end`, which are whole, come into the lanes, work and waits at once: one that came without its
    /// waits would flicker.
    void explain(const Problem& problem, int end, const std::function<const Plan&(int iteration)>& plan_of);
    /// Sorts what was added; call before reading.
    void finish() { lanes_.finish(); }

    const TimelineData& lanes() const { return lanes_; }
    const IdleSums& idle() const { return idle_; }
    double end_s() const { return end_s_; }

private:
    struct Pending {
        double offset_s = 0;
        Timeline timeline;
        std::vector<std::int64_t> rows = {};  ///< of the record, a span each
    };
    TimelineData lanes_;
    IdleSums idle_;
    std::map<int, Pending> pending_;  ///< by iteration
    double end_s_ = 0;
};

}  // namespace skippipe
