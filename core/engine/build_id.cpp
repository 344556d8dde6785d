// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/build_id.h"

#include <fmt/format.h>

#include "core/base/build_info.h"
#include "core/engine/source_hash.h"  // made by build_id.cmake

namespace skippipe {

std::string build_id() { return fmt::format("{} (sources {}, {}, {})", version, source_hash, compiler, build_type); }

}  // namespace skippipe
