// SPDX-License-Identifier: GPL-3.0-or-later
// What a run's seconds are called in the window (core/analysis/clock_words.h), and what stands on axes.
#pragma once
#include <vector>

#include <QObject>
#include <QString>

#include "core/analysis/clock_words.h"
#include "core/analysis/equal_view.h"
#include "views/runs/parameters.h"
#include "views/runs/run_data.h"

namespace skippipe {

inline RunClock clock_of(const std::vector<const RunData*>& runs) {
    std::vector<Clock> clocks;
    for (const auto* run : runs) clocks.push_back(run->experiment.execution.clock);
    return run_clock(clocks);
}

/// "Network time", "Wall-clock time"; of runs by either "Network or wall-clock time".
inline QString time_name(RunClock clock) {
    switch (clock) {
        case RunClock::network: return QObject::tr("Network time");
        case RunClock::wall: return QObject::tr("Wall-clock time");
        case RunClock::mixed: return QObject::tr("Network or wall-clock time");
    }
    return {};
}

/// "iteration of the network", "iteration by the wall clock".
inline QString iteration_of(RunClock clock) {
    switch (clock) {
        case RunClock::network: return QObject::tr("iteration of the network");
        case RunClock::wall: return QObject::tr("iteration by the wall clock");
        case RunClock::mixed: return QObject::tr("iteration, of the network or by the wall clock");
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
