// SPDX-License-Identifier: GPL-3.0-or-later
// What SVG and HTML are written with.
#pragma once
#include <string>

namespace skippipe {

/// Safe inside elements and attributes; control characters, which XML does not know, are left out.
std::string escaped(const std::string& text);

/// 1, 2 or 5 times a power of ten, for at most `most` ticks over `extent`, which is more than 0.
double round_step(double extent, double most);

}  // namespace skippipe
