// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/planner/explain/explain.h"

namespace skippipe {

/// Of the iteration: a change that is less helps nobody.
inline constexpr double worth_saying = 0.01;

/// What explain() would say of one node, whether the chain spends much on it or not: the node twice as fast, then one
/// microbatch more in its memory where that has a limit. Of a complete timeline of that plan. Some evaluations of the
/// plan: not for the window's thread.
std::vector<WhatIf> node_what_ifs(const Problem& given, const Plan& plan, const Timeline& timeline, NodeIndex node);

}  // namespace skippipe
