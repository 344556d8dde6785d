// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/batches.h"
#include "core/device/device_queue.h"
#include "core/engine/compute.h"
#include "core/experiment/document.h"

namespace skippipe {

/// The queue that LibTorch's work on a device ("cuda:1") goes to; null: work is done when its call returns.
using QueueOfDevice = std::function<std::shared_ptr<DeviceQueue>(const std::string& device)>;

/// `compute: torch`: every node of one rank has the weights, gradients and AdamW state of its stage, on its own device,
/// and microbatches pass from node to node as tensors, to other ranks as messages. Work runs on a pool of threads;
/// results are the same to the bit for any number of them.
///
/// On the CPU a stage is FusedStage; on other devices LibTorch's operations and autograd. Split backward: on the CPU I
/// and W together do the work of B and leave the same bits; elsewhere LibTorch walks the inside of the stage twice, and
/// the sums are those of B.
class TorchCompute final : public ComputeBackend {
public:
    /// `batches`: on ranks that host data nodes, or may do so later (needs_data). `workers` 0: one a core.
    /// `queues`: asked once for each node that is here; operations and steps end when their device is through, and say
    /// when that was. Throws InputError where a device is missing, or plan and model do not fit.
    TorchCompute(const Experiment& experiment, const RankSchedule& schedule, int rank, std::optional<Batches> batches,
                 int workers, QueueOfDevice queues = {});
    /// All nodes of a plan in one process, with weights from a seed of their own.
    TorchCompute(const Experiment& experiment, const Plan& plan, Batches batches, std::uint64_t seed, int workers);
    ~TorchCompute() override;

    static bool needs_data(const Experiment& experiment, const RankSchedule& schedule, int rank);

    void follow(const RankSchedule& schedule) override;
    void begin_iteration(int iteration) override;
    void submit(const ComputeTask& task, Buffer input = {}, Completion completed = {}) override;
    std::size_t message_bytes(const Operation& operation) const override;
    Buffer take_message(const RankTransfer& transfer) override;
    void wait() override;
    void arrived(int node, const Operation& operation) override;
    void lose(int node) override;
    void go_on(const Replan& rest) override;
    void rejoin(int node, int sibling) override;
    void move(const RankSchedule& schedule, const std::vector<NodeMove>& moves,
              const FetchedStates& fetched = {}) override;
    void rebuild(int node, const std::vector<NeighbourWeights>& from, double learning_rate) override;
    StageSum reduce(int stage, RankTransport& transport) override;
    PieceSums* piece_sums() override;
    RankLoss loss() const override;
    void step(int iteration, const std::vector<StageSum>& sums) override;
    std::vector<CopyHash> copy_hashes() const override;
    ValidationResult validate(RankTransport& transport) override;
    std::vector<float> weights(int node) const override;
    StageState state(int node) const override;
    void set_state(int node, const StageState& state) override;
    RoundingResiduals residuals() const override;
    void set_residuals(const RoundingResiduals& residuals) override;

    const RankSchedule& schedule() const;
    /// Workers in use: one where the BLAS may not be called from several threads (prepare_blas).
    int threads() const;
    /// The reduced gradient of a stage hosted here (mean over the tokens of V(s), not clipped), from `reduce` to the
    /// next begin_iteration; zeros where the stage did not step.
    std::vector<float> reduced_gradient(int stage) const;
    /// Most microbatches whose activations a node has held at once.
    int most_held(int node) const;
    /// Inputs of steps that are kept here, or have not been used yet.
    double kept_bytes() const;
    /// True when all copies here of every stage have the same weights and AdamW state to the bit.
    bool replicas_equal() const;

    struct Implementation;

private:
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace skippipe
