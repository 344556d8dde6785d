// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_planner/place_shares.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/index.h"

namespace skippipe::bench {

namespace {

/// When a place is taken or given, by time: 1 or -1.
using Changes = std::vector<std::pair<double, int>>;

struct Wait {
    double from_s = 0, to_s = 0;
    double PlaceShares::*what_for = nullptr;
};

struct Held {
    PerNode<Changes> by_node;
    std::vector<Changes> by_microbatch;
    std::vector<std::vector<Wait>> waits;  ///< of each microbatch
};

Held held_in(const Problem& problem, const Timeline& timeline) {
    Held held{PerNode<Changes>(at(problem.nodes())), std::vector<Changes>(at(problem.microbatches)), {}};
    held.waits.resize(at(problem.microbatches));
    for (const Span& span : timeline.spans) {
        if (!is_compute(span.kind) && !is_transfer(span.kind)) continue;
        const bool begins = span.kind == SpanKind::forward;
        const auto what_for = is_transfer(span.kind) ? &PlaceShares::for_line
                              : begins               ? &PlaceShares::for_forward
                                                     : &PlaceShares::for_other_work;
        if (span.start_s > span.ready_s)
            held.waits[at(span.microbatch)].push_back({span.ready_s, span.start_s, what_for});
        if (!begins && span.kind != SpanKind::backward) continue;
        const std::pair change{begins ? span.start_s : span.end_s, begins ? 1 : -1};
        held.by_node[span.node].push_back(change);
        held.by_microbatch[at(span.microbatch)].push_back(change);
    }
    for (auto& changes : held.by_node) std::sort(changes.begin(), changes.end());
    for (auto& changes : held.by_microbatch) std::sort(changes.begin(), changes.end());
    return held;
}

/// What is free of a node with so many places.
void add_free(const Changes& changes, int places, double end_s, PlaceShares& shares) {
    double now_s = 0, free_s = 0;
    int held = 0;
    bool was_full = false;
    for (const auto& [time_s, change] : changes) {
        free_s += (places - held) * (time_s - now_s);
        now_s = time_s;
        held += change;
        if (held < places) continue;
        (was_full ? shares.between : shares.filling) += std::exchange(free_s, 0);
        was_full = true;
    }
    shares.draining += free_s + places * (end_s - now_s);
}

/// What one microbatch holds.
void add_held(const Changes& changes, const std::vector<Wait>& waits, PlaceShares& shares) {
    double now_s = 0;
    int nodes = 0;
    for (const auto& [time_s, change] : changes) {
        shares.moving += nodes * (time_s - now_s);
        for (const auto& [from_s, to_s, what_for] : waits) {
            const double waits_s = std::max(0.0, std::min(to_s, time_s) - std::max(from_s, now_s));
            shares.*what_for += nodes * waits_s;
            shares.moving -= nodes * waits_s;
        }
        now_s = time_s;
        nodes += change;
    }
}

}  // namespace

PlaceShares place_shares(const Problem& problem, const Plan& plan, const Timeline& timeline) {
    const auto held = held_in(problem, timeline);
    const double end_s = timeline.iteration_s;
    PlaceShares shares;
    double all_s = 0;
    for (const auto& ring : plan.stages)
        for (const NodeIndex node : ring) {
            const int places = std::min(problem.memory[node], problem.microbatches);
            add_free(held.by_node[node], places, end_s, shares);
            all_s += places * end_s;
        }
    for (std::size_t m = 0; m < held.waits.size(); ++m) add_held(held.by_microbatch[m], held.waits[m], shares);
    for (double PlaceShares::*const share :
         {&PlaceShares::moving, &PlaceShares::for_forward, &PlaceShares::for_other_work, &PlaceShares::for_line,
          &PlaceShares::filling, &PlaceShares::between, &PlaceShares::draining})
        shares.*share /= all_s;
    return shares;
}

}  // namespace skippipe::bench
