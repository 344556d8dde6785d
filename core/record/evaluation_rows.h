// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/record/evaluation.h"
#include "core/record/record.h"
#include "core/record/schema.h"

namespace skippipe::record {

/// Of that run; nothing where it was not evaluated.
std::optional<Evaluation> read_evaluation(SQLite::Database& database, RunId run);
/// Puts it in the place of the run's last one, inside a transaction of the caller's.
void write_evaluation(SQLite::Database& database, RunId run, const Evaluation& evaluation);

}  // namespace skippipe::record
