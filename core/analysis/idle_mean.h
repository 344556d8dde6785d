// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <map>

#include "core/analysis/idle.h"

namespace skippipe {

/// Shares of idle time by cause, mean over iterations. One that is done again counts as it was done last.
class IdleMean {
public:
    using Shares = std::array<double, idle_causes>;

    void add(int iteration, const Shares& shares) { shares_[iteration] = shares; }
    /// The training goes on from there.
    void forget_from(int iteration) { shares_.erase(shares_.lower_bound(iteration), shares_.end()); }
    int iterations() const { return static_cast<int>(shares_.size()); }
    /// 0 where there is no iteration.
    Shares mean() const {
        Shares sum{};
        for (const auto& [iteration, shares] : shares_)
            for (std::size_t c = 0; c < idle_causes; ++c) sum[c] += shares[c];
        for (auto& share : sum) share /= shares_.empty() ? 1 : static_cast<double>(shares_.size());
        return sum;
    }

private:
    std::map<int, Shares> shares_;
};

}  // namespace skippipe
