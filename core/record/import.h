// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of several people in one record.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace skippipe {

struct ImportedRun {
    RunId there = 0;  ///< in the record that it came from
    RunId here = 0;   ///< 0: it was left out
    std::string name;
    std::string why;     ///< it was left out: it is here already, or goes on there
    bool grown = false;  ///< it was here already, with fewer iterations: now it has theirs
};

/// Copies the runs of another record into this one, all or none, the oldest first, under numbers that are free here;
/// with their documents, plans, spans, metrics, evaluations, tags and notes. Checkpoints stay where they are. The other
/// record is only read, and may be of an older version. A run is known again by its start, name, seed and planner,
/// whoever went on with it: importing twice adds nothing, and one that has more iterations there gets them here, under
/// its number, tags and note. One that was not heard of for an hour has died. Throws InputError, also where another
/// program keeps the other record locked for longer than `patience`.
std::vector<ImportedRun> import_runs(const std::filesystem::path& other, const std::filesystem::path& record,
                                     std::chrono::milliseconds patience = std::chrono::seconds{10});

}  // namespace skippipe
