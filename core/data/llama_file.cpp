// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/llama_file.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/experiment/io.h"
#include "core/experiment/text.h"
#include "core/experiment/model_size.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr const char* pointer = "/training/initial_weights";
constexpr std::string_view blocks_prefix = "model.layers.";
constexpr const char *embedding_name = "model.embed_tokens.weight", *head_name = "lm_head.weight";

[[noreturn]] void refuse(std::string what, std::string why, std::string remedy) {
    throw InputError(pointer, std::move(what), std::move(why), std::move(remedy));
}

/// The block of "model.layers.12.mlp.up_proj.weight"; -1 where the name is of no block.
int block_of(std::string_view name) {
    if (!name.starts_with(blocks_prefix)) return -1;
    name.remove_prefix(blocks_prefix.size());
    int block = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), block);
    return error == std::errc() && end != name.data() + name.size() && *end == '.' && block >= 0 ? block : -1;
}

/// Old files carry what can be computed: the rotary frequencies.
bool is_derived(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }

/// What shapes do not show. Returns whether the head is said to be the embedding.
bool check_configuration(const fs::path& folder, const ModelSpec& model) {
    std::error_code error;
    const auto path = folder / "config.json";
    if (!fs::is_regular_file(path, error)) return false;
    Faults faults;
    const auto text = read_file(path, faults);
    const auto json = has_errors(faults) ? nlohmann::ordered_json{} : parse_json(text, faults);
    if (has_errors(faults)) throw InputError(faults);
    if (!json.is_object()) return false;
    const auto compare = [&](const nlohmann::ordered_json& from, const char* key, double ours, const char* field) {
        const auto found = from.find(key);
        if (found == from.end() || !found->is_number() || found->get<double>() == ours) return;
        throw InputError(fmt::format("/model/{}", field),
                         fmt::format("{}, but {} says {}", ours, path.string(), found->get<double>()),
                         "the weights were trained with that", fmt::format("Set it to {}", found->get<double>()));
    };
    compare(json, "num_attention_heads", model.heads, "heads");
    compare(json, "num_key_value_heads", kv_heads(model), "kv_heads");
    compare(json, "rope_theta", model.rotary_base, "rotary_base");
    const auto rotary = json.find("rope_parameters");  // where transformers 5 has both
    const bool has_rotary = rotary != json.end() && rotary->is_object();
    if (has_rotary) compare(*rotary, "rope_theta", model.rotary_base, "rotary_base");
    if (const auto activation = json.find("hidden_act"); activation != json.end() && *activation != "silu")
        refuse(fmt::format("{} says hidden_act {}", path.string(), activation->dump()), "here it is \"silu\"",
               "Name the weights of a LLaMA with SwiGLU");
    if (const auto epsilon = json.find("rms_norm_eps");
        epsilon != json.end() && epsilon->is_number() && epsilon->get<double>() != norm_epsilon)
        refuse(
            fmt::format("{} says rms_norm_eps {}, here it is {}", path.string(), epsilon->get<double>(), norm_epsilon),
            "the losses would differ slightly",
            "Take \"rms_norm_eps\" out of that file to load the weights all the same");
    const auto scaling = json.find("rope_scaling");
    if ((scaling != json.end() && !scaling->is_null()) ||
        (has_rotary && rotary->contains("rope_type") && rotary->at("rope_type") != "default"))
        refuse(path.string() + " asks for scaled rotary frequencies", "they are not known here",
               "Use weights without rope_scaling (LLaMA 1, 2 and 3.0)");
    const auto tied = json.find("tie_word_embeddings");
    return tied != json.end() && tied->is_boolean() && tied->get<bool>();
}

/// Two models in one folder would be mixed.
void refuse_repeated(const std::vector<SafeTensors>& files) {
    std::map<std::string_view, const SafeTensors*> holders;
    for (const auto& file : files)
        for (const auto& [name, tensor] : file.tensors())
            if (const auto [first, is_new] = holders.emplace(name, &file); !is_new && !is_derived(name))
                refuse(fmt::format("{} and {} both hold {}", first->second->path().string(), file.path().string(),
                                   in_quotes(name)),
                       "they are of two models, or a model twice", "Keep each model in a folder of its own");
}

std::vector<SafeTensors> open_files(const fs::path& path) {
    const char* why = "the model takes its weights from there";
    std::error_code error;
    std::vector<SafeTensors> files;
    if (!fs::is_directory(path, error)) {
        files.emplace_back(path, pointer, why);
        return files;
    }
    std::vector<fs::path> found;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".safetensors") found.push_back(at->path());
    if (error) refuse(path.string() + " cannot be listed: " + error.message(), why, "Check its permissions");
    std::sort(found.begin(), found.end());
    for (const auto& file : found) files.emplace_back(file, pointer, why);
    if (files.empty())
        refuse(path.string() + " holds no .safetensors file", why, "Name a safetensors file, or a folder of its parts");
    refuse_repeated(files);
    return files;
}

}  // namespace

std::string llama_block_prefix(int block) { return fmt::format("{}{}.", blocks_prefix, block); }

std::vector<TensorName> llama_tensors(const ModelSpec& model) {
    const std::int64_t width = model.width, hidden = ffn_width(model), kv_width = width / model.heads * kv_heads(model);
    std::vector<TensorName> tensors{{embedding_name, {model.vocabulary, width}}};
    for (int block = 0; block < model.blocks; ++block) {
        const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
            tensors.push_back({llama_block_prefix(block) + name + ".weight", std::move(shape)});
        };
        add("input_layernorm", {width});
        add("self_attn.q_proj", {width, width});
        add("self_attn.k_proj", {kv_width, width});
        add("self_attn.v_proj", {kv_width, width});
        add("self_attn.o_proj", {width, width});
        add("post_attention_layernorm", {width});
        add("mlp.gate_proj", {hidden, width});
        add("mlp.up_proj", {hidden, width});
        add("mlp.down_proj", {width, hidden});
    }
    tensors.push_back({"model.norm.weight", {width}});
    tensors.push_back({head_name, {model.vocabulary, width}});
    return tensors;
}

LlamaFile::LlamaFile(const fs::path& path, const ModelSpec& model) : path_(path), files_(open_files(path)) {
    std::error_code error;
    const bool tied = check_configuration(fs::is_directory(path, error) ? path : path.parent_path(), model);
    check_depth(model.blocks);
    shares_head_ = !find(head_name) && find(embedding_name);
    if (shares_head_ && !tied)
        refuse(
            path_.string() + " has no tensor " + in_quotes(head_name),
            "the head would start as a copy of the embedding, and nothing says that it was trained so",
            "Put the model's config.json beside it: with \"tie_word_embeddings\": true the head starts as that copy");
    check_tensors(model);
}

Faults LlamaFile::warnings() const {
    if (!shares_head_) return {};
    return {{pointer, path_.string() + " shares the head with the embedding",
             "here both have weights of their own: they start equal and part with the first step", "",
             Fault::Severity::warning}};
}

const StoredTensor* LlamaFile::find(std::string_view name) const {
    for (const auto& file : files_)
        if (const auto found = file.tensors().find(name); found != file.tensors().end()) return &found->second;
    return nullptr;
}

void LlamaFile::check_depth(int blocks) const {
    int deepest = -1;
    for (const auto& file : files_)
        for (const auto& [name, tensor] : file.tensors()) deepest = std::max(deepest, block_of(name));
    if (deepest < 0 || deepest + 1 == blocks) return;
    refuse(fmt::format("{} holds a model of {} blocks, this one has {}", path_.string(), deepest + 1, blocks),
           deepest + 1 > blocks ? "the last blocks would be left out" : "the last blocks would have no weights",
           fmt::format("Set /model/blocks to {}, or name the weights of a model of this depth", deepest + 1));
}

void LlamaFile::check_tensors(const ModelSpec& model) const {
    std::set<std::string, std::less<>> known;
    for (auto& [name, shape] : llama_tensors(model)) {
        const auto* tensor = find(shares_head_ && name == head_name ? embedding_name : name);
        if (!tensor)
            refuse(fmt::format("{} has no tensor {}", path_.string(), in_quotes(name)), "the model needs it",
                   "Name the weights of a LLaMA with Hugging Face's names");
        if (tensor->shape != shape)
            refuse(
                fmt::format("{} has {} of shape [{}]", path_.string(), in_quotes(name), fmt::join(tensor->shape, ", ")),
                fmt::format("the model's is [{}]", fmt::join(shape, ", ")),
                "Give /model the dimensions that the weights were trained with");
        if (tensor->type != "F32" && tensor->type != "F16" && tensor->type != "BF16")
            refuse(fmt::format("{} has {} as {}", path_.string(), in_quotes(name), tensor->type),
                   "F32, F16 and BF16 are read", "Write the weights again in one of them");
        known.insert(std::move(name));
    }
    for (const auto& file : files_)
        for (const auto& [name, tensor] : file.tensors())
            if (!known.contains(name) && !is_derived(name))
                refuse(fmt::format("{} has a tensor {}", file.path().string(), in_quotes(name)),
                       "this LLaMA has none of that name, and would be another model without it",
                       "Name the weights of a LLaMA without biases and additions");
}

std::vector<float> LlamaFile::read(std::string_view name, const std::vector<std::int64_t>& shape) const {
    if (shares_head_ && name == head_name) name = embedding_name;
    const auto holder = std::find_if(files_.begin(), files_.end(),
                                     [&](const SafeTensors& file) { return file.tensors().contains(name); });
    return (holder == files_.end() ? files_.front() : *holder).read(name, shape);
}

}  // namespace skippipe
