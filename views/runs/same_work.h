// SPDX-License-Identifier: GPL-3.0-or-later
// Which runs may be held against each other: those that train the same model on the same data.
#pragma once
#include <vector>

#include <QString>

#include "views/runs/run_data.h"

namespace skippipe {

/// The same model on the same data: only then does a figure make one run better than another.
bool train_the_same(const std::vector<const RunData*>& runs);

/// Which runs are held against each other (core/analysis/ranking.h).
std::vector<bool> held_against(const std::vector<const RunData*>& runs, std::size_t baseline);

/// Of runs no two of which train the same.
QString not_the_same_words();

/// "Run 5 trains another model, or on other data, and is set aside".
QString set_aside_words(const std::vector<RunId>& runs);

}  // namespace skippipe
