// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/llama_weights.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/experiment/model_size.h"
#include "core/model/llama.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

/// A tensor of the file and its place in a stage's flat weights: some columns of a matrix, transposed, since here y = x
/// W and there y = W x. Rows of queries and keys also change places within a head: here a rotated pair lies side by
/// side, there half a head apart.
struct WeightPiece {
    enum class Layout { same, transposed, rotary };
    std::string name;
    std::vector<std::int64_t> shape;  ///< in the file
    std::int64_t offset = 0;          ///< of its first element in the flat weights
    std::int64_t row_stride = 0;      ///< elements from one input to the next
    Layout layout = Layout::same;
};

std::int64_t column_of(const WeightPiece& piece, std::int64_t row, std::int64_t head_width) {
    if (piece.layout != WeightPiece::Layout::rotary) return row;
    const auto inside = row % head_width, half = head_width / 2;
    return row - inside + (inside < half ? 2 * inside : 2 * (inside - half) + 1);
}

/// Calls `copy(place in the file's tensor, place in the flat weights)` for each element.
template <class Copy>
void for_each_element(const WeightPiece& piece, std::int64_t head_width, Copy copy) {
    const auto rows = piece.shape.front(), columns = piece.shape.size() > 1 ? piece.shape[1] : 1;
    if (piece.layout == WeightPiece::Layout::same) {
        for (std::int64_t i = 0; i < rows * columns; ++i) copy(i, piece.offset + i);
        return;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto column = column_of(piece, row, head_width);
        for (std::int64_t c = 0; c < columns; ++c)
            copy(row * columns + c, piece.offset + c * piece.row_stride + column);
    }
}

std::vector<WeightPiece> pieces_of(const ModelSpec& model, int stage, const std::vector<int>& blocks) {
    const auto segments = stage_segments(model, stage, blocks[static_cast<std::size_t>(stage)]);
    const auto segment = [&](const std::string& name) {
        return *std::find_if(segments.begin(), segments.end(), [&](const Segment& s) { return s.name == name; });
    };
    std::vector<WeightPiece> pieces;
    const auto add_same = [&](std::string name, const std::string& from) {
        const auto found = segment(from);
        pieces.push_back({std::move(name), found.shape, found.offset, 0, WeightPiece::Layout::same});
    };
    const auto add_columns = [&](std::string name, const std::string& from, std::int64_t first, std::int64_t count,
                                 WeightPiece::Layout layout = WeightPiece::Layout::transposed) {
        const auto found = segment(from);
        pieces.push_back({std::move(name), {count, found.shape[0]}, found.offset + first, found.shape[1], layout});
    };
    const std::int64_t width = model.width, hidden = ffn_width(model), kv_width = width / model.heads * kv_heads(model);
    if (stage == 0) add_same("model.embed_tokens.weight", "embedding");
    int first_block = 0;
    for (int s = 0; s < stage; ++s) first_block += blocks[static_cast<std::size_t>(s)];
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
        const auto here = fmt::format("block{}.", block), there = llama_block_prefix(first_block + block);
        add_same(there + "input_layernorm.weight", here + "attention_norm");
        add_columns(there + "self_attn.q_proj.weight", here + "qkv", 0, width, WeightPiece::Layout::rotary);
        add_columns(there + "self_attn.k_proj.weight", here + "qkv", width, kv_width, WeightPiece::Layout::rotary);
        add_columns(there + "self_attn.v_proj.weight", here + "qkv", width + kv_width, kv_width);
        add_columns(there + "self_attn.o_proj.weight", here + "attention_out", 0, width);
        add_same(there + "post_attention_layernorm.weight", here + "ffn_norm");
        add_columns(there + "mlp.gate_proj.weight", here + "gate_up", 0, hidden);
        add_columns(there + "mlp.up_proj.weight", here + "gate_up", hidden, hidden);
        add_columns(there + "mlp.down_proj.weight", here + "down", 0, width);
    }
    if (stage == 0) {
        add_same("model.norm.weight", "final_norm");
        add_columns("lm_head.weight", "head", 0, model.vocabulary);
    }
    return pieces;
}

}  // namespace

std::vector<float> LlamaWeights::stage(int stage, const std::vector<int>& blocks) const {
    const auto pieces = pieces_of(model_, stage, blocks);
    const auto segments = stage_segments(model_, stage, blocks[static_cast<std::size_t>(stage)]);
    std::vector<float> flat(
        segments.empty() ? 0 : static_cast<std::size_t>(segments.back().offset + segments.back().size()));
    for (const auto& piece : pieces) {
        const auto values = file_.read(piece.name, piece.shape);
        for_each_element(piece, model_.width / model_.heads, [&](std::int64_t there, std::int64_t here) {
            flat[static_cast<std::size_t>(here)] = values[static_cast<std::size_t>(there)];
        });
    }
    return flat;
}

void save_llama(const fs::path& path, const ModelSpec& model, const std::vector<int>& blocks,
                const std::function<std::vector<float>(int)>& stage_weights) {
    std::vector<TensorName> names;
    std::vector<std::pair<int, WeightPiece>> pieces;
    for (int stage = 0; stage < static_cast<int>(blocks.size()); ++stage)
        for (auto& piece : pieces_of(model, stage, blocks)) {
            names.push_back({piece.name, piece.shape});
            pieces.emplace_back(stage, std::move(piece));
        }
    int held = -1;
    std::vector<float> flat;
    write_safetensors(path, names, FloatType::f32, {{"format", "pt"}}, [&](std::size_t i) {
        const auto& [stage, piece] = pieces[i];
        if (stage != held) flat = stage_weights(held = stage);
        std::int64_t size = 1;
        for (const auto extent : piece.shape) size *= extent;
        std::vector<float> values(static_cast<std::size_t>(size));
        for_each_element(piece, model.width / model.heads, [&](std::int64_t there, std::int64_t here) {
            values[static_cast<std::size_t>(there)] = flat[static_cast<std::size_t>(here)];
        });
        return values;
    });
}

}  // namespace skippipe
