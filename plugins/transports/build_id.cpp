// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/build_id.h"

#include <fmt/format.h>
#include <torch/version.h>

#include "core/base/build_info.h"
#include "plugins/transports/source_hash.h"  // made by build_id.cmake

namespace skippipe {

std::string build_id() {
    return fmt::format("{} (sources {}, {}, {}, LibTorch {})", version, source_hash, compiler, build_type,
                       TORCH_VERSION);
}

}  // namespace skippipe
