// SPDX-License-Identifier: GPL-3.0-or-later
// Inference with holes: the whole model over the held-out samples with stages left out.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "core/data/batches.h"
#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

struct OmissionLosses {
    std::vector<double> loss_nats;  ///< of each set, mean over the tokens
    std::int64_t tokens = 0;        ///< predicted for each
};

/// A stage's weights in the order of stage_segments.
using StageWeights = std::function<std::vector<float>(int stage)>;

/// The validation of the model for each of these sets of stages left out: the hidden state passes them by unchanged; of
/// stage 0 its blocks, not embedding and head. Weights are those given, else training.initial_weights', else the
/// seed's. With none left out it is TorchCompute::validate to the bit. Sets that keep the same first stages share their
/// work; `workers` threads (0: one a core) change no bit. `progress` is called by one thread at a time, and ends it by
/// throwing. Throws InputError where weights, plan and model do not fit.
OmissionLosses losses_with_omissions(const Experiment& experiment, const Plan& plan, const Batches& batches,
                                     const std::vector<std::vector<int>>& omitted, int workers,
                                     const Progress& progress = {}, const StageWeights& weights = {});

}  // namespace skippipe
