// SPDX-License-Identifier: GPL-3.0-or-later
// Models by LLaMA's own dimensions, from resources/models.
#pragma once
#include <string>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

struct ModelPreset {
    std::string name, description;
    ModelSpec model;
    double published_parameters = 0;  ///< 0: none were published
    bool published_exactly = false;   ///< else they are rounded
    bool shared_head = false;         ///< published with the head sharing the embedding's weights; here it has its own
    std::string source;
};

/// All of them, smallest first.
const std::vector<ModelPreset>& model_presets();
/// Throws InputError with the names there are.
const ModelPreset& find_model_preset(const std::string& name);

}  // namespace skippipe
