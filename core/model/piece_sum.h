// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <vector>

#include "core/planner/plan/reduction.h"

namespace skippipe {

/// Writes to `to` the sum of a piece's parts as its transfers make it: each replica adds its own part and its
/// children's sums in the order of the stage; in an exchange all parts are added in that order. `parts`: of each
/// replica `size` values, null where it has nothing to add; one of them may be `to`.
void sum_piece(const Piece& piece, const std::vector<const float*>& parts, std::size_t size, float* to);

}  // namespace skippipe
