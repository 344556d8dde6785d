// SPDX-License-Identifier: GPL-3.0-or-later
// What an iteration and a run cost: microbatches, block FLOPs, bytes on each line, time. Pure: values in, values out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/analysis/compare.h"
#include "core/planner/plan/timeline.h"
#include "core/record/record.h"

namespace skippipe {

/// FLOPs of one token through one block, forward, a multiply-add counted as two: 8 D^2 for the projections of queries,
/// keys, values and output, 6 D F for SwiGLU's three matrices, 4 T D for attention's two products with the sequence of
/// T tokens (the whole square, as is usual; the kernels leave out what the causal mask hides). Norms, softmax,
/// rotations and residual sums are left out, as is usual: Kaplan et al. 2020 (arXiv 2001.08361, table 1) and Chowdhery
/// et al. 2022 (PaLM, arXiv 2204.02311, appendix B), whose 6 N + 12 L H Q T a token is three times this.
double block_flops_per_token(const ModelSpec& model);
/// The same for the head: 2 D V. The embedding looks rows up and multiplies nothing: 0.
double head_flops_per_token(const ModelSpec& model);
/// A backward pass is a product for the input's gradient and one for the weights' beside each of the forward pass.
inline constexpr double backward_flops_factor = 2;

/// Who gets what a span hands over: the receiver of a transfer; of a node's part of a charged all-reduce the next of
/// its stage's ring. -1: nobody.
NodeIndex receiver_of(const Plan& plan, const Span& span);

/// What one line carried.
struct LineBytes {
    std::string name;  ///< "A->B"
    double forward_bytes = 0, backward_bytes = 0, all_reduce_bytes = 0;
    double bytes() const { return forward_bytes + backward_bytes + all_reduce_bytes; }
    bool operator==(const LineBytes&) const = default;
};

/// What was done before a fork began, in the run that it began in and those that this one began in.
struct WorkBefore {
    int iterations = 0;
    bool is_known = false;  ///< else nobody knows what these iterations took
    double microbatches = 0, block_flops = 0, bytes = 0;
    std::optional<double> money;  ///< absent: it had no prices
    double machine_s = 0;         ///< also where all else is not known; 0 where that is not either
    bool operator==(const WorkBefore&) const = default;
};

/// Counts, work, bytes and time of one iteration, or of a whole run.
struct Accounting {
    std::int64_t iterations = 0;
    std::int64_t microbatches = 0, samples = 0, tokens = 0;
    std::int64_t block_executions = 0;  ///< a microbatch through one block, forth and back
    double forward_block_flops = 0, backward_block_flops = 0;
    double head_flops = 0;                            ///< forth and back; not among the blocks'
    std::vector<LineBytes> lines;                     ///< those that carried something, by line number
    double transfer_bytes = 0, all_reduce_bytes = 0;  ///< all-reduces where they are charged, as in Timeline::bytes
    int nodes = 0;                                    ///< drawn
    int used_nodes = 0;                               ///< named in the plan's stages
    int working_nodes = 0;                            ///< that a path visits: the others only keep their weights equal
    double busy_node_s = 0, idle_node_s = 0;          ///< of the used nodes, network time
    double network_s = 0;
    double machine_s = 0;         ///< 0 for a plan that was not run
    std::optional<double> money;  ///< nodes and traffic, in the money of the experiment's prices; absent: it has none
    std::optional<WorkBefore> before;  ///< of a fork; not among these

    double block_flops() const { return forward_block_flops + backward_block_flops; }
    double bytes() const { return transfer_bytes + all_reduce_bytes; }
    /// The line with the most bytes; nullptr where nothing was sent.
    const LineBytes* busiest_line() const;
    bool operator==(const Accounting&) const = default;
};

/// One iteration of a plan. `timeline` is the plan's own and complete, from the evaluator or from a run.
Accounting account_iteration(const ModelSpec& model, const Problem& problem, const Plan& plan,
                             const Timeline& timeline);

/// The same from the experiment alone: evaluates the plan. Nothing where it has no structure or comes to a deadlock.
std::optional<Accounting> account_plan(const ModelSpec& model, const Problem& problem, const Plan& plan);
/// With what it costs in money, where the experiment has prices.
std::optional<Accounting> account_plan(const Experiment& experiment, const Problem& problem, const Plan& plan);

/// As many iterations as the run did itself, a fork none of those before it; its own network time where it was
/// recorded, and machine time, without what was spent before it.
Accounting account_run(const Accounting& iteration, const RunInfo& run);

/// The totals as figures, one value a run, with deltas to the baseline; absent: that run's plan cannot be accounted
/// for. In order: microbatches, tokens, block_executions, block_flops, head_flops, transfer_bytes, all_reduce_bytes,
/// bytes, busiest_line_bytes, network_s, machine_s, used_nodes, working_nodes, busy_node_s, idle_node_s.
std::vector<Figure> accounting_figures(const std::vector<std::optional<Accounting>>& runs, std::size_t baseline = 0);

/// Every field, with "block_flops", "bytes" and "bytes_by_line": {name: bytes}.
nlohmann::ordered_json to_json(const Accounting& accounting);
nlohmann::ordered_json bytes_by_line(const Accounting& accounting);

}  // namespace skippipe
