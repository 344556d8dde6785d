// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/presets.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

/// The files of resources/models, built in.
constexpr const char* files[] = {
#include "core/experiment/model_presets.inc"
};

ModelPreset read_preset(const char* text) {
    Faults faults;
    const auto json = parse_json(text, faults);
    if (has_errors(faults)) throw std::logic_error(to_string(faults.front()));
    ModelPreset preset{json.at("name"), json.at("description"), parse_model(json.at("model"), "/model", faults)};
    if (const auto published = json.find("published"); published != json.end()) {
        preset.published_parameters = published->at("parameters");
        preset.published_exactly = published->at("exact");
        preset.shared_head = published->at("shared_head");
        preset.source = published->at("source");
    }
    if (has_errors(faults)) throw std::logic_error(preset.name + ": " + to_string(faults.front()));
    return preset;
}

std::vector<ModelPreset> read_presets() {
    std::vector<ModelPreset> presets;
    for (const char* file : files) presets.push_back(read_preset(file));
    std::sort(presets.begin(), presets.end(), [](const ModelPreset& a, const ModelPreset& b) {
        return model_parameters(a.model) < model_parameters(b.model);
    });
    return presets;
}

}  // namespace

const std::vector<ModelPreset>& model_presets() {
    static const auto presets = read_presets();
    return presets;
}

const ModelPreset& find_model_preset(const std::string& name) {
    std::string names;
    for (const auto& preset : model_presets()) {
        if (preset.name == name) return preset;
        names += (names.empty() ? "" : ", ") + preset.name;
    }
    throw InputError("--model", fmt::format("there is no model {}", in_quotes(name)),
                     "it names a file of resources/models", "Choose one of: " + names);
}

}  // namespace skippipe
