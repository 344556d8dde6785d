// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/experiment/document.h"
#include "core/model/node_state.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

/// The plan's nodes with their starting weights, by index in the topology; only those that `hosted` says yes to.
/// Weights come from training.initial_weights where it names a file (an absolute path), else from the seed. Throws
/// InputError where plan and model do not fit, a device is missing or the file cannot be used.
std::vector<std::optional<NodeState>> build_nodes(const Experiment& experiment, const Plan& plan, std::uint64_t seed,
                                                  const std::function<bool(int node)>& hosted);

/// A node for that stage, of so many blocks; its weights are still to be set.
NodeState empty_node(const Experiment& experiment, int node, int stage, int blocks);

/// Throws InputError where the data were read for a larger vocabulary than the model's.
void require_vocabulary(const Experiment& experiment, const Batches& batches);

}  // namespace skippipe
