// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace skippipe {

/// What this program is made of, for coordinator, worker and ranks to compare: version, a hash of the sources that a
/// run goes through, compiler and build type.
std::string build_id();

}  // namespace skippipe
