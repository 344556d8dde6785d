// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/cli/verbs.h"
#include "core/run/coordinator.h"

namespace skippipe::cli {

/// `--ignore-memory`.
void add_memory_option(CLI::App& verb, bool& ignores);

/// Before anything of a planned job starts: this machine has the memory and the devices that it needs, and its nodes
/// can be dealt to its ranks. Under a launcher each rank looks for its own. Throws InputError where not.
void require_machine(const RunJob& job);

}  // namespace skippipe::cli
