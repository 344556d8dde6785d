// SPDX-License-Identifier: GPL-3.0-or-later
// The cost model kept true while a run goes on: what its measured iterations say that nodes and lines take.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/planner/replan/replan.h"

namespace skippipe {

/// What the network has become since the plan in force was made: replan(planned_for, plan, {.changes = changes}).
struct Drift {
    Problem planned_for;                 ///< with the backward and loss factor of now
    std::vector<NetworkChange> changes;  ///< beyond the threshold; empty: none
    std::string text;                    ///< for people: "n5 takes 1.42 x as long; 3 others changed by more than 10 %"
};

/// Measured seconds over those of the drawn problem: a factor a node and a line, and the backward and loss factor; each
/// the median over the last iterations. Operations are taken as they are measured, with what other ranks take of the
/// same cores: predict with as many cores as nodes. Nodes and lines that no iteration used get the median factor of
/// those that one did.
class CostEstimator {
public:
    static constexpr std::size_t window = 5;  ///< iterations

    /// `measure_links`: false where the transport holds transfers to the drawn network (shape_links).
    CostEstimator(const Problem& drawn, bool measure_links)
        : drawn_(drawn), planned_for_(drawn), now_(drawn), measure_links_(measure_links) {}

    /// The spans of one iteration under the wall clock.
    void observe(const Plan& plan, const std::vector<Span>& spans);
    /// The drawn problem with measured values; as drawn before the first observation.
    const Problem& now() const { return now_; }
    int observed() const { return observed_; }
    /// Against what the plan in force was made for; `threshold`: a relative change. Ways that take nearly nothing may
    /// change.
    Drift drift(double threshold) const;
    /// The plan in force is, from here on, one for the values of now.
    void planned() { planned_for_ = now_; }

private:
    using History = std::deque<double>;
    static void remember(History& history, std::vector<double> ratios);
    void take_rings(const Problem& problem, const Plan& plan, const std::vector<Span>& spans,
                    std::map<int, std::vector<double>>& lines) const;
    void apply();

    Problem drawn_, planned_for_, now_;
    bool measure_links_;
    int observed_ = 0;
    std::map<int, History> nodes_, lines_;
    History backward_, loss_;
};

}  // namespace skippipe
