// SPDX-License-Identifier: GPL-3.0-or-later
// A back end that hands everything to another, for tests whose ranks fail at one place of it.
#pragma once
#include <utility>
#include <vector>

#include "core/engine/compute.h"

namespace skippipe::testing {

class ForwardingCompute : public ComputeBackend {
public:
    /// Outlives it.
    explicit ForwardingCompute(ComputeBackend& inner) : inner_(inner) {}

    void follow(const RankSchedule& schedule) override { inner_.follow(schedule); }
    void begin_iteration(int iteration) override { inner_.begin_iteration(iteration); }
    void submit(const ComputeTask& task, Buffer input, Completion completed) override {
        inner_.submit(task, std::move(input), std::move(completed));
    }
    std::size_t message_bytes(const Operation& operation) const override { return inner_.message_bytes(operation); }
    Buffer take_message(const RankTransfer& transfer) override { return inner_.take_message(transfer); }
    void wait() override { inner_.wait(); }
    void handed_over(int from_node, const Operation& next) override { inner_.handed_over(from_node, next); }
    void arrived(int node, const Operation& operation) override { inner_.arrived(node, operation); }
    void lose(int node) override { inner_.lose(node); }
    void go_on(const Replan& rest) override { inner_.go_on(rest); }
    void rejoin(int node, int sibling) override { inner_.rejoin(node, sibling); }
    void move(const RankSchedule& schedule, const std::vector<NodeMove>& moves, const FetchedStates& fetched) override {
        inner_.move(schedule, moves, fetched);
    }
    void rebuild(int node, const std::vector<NeighbourWeights>& from, double learning_rate) override {
        inner_.rebuild(node, from, learning_rate);
    }
    StageSum reduce(int stage, RankTransport& transport) override { return inner_.reduce(stage, transport); }
    PieceSums* piece_sums() override { return inner_.piece_sums(); }
    RankLoss loss() const override { return inner_.loss(); }
    void step(int iteration, const std::vector<StageSum>& sums) override { inner_.step(iteration, sums); }
    ValidationResult validate(RankTransport& transport) override { return inner_.validate(transport); }
    std::vector<float> weights(int node) const override { return inner_.weights(node); }
    StageState state(int node) const override { return inner_.state(node); }
    void set_state(int node, const StageState& state) override { inner_.set_state(node, state); }
    RoundingResiduals residuals() const override { return inner_.residuals(); }
    void set_residuals(const RoundingResiduals& residuals) override { inner_.set_residuals(residuals); }

private:
    ComputeBackend& inner_;
};

}  // namespace skippipe::testing
