// SPDX-License-Identifier: GPL-3.0-or-later
// The simulator's common case once more, as tight as it gets: dispatch by arrival, no split, every hop to another node. The same
// numbers and sums as Simulator::run, but an operation is handled whole when it starts: its end is known then, so it is handed over
// at once, and a node's next event is the start of its next operation, never an end or an arrival that starts nothing (270 events
// instead of 435 for 20 nodes x 30 microbatches). Events have no numbers: where two fall on one instant and their order decides
// something, it is found from which of them was created first, back to the instant at which they part (precedes).
//
// What counts here is branches that cannot be predicted and chains of dependent loads: choices are made without branches, except
// that a node's new event is rarely the next of all, which lets the processor work on two events at once.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/planner/simulator.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The bits of a time >= 0 sort as it does; later than all: `never`.
using TimeBits = std::uint64_t;
constexpr TimeBits never_bits = ~TimeBits{0};
inline TimeBits bits_of(double time_s) { return std::bit_cast<TimeBits>(time_s); }
inline double seconds_of(TimeBits bits) { return std::bit_cast<double>(bits); }

/// An event's key: a time whose last bits name the node. That two events closer than 2^-40 of their time may change places is
/// harmless, as every operation and every hop over a shared line takes longer than that (checked).
constexpr int node_bits = 12;
constexpr TimeBits node_mask = (TimeBits{1} << node_bits) - 1;
constexpr double key_grain = 0x1p-39;

/// Kinds of an operation in the low bits of an item: forward, loss, backward, and the last backward of a microbatch.
constexpr std::uint32_t kind_mask = 3, last_kind = 3;
constexpr std::size_t wide = 16;

/// std::min takes references, which compilers turn into a choice between addresses.
inline TimeBits least(TimeBits a, TimeBits b) { return a < b ? a : b; }
inline TimeBits most(TimeBits a, TimeBits b) { return a < b ? b : a; }

/// Rarely so, and foreseen: as a branch, so that the search for the next event need not wait for this one.
inline void bring_forward(TimeBits& next, TimeBits key) {
    if (key < next) [[unlikely]] {
        next = key;
        asm volatile("" : "+r"(next));
    }
}

/// All bits set or none, and a choice by them: compilers make branches of `?:`, and none of these can be predicted.
inline std::uint64_t all_if(bool condition) { return std::uint64_t{0} - static_cast<std::uint64_t>(condition); }
inline std::uint64_t select(bool condition, std::uint64_t yes, std::uint64_t no) { return no ^ ((no ^ yes) & all_if(condition)); }
inline std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) { return no ^ ((no ^ yes) & static_cast<std::uint32_t>(all_if(condition))); }


}  // namespace

void Simulator::prepare_bare_slots(int count, int length) {
    if (count == slots_count_ && length == slots_length_) return;
    slots_count_ = count;
    slots_length_ = length;
    slot_place_.clear();
    for (int i = 0; i < count; ++i)
        for (int step = 0; step <= 2 * length; ++step) {
            const int place = i * length + (step < length ? step : step == length ? 0 : 2 * length - step);
            const int kind = (step >= length ? 1 : 0) + (step > length ? 1 : 0) + (step == 2 * length ? 1 : 0);
            slot_place_.push_back(static_cast<std::uint32_t>(place) << 2 | static_cast<std::uint32_t>(kind));
        }
    bare_items_.resize(at(count) * at(length) * 3 + nodes_.size() * 4);
    bare_own_.resize(at(count) + nodes_.size() + 1);
    bare_records_.resize(slot_place_.size());
}

void Simulator::prepare_bare_hops() {
    bare_nodes_.resize(nodes_.size());
    bare_own_next_.resize(nodes_.size());
    shortest_way_out_s_.assign(nodes_.size(), std::numeric_limits<double>::infinity());
    // A line with a single source is handed its transfers in the order in which that node runs: no need to wait for their ends.
    std::vector<int> source(problem_.line_names.size(), -1);
    std::vector<bool> shared(problem_.line_names.size(), false);
    shortest_hop_s_ = std::numeric_limits<double>::infinity();
    const double smallest = problem_.smallest_size();
    for (int a = 0; a < problem_.nodes(); ++a)
        for (int b = 0; b < problem_.nodes(); ++b) {
            const Hop& hop = problem_.hop(a, b);
            if (a == b || hop.line == no_line) continue;
            shortest_way_out_s_[at(a)] = std::min(shortest_way_out_s_[at(a)], hop.latency_s + problem_.overhead_s + hop.seconds_per_backward * smallest);
            if (!problem_.shared_links) continue;
            shared[at(hop.line)] = shared[at(hop.line)] || (source[at(hop.line)] >= 0 && source[at(hop.line)] != a);
            source[at(hop.line)] = a;
        }
    for (int a = 0; a < problem_.nodes(); ++a)
        for (int b = 0; b < problem_.nodes(); ++b) {
            const Hop& hop = problem_.hop(a, b);
            const bool waits = problem_.shared_links && hop.line != no_line && shared[at(hop.line)];
            bare_hops_.push_back({hop.latency_s, {hop.seconds_per_forward, hop.seconds_per_backward}, static_cast<std::uint32_t>(hop.line), waits});
            if (waits) shortest_hop_s_ = std::min(shortest_hop_s_, hop.latency_s + problem_.overhead_s + std::min(hop.seconds_per_forward, hop.seconds_per_backward) * smallest);
        }
    const std::size_t groups = (nodes_.size() + 3) / 4, tops = (groups + wide - 1) / wide;
    bare_events_.resize(tops * wide * 4 + tops * wide + tops);
}

void Simulator::prepare_bare(const Schedule& schedule) {
    length_ = schedule.length;
    if (bare_hops_.empty()) prepare_bare_hops();
    prepare_bare_slots(schedule.count(), schedule.length);
    if (sized_) {
        slot_size_.clear();
        for (const double size : size_) slot_size_.insert(slot_size_.end(), at(2 * length_ + 1), size);
    }
    if (problem_.shared_links) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    std::memset(bare_items_.data(), 0xFF, bare_items_.size() * sizeof(BareItem));
    std::memset(bare_events_.data(), 0xFF, bare_events_.size() * sizeof(TimeBits));
    int* visits = visits_.data();
    std::fill(visits_.begin(), visits_.end(), 0);
    for (const int node : schedule.nodes) ++visits[node];
    prepare_bare_nodes();
    operations_left_ = schedule.count() * (2 * length_ + 1);
}

void Simulator::prepare_bare_nodes() {
    const Schedule& schedule = *schedule_;
    double last_backward_s = std::numeric_limits<double>::infinity();
    const int none_own = static_cast<int>(bare_own_.size()) - 1;
    bare_own_[at(none_own)] = -1;
    shortest_operation_s_ = std::numeric_limits<double>::infinity();
    BareItem* item = bare_items_.data();
    int own = 0;
    std::vector<double> load(sized_ ? nodes_.size() : 0, 0);
    for (int i = 0; sized_ && i < schedule.count(); ++i)
        for (int hop = 0; hop < length_; ++hop) load[at(schedule.path(i)[hop])] += size_[at(i)];
    // A queue lies between a guard earlier than all and one later than all.
    const auto queue = [&](BareNode& node, int which, int size) {
        item->arrival = 0;
        node.head[which] = node.tail[which] = item + 1;
        item += size + 2;
    };
    for (int n = 0; n < problem_.nodes(); ++n) {
        auto& node = bare_nodes_[at(n)];
        const int visits = visits_[at(n)], stage = schedule.stage_of[at(n)];
        queue(node, 0, visits);
        queue(node, 1, (stage == 0 ? 2 : 1) * visits);
        node.room = problem_.memory[at(n)];
        bare_own_next_[at(n)] = stage == 0 ? own : none_own;
        node.own = &bare_own_[at(stage == 0 ? own : none_own)];
        node.free_s = 0;
        node.pending = 0;
        node.last = -1;
        node.hops = &bare_hops_[at(n) * nodes_.size()];
        if (stage == 0) own += visits + 1;
        if (stage < 0) continue;
        const double forward_s = problem_.forward_s(n, stage);
        node.duration_s[0] = forward_s;
        node.duration_s[1] = problem_.loss_factor * forward_s;
        node.duration_s[2] = problem_.backward_factor * forward_s;
        node.left_s = (sized_ ? load[at(n)] : visits) * (forward_s + node.duration_s[2] + (stage == 0 ? node.duration_s[1] : 0));
        shortest_operation_s_ = std::min({shortest_operation_s_, forward_s, node.duration_s[2], stage == 0 ? node.duration_s[1] : forward_s});
        if (stage == 0) last_backward_s = std::min(last_backward_s, node.duration_s[2]);
    }
    if (sized_) {
        const double smallest = problem_.smallest_size();
        shortest_operation_s_ *= smallest;
        last_backward_s *= smallest;
    }
    for (int n = 0; n < problem_.nodes(); ++n)
        if (schedule.stage_of[at(n)] > 0) bare_nodes_[at(n)].left_s += shortest_way_out_s_[at(n)] + last_backward_s;
    for (int i = 0; i < schedule.count(); ++i) bare_own_[at(bare_own_next_[at(schedule.path(i)[0])]++)] = i;
    for (int n = 0; n < problem_.nodes(); ++n)
        if (schedule.stage_of[at(n)] == 0) bare_own_[at(bare_own_next_[at(n)])] = -1;
}

/// Whether one event comes before another at the same instant: the one that was created by the earlier event. An `end` is created
/// when its operation is dispatched, by the event that let it start; an `arrive` when its operation's predecessor ends; one event
/// creates its `arrive` first. The arrivals of the start precede all, in release order.
bool Simulator::precedes(BareEvent x, BareEvent y) const {
    const int steps = 2 * length_ + 1;
    const auto initial = [&](BareEvent event) { return event.arrives && event.slot % steps == 0; };
    const auto creator = [&](BareEvent event) {
        if (event.arrives) return BareEvent{false, event.slot - 1};
        const int started_by = bare_records_[at(event.slot)].started_by;
        return BareEvent{started_by == event.slot, started_by};
    };
    const auto created_s = [&](BareEvent event) {
        return event.arrives ? bare_records_[at(event.slot - 1)].end_s : bare_records_[at(event.slot)].start_s;
    };
    while (true) {
        if (initial(x) || initial(y)) return initial(x) && (!initial(y) || x.slot < y.slot);
        if (const double x_s = created_s(x), y_s = created_s(y); x_s != y_s) return x_s < y_s;
        const BareEvent x_from = creator(x), y_from = creator(y);
        if (x_from == y_from) return x.arrives && !y.arrives;
        x = x_from;
        y = y_from;
    }
}

/// Of the nodes whose events fall on `n`'s instant and that have a transfer to hand to a shared line, the one whose turn it is.
std::size_t Simulator::first_pending(std::size_t n) const {
    const TimeBits instant = bare_events_[n] & ~node_mask;
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
        const BareNode &a = bare_nodes_[other], &b = bare_nodes_[n];
        if (other == n || (bare_events_[other] & ~node_mask) != instant || a.pending == 0) continue;
        if (a.free_s < b.free_s || (a.free_s == b.free_s && precedes({false, a.last}, {false, b.last}))) n = other;
    }
    return n;
}

template <bool Shared, bool Sized, int Groups> Simulator::Outcome Simulator::run_bare(double cutoff_s) {
    constexpr bool is_wide = Groups == 0;
    const std::size_t node_count = nodes_.size(), tops = ((node_count + 3) / 4 + wide - 1) / wide;
    BareNode* const nodes = bare_nodes_.data();
    TimeBits *const events = bare_events_.data(), *const group_events = events + tops * wide * 4, *const top_events = group_events + tops * wide;
    const int* const path_nodes = schedule_->nodes.data();
    const std::uint32_t* const places = slot_place_.data();
    double* const line_free_s = line_free_s_.data();
    BareRecord* const records = bare_records_.data();
    [[maybe_unused]] const double* const slot_sizes = slot_size_.data();
    const double overhead_s = problem_.overhead_s;
    const std::uint32_t steps = static_cast<std::uint32_t>(2 * length_ + 1);
    // Work left is summed in another order than the timeline's: a hair of room, so that rounding never cuts too early. Past
    // coarse_s keys are too coarse for the shortest operation or hop.
    const double coarse_s = std::min(shortest_operation_s_, shortest_hop_s_) / key_grain, sure_s = std::min(cutoff_s * (1 + 1e-9), coarse_s);
    int left = operations_left_;

    const auto key_of = [](TimeBits time, std::size_t n) __attribute__((always_inline)) { return (time & ~node_mask) | n; };
    const auto set_event = [&](std::size_t n, TimeBits key) __attribute__((always_inline)) {
        events[n] = key;
        const TimeBits* four = events + (n & ~std::size_t{3});
        group_events[n >> 2] = least(least(four[0], four[1]), least(four[2], four[3]));
        if constexpr (is_wide) {
            const TimeBits* many = group_events + ((n >> 2) & ~(wide - 1));
            TimeBits low = many[0];
            for (std::size_t k = 1; k < wide; ++k) low = least(low, many[k]);
            top_events[(n >> 2) / wide] = low;
        }
    };
    /// For a node whose event was cleared.
    const auto put_event = [&](std::size_t n, TimeBits key) __attribute__((always_inline)) {
        events[n] = key;
        group_events[n >> 2] = least(group_events[n >> 2], key);
        if constexpr (is_wide) top_events[(n >> 2) / wide] = least(top_events[(n >> 2) / wide], key);
    };
    const auto advance_event = [&](std::size_t n, TimeBits key) __attribute__((always_inline)) {
        events[n] = least(events[n], key);
        group_events[n >> 2] = least(group_events[n >> 2], key);
        if constexpr (is_wide) top_events[(n >> 2) / wide] = least(top_events[(n >> 2) / wide], key);
    };
    const auto next_event = [&]() __attribute__((always_inline)) {
        if constexpr (is_wide) {
            TimeBits low = top_events[0];
            for (std::size_t k = 1; k < tops; ++k) low = least(low, top_events[k]);
            return low;
        } else {
            const TimeBits* g = group_events;
            const TimeBits four = least(least(g[0], g[1]), least(g[2], g[3]));
            if constexpr (Groups == 4) return four;
            if constexpr (Groups == 5) return least(four, g[4]);
            return least(four, least(least(g[4], g[5]), least(g[6], g[7])));
        }
    };
    TimeBits next = never_bits;

    // Hands `slot` from node n, which ends at end_s, to the node of that step.
    const auto hand_over = [&](const BareNode& node, std::uint32_t slot, double end_s) __attribute__((always_inline)) {
        const std::uint32_t place = places[slot], kind = place & kind_mask, queue = kind > 0 ? 1 : 0;
        const auto to = at(path_nodes[place >> 2]);
        const BareHop& hop = node.hops[to];
        double transfer_s = hop.transfer_s[kind >> 1];
        if constexpr (Sized) transfer_s *= slot_sizes[slot];
        double arrival_s;
        if constexpr (Shared) {
            double& free_s = line_free_s[hop.line];
            free_s = (end_s > free_s ? end_s : free_s) + transfer_s;
            arrival_s = free_s + hop.latency_s + overhead_s;
        } else {
            arrival_s = end_s + hop.latency_s + overhead_s + transfer_s;
        }
        const TimeBits arrival = bits_of(arrival_s);
        BareNode& target = nodes[to];
        // What was dispatched before arrived earlier, and so does the guard before the first: no need to look for the head.
        BareItem* spot = target.tail[queue]++;
        for (; arrival < spot[-1].arrival; --spot) *spot = spot[-1];
        while (arrival == spot[-1].arrival) [[unlikely]] {
            if (!precedes({true, static_cast<int>(slot)}, {true, spot[-1].slot()})) break;
            *spot = spot[-1];
            --spot;
        }
        spot->arrival = arrival;
        spot->running = slot << 2 | kind;
        // A node that still has a transfer to hand over finds out by itself.
        const bool admits = (queue != 0) | (target.room > 0);
        const bool waits = Shared && target.pending != 0;
        const TimeBits key = key_of(most(arrival, bits_of(target.free_s)), to) | all_if(!admits | waits);
        bring_forward(next, key);
        advance_event(to, key);
    };
    // When node n can start something, given what is known.
    const auto due = [&](const BareNode& node) __attribute__((always_inline)) {
        const bool admits = node.room > 0;
        const TimeBits free = bits_of(node.free_s);
        const TimeBits forward = node.head[0]->arrival | all_if(!admits);
        const TimeBits best = least(forward, node.head[1]->arrival);
        const bool own = admits & (*node.own >= 0);
        return select(own, free, most(free, best));
    };

    for (std::size_t n = 0; n < node_count; ++n)
        if (const TimeBits when = due(nodes[n]); when != never_bits) set_event(n, key_of(when, n));
    next = next_event();
    while (next != never_bits) {
        auto n = static_cast<std::size_t>(next & node_mask);
        const TimeBits now = next;
        set_event(n, never_bits);
        next = next_event();
        if constexpr (Shared) {
            if (nodes[n].pending != 0) {
                if ((now & ~node_mask) == (next & ~node_mask)) {
                    events[n] = now;
                    n = first_pending(n);
                    set_event(now & node_mask, now);
                    set_event(n, never_bits);
                    next = next_event();
                }
                BareNode& node = nodes[n];
                const std::uint32_t slot = node.pending;
                node.pending = 0;
                hand_over(node, slot, node.free_s);
                if (const TimeBits when = due(node); when != never_bits) {
                    const TimeBits key = key_of(when, n);
                    bring_forward(next, key);
                    put_event(n, key);
                }
                continue;
            }
        }
        BareNode& node = nodes[n];
        // What starts: the earliest arrival it admits, or else a microbatch of its own.
        const bool admits = node.room > 0;
        const TimeBits free = bits_of(node.free_s);
        const BareItem &first_forward = *node.head[0], &first_other = *node.head[1];
        const TimeBits forward = first_forward.arrival | all_if(!admits), other = first_other.arrival;
        const TimeBits best = least(other, forward);
        const int own = *node.own;
        const bool own_ready = admits & (own >= 0);
        bool from_other = other < forward, from_own = own_ready & (best > free), by_arrival = !own_ready & (best > free);
        if ((best == free) | ((other == forward) & (other != never_bits))) [[unlikely]] {
            if (other == forward) from_other = precedes({true, first_other.slot()}, {true, first_forward.slot()});
            if (best == free) {
                const bool ends_first = precedes({false, node.last}, {true, (from_other ? first_other : first_forward).slot()});
                from_own = own_ready && ends_first;
                by_arrival = !own_ready && ends_first;
            }
        }
        const std::uint32_t running = select(from_own, static_cast<std::uint32_t>(own) * steps << 2, select(from_other, first_other.running, first_forward.running));
        const std::uint32_t kind = running & kind_mask;
        const double start_s = seconds_of(select(from_own, free, most(free, best)));
        double duration_s = node.duration_s[kind - (kind >> 1 & kind)];
        if constexpr (Sized) duration_s *= slot_sizes[running >> 2];
        const double end_s = start_s + duration_s;
        node.own += from_own;
        node.head[1] += from_other & !from_own;
        node.head[0] += !from_other & !from_own;
        node.room += static_cast<int>(kind >> 1) - static_cast<int>(kind == 0);
        node.free_s = end_s;
        const int started = static_cast<int>(running >> 2);
        const bool first = node.last < 0;
        const auto started_by = select(by_arrival | first, running >> 2, static_cast<std::uint32_t>(node.last));
        records[started] = {start_s, end_s, static_cast<int>(started_by)};
        node.last = started;
        --left;
        node.left_s -= duration_s;
        if (!(end_s + node.left_s < sure_s)) return sure_s < coarse_s ? Outcome::cut : Outcome::too_fine;
        TimeBits when;
        if (kind != last_kind) {
            const std::uint32_t slot = (running >> 2) + 1;
            if (Shared && node.hops[path_nodes[places[slot] >> 2]].waits) {
                node.pending = slot;
                when = bits_of(end_s);
            } else {
                hand_over(node, slot, end_s);
                when = due(node);
            }
        } else {
            when = due(node);
        }
        const TimeBits key = key_of(when, n) | all_if(when == never_bits);
        bring_forward(next, key);
        put_event(n, key);
    }
    double makespan_s = 0;
    for (std::size_t n = 0; n < node_count; ++n) {
        last_end_[n] = nodes[n].last < 0 ? -1 : nodes[n].free_s;
        makespan_s = std::max(makespan_s, last_end_[n]);
    }
    return left == 0 && makespan_s < cutoff_s ? Outcome::done : Outcome::cut;
}

Simulator::Outcome Simulator::run_bare(double cutoff_s) {
    if (problem_.nodes() > static_cast<int>(node_mask)) return Outcome::too_fine;
    const auto run = [&]<bool Shared, bool Sized>() {
        const int groups = (problem_.nodes() + 3) / 4;
        if (groups <= 4) return run_bare<Shared, Sized, 4>(cutoff_s);
        if (groups <= 5) return run_bare<Shared, Sized, 5>(cutoff_s);
        return groups <= 8 ? run_bare<Shared, Sized, 8>(cutoff_s) : run_bare<Shared, Sized, 0>(cutoff_s);
    };
    if (sized_) return problem_.shared_links ? run.template operator()<true, true>() : run.template operator()<false, true>();
    return problem_.shared_links ? run.template operator()<true, false>() : run.template operator()<false, false>();
}

}  // namespace skippipe
