// SPDX-License-Identifier: GPL-3.0-or-later
// What several runs come to, in a figure and a sentence each.
#pragma once
#include <vector>

#include <QString>

#include "views/runs/run_data.h"

namespace skippipe {

struct Headline {
    QString title;   ///< "Lowest last validation loss"
    RunId run = 0;   ///< whose figure it is; 0: all runs'
    QString figure;  ///< "2.77"
    QString words;   ///< "1.27 % less than run 4's, with skip ratio 0.33 instead of 0", and whether that may be chance
};

/// The best by the last validation loss, where all have one, and the quickest by the iteration's network time. None for
/// fewer than two runs, or where neither is there.
std::vector<Headline> headlines(const std::vector<const RunData*>& runs);

/// In one line, for copying and screen readers.
QString to_text(const Headline& headline);

}  // namespace skippipe
