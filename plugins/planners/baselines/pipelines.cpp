// SPDX-License-Identifier: GPL-3.0-or-later
// The classic orders of a full pipeline: GPipe, 1F1B and ZB-H1, each throttled by memory (TC1).
#include <algorithm>

#include "core/base/index.h"
#include "plugins/planners/common/list_order.h"
#include "plugins/planners/planners.h"
#include "plugins/planners/common/search.h"

namespace skippipe::planners {

namespace {

enum class Classic { gpipe, one_forward_one_backward, zero_bubble };

/// Microbatches in flight on each node: 1F1B's warm-up is as deep as the stages that follow, times the pipelines that
/// share the node.
PerNode<int> warm_up(const Problem& problem, const PlanCandidate& candidate) {
    PerNode<int> limit(problem.memory);
    for (StageIndex s = 0; at(s) < candidate.stages.size(); ++s) {
        const std::size_t pipelines =
            (candidate.stages[0].size() + candidate.stages[s].size() - 1) / candidate.stages[s].size();
        const int depth = static_cast<int>((candidate.stages.size() - at(s)) * pipelines);
        for (const NodeIndex node : candidate.stages[s]) limit[node] = std::min(limit[node], depth);
    }
    return limit;
}

class ClassicPlanner final : public Planner {
public:
    ClassicPlanner(Classic kind, std::string name, std::string description)
        : kind_(kind), name_(std::move(name)), description_(std::move(description)) {}
    std::string name() const override { return name_; }
    std::string description() const override { return description_; }
    bool full_pipeline() const override { return true; }

    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        auto candidate = full_pipeline_candidate(problem, request);
        auto note = throttle_note(problem);
        if (kind_ == Classic::zero_bubble) candidate.schedule.split_backward = true;
        if (kind_ == Classic::gpipe)
            candidate.schedule.order = wave_order(problem, candidate.schedule);
        else
            candidate.schedule.order = list_order(problem, candidate.schedule,
                                                  {warm_up(problem, candidate), kind_ == Classic::zero_bubble, false});
        if (request.progress) request.progress({1, 0});
        return make_plan(problem, candidate, name_, request, 0, note);
    }

private:
    Classic kind_;
    std::string name_, description_;
};

}  // namespace

std::unique_ptr<Planner> make_gpipe() {
    return std::make_unique<ClassicPlanner>(
        Classic::gpipe, "gpipe",
        "Full pipeline in waves: all forwards, then all backwards; a wave is as large as memory allows (GPipe).");
}

std::unique_ptr<Planner> make_one_forward_one_backward() {
    return std::make_unique<ClassicPlanner>(
        Classic::one_forward_one_backward, "1f1b",
        "Full pipeline that alternates forwards and backwards once it is filled (1F1B).");
}

std::unique_ptr<Planner> make_zero_bubble() {
    return std::make_unique<ClassicPlanner>(
        Classic::zero_bubble, "zero-bubble",
        "Full pipeline with the backward split in two; weight gradients fill the bubbles (ZB-H1).");
}

}  // namespace skippipe::planners
