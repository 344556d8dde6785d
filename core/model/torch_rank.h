// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>

#include "core/data/batches.h"
#include "core/engine/rank_compute.h"

namespace skippipe {

/// `compute: torch` under the wall clock: the nodes of one rank with weights, gradients and AdamW state.
class TorchRank final : public RankCompute {
public:
    /// `batches`: on ranks that host data nodes (needs_data). `workers`: for reduction, step and validation.
    /// Throws as build_nodes does.
    TorchRank(const Experiment& experiment, const RankSchedule& schedule, int rank, std::optional<Batches> batches,
              int workers);
    ~TorchRank() override;

    /// Whether the rank hosts a data node.
    static bool needs_data(const RankSchedule& schedule, int rank);

    std::function<void()> at_start() const override;
    int most_workers() const override;
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(int iteration) override;
    void run(const ComputeTask& task) override;
    std::size_t message_bytes(const Operation& operation) const override;
    Buffer take_message(const RankTransfer& transfer) override;
    void receive(const RankTransfer& transfer, Buffer message) override;
    void reduce(int stage, RankTransport& transport) override;
    double squared_norm(int stage) const override;
    RankSums sums() const override;
    void step(int iteration, const std::vector<std::int64_t>& tokens,
              const std::vector<double>& squared_norms) override;
    ValidationResult validate(RankTransport& transport) override;

    /// A node's weights, in the order of stage_segments.
    std::vector<float> weights(int node) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace skippipe
