// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Why a node did nothing. `fill_drain`: before its first operation's input was on its way, after its last, and waiting
/// for other stages at the barrier; `unused`: the same of a node that the plan sends no microbatch through.
enum class IdleCause : std::uint8_t {
    fill_drain,
    activation,
    gradient,
    link,
    memory,
    collision,
    order,
    replica,
    all_reduce,
    optimizer,
    node_down,
    unused
};
inline constexpr std::size_t idle_causes = 12;
/// "fill-drain", "activation", "gradient", "link", "memory", "collision", "order", "replica", "all-reduce",
/// "optimizer", "node-down", "unused".
std::string_view to_string(IdleCause cause);
/// A sentence for people: "waiting for an activation", ...
std::string_view describe(IdleCause cause);

struct IdleGap {
    NodeIndex node = -1;
    IdleCause cause = IdleCause::fill_drain;
    double start_s = 0, end_s = 0;    ///< from the iteration's start
    MicrobatchIndex microbatch = -1;  ///< whose operation ended the wait, or was held (memory, order); -1: none
    NodeIndex other = -1;             ///< the node it waited for: of a planned reduction the replica that works the
                                      ///< longest, then the one whose part or sum came next; -1: none
    int line = no_line;               ///< of a planned reduction the queue that it left last (Problem::line_names): the
                                      ///< line from there, or the uplink or downlink that held it longer
};

struct IdleReport {
    std::vector<IdleGap>
        gaps;  ///< by node, then time; with the busy spans they tile [0, iteration_s] of every used node
    std::array<double, idle_causes> share{};  ///< of used nodes x iteration_s; sums to the idle fraction
    std::vector<std::array<double, idle_causes>> node_seconds;  ///< [node]
    std::vector<double> node_busy_s;                            ///< [node]
};

/// Splits the idle time of one iteration exactly by cause, from its spans alone (evaluator's or recorded). The rules,
/// for an idle stretch that operation X ended, whose input a transfer brought from operation P of the same microbatch:
/// - something had arrived here and was not run although the node was free: `memory` if it is a forward and the node
/// held M
///   microbatches (TC1), else `order` (a binding order made the node wait). Before that:
/// - X's transfer handed over .. arrived: `link`, queueing and transit;
/// - P ready .. P started: `collision` while P's node was busy with something else (TC2), `memory` or `order` while it
/// was free;
/// - P running, and all before P was ready: `activation` if X is a forward or a loss, else `gradient`.
/// Before a node's first operation all that lies before its transfer was handed over is `fill_drain`. After its last:
/// `fill_drain` until its stage begins to all-reduce, `all_reduce`, `optimizer`, `fill_drain` to the barrier; for a
/// node without operations the same with `unused` instead of `fill_drain`. Where reductions are planned `replica` until
/// the last of its stage's nodes has worked, before which no sum can be whole, and `all_reduce` from then on.
/// Without a transfer (same node) P's end is X's arrival. Whatever else it waited for: `node_down` for as long as spans
/// say that the node was down, also of a node that the plan leaves out for that.
/// The iteration ends at timeline.iteration_s, or with the last span if that is later (incomplete timelines).
IdleReport explain_idle(const Problem& problem, const Plan& plan, const Timeline& timeline);

}  // namespace skippipe
