// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/anneal/search_state.h"

#include <fmt/format.h>

#include "core/base/index.h"
#include "plugins/planners/joint/anneal/vary_reduction.h"

namespace skippipe::planners::joint {

namespace {

PerStage<int> visits_of(const Problem& problem, const FlatPlan& schedule) {
    PerStage<int> visits(at(problem.stages), 0);
    for (const NodeIndex node : schedule.nodes) ++visits[schedule.stage_of[node]];
    return visits;
}

}  // namespace

SearchState::SearchState(const Problem& problem, const PlanCandidate& start)
    : candidate_(start),
      own_(problem.plan_blocks ? std::optional(problem) : std::nullopt),
      problem_(own_ ? *own_ : problem),
      visits_(visits_of(problem, start.schedule)),
      visits_cap_(problem.constraints.uniform_execution ? problem.visits_cap(start.schedule.length)
                                                        : start.schedule.count()) {
    if (own_) own_->set_blocks(start.blocks);
    if (problem_.plan_reductions) reductions_.emplace(problem_);
}

bool SearchState::visits_have_slack() const {
    return length() > 1 && length() < problem_.stages && visits_cap_ * (problem_.stages - 1) > count() * (length() - 1);
}

std::string SearchState::inconsistency() const {
    const auto counted = visits_of(problem_, schedule());
    for (StageIndex s = 0; at(s) < counted.size(); ++s)
        if (counted[s] != visits_[s])
            return fmt::format("stage {} has {} visits, {} are noted", s, counted[s], visits_[s]);
    return {};
}

void SearchState::set_hop(ReleaseIndex index, int hop, NodeIndex node) {
    NodeIndex& visited = path(index)[hop];
    const StageIndex from = stage_of(visited), to = stage_of(node);
    journal_.set(visited, node);
    if (from == to) return;
    journal_.set(visits_[from], visits_[from] - 1);
    journal_.set(visits_[to], visits_[to] + 1);
}

void SearchState::move_blocks(StageIndex from, StageIndex to, int count) {
    journal_.set(candidate_.blocks[from], blocks(from) - count);
    journal_.set(candidate_.blocks[to], blocks(to) + count);
    own_->set_blocks(candidate_.blocks);
    blocks_moved_ = true;
}

void SearchState::swap_microbatches(ReleaseIndex i, ReleaseIndex j) {
    journal_.swap(candidate_.schedule.microbatches[i], candidate_.schedule.microbatches[j]);
}

bool SearchState::vary_reduction(StageIndex stage, Rng& rng) {
    const auto& nodes = ring(stage);
    const auto replicas = static_cast<int>(nodes.size());
    if (replicas < 2) return false;
    Pieces& pieces = candidate_.schedule.reductions[stage];
    constexpr int one_in_starts = 12;
    const bool starts_anew = pick(rng, one_in_starts) == 0;
    journal_.keep(pieces);
    if (!starts_anew) return vary(pieces, replicas, rng);
    const auto starts = reduction_starts(problem_, nodes, stage);
    if (starts.empty()) return false;
    pieces = starts[pick<std::size_t>(rng, starts.size())];
    return true;
}

void SearchState::refit_reduction(StageIndex stage) {
    if (!reductions_ || stage < 0) return;
    constexpr std::size_t most_replicas = 16;  // looking for starts takes longer than a timeline then
    const auto& nodes = ring(stage);
    Pieces& pieces = candidate_.schedule.reductions[stage];
    const bool fits = fault_of(pieces, static_cast<int>(nodes.size())).empty() && pieces.empty() == (nodes.size() < 2);
    if (fits && (nodes.size() < 2 || nodes.size() > most_replicas)) return;
    Pieces best = reductions_->best(nodes, stage);
    if (fits && has_reduction_lines(problem_, nodes, pieces) &&
        reductions_->lone_s(nodes, stage, pieces) <= reductions_->lone_s(nodes, stage, best))
        return;
    journal_.keep(pieces);
    pieces = std::move(best);
}

void SearchState::undo_candidate() {
    journal_.undo();
    if (blocks_moved_) own_->set_blocks(candidate_.blocks);
    blocks_moved_ = false;
}

void SearchState::accept_candidate() {
    journal_.clear();
    blocks_moved_ = false;
}

}  // namespace skippipe::planners::joint
