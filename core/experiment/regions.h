// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "core/experiment/document.h"

namespace skippipe {

/// Two regions with nodes between which no link leads, nor over others; nothing: there are none such.
std::optional<std::pair<std::string, std::string>> unlinked_regions(const Topology& topology);
/// The regions of two nodes where none of them stands alone and no link leads from one to the other, nor over others.
std::optional<std::pair<std::string, std::string>> unlinked_regions_of(const Topology& topology, const std::string& a,
                                                                       const std::string& b);

}  // namespace skippipe
