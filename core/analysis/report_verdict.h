// SPDX-License-Identifier: GPL-3.0-or-later
// Which runs of a report are best, as the window has it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/analysis/clock_words.h"
#include "core/analysis/report.h"

namespace skippipe {

/// By a report's places of runs.
using ReportPlaces = std::vector<std::size_t>;

/// Whom a report holds against each other, and who is set aside, each for one reason.
struct ReportGroups {
    ReportPlaces judged;       ///< those that train the same; where no two do, all that are none of the others
    ReportPlaces unread;       ///< their experiments cannot be read
    ReportPlaces failed;       ///< or died
    ReportPlaces under_way;    ///< still running
    ReportPlaces other_work;   ///< another model, or other data
    bool is_same_work = true;  ///< of those judged
};
/// `experiments` of the runs; `read`: the runs whose experiments could be. The first run is the baseline.
ReportGroups report_groups(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments,
                           const ReportPlaces& read);

/// What all of `some` have and no other of `among` has, as a sentence.
using SharedWords = std::function<std::string(const ReportPlaces& some, const ReportPlaces& among)>;

/// Paragraphs of HTML: which runs are best; who is soonest, lowest and quickest, and whether that may be chance; who is
/// set aside, and why. `experiments` of the runs. Empty: nothing is to be said.
std::string verdict_html(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments,
                         const ReportGroups& groups, RunClock clock, const SharedWords& shared_words);

}  // namespace skippipe
