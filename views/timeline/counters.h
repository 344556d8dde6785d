// SPDX-License-Identifier: GPL-3.0-or-later
// What lanes hold, send and work over time, as steps. Pure.
#pragma once
#include <array>
#include <vector>

#include "views/timeline/lanes.h"

namespace skippipe {

/// `gpu` comes last: it is there only where GPUs were read.
enum class Counter { held, bytes_per_s, busy, gpu };
inline constexpr std::size_t counter_kinds = 4;

/// [counter][stretch]: means over equal stretches of time, summed over lanes (busy: their mean share; gpu: that of the
/// GPUs on which they sit, as these said of themselves, an iteration at a time).
using CounterProfile = std::array<std::vector<float>, counter_kinds>;

/// `held`: microbatches in memory, each from its forward's start to the end of its backward there (of its weight
/// gradient, where split), and no longer than the lane's last work of that iteration. `bytes_per_s`: sent over lines
/// from these lanes. Costs what lies in begin..end.
CounterProfile counter_profile(const TimelineData& data, const std::vector<int>& lanes, double begin, double end,
                               std::size_t stretches);

}  // namespace skippipe
