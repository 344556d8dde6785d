// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

/// What is summed over microbatches and blocks whatever each of them is: the problem of the bounds itself has, where
/// microbatches differ in size, only the smallest, and where blocks are planned, the fewest.
class Totals {
public:
    explicit Totals(const Problem& problem) : sizes_(problem.sizes.empty() ? 0 : at(problem.microbatches)) {
        for (MicrobatchIndex m = 0; at(m) < sizes_.size(); ++m) sizes_[at(m)] = problem.samples_of(m);
        std::sort(sizes_.begin(), sizes_.end());
    }
    /// So many of the smallest microbatches are as much work as this many of the smallest one.
    double work_of(int microbatches) const {
        if (sizes_.empty()) return microbatches;
        return std::accumulate(sizes_.begin(), sizes_.begin() + microbatches, 0.0) / sizes_.front();
    }

    int spare = 0;  ///< blocks that the stages have together more than in the problem of the bounds

    /// Over the smallest, sorted; empty where all are alike.
    std::vector<double> relative_sizes() const {
        std::vector<double> relative;
        for (const double size : sizes_) relative.push_back(size / sizes_.front());
        return relative;
    }

private:
    std::vector<double> sizes_;  ///< sorted
};

/// Every microbatch `factor` times as large.
Problem resized(Problem problem, double factor);

}  // namespace skippipe::bounds
