// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "app/cli/verbs.h"
#include "core/run/coordinator.h"

namespace skippipe::cli {

/// `--stop-on`: what ends a run after the iteration that has it.
void add_stop_option(CLI::App& verb, std::vector<AlarmKind>& kinds);

/// Before a job is trained that computes: tokenises the text where a tokenizer is named and it was not done before,
/// with progress; Ctrl+C ends it and leaves nothing. Throws InputError where the text or the tokenizer cannot be read.
void prepare_text(const RunJob& job, const Context& context);

/// Trains a job, or the rest of one, in processes of its own, with its figures as they come and a summary. True where
/// it came to its end; where it failed the exit code says so.
bool train_job(RunJob& job, Context& context);

}  // namespace skippipe::cli
