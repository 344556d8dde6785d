// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/engine/compute.h"
#include "core/engine/task_graph.h"

namespace skippipe {

/// `compute: cost`: time passes and nothing is computed. Where somebody waits for an operation's end (the wall clock)
/// it sleeps as long as drawn; messages have the drawn size.
class CostCompute final : public ComputeBackend {
public:
    /// `problem` outlives it. `workers`: operations at once under the wall clock; 0: as many as cores.
    CostCompute(const Problem& problem, const RankSchedule& schedule, int workers = 0);

    void follow(const RankSchedule&) override {}
    void begin_iteration(int) override {}
    void submit(const ComputeTask& task, Buffer input = {}, Completion completed = {}) override;
    std::size_t message_bytes(const Operation& operation) const override;
    Buffer take_message(const RankTransfer& transfer) override;
    void wait() override;
    void lose(int) override {}
    void go_on(const Replan&) override {}
    StageSum reduce(int stage, RankTransport& transport) override;
    RankLoss loss() const override { return {}; }
    void step(int, const std::vector<StageSum>&) override {}
    ValidationResult validate(RankTransport&) override { return {}; }
    std::vector<float> weights(int) const override { return {}; }
    StageState state(int) const override { return {}; }
    void set_state(int, const StageState&) override {}
    RoundingResiduals residuals() const override { return {}; }
    void set_residuals(const RoundingResiduals&) override {}

private:
    PlannedProblem planned_;
    const Problem& problem_;
    int workers_;
    std::unique_ptr<TaskGraph> sleepers_;  ///< made when first needed; last: its threads end before what they use
};

}  // namespace skippipe
