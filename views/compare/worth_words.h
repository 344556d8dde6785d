// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a skip is worth it, in words. Pure.
#pragma once
#include <vector>

#include <QString>

#include "core/analysis/skip_worth.h"

namespace skippipe {

/// "0.33", as it is in the document.
QString ratio_words(double skip_ratio);
/// Which skip ratio gets to the loss first: a line that says it, then how sure that is: "It seems so: a projected 18.4
/// s at skip ratio 0.33 against 32.1 s at 0, 0.575 ×", the ratio of the table, whoever is first. `rows` by skip ratio,
/// not empty; `ratios`: how many the runs have, with those that have no row.
QString verdict_words(const std::vector<SkipWorth>& rows, std::size_t ratios);

}  // namespace skippipe
