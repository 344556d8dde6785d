// SPDX-License-Identifier: GPL-3.0-or-later
// The annealing moves that change which stage a node holds, or none, and the order of a stage's ring.
#include <algorithm>

#include "plugins/planners/joint/anneal.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

void AnnealingChain::set_places(int stage) {
    const auto& ring = draft_.stages[at(stage)];
    for (std::size_t k = 0; k < ring.size(); ++k) place_[at(ring[k])] = static_cast<int>(k);
}

/// A node goes to another stage, out of all, or comes back; its visits go to its siblings, and it takes its share of
/// its new ones'.
bool AnnealingChain::propose_resize() {
    const int node = pick(at(problem_.nodes())), from = stage_of(node), to = pick(at(problem_.stages + 1)) - 1;
    if (from == to || (from >= 0 && draft_.stages[at(from)].size() == 1)) return false;
    before_ = draft_;
    if (from >= 0) leave_stage(node);
    if (to >= 0) enter_stage(node, to);
    // Work follows the node.
    if (may_move_blocks_ && from >= 0 && to >= 0 && draft_.blocks[at(from)] > 1 && rng_.below(2) == 0)
        move_blocks(from, to, 1);
    const bool possible = (from != 0 && to != 0) || fill_stage_0(to == 0);
    if (possible && (!missing_lines_ || fits_everywhere(problem_, draft_))) return true;
    restore();
    return false;
}

void AnnealingChain::restore() {
    std::swap(draft_, before_);
    if (own_) own_->set_blocks(draft_.blocks);
    std::fill(place_.begin(), place_.end(), -1);
    for (int s = 0; s < problem_.stages; ++s) set_places(s);
}

/// Where every data node must start as many microbatches, their number has to divide: further nodes follow until it
/// does.
bool AnnealingChain::fill_stage_0(bool more) {
    const auto size = [&] { return static_cast<int>(draft_.stages[0].size()); };
    if (size() > count_) return false;
    if (!problem_.balance_data_nodes) return true;
    while (count_ % size() != 0) {
        int node = pick(at(problem_.nodes()));
        const int first = node;
        const auto may_move = [&] {
            const int stage = stage_of(node);
            return more ? stage != 0 && (stage < 0 || draft_.stages[at(stage)].size() > 1) : stage == 0;
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

void AnnealingChain::leave_stage(int node) {
    const int stage = stage_of(node);
    auto& ring = draft_.stages[at(stage)];
    ring.erase(ring.begin() + place_[at(node)]);
    place_[at(node)] = -1;
    draft_.schedule.stage_of[at(node)] = -1;
    set_places(stage);
    for (int& visited : draft_.schedule.nodes)
        if (visited == node) visited = ring[rng_.below(ring.size())];
}

void AnnealingChain::enter_stage(int node, int stage) {
    auto& ring = draft_.stages[at(stage)];
    ring.insert(ring.begin() + pick(ring.size() + 1), node);
    draft_.schedule.stage_of[at(node)] = stage;
    set_places(stage);
    for (int& visited : draft_.schedule.nodes)
        if (stage_of(visited) == stage && rng_.below(ring.size()) == 0) visited = node;
}

/// As many microbatches for every data node; as few as that takes change theirs.
void AnnealingChain::spread_data() {
    const int share = count_ / static_cast<int>(draft_.stages[0].size());
    std::vector<int> own(at(problem_.nodes()), 0), needy, order(at(count_));
    for (int i = 0; i < count_; ++i) order[at(i)] = i;
    rng_.shuffle(order);
    for (const int i : order) ++own[at(path(i)[0])];
    for (const int node : draft_.stages[0])
        for (int k = own[at(node)]; k < share; ++k) needy.push_back(node);
    for (const int i : order) {
        int& node = path(i)[0];
        if (own[at(node)] <= share || needy.empty()) continue;
        --own[at(node)];
        node = needy.back();
        needy.pop_back();
    }
}

void AnnealingChain::hold_blocks() {
    may_move_blocks_ = false;
    std::erase(moves_, Move::move_blocks);
}

/// Blocks go from one stage to another: mostly one, or up to all but one of them, or so many that the two stages
/// exchange theirs.
bool AnnealingChain::propose_blocks(Change& change) {
    change.i = pick(at(problem_.stages));
    change.j = pick(at(problem_.stages));
    const int spare = draft_.blocks[at(change.i)] - 1;
    if (change.i == change.j || spare < 1) return false;
    const auto kind = rng_.below(4);
    const int difference = draft_.blocks[at(change.i)] - draft_.blocks[at(change.j)];
    change.a = kind == 0 ? 1 + pick(at(spare)) : kind == 1 && difference > 0 ? difference : 1;
    move_blocks(change.i, change.j, change.a);
    return true;
}

void AnnealingChain::move_blocks(int from, int to, int count) {
    draft_.blocks[at(from)] -= count;
    draft_.blocks[at(to)] += count;
    own_->set_blocks(draft_.blocks);
}

/// Two microbatches of different sizes take each other's path and place in the release order.
bool AnnealingChain::propose_sizes(Change& change) {
    change.i = pick(at(count_));
    change.j = pick(at(count_));
    int &first = draft_.schedule.microbatches[at(change.i)], &second = draft_.schedule.microbatches[at(change.j)];
    if (problem_.samples_of(first) == problem_.samples_of(second)) return false;
    std::swap(first, second);
    return true;
}

bool AnnealingChain::propose_ring(Change& change) {
    change.i = pick(draft_.stages.size());
    auto& ring = draft_.stages[at(change.i)];
    if (ring.size() < 3) return false;
    change.a = pick(ring.size());
    change.b = pick(ring.size());
    if (change.a == change.b) return false;
    std::swap(ring[at(change.a)], ring[at(change.b)]);
    set_places(change.i);
    if (!missing_lines_ || fits_everywhere(problem_, draft_)) return true;
    std::swap(ring[at(change.a)], ring[at(change.b)]);
    set_places(change.i);
    return false;
}

}  // namespace skippipe
