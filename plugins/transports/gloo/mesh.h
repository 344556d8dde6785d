// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <vector>

#include "plugins/transports/gloo/posts.h"

namespace skippipe {

/// The sum over all members of a group, which call it with equally many values, in place. Each sums a share of the
/// values, in the order of the members, and gives it to the others: equal bits everywhere, two rounds, and
/// 2 (n - 1) / n of the values sent and received by each of n members. As much again is held meanwhile.
void mesh_all_reduce(const Group& group, std::span<float> values);

}  // namespace skippipe
