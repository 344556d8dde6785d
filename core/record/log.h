// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/record/record.h"

namespace skippipe {

/// Where a run's log lies: logs/run-ID.log in the record's folder; of a record that is not named record.sqlite,
/// logs/NAME-run-ID.log, since several records may share a folder. Nothing is made.
std::filesystem::path log_path(const std::filesystem::path& record, RunId run);

}  // namespace skippipe
