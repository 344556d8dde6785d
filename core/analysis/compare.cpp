// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/experiment/failure_text.h"
#include "core/experiment/text.h"

namespace skippipe {
namespace {

constexpr const char* skip_ratio_place = "/pipeline/skip_ratio";

using Json = nlohmann::ordered_json;

const std::string* text_of(const Json& value, const char* key) {
    const auto found = value.is_object() ? value.find(key) : value.end();
    return value.is_object() && found != value.end() && found->is_string() ? found->get_ptr<const std::string*>()
                                                                           : nullptr;
}

/// What an element is called whatever its place: its id, or a link's ends. Empty: nothing.
std::string name_of(const Json& element) {
    if (const auto* id = text_of(element, "id")) return *id;
    const auto *from = text_of(element, "from"), *to = text_of(element, "to");
    return from && to ? *from + "->" + *to : std::string{};
}

/// Names of an array's elements, if each has one of its own; else nothing.
std::optional<std::vector<std::string>> names_of(const Json& array) {
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (const auto& element : array) {
        names.push_back(name_of(element));
        if (names.back().empty() || !seen.insert(names.back()).second) return std::nullopt;
    }
    return names;
}

/// Every leaf under its pointer. Empty arrays and objects, and arrays of plain values (stage sizes, a row of a matrix),
/// are leaves.
class Flattened {
public:
    explicit Flattened(const Json& document) { add("", document); }

    std::vector<std::string> order;
    std::map<std::string, const Json*> leaves;

private:
    void add(const std::string& pointer, const Json& value) {
        const bool nested = std::any_of(value.begin(), value.end(), [](const Json& v) { return v.is_structured(); });
        if (value.is_object() && !value.empty()) {
            for (const auto& [key, member] : value.items()) add(pointer + pointer_step(key), member);
        } else if (value.is_array() && nested) {
            const auto names = names_of(value);
            for (std::size_t i = 0; i < value.size(); ++i)
                add(pointer + (names ? pointer_step((*names)[i]) : "/" + std::to_string(i)), value[i]);
        } else {
            order.push_back(pointer);
            leaves[pointer] = &value;
        }
    }
};

std::vector<std::optional<double>> values_of(const std::vector<RunInfo>& runs,
                                             const std::function<std::optional<double>(const RunInfo&)>& get) {
    std::vector<std::optional<double>> values;
    for (const auto& run : runs) {
        auto value = get(run);
        if (value && std::isnan(*value)) value.reset();
        values.push_back(value);
    }
    return values;
}

struct RunFigure {
    const char *name, *unit;
    Better better;
    std::optional<double> (*get)(const RunInfo&);
};

std::optional<double> positive(double value) { return value > 0 ? std::optional{value} : std::nullopt; }

constexpr std::array run_figures{
    RunFigure{"iteration_s", "s", Better::smaller, [](const RunInfo& r) { return r.iteration_s; }},
    RunFigure{"predicted_iteration_s", "s", Better::smaller,
              [](const RunInfo& r) { return positive(r.predicted_iteration_s); }},
    RunFigure{"tokens_per_second", "tokens/s", Better::larger, [](const RunInfo& r) { return r.tokens_per_second; }},
    RunFigure{"first_validation_loss", "", Better::neither, [](const RunInfo& r) { return r.first_validation_loss; }},
    RunFigure{"last_validation_loss", "", Better::smaller, [](const RunInfo& r) { return r.last_validation_loss; }},
    RunFigure{"iterations_done", "", Better::neither,
              [](const RunInfo& r) { return std::optional<double>{r.iterations_done}; }},
    RunFigure{"machine_s", "s", Better::smaller, [](const RunInfo& r) { return positive(r.machine_s); }},
};

}  // namespace

Json comparable(Json document, const std::vector<Failure>& failures) {
    auto& lines = document["failures"] = Json::array();
    for (const auto& failure : failures) lines.push_back(failure_line(failure));
    return document;
}

std::string value_words(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_structured() && value.empty()) return "none";
    if (value.is_number_float()) return fmt::format("{}", value.get<double>());  // 0, not 0.0
    if (!value.is_array() || !value.front().is_string())
        return value.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string words;
    for (const auto& one : value) words += (words.empty() ? "" : "; ") + one.get<std::string>();
    return words;
}

std::vector<ParameterDifference> differing_parameters(const std::vector<Json>& experiments,
                                                      const std::vector<const Plan*>& plans) {
    std::set<bool> skips;
    for (const Plan* plan : plans)
        if (!plan->paths.empty()) skips.insert(!visits_all_stages(*plan));
    std::vector<Flattened> documents;
    for (const auto& experiment : experiments) documents.emplace_back(experiment);
    std::vector<ParameterDifference> differences;
    std::set<std::string> seen;
    for (const auto& document : documents)
        for (const auto& pointer : document.order) {
            if (!seen.insert(pointer).second) continue;
            ParameterDifference row{pointer, {}};
            bool same = skips.size() < 2 || pointer != skip_ratio_place;
            for (const auto& other : documents) {
                const auto leaf = other.leaves.find(pointer);
                const bool has = leaf != other.leaves.end();
                same = same && has && *leaf->second == *document.leaves.at(pointer);
                row.values.push_back(
                    has ? std::optional{leaf->second->dump(-1, ' ', false, Json::error_handler_t::replace)}
                        : std::nullopt);
            }
            if (!same) differences.push_back(std::move(row));
        }
    return differences;
}

bool is_unused(const ParameterDifference& difference, std::size_t run, const Plan& plan) {
    const auto& value = difference.values.at(run);
    if (difference.pointer != skip_ratio_place || !value || !visits_all_stages(plan)) return false;
    const auto ratio = Json::parse(*value, nullptr, false);
    return ratio.is_number() && ratio.get<double>() != 0;
}

void add_deltas(Figure& figure, std::size_t baseline) {
    const auto base = figure.values[baseline];
    for (const auto& value : figure.values) {
        const bool both = value && base;
        figure.deltas.push_back(both ? std::optional{*value - *base} : std::nullopt);
        figure.ratios.push_back(both && *base != 0 ? std::optional{*value / *base - 1} : std::nullopt);
    }
}

std::vector<Figure> compare_figures(const std::vector<RunInfo>& runs, std::size_t baseline) {
    std::vector<Figure> figures;
    if (runs.empty()) return figures;
    for (const auto& source : run_figures) {
        Figure figure{source.name, source.unit, source.better, values_of(runs, source.get), {}, {}};
        if (std::none_of(figure.values.begin(), figure.values.end(), [](const auto& v) { return v.has_value(); }))
            continue;
        add_deltas(figure, baseline < runs.size() ? baseline : 0);
        figures.push_back(std::move(figure));
    }
    return figures;
}

}  // namespace skippipe
