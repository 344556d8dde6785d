// SPDX-License-Identifier: GPL-3.0-or-later
// Why a plan takes as long as it does: what every microbatch pays and where it waits, what the end of the iteration
// waited for, and what one unit more of something would give.
#pragma once
#include <array>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Why a microbatch waited, as the latest dispatch of its node (or its line) found it:
/// - link: its line was sending for others (`links: shared`);
/// - memory: a forward that TC1 did not admit, whether the node was free or ran something that was admitted instead;
/// - collision: the node ran something else;
/// - order: the node was free and the binding order put another operation first.
enum class WaitCause : std::uint8_t { link, memory, collision, order };
inline constexpr std::size_t wait_causes = 4;
/// "link", "memory", "collision", "order".
std::string_view to_string(WaitCause cause);

/// A part or sum of a stage's gradient that went first over a line.
struct ReductionAhead {
    StageIndex stage = -1;
    NodeIndex sender = -1;
    bool operator==(const ReductionAhead&) const = default;
};

/// A stretch of waiting with one cause, seconds from the iteration's start.
struct Wait {
    WaitCause cause = WaitCause::collision;
    OpKind operation = OpKind::F;  ///< what waited; link: the operation whose input waited to be sent
    NodeIndex node = -1;           ///< where it stood; link: the node that handed it over
    int line = no_line;            ///< link only
    double start_s = 0, end_s = 0;
    /// Microbatches that ran or were sent meanwhile; memory: whose release ended it; order: whose turn it was. In order
    /// of time, the first eight.
    std::vector<MicrobatchIndex> others;
    /// Link only: of planned reductions what was sent meanwhile, likewise.
    std::vector<ReductionAhead> reductions;

    double seconds() const { return end_s - start_s; }
    /// What went first: "3, 4", "3, the gradient of stage 1 from Tokyo".
    std::string ahead(const Problem& problem) const;
    bool operator==(const Wait&) const = default;
};

/// The way of one microbatch from its release at 0 to the end of its last B (I where the backward is split). The parts
/// add up to end_s.
struct MicrobatchCosts {
    MicrobatchIndex microbatch = 0;
    double compute_s = 0;  ///< F and B (I) on its path
    double loss_s = 0;
    double latency_s = 0;   ///< of its transfers, overhead included
    double transfer_s = 0;  ///< bytes / bandwidth
    std::array<double, wait_causes> waits_s{};
    double end_s = 0;
    double weight_gradient_s = 0;  ///< W where split: beside the way, no part of it
    std::vector<Wait> waits;       ///< in order of time

    /// What the path costs as if it were alone.
    double alone_s() const { return compute_s + loss_s + latency_s + transfer_s; }
    double waiting_s() const;
    bool operator==(const MicrobatchCosts&) const = default;
};

/// A place and what all microbatches together waited there.
struct WaitingPlace {
    WaitCause cause = WaitCause::collision;
    NodeIndex node = -1;  ///< -1 for link
    int line = no_line;   ///< link only
    double seconds = 0;
    int microbatches = 0;
    bool operator==(const WaitingPlace&) const = default;
};

/// What the end of the iteration waited for, piece by piece.
struct ChainPiece {
    /// `queue`: a line sends what is ahead of the transfer that waits for it.
    enum class Kind : std::uint8_t { compute, queue, latency, transfer, all_reduce, step };
    /// What let it begin just then: the start of the iteration, the arrival of its input, the end of another operation
    /// on its node, or the memory released by it (TC1), the line that became free; for all-reduce and step what is
    /// before them.
    enum class Start : std::uint8_t { release, input, node, memory, line, before };
    Kind kind = Kind::compute;
    Start start = Start::input;
    OpKind operation = OpKind::F;  ///< compute
    NodeIndex node = -1;           ///< compute: that runs it; transfers: that sends
    int line = no_line;            ///< transfers; all-reduce: the slowest edge of the ring, or where it is planned
                                   ///< that of one of its transfers
    MicrobatchIndex microbatch = -1;
    StageIndex stage = -1;  ///< all-reduce and step
    double start_s = 0, end_s = 0;

    double seconds() const { return end_s - start_s; }
    bool operator==(const ChainPiece&) const = default;
};
std::string_view to_string(ChainPiece::Kind kind);
std::string_view to_string(ChainPiece::Start start);

struct NodeShare {
    NodeIndex node = -1;
    double seconds = 0;  ///< compute on the chain
    bool operator==(const NodeShare&) const = default;
};

/// A link as it is drawn: both its lines where there are two, each shared by all pairs of its regions.
struct LinkShare {
    std::vector<int> lines;
    std::string name;  ///< "Oregon ↔ LA", or "Oregon → LA" where there is one direction only
    double queue_s = 0, latency_s = 0, transfer_s = 0;
    double all_reduce_s = 0;  ///< where it holds the slowest edge of the ring that ends the iteration, or planned
                              ///< transfers that do

    double seconds() const { return queue_s + latency_s + transfer_s + all_reduce_s; }
    bool operator==(const LinkShare&) const = default;
};

/// One unit more of something.
struct Upgrade {
    enum class Kind : std::uint8_t {
        node_speed,      ///< half the seconds per sample and block
        node_memory,     ///< M + 1
        link,            ///< half the latency and twice the bandwidth (costs.overhead_s is none of the link's)
        link_latency,    ///< half the latency alone
        link_bandwidth,  ///< twice the bandwidth alone
    };
    Kind kind = Kind::node_speed;
    NodeIndex node = -1;
    std::vector<int> lines;  ///< every pair of nodes on them changes
    bool operator==(const Upgrade&) const = default;
};
std::string_view to_string(Upgrade::Kind kind);

/// The problem with it.
Problem upgraded(Problem problem, const Upgrade& upgrade);

/// What `evaluate` says of the same plan, placement and paths kept, on the upgraded problem. A plan without an order is
/// evaluated as it is (dispatch decides) and bound to the order it had; the shorter one counts.
struct WhatIf {
    Upgrade upgrade;
    std::string name;         ///< of the node or link
    bool complete = true;     ///< false: the same plan would deadlock
    bool order_kept = false;  ///< the shorter one is that bound to the order it had
    double iteration_s = 0;   ///< 0 where incomplete
    double change_s =
        0;              ///< iteration_s less that of the plan as it is; positive where faster parts make a worse order
    double change = 0;  ///< change_s as a share of the iteration as it is

    /// "Oregon ↔ LA twice as fast", "n7 with room for one microbatch more".
    std::string words() const;
    bool operator==(const WhatIf&) const = default;
};

struct Explanation {
    double iteration_s = 0, makespan_s = 0;
    std::vector<MicrobatchCosts> microbatches;  ///< in release order
    std::vector<WaitingPlace> places;           ///< most seconds first
    std::vector<ChainPiece> chain;              ///< from 0 to iteration_s, without a gap
    std::vector<NodeShare> nodes;               ///< of the chain, most first
    std::vector<LinkShare> links;               ///< of the chain and its all-reduce, most first
    double all_reduce_s = 0,
           step_s = 0;  ///< of the chain; with nodes and links (their all_reduce_s left out) they add up to iteration_s
    std::vector<WhatIf> what_ifs;  ///< most saved first
    LowerBound placed;             ///< with every node in its stage

    /// What the plan takes more than that, as a share of it; 0 where they differ by rounding alone.
    double placed_gap() const;
    /// "With every node in its stage no plan is shorter than 57.7 s (Singapore: memory and work of the data nodes, with
    /// the shortest paths); this one is 0.7 % above" or "this one is as short"
    std::string placed_words(const Problem& problem) const;

    double compute_s() const;
    /// Queue, latency and transfer over all links.
    double links_s() const;
    /// "critical node n7 (19.4 %), critical link Oregon ↔ LA (12.8 %); Oregon ↔ LA twice as fast: iteration -4.00 %"
    std::string summary(const Problem& problem) const;
    bool operator==(const Explanation&) const = default;
};

struct ExplainOptions {
    int nodes = 5, links = 5;  ///< the most critical of each are asked what-ifs; 0: none
    std::stop_token stop;      ///< ends the what-ifs early
};

/// Explains a plan that passed check_structure from its complete timeline of `evaluate`. Throws std::invalid_argument
/// where the timeline is incomplete, std::logic_error where it is another plan's.
Explanation explain(const Problem& problem, const Plan& plan, const Timeline& timeline,
                    const ExplainOptions& options = {});

}  // namespace skippipe
