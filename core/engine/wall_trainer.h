// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/engine/trainer.h"
#include "core/engine/wall_clock.h"

namespace skippipe {

/// All iterations of an experiment under the wall clock, this rank's share of them. Rank 0 passes a listener, which
/// hears of every rank's nodes; the others pass null and follow. Validates as `train` does. `network_s` of the reports
/// is time that passed while iterations ran. Throws what operations throw, and where training diverges.
void train_wall(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule,
                RankCompute& compute, RankTransport& transport, int workers, TrainingListener* listener);

}  // namespace skippipe
