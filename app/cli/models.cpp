// SPDX-License-Identifier: GPL-3.0-or-later
#include <iostream>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/base/format.h"
#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "core/experiment/presets.h"

namespace skippipe::cli {

namespace {

void list_models(Context& context) {
    if (context.json) {
        auto list = nlohmann::ordered_json::array();
        for (const auto& preset : model_presets())
            list.push_back({{"name", preset.name},
                            {"description", preset.description},
                            {"parameters", model_parameters(preset.model)},
                            {"model", to_json(preset.model)}});
        std::cout << json_line(list) << '\n';
        return;
    }
    std::vector<std::vector<std::string>> rows{
        {"model", "parameters", "state", "blocks", "width", "heads", "kv heads", "ffn", "vocabulary", "sequence"}};
    for (const auto& preset : model_presets()) {
        const auto& m = preset.model;
        std::vector<std::string> row{preset.name, fmt::format("{:.0f}", model_parameters(m)),
                                     format_si(16 * model_parameters(m), "B")};
        for (const int number : {m.blocks, m.width, m.heads, kv_heads(m), ffn_width(m), m.vocabulary, m.sequence})
            row.push_back(std::to_string(number));
        rows.push_back(std::move(row));
    }
    std::cout
        << table(rows)
        << "state: weights, gradients and AdamW state of one copy; head and embedding have weights of their own\n";
}

}  // namespace

void add_models(CLI::App& app, Context& context) {
    auto* verb =
        add_verb(app, context, "models", "List the models that --model knows, with their parameters and memory",
                 "  skippipe models\n  skippipe run my-experiment.json --model llama-15m");
    verb->callback([&context] { list_models(context); });
}

}  // namespace skippipe::cli
