// SPDX-License-Identifier: GPL-3.0-or-later
// Weights and AdamW's state of stages, from rank to rank between two iterations.
#pragma once
#include <string>
#include <vector>

#include "core/engine/compute.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Every member, after `follow`: nodes of ranks that joined get their stage from the first node on one that has not.
/// Throws PeerFault where what comes has another size.
void fetch_states(const RankSchedule& everybody, const std::vector<int>& members, const std::vector<int>& joined,
                  ComputeBackend& compute, RankTransport& transport);

/// What this rank needs from others before its nodes can go to other stages; every member calls it, and nothing is
/// changed. `before`, `after`: the plans that the moves lead from and to. Throws PeerFault as above.
FetchedStates fetch_for_moves(const Experiment& experiment, const RankSchedule& before, const RankSchedule& after,
                              const std::vector<NodeMove>& moves, ComputeBackend& compute, RankTransport& transport);

/// As one JSON value.
std::string to_text(const std::vector<NodeMove>& moves);
/// Throws PeerFault where rank 0 sent none.
std::vector<NodeMove> read_moves(const std::string& text);

}  // namespace skippipe
