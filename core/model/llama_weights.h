// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of the whole model in a safetensors file with the names and layouts that LLaMA has at Hugging Face, so that a
// pretrained model of matching dimensions can be trained on, and what was trained here can be read elsewhere.
#pragma once
#include <filesystem>
#include <functional>
#include <vector>

#include "core/data/safetensors.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Opened weights: one file, or all *.safetensors of a folder (large models come in several).
class LlamaWeights {
public:
    /// Throws InputError at /training/initial_weights where they cannot be read, or where a config.json beside them
    /// contradicts `model` in what shapes do not show (heads, rotary base).
    LlamaWeights(const std::filesystem::path& path, const ModelSpec& model);

    /// A stage's weights in the order of stage_segments; `blocks` are those of each stage. A file without
    /// `lm_head.weight` shares the embedding: the head starts as a copy of it. Throws InputError where a tensor is
    /// missing or of another shape.
    std::vector<float> stage(int stage, const std::vector<int>& blocks) const;

private:
    ModelSpec model_;
    std::vector<SafeTensors> files_;
};

/// Writes the whole model as F32; `stage_weights` gives a stage's in the order of stage_segments and is asked for each
/// once.
void save_llama(const std::filesystem::path& path, const ModelSpec& model, const std::vector<int>& blocks,
                const std::function<std::vector<float>(int stage)>& stage_weights);

}  // namespace skippipe
