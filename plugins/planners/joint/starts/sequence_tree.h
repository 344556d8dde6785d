// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::planners::joint {

/// Sequences of stages that microbatches draw stage by stage: whichever stages they choose among those left, together
/// they take every sequence once, so that CC2 and CC3 hold as they hold for the sequences.
class SequenceTree {
public:
    struct Branch {
        StageIndex stage = 0;
        int branch = 0;  ///< of branches()
        int left = 0;    ///< so many microbatches may still take it
    };

    explicit SequenceTree(const std::vector<std::vector<StageIndex>>& sequences) : branches_(1) {
        for (const auto& sequence : sequences) {
            std::size_t place = 0;
            for (std::size_t hop = 1; hop < sequence.size(); ++hop) place = at(taken(place, sequence[hop]).branch);
        }
    }
    /// [0]: where all begin.
    std::vector<Branch>& ways(int branch) { return branches_[at(branch)]; }

private:
    Branch& taken(std::size_t place, StageIndex stage) {
        for (auto& way : branches_[place])
            if (way.stage == stage) {
                ++way.left;
                return way;
            }
        const auto next = static_cast<int>(branches_.size());
        branches_.emplace_back();
        return branches_[place].emplace_back(Branch{stage, next, 1});
    }

    std::vector<std::vector<Branch>> branches_;
};

}  // namespace skippipe::planners::joint
