// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/base/subprocess.h"

namespace skippipe {

/// This process becomes a worker: a rank above 0 of a launcher. Throws InputError where the worker is missing or cannot
/// be started.
[[noreturn]] void become_worker();

/// Starts `skippipe-worker`, found beside this program, as a child with a pipe each way and with these variables
/// ("RANK=1") added to the environment. It dies with this process, whatever happens. Throws InputError with a remedy
/// where it is missing or cannot be started.
std::unique_ptr<Subprocess> start_worker(const std::vector<std::string>& environment = {});

}  // namespace skippipe
