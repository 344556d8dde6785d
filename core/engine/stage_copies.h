// SPDX-License-Identifier: GPL-3.0-or-later
// Whether all copies of a stage are the same after a step.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/compute.h"
#include "core/experiment/document.h"

namespace skippipe {

/// As a rank tells others of its own.
std::string to_text(const std::vector<CopyHash>& copies);
/// Throws PeerFault where `rank` sent none, or names a stage or node that there is not.
std::vector<CopyHash> read_copies(std::string_view text, const Problem& problem, int rank);

/// Throws InputError that names stage, nodes and iteration (0-based) where copies of a stage differ. Only those on
/// devices of one kind are held against each other: a GPU rounds another way than a processor.
void require_equal_copies(const Experiment& experiment, int iteration, const std::vector<CopyHash>& copies);

}  // namespace skippipe
