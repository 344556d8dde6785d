// SPDX-License-Identifier: GPL-3.0-or-later
// What an experiment counts: stages of a path, visits of a stage, blocks, samples, tokens at once.
#pragma once
#include <cstdint>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Stages each microbatch visits: p = S (1 - k) rounded, a half upwards, computed from k's shortest decimal form
/// (docs/semantics.md, Counts). May be outside 2..S: that is for the validator to say.
int path_length(int stages, double skip_ratio);

/// Most microbatches a stage other than 0 executes (CC2): ceil(T (p-1)/(S-1)); T where S = 1.
int uniform_cap(int microbatches, int path_length, int stages);

/// L / S blocks a stage, the last L mod S stages one more.
std::vector<int> even_blocks(int blocks, int stages);
/// Blocks of each stage: as given, or L / S each; where the planner may move them, even_blocks to begin with.
std::vector<int> stage_blocks(const Experiment& experiment);

/// Samples of microbatch m, from 0, and of the largest.
int samples_of(const Pipeline& pipeline, int microbatch);
int most_samples(const Pipeline& pipeline);

/// Whether the input of each step is kept until the stage has stepped, because a node may be lost in an iteration and
/// its siblings may have to run it again (docs/engine.md, Nodes that are lost).
bool keeps_inputs(const Experiment& experiment);

/// Whether messages queue for uplinks or downlinks of nodes: some node has one, and lines are shared.
bool queues_at_uplinks(const Experiment& experiment);

/// Tokens of a microbatch whose logits stage 0 has in memory at once: 2^18 logits, but 256 tokens at the least. A
/// matrix product first brings the whole head into the order that its inner loop reads, and the head's gradient is read
/// and written once for each such piece: with few tokens that costs more than the product. The memory is 64 / D of what
/// the head's weights, gradients and moments take.
std::int64_t head_rows(const ModelSpec& model, std::int64_t tokens);

}  // namespace skippipe
