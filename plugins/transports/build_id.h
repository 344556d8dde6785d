// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace skippipe {

/// What this program is made of, for ranks to compare: version, a hash of the sources that ranks run, compiler, build
/// type and LibTorch.
std::string build_id();

}  // namespace skippipe
