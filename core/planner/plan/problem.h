// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment as numbers: what planners, evaluator and engine compute with. The rules are in docs/semantics.md.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/index.h"
#include "core/experiment/document.h"
#include "core/experiment/model_size.h"
#include "core/planner/plan/hops.h"

namespace skippipe {

inline constexpr int unlimited_memory = std::numeric_limits<int>::max();

/// One iteration's problem. Nodes and stages are indices; `node_ids` has the names.
struct Problem {
    PerNode<std::string> node_ids;
    int stages = 1;             ///< S
    int path_length = 1;        ///< p
    int microbatches = 1;       ///< T
    double samples = 1;         ///< of a microbatch, or what the times and bytes below are of where `sizes` differ
    std::vector<double> sizes;  ///< samples of microbatch m: entry m modulo their number; empty: `samples` each
    PerNode<double> seconds_per_sample_per_block;
    PerStage<int> blocks;          ///< where they are planned, what a planner starts from
    bool plan_blocks = false;      ///< a plan may have other blocks: set_blocks
    PerNode<int> memory;           ///< M; unlimited_memory: TC1 off
    PerNode<double> memory_bytes;  ///< where M follows from them and blocks are planned, else 0; empty: of none
    StageBytes stage_bytes;        ///< for memory_bytes
    double backward_factor = 1.5, loss_factor = 0.25, overhead_s = 0, step_seconds = 0;
    double forward_bytes = 0, backward_bytes = 0;
    /// Work of a core for a message between ranks, and for a byte of a part or sum (core/engine/prediction.h); plans do
    /// not heed them.
    double transfer_cpu_s = 0, transfer_cpu_s_per_byte = 0, reduction_cpu_s_per_byte = 0;
    PerStage<double> gradient_bytes;
    double gradient_bytes_per_block = 0,
           gradient_bytes_besides = 0;          ///< for set_blocks: of any stage, and of stage 0 besides
    double weight_bytes_per_gradient_byte = 1;  ///< more than 1 where gradients are rounded for the network
    Hops hops;
    std::vector<std::string> line_names;  ///< "A->B", by line number
    /// Of uplinks and downlinks, infinite where a node has none. Empty where no node has any, and where lines are
    /// unlimited: there a hop's bandwidth is the least of the three.
    PerNode<double> up_bytes_per_s, down_bytes_per_s;
    bool shared_links = true;
    bool charge_all_reduce = true;  ///< as a ring, in contention with nothing
    bool plan_reductions = false;   ///< as transfers that the plan names; then it is not charged
    bool balance_data_nodes = true;
    bool split_backward = false;
    Constraints constraints;
    PerStage<int> stage_sizes;                   ///< empty: free
    PerStage<std::vector<NodeIndex>> placement;  ///< empty: free
    std::string experiment_hash;

    int nodes() const { return static_cast<int>(node_ids.size()); }
    Hop hop(NodeIndex from, NodeIndex to) const { return hops.of(from, to); }
    /// Some node's messages queue for an uplink or a downlink.
    bool has_uplinks() const { return !up_bytes_per_s.empty(); }
    /// What a transfer that has everything to itself passes in a second: the least of uplink, line and downlink.
    double alone_bytes_per_s(NodeIndex from, NodeIndex to) const {
        const double line = hop(from, to).bandwidth_bytes_per_s;
        return has_uplinks() ? std::min({line, up_bytes_per_s[from], down_bytes_per_s[to]}) : line;
    }
    bool reachable(NodeIndex from, NodeIndex to) const { return hop(from, to).line != no_line; }

    /// "A and B are not linked", or that only the other way is there; for a pair that is not reachable.
    std::string unlinked_words(NodeIndex from, NodeIndex to) const;

    double samples_of(MicrobatchIndex microbatch) const {
        return sizes.empty() ? samples : sizes[at(microbatch) % sizes.size()];
    }
    /// Its samples over `samples`: its times and bytes are this many times those of the problem.
    double relative_size(MicrobatchIndex microbatch) const {
        return sizes.empty() ? 1 : samples_of(microbatch) / samples;
    }
    /// The least of them.
    double smallest_size() const;
    /// Gives the stages these blocks: their times, gradients, and M where it follows from bytes. `chosen`: as many
    /// stages, as many blocks in all.
    void set_blocks(const PerStage<int>& chosen);
    /// F(n, s) = samples x blocks(s) x seconds per sample and block of n.
    double forward_s(NodeIndex node, StageIndex stage) const {
        return samples * blocks[stage] * seconds_per_sample_per_block[node];
    }
    double backward_s(NodeIndex node, StageIndex stage) const { return backward_factor * forward_s(node, stage); }
    /// Of the stage's weights, fp32, as they travel to a node that takes its place.
    double weight_bytes(StageIndex stage) const { return weight_bytes_per_gradient_byte * gradient_bytes[stage]; }
    double loss_s(NodeIndex node) const { return loss_factor * forward_s(node, 0); }
    /// ceil(T (p-1)/(S-1)) for paths of this length (CC2).
    int visits_cap(int length) const;
    /// Nodes of each stage when neither sizes nor placement are given: as even a load as CC2 gives.
    PerStage<int> default_stage_sizes() const;
    /// So many data nodes, and the others over the other stages as evenly as it goes. There are others.
    PerStage<int> stage_sizes_with(int data_nodes) const;
};

/// The problem as a plan sees it: with the plan's blocks. No copy where they are the problem's own. Keeps a reference
/// to the problem.
class PlannedProblem {
public:
    PlannedProblem(const Problem& problem, const PerStage<int>& blocks) : given_(problem) {
        if (problem.plan_blocks && blocks != problem.blocks) own_.emplace(problem).set_blocks(blocks);
    }
    PlannedProblem(const PlannedProblem&) = delete;
    PlannedProblem& operator=(const PlannedProblem&) = delete;

    const Problem& get() const { return own_ ? *own_ : given_; }

private:
    const Problem& given_;
    std::optional<Problem> own_;
};

/// Experiment to numbers. Throws InputError where `validate` finds errors.
Problem make_problem(const Experiment& experiment);

}  // namespace skippipe
