// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/order_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/planners/search.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr double infinite = std::numeric_limits<double>::infinity();
/// A part of the data nodes' mean end beside the iteration, as in AnnealingChain.
constexpr double mean_weight = 0.5;
/// How far an operation is moved at most in one step.
constexpr int widest_shift = 6;

/// What holds and what frees a place (TC1): +1 where a forward starts, -1 where the microbatch leaves the node.
int places_taken(const Schedule& schedule, std::uint32_t operation) {
    const int step = packed_step(operation);
    if (step < schedule.length) return 1;
    const bool weight = (step & weight_gradient_bit) != 0;
    return step > schedule.length && weight == schedule.split_backward ? -1 : 0;
}

/// Order of one microbatch's operations on one node: F, L, B or I, W.
int rank(const Schedule& schedule, std::uint32_t operation) {
    const int step = packed_step(operation);
    if ((step & weight_gradient_bit) != 0) return 3;
    return step < schedule.length ? 0 : step == schedule.length ? 1 : 2;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const Draft& draft) {
    const Schedule& schedule = draft.schedule;
    Plan plan;
    plan.stages = draft.stages;
    const auto timeline = Simulator(PlannedProblem(problem, draft.blocks).get()).timeline(schedule, plan);
    if (!timeline.complete) return {};
    std::vector<int> index_of(at(problem.microbatches), 0);
    for (int i = 0; i < schedule.count(); ++i) index_of[at(schedule.microbatches[at(i)])] = i;
    std::vector<const Span*> spans;
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) spans.push_back(&span);
    std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->start_s < b->start_s; });
    std::vector<std::vector<std::uint32_t>> order(at(problem.nodes()));
    for (const Span* span : spans) {
        const int index = index_of[at(span->microbatch)];
        const int* path = schedule.path(index);
        const int hop = static_cast<int>(std::find(path, path + schedule.length, span->node) - path);
        const int back = 2 * schedule.length - hop;
        const int step = span->kind == SpanKind::forward           ? hop
                         : span->kind == SpanKind::loss            ? schedule.length
                         : span->kind == SpanKind::weight_gradient ? back | weight_gradient_bit
                                                                   : back;
        order[at(span->node)].push_back(pack(index, step));
    }
    return order;
}

OrderChain::OrderChain(const Problem& problem, const Draft& start, std::uint64_t seed, std::uint64_t stream)
    : own_(problem.plan_blocks ? std::optional(problem) : std::nullopt), problem_(own_ ? *own_ : problem), rng_(seed, stream), simulator_(problem_),
      draft_(start), best_(start) {
    if (own_) own_->set_blocks(start.blocks);
    current_s_ = cost_s(infinite);
    best_s_ = iteration_s_;
}

void OrderChain::run(std::int64_t steps, double first_s, double last_s, const std::function<double()>& clock_fraction,
                     const std::function<bool(double)>& go_on) {
    if (!std::isfinite(best_s_)) return;
    cool_down(steps, draft_.schedule.count() * (2 * draft_.schedule.length + 1), first_s, last_s / first_s, clock_fraction, go_on,
              [this](double temperature_s) { step(temperature_s); });
}

double OrderChain::cost_s(double cutoff_s) {
    iteration_s_ = simulator_.times(draft_.schedule, draft_.stages, cutoff_s).iteration_s;
    double sum_s = 0;
    for (const int node : draft_.stages[0]) sum_s += std::max(0.0, simulator_.node_end_s()[at(node)]);
    mean_end_s_ = sum_s / static_cast<double>(draft_.stages[0].size());
    return iteration_s_ + mean_weight * mean_end_s_;
}

bool OrderChain::step(double temperature_s) {
    ++steps_;
    Change change;
    if (!propose(change)) return false;
    const double before_mean_s = mean_end_s_, threshold_s = current_s_ - temperature_s * std::log(1 - rng_.uniform());
    const double candidate_s = cost_s(threshold_s - mean_weight * 0.9 * before_mean_s);
    if (!(candidate_s < threshold_s)) {
        undo(change);
        mean_end_s_ = before_mean_s;
        return false;
    }
    current_s_ = candidate_s;
    if (iteration_s_ < best_s_) {
        best_s_ = iteration_s_;
        best_ = draft_;
    }
    return true;
}

bool OrderChain::propose(Change& change) {
    if (own_ && rng_.below(6) == 0) return propose_blocks(change);
    if (problem_.sizes.size() > 1 && rng_.below(8) == 0) return propose_sizes(change);
    const auto kind = rng_.below(16);
    const bool paths = draft_.schedule.count() > 1 && draft_.schedule.length > 1;
    if (kind < 4 && paths) return propose_exchange(change);
    if (kind < 6 && paths) return propose_sibling(change);
    if (kind < 7 && problem_.placement.empty()) return propose_places(change);
    return propose_shift(change);
}

/// Within [first, last] of a node's order: each microbatch's operations in sequence, and never more held than the memory takes.
bool OrderChain::admissible(int node, int first, int last) const {
    const auto& order = draft_.schedule.order[at(node)];
    for (int a = first; a <= last; ++a)
        for (int b = a + 1; b <= last; ++b)
            if (packed_index(order[at(a)]) == packed_index(order[at(b)]) && rank(draft_.schedule, order[at(a)]) > rank(draft_.schedule, order[at(b)])) return false;
    int held = 0;
    for (int k = 0; k <= last; ++k) {
        held += places_taken(draft_.schedule, order[at(k)]);
        if (held > problem_.memory[at(node)]) return false;
    }
    return true;
}

bool OrderChain::propose_shift(Change& change) {
    change.move = Move::shift;
    change.node = draft_.schedule.nodes[rng_.below(draft_.schedule.nodes.size())];  // as often as it is visited
    const int size = static_cast<int>(draft_.schedule.order[at(change.node)].size());
    change.from = pick(at(size));
    const int far = rng_.below(2) == 0 ? 1 : 1 + pick(at(widest_shift));
    change.to = std::clamp(change.from + (rng_.below(2) == 0 ? far : -far), 0, size - 1);
    if (change.from == change.to) return false;
    auto& order = draft_.schedule.order[at(change.node)];
    const auto shift = [&](int from, int to) {
        const auto begin = order.begin();
        if (from < to) std::rotate(begin + from, begin + from + 1, begin + to + 1);
        else std::rotate(begin + to, begin + from, begin + from + 1);
    };
    shift(change.from, change.to);
    if (admissible(change.node, std::min(change.from, change.to), std::max(change.from, change.to))) return true;
    shift(change.to, change.from);
    return false;
}

/// Two microbatches exchange the nodes of a stage that both visit, data nodes included: each takes the other's places in the orders.
bool OrderChain::propose_exchange(Change& change) {
    auto& schedule = draft_.schedule;
    change.move = Move::exchange;
    change.i = pick(at(schedule.count()));
    change.j = pick(at(schedule.count()));
    change.a = pick(at(schedule.length));
    const int u = schedule.path(change.i)[change.a], stage = schedule.stage_of[at(u)];
    change.b = -1;
    for (int hop = 0; hop < schedule.length; ++hop)
        if (schedule.stage_of[at(schedule.path(change.j)[hop])] == stage) change.b = hop;
    if (change.i == change.j || change.b < 0) return false;
    const int v = schedule.path(change.j)[change.b];
    if (u == v) return false;
    if (!reaches(change.i, change.a, v) || !reaches(change.j, change.b, u)) return false;
    apply_exchange(change);
    return true;
}

/// Whether the node has lines to and from the neighbours on the path that it would join.
bool OrderChain::reaches(int index, int hop, int node) const {
    const int length = draft_.schedule.length;
    const int* path = draft_.schedule.path(index);
    const int before = path[(hop + length - 1) % length], after = path[(hop + 1) % length];
    const auto both = [&](int a, int b) { return a == b || (problem_.reachable(a, b) && problem_.reachable(b, a)); };
    return both(before, node) && both(node, after);
}

/// A microbatch visits another node of the stage; its operations go anywhere in that one's order.
bool OrderChain::propose_sibling(Change& change) {
    auto& schedule = draft_.schedule;
    change.move = Move::sibling;
    change.i = pick(at(schedule.count()));
    const int first = problem_.balance_data_nodes ? 1 : 0;
    change.a = first + pick(at(schedule.length - first));
    change.from = schedule.path(change.i)[change.a];
    const auto& siblings = draft_.stages[at(schedule.stage_of[at(change.from)])];
    change.to = siblings[rng_.below(siblings.size())];
    if (change.from == change.to || !reaches(change.i, change.a, change.to)) return false;
    auto &from = schedule.order[at(change.from)], &to = schedule.order[at(change.to)];
    order_from_ = from;
    order_to_ = to;
    std::size_t least = 0;
    for (const auto operation : order_from_) {
        if (packed_index(operation) != change.i) continue;
        least += rng_.below(to.size() - least + 1);
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(least++), operation);
    }
    std::erase_if(from, [&](std::uint32_t operation) { return packed_index(operation) == change.i; });
    schedule.path(change.i)[change.a] = change.to;
    if (admissible(change.to, 0, static_cast<int>(to.size()) - 1)) return true;
    restore(change);
    return false;
}

/// Two nodes exchange everything: stage, visits and order.
bool OrderChain::propose_places(Change& change) {
    change.move = Move::places;
    change.from = pick(at(problem_.nodes()));
    change.to = pick(at(problem_.nodes()));
    if (change.from == change.to) return false;
    exchange_places(change.from, change.to);
    const auto& schedule = draft_.schedule;
    bool fits = true;
    for (int i = 0; fits && i < schedule.count(); ++i)
        for (int hop = 0; fits && hop < schedule.length; ++hop) fits = reaches(i, hop, schedule.path(i)[hop]);
    for (const auto& ring : draft_.stages)
        for (std::size_t k = 0; fits && problem_.charge_all_reduce && ring.size() > 1 && k < ring.size(); ++k)
            fits = problem_.reachable(ring[k], ring[(k + 1) % ring.size()]);
    for (const int node : {change.from, change.to}) {
        const auto& order = schedule.order[at(node)];
        fits = fits && (order.empty() || admissible(node, 0, static_cast<int>(order.size()) - 1));
    }
    if (!fits) exchange_places(change.from, change.to);
    return fits;
}

bool OrderChain::propose_blocks(Change& change) {
    change = {.move = Move::blocks, .i = pick(draft_.blocks.size()), .j = pick(draft_.blocks.size()), .a = 1};
    if (change.i == change.j || draft_.blocks[at(change.i)] < 2) return false;
    const int difference = draft_.blocks[at(change.i)] - draft_.blocks[at(change.j)];
    if (difference > 0 && rng_.below(4) == 0) change.a = difference;  // the two stages exchange theirs
    move_blocks(change.i, change.j, change.a);
    return true;
}

void OrderChain::move_blocks(int from, int to, int count) {
    draft_.blocks[at(from)] -= count;
    draft_.blocks[at(to)] += count;
    own_->set_blocks(draft_.blocks);
}

/// Two microbatches of different sizes take each other's path and places in every order.
bool OrderChain::propose_sizes(Change& change) {
    change = {.move = Move::sizes, .i = pick(draft_.schedule.microbatches.size()), .j = pick(draft_.schedule.microbatches.size())};
    int &first = draft_.schedule.microbatches[at(change.i)], &second = draft_.schedule.microbatches[at(change.j)];
    if (problem_.samples_of(first) == problem_.samples_of(second)) return false;
    std::swap(first, second);
    return true;
}

void OrderChain::exchange_places(int u, int v) {
    auto& schedule = draft_.schedule;
    const auto other = [&](int node) { return node == u ? v : node == v ? u : node; };
    for (int& node : schedule.nodes) node = other(node);
    for (auto& ring : draft_.stages)
        for (int& node : ring) node = other(node);
    std::swap(schedule.stage_of[at(u)], schedule.stage_of[at(v)]);
    std::swap(schedule.order[at(u)], schedule.order[at(v)]);
}

void OrderChain::restore(const Change& change) {
    draft_.schedule.order[at(change.from)].swap(order_from_);
    draft_.schedule.order[at(change.to)].swap(order_to_);
    draft_.schedule.path(change.i)[change.a] = change.from;
}

/// Gives the places of one microbatch's hop in a node's order to another's.
void OrderChain::rename(std::vector<std::uint32_t>& order, int from_index, int from_hop, int to_index, int to_hop) const {
    const int length = draft_.schedule.length;
    for (auto& operation : order) {
        if (packed_index(operation) != from_index) continue;
        const int step = packed_step(operation), bare = step & ~weight_gradient_bit;
        const int other = bare == from_hop ? to_hop : bare == length ? length : 2 * length - to_hop;
        operation = pack(to_index, other | (step & weight_gradient_bit));
    }
}

void OrderChain::apply_exchange(const Change& change) {
    auto& schedule = draft_.schedule;
    int &first = schedule.path(change.i)[change.a], &second = schedule.path(change.j)[change.b];
    rename(schedule.order[at(first)], change.i, change.a, change.j, change.b);
    rename(schedule.order[at(second)], change.j, change.b, change.i, change.a);
    std::swap(first, second);
}

void OrderChain::undo(const Change& change) {
    if (change.move == Move::exchange) return apply_exchange(change);
    if (change.move == Move::sibling) return restore(change);
    if (change.move == Move::places) return exchange_places(change.from, change.to);
    if (change.move == Move::blocks) return move_blocks(change.j, change.i, change.a);
    if (change.move == Move::sizes) return std::swap(draft_.schedule.microbatches[at(change.i)], draft_.schedule.microbatches[at(change.j)]);
    auto& order = draft_.schedule.order[at(change.node)];
    const auto begin = order.begin();
    if (change.to < change.from) std::rotate(begin + change.to, begin + change.to + 1, begin + change.from + 1);
    else std::rotate(begin + change.from, begin + change.to, begin + change.to + 1);
}

}  // namespace skippipe
