// SPDX-License-Identifier: GPL-3.0-or-later
// How a training of several ranks goes on when some are gone or have come back: what they agree on, as values.
#pragma once
#include <string>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/recovery.h"
#include "core/engine/stage_rebuild.h"
#include "core/engine/step.h"

namespace skippipe {

/// What the ranks did when some were gone or had come back.
struct RegroupReport {
    int iterations_done = 0;
    std::vector<int> lost, joined;  ///< ranks
    std::vector<NodeIndex> nodes_lost, nodes_joined;
    std::string how;          ///< "its connection broke"; empty: none was lost
    double lost_work_s = 0;   ///< of the iteration that begins again, or of earlier meetings, until this loss was known
    double detection_s = 0;   ///< from the last sign of life, or the break, until all were told
    double quiet_s = 0;       ///< until what was under way here had ended
    double meeting_s = 0;     ///< until all agreed on who is there, and could talk
    double planning_s = 0;    ///< the plan for those, with the proof against deadlock
    double connecting_s = 0;  ///< lines and sums of that plan
    double fetching_s = 0;    ///< weights and AdamW's state for those who came back
    /// The iteration that was interrupted goes on, with all that those who are left have of it; else it begins again.
    bool goes_on = false;
    int redone_forwards = 0, redone_backwards = 0;  ///< that had run on nodes that are lost
    int lost_gradients = 0, dropped = 0;            ///< as in RecoveryReport
    std::string plan_json;  ///< in force from the next iteration that begins on; empty: none, the training waits
    int waits_for = -1;     ///< a stage of which no node is there: the training stands still until one is
    double waits_s = 0;     ///< at most
    std::vector<int> rebuilt = {};          ///< stages that start from the last checkpoint, while the others go on
    std::vector<int> from_neighbours = {};  ///< stages that are made anew of those beside them
    std::vector<int> passed_over = {};      ///< stages of which no node is there, while the others train

    /// From the first loss to the next iteration, less what passed before it was known.
    double total_s() const { return lost_work_s + quiet_s + meeting_s + planning_s + connecting_s + fetching_s; }
};

/// "rank 2 is gone (nodes n5, n6): its connection broke; the others go on ..." for people.
std::string describe(const RegroupReport& report, const Problem& problem);

/// Where a rank stands when ranks meet.
struct RankPosition {
    static constexpr int not_begun = -1, not_known = -2, looks_on = -3;
    static constexpr int has_come = -1, torn = -2;
    int iterations_done = has_come;  ///< torn: it was interrupted while all went back to a checkpoint
    Commit commit;                   ///< of the last of them, where it was this rank's; or empty
    /// Of the iteration under way: 0 of the whole, k of its k-th rest; looks_on: this rank came in the middle of it.
    int rests = not_begun;
    std::string progress = {};  ///< RankProgress of that as text, where rests is 0 or more
    double origin_s = 0;        ///< when that iteration began, common clock
    int switches = 0;           ///< to another plan, so far
};

/// What rank 0 says to all when they have met.
struct Agreement {
    int iterations_done = 0;
    Commit commit;            ///< of the last of them, where a rank has not heard it; or empty
    std::vector<int> joined;  ///< ranks that have just come, and have no weights
    bool torn = false;        ///< a rank was interrupted while all went back: they go back again
    std::string checkpoint;   ///< that all go back to (CommitListener::newest), or `rebuilt` starts from; or empty
    std::vector<int> rebuilt = {};  ///< stages whose weights are lost and that start from there, while nobody goes back
    std::vector<NeighbourRebuild> neighbours = {};  ///< the same of those that are made of the stages beside them
    std::vector<int> passed_over = {};              ///< stages that have no node left, while the others train
    int waits_for = -1;  ///< a stage that has no node left: all wait until it has, without a plan
    bool validation_due = false;
    int validated_at = -1, committed_at = -1;
    int iterations = 0;  ///< to be done: more than the document says where the training was extended
    std::string plan_json;
    /// Of the iteration under way, which is to go on: what of it is in force (RankPosition::rests), else not_begun.
    int rests = RankPosition::not_begun;
    std::vector<int> onlookers = {};         ///< who came in the middle of it, and takes part in its sums alone
    double origin_s = 0, at_s = 0;           ///< when it began, common clock; and where it is, from then on
    std::vector<std::string> progress = {};  ///< RankPosition::progress of each rank that is as far as that
    int switches = 0;                        ///< RankPosition::switches of the furthest
    std::string placement = {};  ///< the plan with everybody there, for those who have come since the first switch

    bool goes_back() const { return !checkpoint.empty() && rebuilt.empty(); }
};

std::string to_text(const RankPosition& position);
/// Throws PeerFault where `rank` sent none.
RankPosition read_position(const std::string& text, int rank);
std::string to_text(const Agreement& agreement);
/// Throws PeerFault where it is none.
Agreement read_agreement(const std::string& text);

/// The furthest of them. An iteration whose sums one rank has is over for all: each has given its own, and none can be
/// more than that one behind; nor more than one switch to another plan. Throws PeerFault where that is not so.
/// `positions` by rank, empty of those not there.
Agreement agree(const std::vector<std::string>& positions);

/// A rest of an iteration, as all ranks make it of what they have agreed on. `plan` and `before`: in force. Throws
/// InputError where there is none, or it would come to a deadlock.
struct PlannedRest {
    Replan replan;
    RankSchedule schedule;
};
PlannedRest rest_of(const Problem& problem, const RankSchedule& everybody, const Plan& plan, const Replan* before,
                    const std::vector<int>& members, const Agreement& agreement, RecoveryController& controller);

/// All that they host, spares too; ascending.
std::vector<NodeIndex> nodes_of_ranks(const RankSchedule& schedule, const std::vector<int>& ranks);

/// The plan of everybody, for the members. Throws InputError where none can be.
RankSchedule schedule_for(const Problem& problem, const RankSchedule& everybody, const std::vector<int>& members,
                          RecoveryController& controller);

}  // namespace skippipe
