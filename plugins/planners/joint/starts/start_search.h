// SPDX-License-Identifier: GPL-3.0-or-later
// What a search of a large problem begins with: placements that see memory and groups of near nodes, paths chosen while
// the iteration runs; and a search over both, which changes the placement and what paths are chosen by.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/rng.h"
#include "plugins/planners/common/reduction_starts.h"
#include "plugins/planners/joint/starts/group_placement.h"
#include "plugins/planners/joint/starts/reserved_paths.h"

namespace skippipe::planners::joint {

/// A placement and what its paths were chosen by.
struct TimedStart {
    PlanCandidate candidate;
    PathWeights weights;
    double seconds = 0;  ///< of its iteration; where reductions are planned, with pieces that are soon found
    double rank_s = 0;   ///< what is minimised
    double waiting = 1;  ///< what its placement was made with, if by roles
    Pace pace = {};      ///< of its microbatches
};

/// Whether these starts are worth their while: smaller problems are searched well from any start.
bool wants_timed_starts(const Problem& problem);

class StartSearch {
public:
    /// Keeps references; `problem` wants timed starts. Throws InputError where CC2 and CC3 leave no paths.
    StartSearch(const Problem& problem, const Network& network, std::uint64_t seed, std::uint64_t stream);

    /// The best of a few placements with usual weights; nothing where lines are missing. `go_on`: asked after each.
    const std::optional<TimedStart>& begin(const std::function<bool(double best_s)>& go_on);
    /// Goes on from another start.
    void begin_with(const TimedStart& start) { best_ = now_ = start; }
    /// After begin(): tries so many changes, one after another. `go_on`: asked after each.
    void run(std::int64_t changes, const std::function<double()>& clock_fraction,
             const std::function<bool(double fraction, double best_s)>& go_on);
    const std::optional<TimedStart>& best() const { return best_; }
    std::int64_t tried() const { return tried_; }

private:
    void time(TimedStart& start, double cutoff_s, const Pace& at_most = {});
    Pace slowest() const;
    void change_weights(TimedStart& start);
    bool change_placement(TimedStart& start);
    bool place_anew(TimedStart& start);
    bool deal_group_anew(TimedStart& start);
    bool exchange(TimedStart& start);
    bool move(TimedStart& start);
    void moved(TimedStart& start, StageIndex stage);
    PerStage<int> sizes_with(int data_nodes, double towards_first) const;

    std::vector<int> data_node_counts() const;
    /// Whether to go on.
    bool consider(TimedStart start, const std::function<bool(double)>& go_on);
    void consider_all(const std::function<bool(double)>& go_on);
    TimedStart unfilled(const Placement& placement, double waiting = 1) const;

    const Problem& problem_;
    const Network& network_;
    std::optional<ReductionChoice> reductions_;  ///< where they are planned
    Rng rng_;
    std::vector<int> groups_;
    const std::vector<int> counts_;  ///< of data nodes that are tried
    ReservedPaths paths_;
    std::optional<TimedStart> best_, now_;
    std::int64_t tried_ = 0;
};

}  // namespace skippipe::planners::joint
