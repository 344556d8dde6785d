// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/anneal/search_state.h"

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {

namespace {

std::vector<int> visits_of(const Problem& problem, const FlatPlan& schedule) {
    std::vector<int> visits(at(problem.stages), 0);
    for (const int node : schedule.nodes) ++visits[at(schedule.stage_of[at(node)])];
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
}

bool SearchState::visits_have_slack() const {
    return length() > 1 && length() < problem_.stages && visits_cap_ * (problem_.stages - 1) > count() * (length() - 1);
}

std::string SearchState::inconsistency() const {
    const auto counted = visits_of(problem_, schedule());
    for (std::size_t s = 0; s < counted.size(); ++s)
        if (counted[s] != visits_[s])
            return fmt::format("stage {} has {} visits, {} are noted", s, counted[s], visits_[s]);
    return {};
}

void SearchState::set_hop(int index, int hop, int node) {
    int& visited = path(index)[hop];
    const int from = stage_of(visited), to = stage_of(node);
    journal_.set(visited, node);
    if (from == to) return;
    journal_.set(visits_[at(from)], visits_[at(from)] - 1);
    journal_.set(visits_[at(to)], visits_[at(to)] + 1);
}

void SearchState::move_blocks(int from, int to, int count) {
    journal_.set(candidate_.blocks[at(from)], blocks(from) - count);
    journal_.set(candidate_.blocks[at(to)], blocks(to) + count);
    own_->set_blocks(candidate_.blocks);
    blocks_moved_ = true;
}

void SearchState::swap_microbatches(int i, int j) {
    journal_.swap(candidate_.schedule.microbatches[at(i)], candidate_.schedule.microbatches[at(j)]);
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

}  // namespace skippipe
