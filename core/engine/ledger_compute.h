// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/compute.h"

namespace skippipe {

/// Messages between nodes, and what they weigh.
struct Traffic {
    int messages = 0;
    double bytes = 0;
    void add(double message_bytes) { ++messages, bytes += message_bytes; }
};

/// What is left wrong on purpose, for tests of those who read the books.
enum class LedgerFault { none, keeps_results, copy_left_out, rejoins_with_nothing };

/// Computes nothing and keeps the books of one process that drives every node: who holds which input, activation,
/// result and gradient, what is on its way to whom, and which weights each copy has. What no node could have done,
/// because it had not what that needs or had no place for it, throws std::logic_error; after the reductions it is known
/// of every microbatch and stage how often its gradient counts, after a step who stepped, and between iterations which
/// weights each node has. For `torture`, and for tests of what happens when nodes are lost.
class LedgerCompute final : public ComputeBackend {
public:
    LedgerCompute(const Problem& problem, const Plan& plan, LedgerFault fault = LedgerFault::none);

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
    std::vector<CopyHash> copy_hashes() const override;
    void rejoin(int node, int sibling) override;
    void move(const RankSchedule& schedule, const std::vector<NodeMove>& moves,
              const FetchedStates& fetched = {}) override;
    void rebuild(int node, const std::vector<NeighbourWeights>& from, double learning_rate) override;
    ValidationResult validate(RankTransport&) override { return {}; }
    std::vector<float> weights(int node) const override { return state(node).weights; }
    StageState state(int node) const override;
    void set_state(int node, const StageState& state) override;
    RoundingResiduals residuals() const override { return {}; }
    void set_residuals(const RoundingResiduals&) override {}

    /// How often the gradient of a microbatch counts in a stage, by what its nodes hold.
    int counted(int microbatch, int stage) const;
    /// How often the gradient of the head does.
    int counted_head(int microbatch) const;
    /// The first node whose weights are not those of its stage; -1: none.
    int unequal_replica() const;
    /// How many microbatches' activations a node holds.
    int held(int node) const;
    /// How many results all nodes keep for those who might take another's place.
    int kept() const;
    /// What is wrong with who stepped in this iteration: every copy of a stage with gradients once, no other; empty:
    /// nothing.
    std::string fault_of_steps() const;
    /// Of the iteration. What was handed over has arrived, was lost with a node or a plan, or is on its way.
    const Traffic& sent() const { return sent_; }
    const Traffic& came() const { return came_; }
    const Traffic& lost_on_the_way() const { return gone_; }
    std::size_t on_the_way() const { return on_way_.size(); }
    const std::map<int, std::vector<NodeIndex>>& paths() const { return paths_; }
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
    /// Weights that a node has: of which stage, after so many steps of its optimizer, and a mark of all that made them.
    struct Copy {
        int stage = -1;
        std::int64_t steps = 0;
        std::uint64_t mark = 0;
        double learning_rate = 1;
        bool operator==(const Copy&) const = default;
    };
    /// To whom, and what it will run with it.
    using Message = std::tuple<int, int, OpKind, int>;
    struct Way {
        int from = -1;
        double bytes = 0;
    };
    static Message message_to(int node, const Operation& operation) {
        return {node, operation.microbatch, operation.kind, operation.attempt};
    }
    Visit& visit(int node, int microbatch) { return visits_[{node, microbatch}]; }
    int hop_of(int node, int microbatch) const;
    double bytes_of(const Operation& operation) const;
    /// Of the node that runs an operation whose input comes from `from_node`.
    int receiver_of(int from_node, const Operation& next) const;
    /// What the operation waits for, of the visit that runs it.
    bool Visit::*input_of(const Operation& operation) const;
    void require(bool holds, int node, const Operation& operation, const char* what) const;
    /// A node's own, or where it is lost that of a node of its stage that is there, or of the one lost last.
    const Copy& copy_of(int node) const;
    std::vector<float> values_of(const Copy& copy) const;

    int nodes_, length_ = 1;
    const Problem& problem_;
    LedgerFault fault_;
    std::map<int, std::vector<NodeIndex>> paths_;  ///< by microbatch
    PerStage<std::vector<NodeIndex>> stages_;
    PerNode<StageIndex> stage_of_;
    std::set<int> lost_;
    std::map<std::pair<int, int>, Visit> visits_;  ///< by node and microbatch
    std::map<Message, Way> on_way_;
    Traffic sent_, came_, gone_;
    std::map<int, Copy> copies_;                     ///< by node that is there
    std::vector<std::pair<int, Copy>> lost_copies_;  ///< of nodes that are not, as they were lost
    PerStage<Copy> newest_;                          ///< what copies of each stage are to be
    std::map<int, int> stepped_;                     ///< how often each node has in this iteration
    Plan plan_;
};

}  // namespace skippipe
