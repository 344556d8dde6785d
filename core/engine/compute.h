// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/planner/plan/plan.h"

namespace skippipe {

/// One operation a node has started, as the driver hands it on.
struct ComputeTask {
    Operation operation;
    int node = 0;
    int stage = 0;
    int hop = 0;  ///< position of the node in the microbatch's path, 0 = its data node
};

/// What an iteration computed.
struct IterationResult {
    double loss_sum_nats = 0;                ///< summed over tokens whose loss was computed
    std::int64_t tokens = 0;                 ///< those tokens
    double gradient_norm = 0;                ///< before clipping, over all stages that stepped
    std::vector<std::int64_t> stage_tokens;  ///< tokens whose backward passed each stage; 0: the stage did not step
};

/// Validation over the held-out part with the whole model, no stage skipped.
struct ValidationResult {
    double loss_nats = 0;  ///< mean a token
    double bits_per_byte =
        0;  ///< loss / ln 2 / bytes of text a token; 0: not known, the data are tokens without their text
};

/// What does a node's arithmetic: `torch` (core/model) or `cost` (nothing). A driver calls it from one thread, in the
/// order in which operations start in the clock's time; the work itself may run later and on any number of threads, as
/// long as each node's tasks run in the order submitted and a task runs after its predecessor on the microbatch's path.
class ComputeBackend {
public:
    virtual ~ComputeBackend() = default;
    /// Before the first operation of an iteration (0-based).
    virtual void begin_iteration(int iteration) = 0;
    virtual void submit(const ComputeTask& task) = 0;
    /// Waits for all submitted work, reduces gradients of each stage over its nodes (skippipe.md, 8), clips and steps.
    virtual IterationResult finish_iteration() = 0;
    virtual ValidationResult validate() = 0;
};

/// `compute: cost`: time passes, nothing is computed.
class CostCompute final : public ComputeBackend {
public:
    void begin_iteration(int) override {}
    void submit(const ComputeTask&) override {}
    IterationResult finish_iteration() override { return {}; }
    ValidationResult validate() override { return {}; }
};

}  // namespace skippipe
