// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/way_on.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/format.h"
#include "core/base/index.h"

namespace skippipe {

namespace {

constexpr const char* two_ranks =
    "Go on from the run's newest checkpoint (`skippipe resume`), where it has one; a stage with nodes on two ranks "
    "outlives the loss of one";

bool is_one_of(const std::vector<int>& values, int value) {
    return std::find(values.begin(), values.end(), value) != values.end();
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

std::string names_of_rank(const Problem& problem, const RankSchedule& everybody, int rank) {
    std::vector<std::string> names;
    for (const NodeIndex node : nodes_of_ranks(everybody, {rank})) names.push_back(problem.node_ids[at(node)]);
    return fmt::format("{}", fmt::join(names, ", "));
}

InputError lost_for_good(const Problem& problem, const RankSchedule& everybody, const std::string& how, int stage,
                         const char* why) {
    const int rank = everybody.rank_of[at(everybody.plan.stages[at(stage)].front())];
    return {fmt::format("rank {}", rank),
            fmt::format("rank {} is gone (nodes {}): {}; stage {} has no node left", rank,
                        names_of_rank(problem, everybody, rank), how, stage),
            why, two_ranks};
}

bool goes_round(RecoveryPolicy policy) {
    return policy == RecoveryPolicy::reroute || policy == RecoveryPolicy::skip || policy == RecoveryPolicy::drop;
}

/// What each stage starts from that has nodes again, but nobody with its weights.
void add_starts(const RankSchedule& everybody, const Recovery& recovery, const Met& met, const std::vector<int>& stages,
                WayOn& way) {
    const auto has_weights = [&](NodeIndex node) {
        const int rank = everybody.rank_of[at(node)];
        return is_one_of(met.members, rank) && !is_one_of(met.joined, rank);
    };
    for (const int stage : stages) {
        auto sources = recovery.rebuild == StageRebuild::neighbours
                           ? neighbours_of(everybody.plan.stages, stage, has_weights, met.squared_norms)
                           : std::vector<RebuildSource>{};
        if (sources.empty()) {
            way.rebuilt.push_back(stage);
            continue;
        }
        const double before = at(stage) < met.learning_rates.size() ? met.learning_rates[at(stage)] : 1;
        way.neighbours.push_back({stage, std::move(sources), before * recovery.rebuilt_learning_rate});
    }
}

}  // namespace

bool never_comes(const RankSchedule& everybody, int stage, const std::vector<int>& never_back) {
    const auto& ring = everybody.plan.stages[at(stage)];
    return std::all_of(ring.begin(), ring.end(),
                       [&](NodeIndex node) { return is_one_of(never_back, everybody.rank_of[at(node)]); });
}

WayOn way_on(const Problem& problem, const RankSchedule& everybody, const Recovery& recovery, const Met& met,
             bool has_checkpoint, const std::function<bool()>& has_plan) {
    const auto is_there = [&](int rank) { return is_one_of(met.members, rank); };
    const auto lost =
        stages_without(everybody, [&](int rank) { return is_there(rank) && !is_one_of(met.joined, rank); });
    const auto absent = stages_without(everybody, is_there);
    const bool restarts = recovery.policy == RecoveryPolicy::restart;
    if (lost.empty() && !met.torn) return {.goes_back = restarts && met.somebody_lost && has_checkpoint};
    const auto never = std::find_if(absent.begin(), absent.end(),
                                    [&](int stage) { return never_comes(everybody, stage, met.never_back); });
    // A stage alone starts anew; else all go back, for what comes later has come to nothing with it.
    const bool alone = recovery.rebuild != StageRebuild::disk && !restarts && !met.torn;
    WayOn way;
    if (!absent.empty() && !met.torn && goes_round(recovery.policy) && (alone || never != absent.end()) && has_plan())
        way.passed_over = absent;
    else if (never != absent.end())
        throw lost_for_good(problem, everybody, met.how, *never,
                            "none of its nodes is started again, and paths cannot pass over it");
    // Who may come back must have something to start from, also where it is passed over meanwhile.
    std::vector<int> start;
    std::copy_if(lost.begin(), lost.end(), std::back_inserter(start),
                 [&](int stage) { return !never_comes(everybody, stage, met.never_back); });
    WayOn starts;
    if (alone) add_starts(everybody, recovery, met, start, starts);
    const auto& from_checkpoint = alone ? starts.rebuilt : start;
    if (!has_checkpoint && !from_checkpoint.empty())
        throw lost_for_good(problem, everybody, met.how, from_checkpoint.front(),
                            "the stage's weights were on its nodes alone, and are lost to this run");
    if (!absent.empty() && way.passed_over.empty()) return {.waits_for = absent.front()};
    const auto is_absent = [&](int stage) { return is_one_of(absent, stage); };
    std::erase_if(start, is_absent);
    std::erase_if(starts.rebuilt, is_absent);
    std::erase_if(starts.neighbours, [&](const auto& one) { return is_absent(one.stage); });
    way.rebuilt = std::move(starts.rebuilt);
    way.neighbours = std::move(starts.neighbours);
    way.goes_back = met.torn || (!alone && !start.empty());
    return way;
}

double borne_silence_s(const Recovery& recovery) {
    constexpr double least_s = 5;
    return std::max(least_s, recovery.deadline_s);
}

double longest_wait_s(const Recovery& recovery, const std::vector<Failure>& failures) {
    double longest_s = 0;
    for (const auto& failure : failures)
        if (failure.kind == FailureKind::crash || failure.kind == FailureKind::stage_loss)
            longest_s = std::max(longest_s, failure.rejoin_after_s.value_or(0));
    return longest_s + recovery.wait_s;
}

InputError nobody_came(const Problem& problem, const RankSchedule& everybody, int stage, double waited_s) {
    const int rank = everybody.rank_of[at(everybody.plan.stages[at(stage)].front())];
    return {fmt::format("rank {}", rank),
            fmt::format("stage {} has no node left, and rank {} (nodes {}) has not come back in {}", stage, rank,
                        names_of_rank(problem, everybody, rank), format_seconds(waited_s)),
            "so long the others wait for who is started again (recovery.wait_s, and what the document's failures last)",
            two_ranks};
}

}  // namespace skippipe
