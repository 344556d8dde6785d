// SPDX-License-Identifier: GPL-3.0-or-later
// Which runs of a report are best, as the window has it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/analysis/clock_words.h"
#include "core/analysis/report.h"

namespace skippipe {

/// By a report's places of runs: what all of `some` have and no other of `among` has, as a sentence.
using SharedWords =
    std::function<std::string(const std::vector<std::size_t>& some, const std::vector<std::size_t>& among)>;

/// Paragraphs of HTML: which runs are best; who is soonest, lowest and quickest, and whether that may be chance; who is
/// set aside for other work, or failed before it did any. `experiments` of the runs. Empty: nothing is to be said.
std::string verdict_html(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments, RunClock clock,
                         const SharedWords& shared_words);

}  // namespace skippipe
