// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/regroup.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/engine/peer_text.h"
#include "core/engine/recovery.h"
#include "core/engine/rest.h"

namespace skippipe {

namespace {

using nlohmann::json;

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::string ranks_text(const std::vector<int>& ranks) {
    return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "));
}

}  // namespace

std::string describe(const RegroupReport& report, const Problem& problem) {
    std::string text;
    if (!report.lost.empty())
        text = fmt::format("{} {} gone (nodes {}): {}; the others {} after iteration {}", ranks_text(report.lost),
                           report.lost.size() > 1 ? "are" : "is", names_of(report.nodes_lost, problem), report.how,
                           report.waits_for < 0 ? "go on"
                                                : fmt::format("wait for stage {}, at most {},", report.waits_for,
                                                              format_seconds(report.waits_s)),
                           report.iterations_done);
    const auto stages = [&text](const char* how, const std::vector<int>& which) {
        if (!which.empty())
            text += fmt::format(", stage{} {} {}", which.size() > 1 ? "s" : "", fmt::join(which, ", "), how);
    };
    stages("passed over", report.passed_over);
    if (!report.joined.empty())
        text += fmt::format("{}{} {} back (nodes {})", text.empty() ? "" : "; ", ranks_text(report.joined),
                            report.joined.size() > 1 ? "are" : "is", names_of(report.nodes_joined, problem));
    stages("from the last checkpoint", report.rebuilt);
    stages("made of its neighbours", report.from_neighbours);
    if (report.goes_on)
        text += ": the iteration goes on, " +
                redone_words(report.redone_forwards, report.redone_backwards, report.dropped, report.lost_gradients);
    text += fmt::format(": {} lost, known after {}, all quiet {}, met {}, planned {}, connected {}",
                        format_seconds(report.lost_work_s), format_seconds(report.detection_s),
                        format_seconds(report.quiet_s), format_seconds(report.meeting_s),
                        format_seconds(report.planning_s), format_seconds(report.connecting_s));
    if (!report.joined.empty()) text += fmt::format(", weights fetched {}", format_seconds(report.fetching_s));
    return text;
}

std::string to_text(const RankPosition& position) {
    return json{{"iterations_done", position.iterations_done},
                {"commit", position.commit},
                {"rests", position.rests},
                {"progress", position.progress},
                {"origin_s", position.origin_s},
                {"switches", position.switches}}
        .dump();
}

RankPosition read_position(const std::string& text, int rank) {
    return read_from_peer(rank, text, [](const json& v) {
        return RankPosition{v.at("iterations_done"), v.at("commit"),   v.at("rests"),
                            v.at("progress"),        v.at("origin_s"), v.at("switches")};
    });
}

namespace {

json rebuilds_to_json(const std::vector<NeighbourRebuild>& rebuilds) {
    auto all = json::array();
    for (const auto& one : rebuilds) {
        auto sources = json::array();
        for (const auto& source : one.sources) sources.push_back({source.node, source.share});
        all.push_back({one.stage, sources, one.learning_rate});
    }
    return all;
}

std::vector<NeighbourRebuild> rebuilds_from(const json& all) {
    std::vector<NeighbourRebuild> rebuilds;
    for (const auto& one : all) {
        auto& rebuild = rebuilds.emplace_back(NeighbourRebuild{one.at(0), {}, one.at(2)});
        for (const auto& source : one.at(1)) rebuild.sources.push_back({source.at(0), source.at(1)});
    }
    return rebuilds;
}

}  // namespace

std::string to_text(const Agreement& agreement) {
    return json{{"iterations_done", agreement.iterations_done},
                {"commit", agreement.commit},
                {"joined", agreement.joined},
                {"torn", agreement.torn},
                {"checkpoint", agreement.checkpoint},
                {"rebuilt", agreement.rebuilt},
                {"neighbours", rebuilds_to_json(agreement.neighbours)},
                {"passed_over", agreement.passed_over},
                {"waits_for", agreement.waits_for},
                {"validation_due", agreement.validation_due},
                {"validated_at", agreement.validated_at},
                {"committed_at", agreement.committed_at},
                {"iterations", agreement.iterations},
                {"plan", agreement.plan_json},
                {"rests", agreement.rests},
                {"onlookers", agreement.onlookers},
                {"origin_s", agreement.origin_s},
                {"at_s", agreement.at_s},
                {"progress", agreement.progress},
                {"switches", agreement.switches},
                {"placement", agreement.placement}}
        .dump();
}

Agreement read_agreement(const std::string& text) {
    return read_from_peer(0, text, [](const json& v) {
        return Agreement{v.at("iterations_done"),
                         v.at("commit"),
                         v.at("joined"),
                         v.at("torn"),
                         v.at("checkpoint"),
                         v.at("rebuilt"),
                         rebuilds_from(v.at("neighbours")),
                         v.at("passed_over"),
                         v.at("waits_for"),
                         v.at("validation_due"),
                         v.at("validated_at"),
                         v.at("committed_at"),
                         v.at("iterations"),
                         v.at("plan"),
                         v.at("rests"),
                         v.at("onlookers"),
                         v.at("origin_s"),
                         v.at("at_s"),
                         v.at("progress"),
                         v.at("switches"),
                         v.at("placement")};
    });
}

Agreement agree(const std::vector<std::string>& positions) {
    Agreement agreement{.iterations_done = -1};
    std::vector<int> done, switches;
    std::vector<RankPosition> under_way(positions.size());
    bool known = true;
    for (std::size_t rank = 0; rank < positions.size(); ++rank) {
        if (positions[rank].empty()) continue;
        auto position = read_position(positions[rank], static_cast<int>(rank));
        if (position.iterations_done != RankPosition::has_come) switches.push_back(position.switches);
        if (position.iterations_done < 0) {
            if (position.iterations_done == RankPosition::torn)
                agreement.torn = true;
            else
                agreement.joined.push_back(static_cast<int>(rank));
            continue;
        }
        done.push_back(position.iterations_done);
        if (position.rests == RankPosition::looks_on) agreement.onlookers.push_back(static_cast<int>(rank));
        known = known && position.rests != RankPosition::not_known;
        agreement.rests = std::max(agreement.rests, position.rests);
        under_way[rank].rests = position.rests;
        under_way[rank].progress = std::move(position.progress);
        under_way[rank].origin_s = position.origin_s;
        if (position.iterations_done <= agreement.iterations_done) continue;
        agreement.iterations_done = position.iterations_done;
        agreement.commit = std::move(position.commit);
    }
    if (const auto [least, most] = std::minmax_element(switches.begin(), switches.end()); least != switches.end()) {
        if (std::int64_t{*most} - *least > 1)
            throw PeerFault(-1, fmt::format("has gone over to {} plans, another to {}", *most, *least));
        agreement.switches = *most;
    }
    const auto behind = [&](int iterations) { return iterations < agreement.iterations_done; };
    const bool together = std::none_of(done.begin(), done.end(), behind);
    if (!together || !known) agreement.rests = RankPosition::not_begun;
    agreement.progress.resize(positions.size());
    for (std::size_t rank = 0; agreement.rests >= 0 && rank < positions.size(); ++rank)
        if (under_way[rank].rests == agreement.rests) {
            agreement.progress[rank] = std::move(under_way[rank].progress);
            agreement.origin_s = under_way[rank].origin_s;
        }
    if (together)
        agreement.commit.clear();
    else if (agreement.commit.empty() || *std::min_element(done.begin(), done.end()) + 1 < agreement.iterations_done)
        throw PeerFault(-1, fmt::format("is {} iterations ahead of another",
                                        agreement.iterations_done - *std::min_element(done.begin(), done.end())));
    return agreement;
}

namespace {

/// The problem as rests are planned: without the reductions, which come after all else.
Problem without_reductions(Problem problem) {
    problem.plan_reductions = false;
    return problem;
}

}  // namespace

PlannedRest rest_of(const Problem& problem, const RankSchedule& everybody, const Plan& plan, const Replan* before,
                    const std::vector<int>& members, const Agreement& agreement, RecoveryController& controller) {
    if (agreement.progress.size() != at(everybody.ranks))
        throw PeerFault(0,
                        fmt::format("tells how far {} ranks are, of {}", agreement.progress.size(), everybody.ranks));
    std::map<int, std::optional<RankProgress>> ranks;
    const int microbatches = static_cast<int>(plan.paths.size()),
              length = plan.paths.empty() ? 1 : static_cast<int>(plan.paths.front().nodes.size());
    for (const int rank : members) {
        if (contains(agreement.joined, rank) || contains(agreement.onlookers, rank)) continue;
        const auto& told = agreement.progress[at(rank)];
        auto& progress = ranks[rank];
        if (!told.empty()) progress = read_progress(told, rank, microbatches, length);
    }
    ReplanRequest request{.progress = join_progress(problem, plan, before, ranks, everybody.rank_of, agreement.at_s)};
    for (const auto& ring : plan.stages)
        for (const NodeIndex node : ring)
            if (!ranks.contains(everybody.rank_of[at(node)]))
                request.changes.push_back({.kind = NetworkChange::Kind::node_down, .node = node});
    PlannedRest rest{controller.recover(without_reductions(problem), plan, request), {}};
    rest.replan.plan.reductions.clear();
    rest.schedule = schedule_of_rest(problem, everybody, members, &rest.replan);
    if (const auto why = find_deadlock(problem, rest.schedule, rest.replan))
        throw InputError("ranks", "the rest of the iteration comes to a deadlock: " + *why,
                         "every rank posts transfers in one order", "It begins again");
    return rest;
}

std::vector<NodeIndex> nodes_of_ranks(const RankSchedule& schedule, const std::vector<int>& ranks) {
    std::vector<NodeIndex> nodes;
    for (NodeIndex node = 0; at(node) < schedule.rank_of.size(); ++node)
        if (contains(ranks, schedule.rank_of[at(node)])) nodes.push_back(node);
    return nodes;
}

RankSchedule schedule_for(const Problem& problem, const RankSchedule& everybody, const std::vector<int>& members,
                          RecoveryController& controller) {
    std::vector<int> gone;
    for (int rank = 0; rank < everybody.ranks; ++rank)
        if (!contains(members, rank)) gone.push_back(rank);
    std::vector<NodeIndex> missed;
    for (const int rank : gone)
        for (const int node : everybody.nodes_of(rank)) missed.emplace_back(node);
    std::sort(missed.begin(), missed.end());
    auto schedule = make_schedule(problem, plan_without(problem, everybody.plan, missed, controller), everybody);
    if (const auto why = find_deadlock(problem, schedule))
        throw InputError("ranks", "the plan for the ranks that are left comes to a deadlock: " + *why,
                         "every rank posts transfers in one order", "Go on with `skippipe resume`, with all ranks");
    return schedule;
}

}  // namespace skippipe
