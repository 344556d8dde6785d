// SPDX-License-Identifier: GPL-3.0-or-later
// What runs that are compared have that others of them have not, in words.
#pragma once
#include <vector>

#include <QString>

#include "views/runs/parameters.h"

namespace skippipe {

/// Runs, and what differs between any of them: worked out once for all that is said. Runs are indices.
struct ComparedRuns {
    const std::vector<const RunData*>& runs;
    std::vector<Parameter> parameters;

    explicit ComparedRuns(const std::vector<const RunData*>& of) : runs(of), parameters(folded(differing(of))) {}
};

/// "skip ratio 0.25 instead of 0, ... and 2 more"; empty: nothing differs.
QString instead_words(const ComparedRuns& all, std::size_t one, std::size_t other);

/// "skip ratio 0, planner gpipe": what the one has that the other has not.
QString own_words(const ComparedRuns& all, std::size_t one, std::size_t other);

/// What all of `some` have and no other run has: "skip ratio 0.33 instead of 0"; empty: nothing, or there is no other.
QString shared_words(const ComparedRuns& all, const std::vector<std::size_t>& some);

}  // namespace skippipe
