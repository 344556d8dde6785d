// SPDX-License-Identifier: GPL-3.0-or-later
// What an experiment counts: stages of a path, visits of a stage, blocks, samples.
#pragma once
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Stages each microbatch visits: p = S (1 - k) rounded, a half upwards, computed from k's shortest decimal form
/// (docs/semantics.md, Counts). May be outside 2..S: that is for the validator to say.
int path_length(int stages, double skip_ratio);

/// Most microbatches a stage other than 0 executes (CC2): ceil(T (p-1)/(S-1)); T where S = 1.
int uniform_cap(int microbatches, int path_length, int stages);

/// Blocks of each stage: as given, or L / S each; where the planner may move them, the last L mod S stages begin with
/// one more.
std::vector<int> stage_blocks(const Experiment& experiment);

/// Samples of microbatch m, from 0, and of the largest.
int samples_of(const Pipeline& pipeline, int microbatch);
int most_samples(const Pipeline& pipeline);

}  // namespace skippipe
