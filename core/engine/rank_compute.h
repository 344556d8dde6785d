// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/transport.h"

namespace skippipe {

/// Sums of one rank's nodes over an iteration.
struct RankSums {
    double loss_sum_nats = 0;
    std::int64_t loss_tokens = 0;
    std::vector<std::int64_t> stage_tokens;  ///< of this rank's nodes
};

/// What does the arithmetic of one rank's nodes under the wall clock: `torch` (core/model) or `cost` (sleeps as long as
/// drawn). `run` is called from the rank's workers, for each node and for each microbatch one operation at a time (W
/// beside the others); `reduce` from one other thread; the rest while no operation runs.
class RankCompute {
public:
    virtual ~RankCompute() = default;
    /// Called first on every worker.
    virtual std::function<void()> at_start() const {
        return [] {};
    }
    /// Workers that `run` may be called from at once; 0: as many as asked for.
    virtual int most_workers() const { return 0; }

    /// From the next iteration on the paths and orders are those of another schedule, with the nodes where they are.
    virtual void follow(const RankSchedule& schedule) = 0;
    virtual void begin_iteration(int iteration) = 0;
    /// Runs an operation on the calling thread. Its input is what the microbatch's last operation here left, or what
    /// `receive` brought.
    virtual void run(const ComputeTask& task) = 0;
    /// Bytes of the message that brings an operation's input, as it travels.
    virtual std::size_t message_bytes(const Operation& operation) const = 0;
    /// The result of the operation that just ran, for a node elsewhere: taken out and encoded.
    virtual Buffer take_message(const RankTransfer& transfer) = 0;
    /// A message's arrival, decoded when its operation runs.
    virtual void receive(const RankTransfer& transfer, Buffer message) = 0;

    /// Sums the gradients of the stage's nodes here and on the other ranks that host it. Once a stage, after its last
    /// operation here.
    virtual void reduce(int stage, RankTransport& transport) = 0;
    /// After all of `reduce`: squared norm of the summed gradient of a stage hosted here, not divided by tokens.
    virtual double squared_norm(int stage) const = 0;
    virtual RankSums sums() const = 0;
    /// AdamW on every copy here of the stages that `tokens` (over all ranks) passed; `squared_norms` of the mean
    /// gradients, negative where a stage does not step.
    virtual void step(int iteration, const std::vector<std::int64_t>& tokens,
                      const std::vector<double>& squared_norms) = 0;
    /// With every rank, in the same order; the result is rank 0's.
    virtual ValidationResult validate(RankTransport& transport) = 0;
};

/// `compute: cost` under the wall clock: an operation takes the drawn time and computes nothing; messages have the
/// drawn size.
class CostRankCompute final : public RankCompute {
public:
    /// `problem` outlives it.
    CostRankCompute(const Problem& problem, const RankSchedule& schedule, int rank);
    int most_workers() const override { return 0; }
    void follow(const RankSchedule&) override {}
    void begin_iteration(int) override {}
    void run(const ComputeTask& task) override;
    std::size_t message_bytes(const Operation& operation) const override;
    Buffer take_message(const RankTransfer& transfer) override;
    void receive(const RankTransfer&, Buffer) override {}
    void reduce(int, RankTransport&) override {}
    double squared_norm(int) const override { return 0; }
    RankSums sums() const override;
    void step(int, const std::vector<std::int64_t>&, const std::vector<double>&) override {}
    ValidationResult validate(RankTransport&) override { return {}; }

private:
    PlannedProblem planned_;
    const Problem& problem_;
    std::size_t stages_;
};

}  // namespace skippipe
