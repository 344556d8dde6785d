// SPDX-License-Identifier: GPL-3.0-or-later
// What a run's seconds are called: of the network, or under the wall clock those that passed here. The same wherever
// they stand.
#pragma once
#include <algorithm>
#include <vector>

#include <QObject>
#include <QString>

#include "core/analysis/equal_view.h"
#include "views/runs/parameters.h"
#include "views/runs/run_data.h"

namespace skippipe {

/// By whose clock runs counted.
enum class RunClock { network, here, mixed };
inline RunClock clock_of(const std::vector<const RunData*>& runs) {
    const auto here = std::count_if(runs.begin(), runs.end(),
                                    [](const RunData* run) { return run->experiment.execution.clock == Clock::wall; });
    if (here == 0) return RunClock::network;
    return here == std::ssize(runs) ? RunClock::here : RunClock::mixed;
}

/// "Network time", "Time here"; of runs by either "Network time or time here".
inline QString time_name(RunClock clock) {
    switch (clock) {
        case RunClock::network: return QObject::tr("Network time");
        case RunClock::here: return QObject::tr("Time here");
        case RunClock::mixed: return QObject::tr("Network time or time here");
    }
    return {};
}

/// "iteration of the network", "iteration here", "iteration, of the network or here".
inline QString iteration_of(RunClock clock) {
    switch (clock) {
        case RunClock::network: return QObject::tr("iteration of the network");
        case RunClock::here: return QObject::tr("iteration here");
        case RunClock::mixed: return QObject::tr("iteration, of the network or here");
    }
    return {};
}

/// What stands on the axis, with its unit where its ticks have none.
inline QString axis_label(WorkAxis axis, RunClock clock = RunClock::network) {
    switch (axis) {
        case WorkAxis::iteration: return QObject::tr("Iteration");
        case WorkAxis::tokens: return QObject::tr("Tokens trained");
        case WorkAxis::microbatches: return QObject::tr("Microbatches");
        case WorkAxis::block_flops: return QObject::tr("FLOPs of the blocks, forward and backward");
        case WorkAxis::network_time: return time_name(clock);
        case WorkAxis::machine_time: return QObject::tr("Machine time");
        case WorkAxis::money: return QObject::tr("Money, in the experiment's prices");
    }
    return {};
}

/// The same within a sentence, without units.
inline QString work_in_sentence(WorkAxis axis, RunClock clock) {
    if (axis == WorkAxis::network_time) return in_sentence(time_name(clock));
    const auto words = describe(axis);
    return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
}

}  // namespace skippipe
