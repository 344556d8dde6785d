// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/experiment/document.h"
#include "core/model/node_state.h"
#include "core/planner/plan.h"

namespace skippipe {

/// The plan's nodes with their starting weights, by index in the topology; only those that `hosted` says yes to.
/// Throws InputError where plan and model do not fit, the vocabulary cannot hold bytes or a device is missing.
std::vector<std::optional<NodeState>> build_nodes(const Experiment& experiment, const Plan& plan, std::uint64_t seed, const std::function<bool(int node)>& hosted);

}  // namespace skippipe
