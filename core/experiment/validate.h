// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/fault.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Faults of meaning over a document whose fields are each in range: references, counts that must divide, unreachable nodes,
/// settings that contradict each other; outliers (a bandwidth far off its kind, like NL-London's factor 1,024) as warnings.
Faults validate(const Experiment& experiment);

/// Stages each microbatch visits: p = S (1 - k) rounded, a half upwards, computed from k's shortest decimal form
/// (semantics.md, Counts). May be outside 2..S: that is for the validator to say.
int path_length(int stages, double skip_ratio);

/// Most microbatches a stage other than 0 executes (CC2): ceil(T (p-1)/(S-1)); T where S = 1.
int uniform_cap(int microbatches, int path_length, int stages);

/// Blocks of each stage: as given, or L / S each; where the planner may move them, the last L mod S stages begin with one more.
std::vector<int> stage_blocks(const Experiment& experiment);

/// Samples of microbatch m, from 0, and of the largest.
int samples_of(const Pipeline& pipeline, int microbatch);
int most_samples(const Pipeline& pipeline);

/// Hidden width of SwiGLU: as given, or 8 D / 3 rounded up to a multiple of 8.
int ffn_width(const ModelSpec& model);
/// Heads of keys and values: as given, or as many as heads.
int kv_heads(const ModelSpec& model);
/// Parameters of one block: 2 D^2 + 2 D K + 3 D F + 2 D, where K is the width of keys and of values (D without grouping).
double block_parameters(const ModelSpec& model);
/// Parameters of a stage; stage 0 also holds embedding, final norm and head (2 V D + D).
double stage_parameters(const ModelSpec& model, int blocks, bool first);

/// Parameters of the whole model.
double model_parameters(const ModelSpec& model);

/// Estimate of the bytes the largest microbatch holds on a stage of `blocks` until its backward, all kept in fp32:
/// 4 x samples x sequence x blocks x (16 D + 3 F + 2 H x sequence). The last term is the attention scores before and after softmax.
double activation_bytes(const Experiment& experiment, int blocks);

/// What stages need of a node's memory, by their blocks.
struct StageBytes {
    double state_per_block = 0;       ///< weights, gradients and two AdamW moments: 16 bytes a parameter
    double state_besides = 0;         ///< of stage 0's embedding, norm and head
    double activations_per_block = 0; ///< of the largest microbatch
    bool operator==(const StageBytes&) const = default;

    /// Of the largest of stages with these blocks.
    double state(const std::vector<int>& blocks) const;
    double activations(const std::vector<int>& blocks) const;
    /// Microbatches that a node of so many bytes holds whatever its stage; 0 where not even one fits.
    int microbatches(double memory_bytes, const std::vector<int>& blocks) const;
};
StageBytes stage_bytes(const Experiment& experiment);

/// M of TC1 for a node: its own memory_microbatches; else what its memory_bytes hold beside the largest stage's state
/// (StageBytes::microbatches); else the pipeline's.
int memory_limit(const Experiment& experiment, const Node& node);

/// Bytes that a node needs to hold one microbatch, whatever its stage.
double memory_for_one(const Experiment& experiment);

}  // namespace skippipe
