// SPDX-License-Identifier: GPL-3.0-or-later
// The annealing moves that change which stage a node holds, or none, and the order of a stage's ring.
#include <algorithm>

#include "plugins/planners/joint/path_annealer.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

void PathAnnealer::set_places(int stage) {
    const auto& ring = candidate_.stages[at(stage)];
    for (std::size_t k = 0; k < ring.size(); ++k) place_[at(ring[k])] = static_cast<int>(k);
}

/// A node goes to another stage, out of all, or comes back; its visits go to its siblings, and it takes its share of
/// its new ones'.
bool PathAnnealer::propose_resize() {
    const int node = pick(at(problem_.nodes())), from = stage_of(node), to = pick(at(problem_.stages + 1)) - 1;
    if (from == to || (from >= 0 && candidate_.stages[at(from)].size() == 1)) return false;
    before_ = candidate_;
    if (from >= 0) leave_stage(node);
    if (to >= 0) enter_stage(node, to);
    // Work follows the node.
    if (may_move_blocks_ && from >= 0 && to >= 0 && candidate_.blocks[at(from)] > 1 && rng_.below(2) == 0)
        move_blocks(from, to, 1);
    const bool possible = (from != 0 && to != 0) || fill_stage_0(to == 0);
    if (possible && (!missing_lines_ || fits_everywhere(problem_, candidate_))) return true;
    restore();
    return false;
}

void PathAnnealer::restore() {
    std::swap(candidate_, before_);
    if (own_) own_->set_blocks(candidate_.blocks);
    std::fill(place_.begin(), place_.end(), -1);
    for (int s = 0; s < problem_.stages; ++s) set_places(s);
}

/// Where every data node must start as many microbatches, their number has to divide: further nodes follow until it
/// does.
bool PathAnnealer::fill_stage_0(bool more) {
    const auto size = [&] { return static_cast<int>(candidate_.stages[0].size()); };
    if (size() > count_) return false;
    if (!problem_.balance_data_nodes) return true;
    while (count_ % size() != 0) {
        int node = pick(at(problem_.nodes()));
        const int first = node;
        const auto may_move = [&] {
            const int stage = stage_of(node);
            return more ? stage != 0 && (stage < 0 || candidate_.stages[at(stage)].size() > 1) : stage == 0;
        };
        while (!may_move())
            if (node = (node + 1) % problem_.nodes(); node == first) return false;
        if (stage_of(node) >= 0) leave_stage(node);
        if (more)
            enter_stage(node, 0);
        else if (const int to = pick(at(problem_.stages)); to > 0)
            enter_stage(node, to);
    }
    spread_data();
    return true;
}

void PathAnnealer::leave_stage(int node) {
    const int stage = stage_of(node);
    auto& ring = candidate_.stages[at(stage)];
    ring.erase(ring.begin() + place_[at(node)]);
    place_[at(node)] = -1;
    candidate_.schedule.stage_of[at(node)] = -1;
    set_places(stage);
    for (int& visited : candidate_.schedule.nodes)
        if (visited == node) visited = ring[rng_.below(ring.size())];
}

void PathAnnealer::enter_stage(int node, int stage) {
    auto& ring = candidate_.stages[at(stage)];
    ring.insert(ring.begin() + pick(ring.size() + 1), node);
    candidate_.schedule.stage_of[at(node)] = stage;
    set_places(stage);
    for (int& visited : candidate_.schedule.nodes)
        if (stage_of(visited) == stage && rng_.below(ring.size()) == 0) visited = node;
}

/// As many microbatches for every data node; as few as that takes change theirs.
void PathAnnealer::spread_data() {
    const int share = count_ / static_cast<int>(candidate_.stages[0].size());
    std::vector<int> own(at(problem_.nodes()), 0), needy, order(at(count_));
    for (int i = 0; i < count_; ++i) order[at(i)] = i;
    rng_.shuffle(order);
    for (const int i : order) ++own[at(path(i)[0])];
    for (const int node : candidate_.stages[0])
        for (int k = own[at(node)]; k < share; ++k) needy.push_back(node);
    for (const int i : order) {
        int& node = path(i)[0];
        if (own[at(node)] <= share || needy.empty()) continue;
        --own[at(node)];
        node = needy.back();
        needy.pop_back();
    }
}

void PathAnnealer::hold_blocks() {
    may_move_blocks_ = false;
    std::erase(moves_, Move::move_blocks);
}

/// Blocks go from one stage to another: mostly one, or up to all but one of them, or so many that the two stages
/// exchange theirs.
bool PathAnnealer::propose_blocks(Change& change) {
    change.i = pick(at(problem_.stages));
    change.j = pick(at(problem_.stages));
    const int spare = candidate_.blocks[at(change.i)] - 1;
    if (change.i == change.j || spare < 1) return false;
    const auto kind = rng_.below(4);
    const int difference = candidate_.blocks[at(change.i)] - candidate_.blocks[at(change.j)];
    change.a = kind == 0 ? 1 + pick(at(spare)) : kind == 1 && difference > 0 ? difference : 1;
    move_blocks(change.i, change.j, change.a);
    return true;
}

void PathAnnealer::move_blocks(int from, int to, int count) {
    candidate_.blocks[at(from)] -= count;
    candidate_.blocks[at(to)] += count;
    own_->set_blocks(candidate_.blocks);
}

/// Two microbatches of different sizes take each other's path and place in the release order.
bool PathAnnealer::propose_sizes(Change& change) {
    change.i = pick(at(count_));
    change.j = pick(at(count_));
    int &first = candidate_.schedule.microbatches[at(change.i)],
        &second = candidate_.schedule.microbatches[at(change.j)];
    if (problem_.samples_of(first) == problem_.samples_of(second)) return false;
    std::swap(first, second);
    return true;
}

bool PathAnnealer::propose_ring(Change& change) {
    change.i = pick(candidate_.stages.size());
    auto& ring = candidate_.stages[at(change.i)];
    if (ring.size() < 3) return false;
    change.a = pick(ring.size());
    change.b = pick(ring.size());
    if (change.a == change.b) return false;
    std::swap(ring[at(change.a)], ring[at(change.b)]);
    set_places(change.i);
    if (!missing_lines_ || fits_everywhere(problem_, candidate_)) return true;
    std::swap(ring[at(change.a)], ring[at(change.b)]);
    set_places(change.i);
    return false;
}

}  // namespace skippipe
