// SPDX-License-Identifier: GPL-3.0-or-later
// An iteration that the loss of ranks has interrupted: what each rank has of it, and how the ranks that are left share
// the rest. Values, without ranks.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/route_table.h"
#include "core/engine/schedule.h"
#include "core/planner/replan/replan.h"

namespace skippipe {

/// An input that the node before hands over again where a rest begins.
struct InputAgain {
    int from = -1;  ///< -1: it lies on its data node
    int microbatch = 0, step = 0;
    std::uint8_t attempt = 0;
};
/// In the order in which they are handed over.
std::vector<InputAgain> inputs_again(const Residual& residual, const RouteTable& routes);

/// What a rank has of an iteration, once nothing runs on it any more.
struct RankProgress {
    PerRelease<int> steps_done;       ///< as far as this rank knows, of 2p + 1
    std::vector<char> again;          ///< [T x (2p + 1)] still to be run again; empty: nothing ever was
    std::vector<OpenOperation> open;  ///< whose input is here and which have not run
    bool operator==(const RankProgress&) const = default;
};

/// As one JSON value.
std::string to_text(const RankProgress& progress);
/// Of `rank`, in an iteration of so many microbatches on paths of `length` nodes. Throws PeerFault where it cannot be.
RankProgress read_progress(const std::string& text, int rank, int microbatches, int length);

/// Where all of them are `at_s` seconds from the iteration's start. `ranks`: of each what it has; nothing of one that
/// has done nothing yet of what is in force: `plan`, and `before` where that is a rest (null: the whole iteration).
/// Those that are lost are not in it. `rank_of`: of each node.
IterationProgress join_progress(const Problem& problem, const Plan& plan, const Replan* before,
                                const std::map<int, std::optional<RankProgress>>& ranks,
                                const std::vector<int>& rank_of, double at_s);

/// The rest as the members execute it; `everybody`: which nodes are whose. Those that have no part in it, because they
/// have just come, take part in the sums of their stages: `rest` is null for them, who do not know it. Where reductions
/// are planned, every stage is summed anew, after all else, by the pieces that it would have under the virtual clock
/// (core/planner/replan/rest_reductions.h).
RankSchedule schedule_of_rest(const Problem& problem, const RankSchedule& everybody, const std::vector<int>& members,
                              const Replan* rest);

}  // namespace skippipe
