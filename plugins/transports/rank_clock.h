// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <vector>

#include "core/engine/common_clock.h"
#include "plugins/transports/star.h"

namespace skippipe {

class RunStore;

/// Rank 0's clock, as this rank reads it: its own where both are of one host, else compared now and then.
class RankClock {
public:
    /// `compare_every_s`: how often they are compared; `one_clock_a_host`: ranks of one host need not be.
    RankClock(std::function<double()> local_s, bool one_clock_a_host, double compare_every_s);

    double now_s() const { return common_s(local_s_()); }
    double common_s(double local_s) const { return one_clock_ ? local_s : clock_.at(local_s); }
    /// How far off it may be now.
    double error_s() const { return one_clock_ ? 0 : clock_.error_s(local_s_()); }

    /// Finds out whose clock is not rank 0's, and compares those. Every rank at once.
    void find(const Star& star, RunStore& store);
    /// It is time to compare again.
    bool is_due() const;
    /// What rank 0's clock shows when this one shows 0, by the quickest of so many questions. Every rank at once.
    void compare(const Star& star, int questions);

private:
    void answer(const Star& star, int questions) const;
    void ask(const Star& star, int questions);

    std::function<double()> local_s_;
    bool one_clock_a_host_;
    double compare_every_s_;
    CommonClock clock_;
    bool one_clock_ = true;    ///< rank 0's is this one
    std::vector<int> askers_;  ///< ranks whose clock is not rank 0's
    double compared_at_s_ = 0;
};

}  // namespace skippipe
