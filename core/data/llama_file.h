// SPDX-License-Identifier: GPL-3.0-or-later
// A whole model in safetensors files with the names and layouts that LLaMA has at Hugging Face: what must be in them,
// and whether it is. Reads headers alone, so it costs nothing to ask before anything starts.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/data/safetensors.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Of every RMSNorm.
inline constexpr double norm_epsilon = 1e-5;

/// "model.layers.3.": what the names of a block's tensors begin with; blocks count from 0.
std::string llama_block_prefix(int block);

/// Every tensor of the model, as it lies in the file: matrices are [outputs, inputs].
std::vector<TensorName> llama_tensors(const ModelSpec& model);

/// Opened weights: one file, or all *.safetensors of a folder (large models come in several).
class LlamaFile {
public:
    /// Throws InputError where the files cannot be read or do not hold this very model: another depth, a tensor that is
    /// missing, of another shape or type, or unknown here (it would be left out silently), or a config.json beside them
    /// that contradicts `model` in what shapes do not show (heads, rotary base, epsilon). A head may be missing only
    /// where config.json says that it is shared with the embedding ("tie_word_embeddings").
    LlamaFile(const std::filesystem::path& path, const ModelSpec& model);

    /// The head is not in the files: it starts as a copy of the embedding.
    bool shares_head() const { return shares_head_; }
    /// What whoever trains from these weights should know; empty or one warning.
    Faults warnings() const;

    /// A tensor of llama_tensors, whichever file holds it; the embedding where a shared head is asked for.
    std::vector<float> read(std::string_view name, const std::vector<std::int64_t>& shape) const;

private:
    const StoredTensor* find(std::string_view name) const;
    void check_depth(int blocks) const;
    void check_tensors(const ModelSpec& model) const;

    std::filesystem::path path_;
    std::vector<SafeTensors> files_;
    bool shares_head_ = false;
};

}  // namespace skippipe
