// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <limits>

namespace skippipe {

/// A time or a figure that is never reached.
inline constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace skippipe
