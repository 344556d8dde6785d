// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>
#include <vector>

#include "views/runs/run_marks.h"

namespace skippipe {

/// Instants of runs that somebody marked, kept beside the record like RunMarks. Network seconds, by time.
class RunBookmarks {
public:
    std::vector<double> of(const MarkedRun& run) const;
    /// None: the run has no bookmarks any more. The runs marked last are kept, up to 200.
    void set(const MarkedRun& run, std::vector<double> seconds);
    bool operator==(const RunBookmarks&) const = default;

    /// One text a run: "7 2026-01-31T12:00:00Z 1.5 20.25".
    QStringList words() const;
    /// What is no such text is left out.
    static RunBookmarks from(const QStringList& words);

private:
    std::vector<std::pair<MarkedRun, std::vector<double>>> runs_;  ///< the one marked last comes last
};

}  // namespace skippipe
