// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/way_on.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/index.h"

namespace skippipe {

namespace {

constexpr const char* two_ranks =
    "Go on from the run's newest checkpoint (`skippipe resume`), where it has one; a stage with nodes on two ranks "
    "outlives the loss of one";

bool is_one_of(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Stages none of whose nodes is on such a rank.
template <class Is>
std::vector<int> stages_without(const RankSchedule& everybody, const Is& is) {
    std::vector<int> without;
    const auto& stages = everybody.plan.stages;
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        if (std::none_of(stages[stage].begin(), stages[stage].end(),
                         [&](NodeIndex node) { return is(everybody.rank_of[at(node)]); }))
            without.push_back(static_cast<int>(stage));
    return without;
}

/// The first of them; -1: none.
template <class Is>
int stage_without(const RankSchedule& everybody, const Is& is) {
    const auto without = stages_without(everybody, is);
    return without.empty() ? -1 : without.front();
}

std::string names_of_rank(const Problem& problem, const RankSchedule& everybody, int rank) {
    std::vector<std::string> names;
    for (const NodeIndex node : nodes_of_ranks(everybody, {rank})) names.push_back(problem.node_ids[at(node)]);
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

WayOn way_on(const Problem& problem, const RankSchedule& everybody, const Recovery& recovery, const Met& met,
             bool has_checkpoint) {
    const auto is_there = [&](int rank) { return is_one_of(met.members, rank); };
    const auto has_weights = [&](int rank) { return is_there(rank) && !is_one_of(met.joined, rank); };
    const int lost = stage_without(everybody, has_weights);
    const bool restarts = recovery.policy == RecoveryPolicy::restart && met.somebody_lost && has_checkpoint;
    if (lost < 0 && !met.torn) return {.goes_back = restarts};
    if (lost >= 0 && !has_checkpoint) {
        const int rank = everybody.rank_of[at(everybody.plan.stages[at(lost)].front())];
        throw InputError(fmt::format("rank {}", rank),
                         fmt::format("rank {} is gone (nodes {}): {}; stage {} has no node left", rank,
                                     names_of_rank(problem, everybody, rank), met.how, lost),
                         "the stage's weights were on its nodes alone, and are lost to this run", two_ranks);
    }
    const int waits_for = stage_without(everybody, is_there);
    const bool alone = lost >= 0 && !met.torn && recovery.rebuild == StageRebuild::checkpoint &&
                       recovery.policy != RecoveryPolicy::restart;
    if (waits_for >= 0 || !alone) return {.waits_for = waits_for, .goes_back = waits_for < 0};
    return {.rebuilt = stages_without(everybody, has_weights)};
}

InputError nobody_came(const Problem& problem, const RankSchedule& everybody, int stage) {
    const int rank = everybody.rank_of[at(everybody.plan.stages[at(stage)].front())];
    return {fmt::format("rank {}", rank),
            fmt::format("stage {} has no node left, and rank {} (nodes {}) has not come back", stage, rank,
                        names_of_rank(problem, everybody, rank)),
            "the others have waited for it to go back to a checkpoint together", two_ranks};
}

}  // namespace skippipe
