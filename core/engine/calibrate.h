// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/engine/probe.h"
#include "core/engine/schedule.h"
#include "core/experiment/document.h"

namespace skippipe {

/// What a rank's connection carries for several others at once, bytes a second, where that is less than its links to
/// (from) them carry one by one; nothing where it was not measured or sets no limit.
struct ConnectionLimits {
    std::optional<double> up_bytes_per_s, down_bytes_per_s;
};
ConnectionLimits connection_limits(const std::vector<RankProbe>& ranks, int rank);

/// The experiment with measured instead of drawn values: speeds of the nodes that were measured, backward and loss
/// factor, what messages cost the cores, and unless the drawn links are kept (they are simulated, or the transport is
/// held to them) one region a rank with the measured links between them, hand-over and copy inside, and the uplinks and
/// downlinks that connection_limits finds: a node has all of its machine's. `when`: UTC,
/// "2026-01-31T12:00:00Z". Nodes are fixed to their ranks; those that no rank hosts keep their speed, in the region of
/// rank 0.
Experiment measured_experiment(const Experiment& experiment, const RankSchedule& schedule,
                               const std::vector<RankProbe>& ranks, bool keep_links, const std::string& when);

}  // namespace skippipe
