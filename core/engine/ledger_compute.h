// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/compute.h"

namespace skippipe {

/// Computes nothing and keeps the books of one process that drives every node: who holds which input, activation,
/// result and gradient. What no node could have done, because it had not what that needs, throws std::logic_error;
/// after the reductions it is known of every microbatch and stage how often its gradient counts, and after steps and
/// moves which weights each node has. For `torture`, and for
/// tests of what happens when nodes are lost.
class LedgerCompute final : public ComputeBackend {
public:
    LedgerCompute(int nodes, const Plan& plan);

    void follow(const RankSchedule& schedule) override;
    void begin_iteration(int iteration) override;
    void submit(const ComputeTask& task, Buffer input = {}, Completion completed = {}) override;
    void handed_over(int from_node, const Operation& next) override;
    void arrived(int node, const Operation& operation) override;
    std::size_t message_bytes(const Operation&) const override { return 0; }
    Buffer take_message(const RankTransfer&) override { return {}; }
    void wait() override {}
    void lose(int node) override;
    void go_on(const Replan& rest) override;
    StageSum reduce(int stage, RankTransport& transport) override;
    RankLoss loss() const override { return {}; }
    void step(int iteration, const std::vector<StageSum>& sums) override;
    void rejoin(int node, int sibling) override;
    void move(const RankSchedule& schedule, const std::vector<NodeMove>& moves,
              const FetchedStates& fetched = {}) override;
    ValidationResult validate(RankTransport&) override { return {}; }
    std::vector<float> weights(int) const override { return {}; }
    StageState state(int) const override { return {}; }
    void set_state(int, const StageState&) override {}
    RoundingResiduals residuals() const override { return {}; }
    void set_residuals(const RoundingResiduals&) override {}

    /// How often the gradient of a microbatch counts in a stage, by what its nodes hold.
    int counted(int microbatch, int stage) const;
    /// How often the gradient of the head does.
    int counted_head(int microbatch) const;
    /// The first node whose weights are not those of its stage, by how often both have stepped; -1: none.
    int unequal_replica() const;
    /// How many microbatches' activations a node holds.
    int held(int node) const;
    const std::vector<NodeIndex>& path(int microbatch) const { return paths_.at(microbatch); }
    int stage_of(int node) const { return stage_of_.at(static_cast<std::size_t>(node)); }

private:
    /// What a node has of a microbatch.
    struct Visit {
        bool input = false, gradient_in = false, loss_input = false;       ///< what came
        bool activations = false, split = false;                           ///< split: I has run, W has not
        bool output = false, gradient_out = false, loss_gradient = false;  ///< what it keeps of its results
        int gradients = 0, heads = 0;                                      ///< added up
    };
    /// Weights that a node has: of which stage, after so many steps.
    struct Copy {
        int stage = -1, steps = 0;
        bool operator==(const Copy&) const = default;
    };
    Visit& visit(int node, int microbatch) { return visits_[{node, microbatch}]; }
    int hop_of(int node, int microbatch) const;
    /// What the operation waits for, of the visit that runs it.
    bool Visit::*input_of(const Operation& operation) const;
    void require(bool holds, int node, const Operation& operation, const char* what) const;

    int nodes_, length_ = 1;
    std::map<int, std::vector<NodeIndex>> paths_;  ///< by microbatch
    PerStage<std::vector<NodeIndex>> stages_;
    PerNode<StageIndex> stage_of_;
    std::set<int> lost_;
    std::map<std::pair<int, int>, Visit> visits_;  ///< by node and microbatch
    std::map<int, Copy> copies_;                   ///< by node
    PerStage<int> steps_;
    Plan plan_;
};

}  // namespace skippipe
