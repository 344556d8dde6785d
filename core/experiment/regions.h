// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Two regions with nodes between which no link leads, nor over others; nothing: there are none such.
std::optional<std::pair<std::string, std::string>> unlinked_regions(const Topology& topology);
/// The regions of two nodes where none of them stands alone and no link leads from one to the other, nor over others.
std::optional<std::pair<std::string, std::string>> unlinked_regions_of(const Topology& topology, const std::string& a,
                                                                       const std::string& b);

/// The numbers of nodes that links join, one way or both, directly or over others, as their regions do: a path never
/// leaves its group. In the order of their first nodes.
std::vector<std::vector<std::size_t>> linked_groups(const Topology& topology);

}  // namespace skippipe
