// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPushButton>

#include "core/record/record.h"

namespace skippipe {

/// Whether a run ended before its last iteration: then it is offered to go on.
bool is_interrupted(const RunInfo& run);

/// How far it came: "Run 6 is at 37 of 60", "Run 7 failed after 5 of 16 iterations", "Run 8 was stopped after ...".
QString progress_words(const RunInfo& run);

/// Of one that ended before its last iteration: what was wrong, where, and what to do.
QString ending_words(const RunInfo& run);

/// Why a run cannot go on from a checkpoint; empty: it can.
QString why_not_resume(const RunInfo& run);

/// The button for a run (null: none is chosen): off, with the reason as its tooltip, where the run cannot go on or
/// `hindrance` says why nothing can start now.
void set_resume(QPushButton& button, const RunInfo* run, const QString& hindrance);

}  // namespace skippipe
