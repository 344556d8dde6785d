// SPDX-License-Identifier: GPL-3.0-or-later
// What an OrderAnnealer tries.
#include <algorithm>

#include "plugins/planners/joint/order_annealer.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// How far an operation is moved at most in one step.
constexpr int widest_shift = 6;

/// What holds and what frees a place (TC1): +1 where a forward starts, -1 where the microbatch leaves the node.
int places_taken(const FlatPlan& schedule, std::uint32_t operation) {
    const int step = packed_step(operation);
    if (step < schedule.length) return 1;
    const bool weight = (step & weight_gradient_bit) != 0;
    return step > schedule.length && weight == schedule.split_backward ? -1 : 0;
}

/// Order of one microbatch's operations on one node: F, L, B or I, W.
int rank(const FlatPlan& schedule, std::uint32_t operation) {
    const int step = packed_step(operation);
    if ((step & weight_gradient_bit) != 0) return 3;
    return step < schedule.length ? 0 : step == schedule.length ? 1 : 2;
}

/// Moves one element to another place.
void rotate(std::vector<std::uint32_t>& order, int from, int to) {
    const auto begin = order.begin();
    if (from < to)
        std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
        std::rotate(begin + to, begin + from, begin + from + 1);
}

}  // namespace

bool OrderAnnealer::propose() {
    switch (moves_[rng_.below(moves_.size())]) {
        case Move::shift: return propose_shift();
        case Move::critical: return propose_critical();
        case Move::exchange: return propose_exchange(true);
        case Move::relocate: return propose_exchange(false);
        case Move::turn: return propose_turn();
        case Move::cross: return propose_cross();
        case Move::sibling: return propose_sibling();
        case Move::restage: return propose_restage();
        case Move::places: return propose_places();
        case Move::blocks: return propose_blocks();
        case Move::sizes: return propose_sizes();
    }
    return false;
}

/// Within [first, last] of a node's order: each microbatch's operations in sequence, and never more held than the
/// memory takes.
bool OrderAnnealer::admissible(int node, int first, int last) const {
    const auto& order = candidate_.schedule.order[at(node)];
    for (int a = first; a <= last; ++a)
        for (int b = a + 1; b <= last; ++b)
            if (packed_index(order[at(a)]) == packed_index(order[at(b)]) &&
                rank(candidate_.schedule, order[at(a)]) > rank(candidate_.schedule, order[at(b)]))
                return false;
    return holds(node, last);
}

bool OrderAnnealer::holds(int node, int last) const {
    const auto& order = candidate_.schedule.order[at(node)];
    int held = 0;
    for (int k = 0; k <= last; ++k) {
        held += places_taken(candidate_.schedule, order[at(k)]);
        if (held > problem_.memory[at(node)]) return false;
    }
    return true;
}

bool OrderAnnealer::shift(int node, int from, int to) {
    auto& order = candidate_.schedule.order[at(node)];
    to = std::clamp(to, 0, static_cast<int>(order.size()) - 1);
    if (from == to) return false;
    save(node);
    rotate(order, from, to);
    return admissible(node, std::min(from, to), std::max(from, to));
}

bool OrderAnnealer::propose_shift() {
    const int node =
        candidate_.schedule.nodes[rng_.below(candidate_.schedule.nodes.size())];  // as often as it is visited
    const int from = pick(candidate_.schedule.order[at(node)].size());
    const int far = rng_.below(2) == 0 ? 1 : 1 + pick(at(widest_shift));
    return shift(node, from, from + (rng_.below(2) == 0 ? far : -far));
}

/// An operation that a data node's end waits for, and that itself waits for the node, goes before the one that it waits
/// for; or that one after it.
bool OrderAnnealer::propose_critical() {
    const auto& schedule = candidate_.schedule;
    const auto& data_nodes = candidate_.stages[0];
    const auto end_s = [&](int node) {
        const auto& order = schedule.order[at(node)];
        return order.empty() ? 0.0 : times_.start_s(order.back()) + times_.duration_s(node, order.back());
    };
    int node = data_nodes[rng_.below(data_nodes.size())];
    if (rng_.below(2) == 0)
        for (const int other : data_nodes)
            if (end_s(other) > end_s(node)) node = other;
    if (schedule.order[at(node)].empty()) return false;
    int place = static_cast<int>(schedule.order[at(node)].size()) - 1, seen = 0, chosen_node = -1, chosen = 0;
    while (true) {
        const auto& order = schedule.order[at(node)];
        const auto operation = order[at(place)];
        const double start_s = times_.start_s(operation);
        const bool after_node =
            place > 0 &&
            times_.start_s(order[at(place - 1)]) + times_.duration_s(node, order[at(place - 1)]) == start_s;
        if (after_node) {
            if (rng_.below(at(++seen)) == 0) {
                chosen_node = node;
                chosen = place;
            }
            --place;
            continue;
        }
        const int step = packed_step(operation) & ~weight_gradient_bit, i = packed_index(operation);
        if (step == 0) break;
        const auto before = pack(i, step - 1);
        node = step_node(schedule.path(i), schedule.length, step - 1);
        const auto& there = schedule.order[at(node)];
        place = static_cast<int>(std::find(there.begin(), there.end(), before) - there.begin());
    }
    if (chosen_node < 0) return false;
    const int far = rng_.below(2) == 0 ? 1 : 1 + pick(at(widest_shift));
    return rng_.below(2) == 0 ? shift(chosen_node, chosen, chosen - far)
                              : shift(chosen_node, chosen - 1, chosen - 1 + far);
}

bool OrderAnnealer::fits(int index) const {
    return fits_stages(problem_, candidate_.schedule, index) && has_lines(problem_, candidate_.schedule, index);
}

/// Takes a microbatch's operations at a hop out of its node's order.
void OrderAnnealer::take_out(int index, int hop) {
    const int node = candidate_.schedule.path(index)[hop];
    save(node);
    auto& order = candidate_.schedule.order[at(node)];
    const auto mine = [&](std::uint32_t operation) { return packed_index(operation) == index; };
    const auto first = std::find_if(order.begin(), order.end(), mine);
    order.erase(std::remove_if(first, order.end(), mine), order.end());
}

/// Puts them into the order of the node that is there now, where they would start as long after what they started as
/// before. False where memory does not take them.
bool OrderAnnealer::put_in(int index, int hop, double shift_s) {
    const auto& schedule = candidate_.schedule;
    const int node = schedule.path(index)[hop], length = schedule.length, back = 2 * length - hop;
    save(node);
    auto& order = candidate_.schedule.order[at(node)];
    std::size_t least = 0;
    const auto insert = [&](std::uint32_t operation) {
        const double start_s = times_.start_s(operation) + shift_s;
        while (least < order.size() && times_.start_s(order[least]) <= start_s) ++least;
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(least++), operation);
    };
    insert(pack(index, hop));
    if (hop == 0) insert(pack(index, length));
    insert(pack(index, back));
    if (schedule.split_backward) insert(pack(index, back | weight_gradient_bit));
    return holds(node, static_cast<int>(order.size()) - 1);
}

/// Two microbatches exchange the nodes of a stage that both visit, data nodes included: each takes the other's places
/// in the orders, or those that fit its own times.
bool OrderAnnealer::propose_exchange(bool keep_places) {
    const auto& schedule = candidate_.schedule;
    const int i = pick(at(schedule.count())), j = pick(at(schedule.count())), a = pick(at(schedule.length));
    const int u = schedule.path(i)[a], stage = stage_of(u);
    int b = -1;
    for (int hop = 0; hop < schedule.length; ++hop)
        if (stage_of(schedule.path(j)[hop]) == stage) b = hop;
    if (i == j || b < 0 || schedule.path(j)[b] == u) return false;
    return exchange(i, a, j, b, keep_places);
}

bool OrderAnnealer::exchange(int i, int a, int j, int b, bool keep_places) {
    const int u = candidate_.schedule.path(i)[a], v = candidate_.schedule.path(j)[b];
    if (keep_places) {
        rename(u, i, a, j, b);
        rename(v, j, b, i, a);
    } else {
        take_out(i, a);
        take_out(j, b);
    }
    set_hop(i, a, v);
    set_hop(j, b, u);
    if (!fits(i) || !fits(j)) return false;
    if (!keep_places) {
        const double shift_s = jitter_s(v);
        if (!put_in(i, a, shift_s) || !put_in(j, b, jitter_s(u))) return false;
    }
    times_.set_path(candidate_, i);
    times_.set_path(candidate_, j);
    return true;
}

/// Gives the places of one microbatch's hop in a node's order to another's.
void OrderAnnealer::rename(int node, int from_index, int from_hop, int to_index, int to_hop) {
    save(node);
    const int length = candidate_.schedule.length;
    for (auto& operation : candidate_.schedule.order[at(node)]) {
        if (packed_index(operation) != from_index) continue;
        const int step = packed_step(operation), bare = step & ~weight_gradient_bit;
        const int other = bare == from_hop ? to_hop : bare == length ? length : 2 * length - to_hop;
        operation = pack(to_index, other | (step & weight_gradient_bit));
    }
}

/// A random part of a forward, either way.
double OrderAnnealer::jitter_s(int node) { return (2 * rng_.uniform() - 1) * times_.duration_s(node, pack(0, 0)); }

/// A microbatch visits two of its stages in the other order.
bool OrderAnnealer::propose_turn() {
    const auto& schedule = candidate_.schedule;
    const int i = pick(at(schedule.count())), a = 1 + pick(at(schedule.length - 1)),
              b = 1 + pick(at(schedule.length - 1));
    if (a == b) return false;
    const int u = schedule.path(i)[a], v = schedule.path(i)[b];
    take_out(i, a);
    take_out(i, b);
    set_hop(i, a, v);
    set_hop(i, b, u);
    if (!fits(i) || !put_in(i, a, 0) || !put_in(i, b, 0)) return false;
    times_.set_path(candidate_, i);
    return true;
}

/// Two microbatches exchange nodes of different stages.
bool OrderAnnealer::propose_cross() {
    const auto& schedule = candidate_.schedule;
    const int i = pick(at(schedule.count())), j = pick(at(schedule.count()));
    const int a = 1 + pick(at(schedule.length - 1)), b = 1 + pick(at(schedule.length - 1));
    if (i == j || stage_of(schedule.path(i)[a]) == stage_of(schedule.path(j)[b])) return false;
    return exchange(i, a, j, b, false);
}

bool OrderAnnealer::move(int index, int hop, int node) {
    if (candidate_.schedule.path(index)[hop] == node) return false;
    take_out(index, hop);
    set_hop(index, hop, node);
    if (!fits(index) || !put_in(index, hop, jitter_s(node))) return false;
    times_.set_path(candidate_, index);
    return true;
}

/// A microbatch visits another node of the stage.
bool OrderAnnealer::propose_sibling() {
    const int i = pick(at(candidate_.schedule.count())), first = problem_.balance_data_nodes ? 1 : 0;
    const int hop = first + pick(at(candidate_.schedule.length - first));
    const auto& siblings = candidate_.stages[at(stage_of(candidate_.schedule.path(i)[hop]))];
    return move(i, hop, siblings[rng_.below(siblings.size())]);
}

/// A microbatch visits another stage instead.
bool OrderAnnealer::propose_restage() {
    const int i = pick(at(candidate_.schedule.count())), hop = 1 + pick(at(candidate_.schedule.length - 1)),
              stage = 1 + pick(at(problem_.stages - 1));
    if (visits_[at(stage)] >= cap_ || stage == stage_of(candidate_.schedule.path(i)[hop])) return false;
    const auto& nodes = candidate_.stages[at(stage)];
    return move(i, hop, nodes[rng_.below(nodes.size())]);
}

/// Two nodes exchange everything: stage, visits and order.
bool OrderAnnealer::propose_places() {
    const int u = pick(at(problem_.nodes())), v = pick(at(problem_.nodes()));
    if (u == v) return false;
    save(u);
    save(v);
    const auto& nodes = candidate_.schedule.nodes;
    for (std::size_t place = 0; place < nodes.size(); ++place)
        if (nodes[place] == u || nodes[place] == v) change_path(static_cast<int>(place) / candidate_.schedule.length);
    exchange_places(u, v);
    u_ = u;
    v_ = v;
    const auto unfit = [&](int index) { return !has_lines(problem_, candidate_.schedule, index); };
    if (std::any_of(paths_.begin(), paths_.end(), unfit) || !has_ring_lines(problem_, candidate_)) return false;
    for (const int node : {u, v}) {
        const auto& order = candidate_.schedule.order[at(node)];
        if (!order.empty() && !holds(node, static_cast<int>(order.size()) - 1)) return false;
    }
    return true;
}

void OrderAnnealer::exchange_places(int u, int v) {
    auto& schedule = candidate_.schedule;
    const auto exchange = [&](int& node) { node = node == u ? v : node == v ? u : node; };
    for (const int index : paths_)
        std::for_each(schedule.path(index), schedule.path(index) + schedule.length, exchange);
    for (auto& ring : candidate_.stages) std::for_each(ring.begin(), ring.end(), exchange);
    std::swap(schedule.stage_of[at(u)], schedule.stage_of[at(v)]);
    std::swap(schedule.order[at(u)], schedule.order[at(v)]);
    times_.set_node(candidate_, u);
    times_.set_node(candidate_, v);
    times_.set_rings(candidate_);
    for (const int index : paths_) times_.set_path(candidate_, index);
}

bool OrderAnnealer::propose_blocks() {
    const int from = pick(candidate_.blocks.size()), to = pick(candidate_.blocks.size());
    if (from == to || candidate_.blocks[at(from)] < 2) return false;
    const int difference = candidate_.blocks[at(from)] - candidate_.blocks[at(to)];
    blocks_from_ = from;
    blocks_to_ = to;
    blocks_moved_ = difference > 0 && rng_.below(4) == 0 ? difference : 1;  // the two stages exchange theirs
    move_blocks(from, to, blocks_moved_);
    for (std::size_t n = 0; n < problem_.memory_bytes.size(); ++n)
        if (!holds(static_cast<int>(n), static_cast<int>(candidate_.schedule.order[n].size()) - 1)) return false;
    return true;
}

void OrderAnnealer::move_blocks(int from, int to, int count) {
    candidate_.blocks[at(from)] -= count;
    candidate_.blocks[at(to)] += count;
    own_->set_blocks(candidate_.blocks);
    change_.all = true;
    times_.set_stages(candidate_);
}

/// Two microbatches of different sizes take each other's path and places in every order.
bool OrderAnnealer::propose_sizes() {
    const int i = pick(candidate_.schedule.microbatches.size()), j = pick(candidate_.schedule.microbatches.size());
    if (problem_.samples_of(candidate_.schedule.microbatches[at(i)]) ==
        problem_.samples_of(candidate_.schedule.microbatches[at(j)]))
        return false;
    size_i_ = i;
    size_j_ = j;
    exchange_sizes(i, j);
    return true;
}

void OrderAnnealer::exchange_sizes(int i, int j) {
    std::swap(candidate_.schedule.microbatches[at(i)], candidate_.schedule.microbatches[at(j)]);
    change_.all = true;
    times_.set_path(candidate_, i);
    times_.set_path(candidate_, j);
}

}  // namespace skippipe
