// SPDX-License-Identifier: GPL-3.0-or-later
// The simulator's common case once more, as tight as it gets: the same events, numbers and sums as Simulator::run, on raw arrays.
// What counts here is branches that cannot be predicted and chains of dependent loads, so keys are compared without branches,
// a node's state is one cache line, and what a step needs comes from tables.
#include <algorithm>
#include <cstring>

#include "core/planner/simulator.h"
#include "core/planner/simulator_keys.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr std::uint32_t idle = ~std::uint32_t{0};
/// Kinds of an operation in the low bits of a running slot: forward, loss, backward, and the last backward of a microbatch.
constexpr std::uint32_t kind_mask = 3, bare_last = 3;
constexpr std::size_t wide = 16;
constexpr Key payload_mask = 0xFFFFFFFFu;
/// All bits set or none: selects without a branch.
inline Key all_if(bool condition) {
    const std::uint64_t word = std::uint64_t{0} - static_cast<std::uint64_t>(condition);
    return Key{word} << 64 | word;
}

}  // namespace

void Simulator::prepare_bare_slots(int count, int length) {
    if (count == slots_count_ && length == slots_length_) return;
    slots_count_ = count;
    slots_length_ = length;
    slot_place_.clear();
    slot_kind_.clear();
    for (int i = 0; i < count; ++i)
        for (int step = 0; step <= 2 * length; ++step) {
            slot_place_.push_back(i * length + (step < length ? step : step == length ? 0 : 2 * length - step));
            slot_kind_.push_back(static_cast<std::uint8_t>((step >= length ? 1 : 0) + (step > length ? 1 : 0) + (step == 2 * length ? 1 : 0)));
        }
    bare_items_.resize(at(count) * at(length) * 3 + nodes_.size() * 2);
    bare_own_.resize(at(count) + nodes_.size() + 1);
}

void Simulator::prepare_bare(const Schedule& schedule) {
    schedule_ = &schedule;
    length_ = schedule.length;
    if (bare_hops_.empty()) {
        bare_nodes_.resize(nodes_.size());
        bare_left_s_.resize(nodes_.size());
        shortest_way_out_s_.assign(nodes_.size(), std::numeric_limits<double>::infinity());
        for (int a = 0; a < problem_.nodes(); ++a)
            for (int b = 0; b < problem_.nodes(); ++b) {
                const Hop& hop = problem_.hop(a, b);
                bare_hops_.push_back({hop.latency_s, {hop.seconds_per_forward, hop.seconds_per_backward}, hop.line});
                if (a == b || hop.line == no_line) continue;
                shortest_way_out_s_[at(a)] = std::min(shortest_way_out_s_[at(a)], hop.latency_s + problem_.overhead_s + hop.seconds_per_backward);
            }
        const std::size_t groups = (nodes_.size() + 3) / 4, tops = (groups + wide - 1) / wide;
        bare_events_.resize(tops * wide * 4 + tops * wide + tops);
    }
    prepare_bare_slots(schedule.count(), schedule.length);
    if (problem_.shared_links) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    std::memset(bare_items_.data(), 0xFF, bare_items_.size() * sizeof(Key));
    std::memset(bare_events_.data(), 0xFF, bare_events_.size() * sizeof(Key));
    int* visits = visits_.data();
    std::fill(visits_.begin(), visits_.end(), 0);
    for (const int node : schedule.nodes) ++visits[node];
    prepare_bare_nodes();
    number_ = static_cast<std::uint32_t>(schedule.count());
    operations_left_ = schedule.count() * (2 * length_ + 1);
}

void Simulator::prepare_bare_nodes() {
    const Schedule& schedule = *schedule_;
    double last_backward_s = std::numeric_limits<double>::infinity();
    const int none_own = static_cast<int>(bare_own_.size()) - 1;
    bare_own_[at(none_own)] = -1;
    int item = 0, own = 0;
    for (int n = 0; n < problem_.nodes(); ++n) {
        auto& node = bare_nodes_[at(n)];
        const int visits = visits_[at(n)], stage = schedule.stage_of[at(n)];
        node.head[0] = node.tail[0] = item;
        item += visits + 1;
        node.head[1] = node.tail[1] = item;
        item += (stage == 0 ? 2 : 1) * visits + 1;
        node.held = 0;
        node.memory = problem_.memory[at(n)];
        node.running = idle;
        node.own = stage == 0 ? own : none_own;
        last_end_[at(n)] = -1;
        if (stage == 0) own += visits + 1;
        if (stage < 0) continue;
        const double forward_s = problem_.forward_s(n, stage);
        node.duration_s[0] = forward_s;
        node.duration_s[1] = problem_.loss_factor * forward_s;
        node.duration_s[2] = node.duration_s[3] = problem_.backward_factor * forward_s;
        bare_left_s_[at(n)] = visits * (forward_s + node.duration_s[2] + (stage == 0 ? node.duration_s[1] : 0));
        if (stage == 0) last_backward_s = std::min(last_backward_s, node.duration_s[2]);
    }
    for (int n = 0; n < problem_.nodes(); ++n)
        if (schedule.stage_of[at(n)] > 0) bare_left_s_[at(n)] += shortest_way_out_s_[at(n)] + last_backward_s;
    for (int i = 0; i < schedule.count(); ++i) bare_own_[at(bare_nodes_[at(schedule.path(i)[0])].own++)] = i;
    for (int n = 0; n < problem_.nodes(); ++n) {
        if (schedule.stage_of[at(n)] != 0) continue;
        bare_own_[at(bare_nodes_[at(n)].own)] = -1;
        bare_nodes_[at(n)].own -= visits_[at(n)];
    }
}

template <bool Shared, int Groups> bool Simulator::run_bare(double cutoff_s) {
    constexpr bool is_wide = Groups == 0;
    const std::size_t node_count = nodes_.size(), tops = ((node_count + 3) / 4 + wide - 1) / wide;
    BareNode* const nodes = bare_nodes_.data();
    Key *const events = bare_events_.data(), *const group_events = events + tops * wide * 4, *const top_events = group_events + tops * wide;
    Key* const items = bare_items_.data();
    const BareHop* const hops = bare_hops_.data();
    const int *const path_nodes = schedule_->nodes.data(), *const place = slot_place_.data(), *const owns = bare_own_.data();
    const std::uint8_t* const kinds = slot_kind_.data();
    double *const last_end_s = last_end_.data(), *const left_s = bare_left_s_.data(), *const line_free_s = line_free_s_.data();
    const double overhead_s = problem_.overhead_s;
    const std::uint32_t steps = static_cast<std::uint32_t>(2 * length_ + 1);
    // Work left is summed in another order than the timeline's: a hair of room, so that rounding never cuts too early.
    const double sure_s = cutoff_s * (1 + 1e-9);
    const Key cutoff = make_key(cutoff_s, 0, 0);
    std::uint32_t number = number_;
    int left = operations_left_;

    // The least of the other nodes' events is found while this node's next one is still being computed; after that an event only
    // ever moves forward, which takes one comparison a level.
    const auto clear_event = [&](std::size_t n) __attribute__((always_inline)) {
        events[n] = never;
        const Key* four = events + (n & ~std::size_t{3});
        group_events[n >> 2] = earlier(earlier(four[0], four[1]), earlier(four[2], four[3]));
        if constexpr (is_wide) {
            const Key* many = group_events + ((n >> 2) & ~(wide - 1));
            Key low = many[0];
            for (std::size_t k = 1; k < wide; ++k) low = earlier(low, many[k]);
            top_events[(n >> 2) / wide] = low;
        }
    };
    const auto advance_event = [&](std::size_t n, Key key) __attribute__((always_inline)) {
        events[n] = earlier(events[n], key);
        group_events[n >> 2] = earlier(group_events[n >> 2], key);
        if constexpr (is_wide) top_events[(n >> 2) / wide] = earlier(top_events[(n >> 2) / wide], key);
    };
    const auto next_event = [&]() __attribute__((always_inline)) {
        if constexpr (is_wide) {
            Key low = top_events[0];
            for (std::size_t k = 1; k < tops; ++k) low = earlier(low, top_events[k]);
            return low;
        } else {
            const Key* g = group_events;
            const Key four = earlier(earlier(g[0], g[1]), earlier(g[2], g[3]));
            if constexpr (Groups == 4) return four;
            if constexpr (Groups == 5) return earlier(four, g[4]);
            return earlier(four, earlier(earlier(g[4], g[5]), earlier(g[6], g[7])));
        }
    };
    Key next = never;
    // False once the node cannot end its work before the cutoff.
    const auto dispatch = [&](std::size_t n, BareNode& node, Key now) __attribute__((always_inline)) {
        const bool admits = node.held < node.memory;
        const Key forward = items[node.head[0]] | all_if(!admits), other = items[node.head[1]];
        const bool from_other = other < forward;
        const Key best = earlier(other, forward);
        const bool handled = best <= (now | payload_mask);
        const double now_s = time_of(now);
        if (handled) {
            const std::uint32_t running = payload_of(best);
            const double duration_s = node.duration_s[running & kind_mask], end_s = now_s + duration_s;
            const Key key = make_key(end_s, number++, static_cast<std::uint32_t>(n));
            next = earlier(next, key);
            advance_event(n, key);
            node.head[from_other ? 1 : 0] += 1;
            node.running = running;
            node.held += (running & kind_mask) == 0 ? 1 : 0;
            left_s[n] -= duration_s;
            return end_s + left_s[n] < sure_s;
        }
        if (admits & (owns[node.own] >= 0)) {
            const double end_s = now_s + node.duration_s[0];
            const Key key = make_key(end_s, number++, static_cast<std::uint32_t>(n));
            next = earlier(next, key);
            advance_event(n, key);
            ++node.held;
            node.running = static_cast<std::uint32_t>(owns[node.own++]) * steps << 2;
            left_s[n] -= node.duration_s[0];
            return end_s + left_s[n] < sure_s;
        }
        const Key key = (best & ~payload_mask) | n;
        next = earlier(next, key);
        advance_event(n, key);
        return true;
    };

    for (int i = 0; i < schedule_->count(); ++i) {
        const auto n = at(schedule_->path(i)[0]);
        if (nodes[n].running == idle && !dispatch(n, nodes[n], make_key(0, static_cast<std::uint32_t>(i), 0))) return false;
    }
    next = next_event();
    while (true) {
        const Key now = next;
        if (now >= cutoff) break;
        const std::size_t n = payload_of(now);
        BareNode& node = nodes[n];
        clear_event(n);
        next = next_event();
        if (const std::uint32_t running = node.running; running != idle) {
            const double now_s = time_of(now);
            last_end_s[n] = now_s;
            --left;
            node.held -= static_cast<int>((running & kind_mask) >> 1);
            node.running = idle;
            if ((running & kind_mask) != bare_last) {
                const std::uint32_t slot = (running >> 2) + 1;
                const auto to = at(path_nodes[place[slot]]);
                const std::uint32_t kind = kinds[slot], queue = kind > 0 ? 1 : 0;
                const BareHop& hop = hops[n * node_count + to];
                const double transfer_s = hop.transfer_s[kind >> 1];
                double arrival_s;
                if constexpr (Shared) {
                    double& free_s = line_free_s[hop.line];
                    free_s = (now_s > free_s ? now_s : free_s) + transfer_s;
                    arrival_s = free_s + hop.latency_s + overhead_s;
                } else {
                    arrival_s = now_s + hop.latency_s + overhead_s + transfer_s;
                }
                const Key key = make_key(arrival_s, number++, slot << 2 | kind);
                BareNode& target = nodes[to];
                Key* const first = items + target.head[queue];
                Key* spot = items + target.tail[queue]++;
                for (; spot > first && key < spot[-1]; --spot) *spot = spot[-1];
                *spot = key;
                const bool wakes = (target.running == idle) & ((queue != 0) | (target.held < target.memory));
                const Key wake = (key & ~payload_mask) | to | all_if(!wakes);
                advance_event(to, wake);
                next = earlier(next, wake);
            }
        }
        if (!dispatch(n, node, now)) return false;
    }
    return left == 0;
}

bool Simulator::run_bare(double cutoff_s) {
    const auto run = [&]<bool Shared>() {
        const int groups = (problem_.nodes() + 3) / 4;
        if (groups <= 4) return run_bare<Shared, 4>(cutoff_s);
        if (groups <= 5) return run_bare<Shared, 5>(cutoff_s);
        return groups <= 8 ? run_bare<Shared, 8>(cutoff_s) : run_bare<Shared, 0>(cutoff_s);
    };
    return problem_.shared_links ? run.template operator()<true>() : run.template operator()<false>();
}

}  // namespace skippipe
