// SPDX-License-Identifier: GPL-3.0-or-later
// How large a model is: parameters, bytes on the wire and in memory, by its stages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Hidden width of SwiGLU: as given, or 8 D / 3 rounded up to a multiple of 8.
int ffn_width(const ModelSpec& model);
/// Heads of keys and values: as given, or as many as heads.
int kv_heads(const ModelSpec& model);
/// Parameters of one block: 2 D^2 + 2 D K + 3 D F + 2 D, where K is the width of keys and of values (D without
/// grouping).
double block_parameters(const ModelSpec& model);
/// Parameters of a stage; stage 0 also holds embedding, final norm and head (2 V D + D).
double stage_parameters(const ModelSpec& model, int blocks, bool first);

/// Parameters of the whole model.
double model_parameters(const ModelSpec& model);

/// Bytes of a message of `rows` tokens: 4 or 2 a value, or, int8, 1 a value and a scale of 4 bytes a token.
std::size_t wire_bytes(WireType wire, std::int64_t rows, std::int64_t width);

/// Values of a gradient that share a scale, of so many bytes, where it travels as int8.
inline constexpr std::int64_t gradient_row = 128, gradient_scale_bytes = 2;
/// Bytes of so many values of a gradient as replicas hand them on: 4 or 2 a value, or, int8, 1 a value and a scale for
/// each gradient_row of them, whole or begun.
std::size_t gradient_wire_bytes(WireType wire, std::int64_t values);
/// The same a value, as plans count them: rows are whole.
double gradient_value_bytes(WireType wire);

/// B over F: costs.backward_factor, and one forward more where training.recompute asks for it.
double backward_factor(const Experiment& experiment);

/// Bytes that the largest microbatch holds on a stage of `blocks` from forward to backward, as core/model keeps them on
/// CPUs in fp32. Values a token: the stage's input (D), and a block 6 D + 2 F + H (where heads share keys: 10 D + 4 F +
/// 2 + scores, H T), less the D of the first block's input, the stage's. With `recompute`: the stage's input alone.
/// With a split backward: besides these between_bytes, and, with `recompute`, what I has computed again for W.
double activation_bytes(const Experiment& experiment, int blocks);
/// What of these is held from the start of the input gradient (I) to the end of the weight gradient (W) alone: a token
/// 4 D + F values a block and the gradient (D). 0 where backwards are not split.
double between_bytes(const Experiment& experiment, int blocks);

/// Bytes that a node of such a stage holds whatever its microbatches: weights, gradients and two AdamW moments (16 a
/// parameter).
double state_bytes(const Experiment& experiment, int blocks, bool first);

/// Scratch bytes of one worker on such a stage: one block's forward (also for validation) and backward, the messages at
/// hand, on stage 0 the logits, and, with `recompute`, the stage's activations.
double workspace_bytes(const Experiment& experiment, int blocks, bool first);

/// What stages need of a node's memory, by their blocks.
struct StageBytes {
    double state_per_block = 0;        ///< state_bytes and workspace_bytes of one block more
    double state_besides = 0;          ///< of stage 0's embedding, norm and head
    double activations_per_block = 0;  ///< of the largest microbatch
    double scratch = 0;                ///< whatever the blocks
    double activations_besides = 0;    ///< a microbatch's, whatever the blocks
    bool operator==(const StageBytes&) const = default;

    /// Of the largest of stages with these blocks.
    double state(const std::vector<int>& blocks) const;
    double activations(const std::vector<int>& blocks) const;
    /// Microbatches that a node of so many bytes holds whatever its stage; 0 where not even one fits.
    int microbatches(double memory_bytes, const std::vector<int>& blocks) const;
};
StageBytes stage_bytes(const Experiment& experiment);

/// M of TC1 for a node: its own memory_microbatches; else what its memory_bytes hold beside state and workspace of the
/// largest stage, 0 where not even one fits; else the pipeline's.
int memory_limit(const Experiment& experiment, const Node& node);

/// Bytes that a node needs to hold one microbatch, whatever its stage.
double memory_for_one(const Experiment& experiment);

}  // namespace skippipe
