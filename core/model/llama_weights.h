// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of the whole model in a safetensors file with the names and layouts that LLaMA has at Hugging Face, so that a
// pretrained model of matching dimensions can be trained on, and what was trained here can be read elsewhere.
#pragma once
#include <filesystem>
#include <functional>
#include <vector>

#include "core/data/llama_file.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Weights to start from, as stages hold them.
class LlamaWeights {
public:
    /// Throws as LlamaFile does.
    LlamaWeights(const std::filesystem::path& path, const ModelSpec& model) : model_(model), file_(path, model) {}

    /// A stage's weights in the order of stage_segments; `blocks` are those of each stage. A shared head starts as a
    /// copy of the embedding.
    std::vector<float> stage(int stage, const std::vector<int>& blocks) const;

private:
    ModelSpec model_;
    LlamaFile file_;
};

/// Writes the whole model as F32; `stage_weights` gives a stage's in the order of stage_segments and is asked for each
/// once.
void save_llama(const std::filesystem::path& path, const ModelSpec& model, const std::vector<int>& blocks,
                const std::function<std::vector<float>(int stage)>& stage_weights);

}  // namespace skippipe
