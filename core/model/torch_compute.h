// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/data/batches.h"
#include "core/engine/compute.h"
#include "core/experiment/document.h"

namespace skippipe {

/// `compute: torch`: every node of the plan has the weights, gradients and AdamW state of its stage, on its own device,
/// and microbatches pass from node to node as tensors. Work runs on a pool of threads; results are the same to the bit
/// for any number of them.
///
/// On the CPU a stage is FusedStage; on other devices LibTorch's operations and autograd. Split backward: on the CPU I
/// and W together do the work of B and leave the same bits; elsewhere LibTorch walks the inside of the stage twice, and
/// the sums are those of B.
class TorchCompute final : public ComputeBackend {
public:
    /// `plan` names nodes by their index in the experiment's topology. `threads` 0: one a core.
    /// Throws InputError where a device is missing, or plan and model do not fit.
    TorchCompute(const Experiment& experiment, const Plan& plan, Batches batches, std::uint64_t seed, int threads);
    ~TorchCompute() override;

    void begin_iteration(int iteration) override;
    /// Throws std::logic_error where an operation is not the next one of its microbatch.
    void submit(const ComputeTask& task) override;
    /// Throws what a worker threw; std::runtime_error where loss or gradient is no longer a finite number.
    IterationResult finish_iteration() override;
    ValidationResult validate() override;

    /// Workers in use: one where the BLAS may not be called from several threads (prepare_blas).
    int threads() const;
    /// The reduced gradient of a stage (mean over the tokens of V(s), not clipped), from finish_iteration to the next
    /// begin_iteration; zeros where the stage did not step.
    std::vector<float> reduced_gradient(int stage) const;
    /// A node's weights, in the order of stage_segments.
    std::vector<float> weights(int node) const;
    /// Most microbatches whose activations a node has held at once.
    int most_held(int node) const;
    /// True when all copies of every stage have the same weights and AdamW state to the bit.
    bool replicas_equal() const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace skippipe
