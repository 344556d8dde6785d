// SPDX-License-Identifier: GPL-3.0-or-later
// One rank of a job as a process. Rank 0 reads the job and commands from standard input and answers where standard
// output was (core/run/messages.h); the others ask rank 0.
#pragma once
#include "core/run/session.h"

namespace skippipe {

/// From the first line to the exit code. `arguments`: main's, since the process may have to start itself once more.
[[noreturn]] void be_worker(char** arguments, RankBackend& backend);

}  // namespace skippipe
