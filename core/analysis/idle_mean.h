// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <map>

#include "core/analysis/idle.h"

namespace skippipe {

/// Shares of idle time by cause over iterations, each as long as it is. One that is done again counts as it was done
/// last.
class IdleMean {
public:
    using Shares = std::array<double, idle_causes>;

    void add(int iteration, double iteration_s, const Shares& shares) { done_[iteration] = {iteration_s, shares}; }
    /// The training goes on from there.
    void forget_from(int iteration) { done_.erase(done_.lower_bound(iteration), done_.end()); }
    int iterations() const { return static_cast<int>(done_.size()); }
    /// 0 where there is no iteration.
    Shares mean() const {
        Shares sum{};
        double all_s = 0;
        for (const auto& [iteration, one] : done_) {
            all_s += one.seconds;
            for (std::size_t c = 0; c < idle_causes; ++c) sum[c] += one.seconds * one.shares[c];
        }
        for (auto& share : sum) share = all_s > 0 ? share / all_s : 0;
        return sum;
    }

private:
    struct Done {
        double seconds = 0;
        Shares shares{};
    };
    std::map<int, Done> done_;
};

}  // namespace skippipe
