// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/plan_execution.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/index.h"
#include "core/engine/virtual_clock.h"
#include "core/engine/wall_clock.h"

namespace skippipe {

namespace {

/// Queues that nodes of several ranks hand to: lines, and downlinks wherever there are any.
std::vector<bool> queues_across_ranks(const Problem& problem, const RankSchedule& schedule) {
    std::vector<int> sender(problem.line_names.size(), -1);
    std::vector<bool> across(problem.line_names.size(), false);
    if (problem.has_uplinks())
        std::fill(across.end() - static_cast<std::ptrdiff_t>(problem.node_ids.size()), across.end(), true);
    const auto hands_to = [&](NodeIndex from, NodeIndex to) {
        const int line = problem.hop(from, to).line, rank = schedule.rank_of[at(from)];
        if (line == no_line) return;
        if (sender[at(line)] >= 0 && sender[at(line)] != rank) across[at(line)] = true;
        sender[at(line)] = rank;
    };
    for (const auto& path : schedule.plan.paths)
        for (std::size_t i = 0; i < path.nodes.size(); ++i)
            for (const NodeIndex to :
                 {path.nodes[(i + 1) % path.nodes.size()], path.nodes[(i + path.nodes.size() - 1) % path.nodes.size()]})
                hands_to(path.nodes[i], to);
    for (StageIndex stage = 0; at(stage) < schedule.pieces.size(); ++stage) {
        const auto& nodes = schedule.plan.stages[stage];
        for (const Piece& piece : schedule.pieces[stage])
            visit_transfers(piece, static_cast<int>(nodes.size()),
                            [&](int from, int to) { hands_to(nodes[at(from)], nodes[at(to)]); });
    }
    return across;
}

}  // namespace

PlanExecution::PlanExecution(const Experiment& experiment, const Problem& problem, RankSchedule schedule,
                             ComputeBackend& compute, RankTransport& transport)
    : planned_(problem, schedule.plan.blocks), schedule_(std::move(schedule)) {
    const auto& drawn = planned_.get();
    const auto& how = experiment.execution;
    if (how.clock == Clock::virtual_time) {
        events_ = std::make_unique<VirtualClock>(drawn, schedule_, compute);
    } else {
        if (how.shape_links)
            shaper_ = std::make_unique<LinkShaper>(drawn, how.link_jitter, experiment.seed,
                                                   queues_across_ranks(drawn, schedule_),
                                                   transport.line_book(drawn.line_names.size()));
        auto wall = std::make_unique<WallClock>(drawn, schedule_, compute, transport, shaper_.get());
        wall_ = wall.get();
        events_ = std::move(wall);
    }
    driver_.emplace(drawn, schedule_, transport.rank(), *events_);
}

void PlanExecution::change_speeds(const std::vector<SpeedChange>& changes) {
    wall_->change_speeds(changes);
    if (!shaper_) return;
    std::map<int, double> slower;
    for (const int line : std::exchange(varying_, {})) shaper_->vary(line, 0, 0);
    for (const auto& change : changes) {
        if (!change.of_line) continue;
        slower.try_emplace(change.index, 1).first->second *= change.factor;
        if (change.deviation > 0) {
            shaper_->vary(change.index, change.deviation, change.seed);
            varying_.insert(change.index);
        }
    }
    shaper_->slow(std::move(slower));
}

std::optional<Interrupted> PlanExecution::interrupt() {
    if (wall_ == nullptr || !wall_->quiet()) return std::nullopt;
    return driver_->interrupt();
}

}  // namespace skippipe
