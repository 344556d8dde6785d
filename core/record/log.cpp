// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/log.h"

namespace skippipe {

std::filesystem::path log_path(const std::filesystem::path& record, RunId run) {
    const auto file = std::filesystem::absolute(record);
    const auto name = file.stem().string();
    return file.parent_path() / "logs" / ((name == "record" ? "" : name + "-") + "run-" + std::to_string(run) + ".log");
}

}  // namespace skippipe
