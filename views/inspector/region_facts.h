// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>

#include <QString>

#include "views/inspector/memory_bar.h"

namespace skippipe {

/// The nodes of a region with the stages they serve, and where it is linked to, the nearest first: rich text whose
/// links are "node:ID" and "link:NUMBER" of the topology.
QString region_facts(const Experiment& experiment, const std::string& region,
                     const std::map<std::string, ServedStage>& served);

}  // namespace skippipe
