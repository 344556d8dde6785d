// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/run/coordinator.h"

namespace skippipe::cli {

/// The figures as they come: one line that is rewritten on a terminal, a line every tenth otherwise.
RunProgress terminal_progress(int iterations, Clock clock, const Problem& problem);

/// One JSON object a line: the run's number and the memory that it is predicted to take, validations, each iteration
/// with its loss, new plans, pauses, checkpoints, warnings.
RunProgress json_progress(double memory_bytes);

}  // namespace skippipe::cli
