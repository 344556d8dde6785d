// SPDX-License-Identifier: GPL-3.0-or-later
// What several runs come to, in a figure and a sentence each.
#pragma once
#include <optional>
#include <vector>

#include <QString>

#include "views/runs/run_data.h"

namespace skippipe {

struct Headline {
    QString title;   ///< "Lowest last validation loss"
    RunId run = 0;   ///< whose figure it is; 0: all runs'
    QString figure;  ///< "2.77"
    QString words;   ///< "1.27 % less than run 4's, with skip ratio 0.33 instead of 0", and whether that may be chance
    std::vector<RunId> as_good = {};  ///< other runs whose figures are the same in three digits
    bool may_be_chance = false;
    QString claim = {};        ///< "has the lowest last validation loss"; empty: what the title says
    bool of_all_best = false;  ///< each of the best runs is before each other one by it
};

/// Which of the runs is best, in one sentence each: it, by what, and what it alone has; or why none is called so.
struct Answer {
    std::vector<RunId> best;
    QString title;  ///< "Runs 1 and 3 are best"
    QString words;  ///< "Soonest at training loss 2.82, shortest iteration. Only they have skip ratio 0.33 instead of
                    ///< 0"
    bool asks_for_race = false;  ///< To a loss tells what this cannot
    RunId ended = 0;             ///< that ended before its last iteration, and is worth a look; 0: none
    bool can_resume = false;     ///< that one
};

struct Headlines {
    std::optional<Answer> answer;  ///< absent: no run is better for sure, or they trained other models or data
    std::vector<Headline> cards;
};

/// Who is soonest at the loss that all get to, the best by the last validation loss, where all have one, and the
/// quickest by the iteration's network time; the first of those that is sure is the answer. Runs that go on, failed or
/// died are set aside and named; where one run is left, or is alone, the answer says that. Else none where nothing can
/// be ranked.
Headlines headlines(const std::vector<const RunData*>& runs);

/// In one line, for copying and screen readers.
QString to_text(const Headline& headline);
QString to_text(const Answer& answer);

}  // namespace skippipe
