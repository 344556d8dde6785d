// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "core/experiment/document.h"

namespace skippipe {

/// Two regions with nodes between which no link leads, nor over others; nothing: there are none such.
std::optional<std::pair<std::string, std::string>> unlinked_regions(const Topology& topology);

}  // namespace skippipe
