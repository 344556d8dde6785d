// SPDX-License-Identifier: GPL-3.0-or-later
// Options that add failures to an experiment: --fail and --trace.
#pragma once
#include <string>
#include <vector>

#include "app/cli/verbs.h"

namespace skippipe::cli {

struct FailureOptions {
    std::vector<std::string> texts;  ///< --fail
    std::string trace;               ///< --trace
};

void add_failure_options(CLI::App& verb, FailureOptions& options);

/// Adds them to those that the document has. Throws InputError: a text or a row that cannot be read, or a target that
/// is not there to fail.
void add_failures(Experiment& experiment, const FailureOptions& options);

}  // namespace skippipe::cli
