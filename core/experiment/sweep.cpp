// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sweep.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <functional>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "core/experiment/set_field.h"
#include "core/experiment/text.h"

namespace skippipe {
namespace {

using Json = nlohmann::ordered_json;
using Settings = std::vector<std::pair<std::string, Json>>;

constexpr const char* planner_field = "pipeline.planner";

/// "/pipeline/skip_ratio" as "pipeline.skip_ratio": people may name a field as its faults do.
std::string with_dots(std::string field) {
    if (!field.starts_with('/')) return field;
    field.erase(0, 1);
    std::replace(field.begin(), field.end(), '/', '.');
    return field;
}

[[noreturn]] void refuse_axis(const std::string& text, const std::string& what, const std::string& remedy) {
    throw InputError("--vary", fmt::format("{} {}", in_quotes(text), what), "", remedy);
}

/// At commas that stand in no list, object or quotes.
std::vector<std::string> split_values(const std::string& text) {
    std::vector<std::string> parts(1);
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
        if (!quoted && (c == '[' || c == '{')) ++depth;
        if (!quoted && (c == ']' || c == '}')) --depth;
        if (c == ',' && !quoted && depth == 0)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

/// People write "0, 0.25" as well as "0,0.25".
std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? std::string{} : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<SweepAxis::Range> read_range(const std::string& text, const std::string& values) {
    SweepAxis::Range range;
    const std::string log = "log:";
    range.logarithmic = values.starts_with(log);
    const auto numbers = range.logarithmic ? values.substr(log.size()) : values;
    const auto dots = numbers.find("..");
    if (dots == std::string::npos) {
        if (range.logarithmic) refuse_axis(text, "has no range after log:", "Write it as log:1e-4..1e-2");
        return std::nullopt;
    }
    const auto low = value_of_text(numbers.substr(0, dots)), high = value_of_text(numbers.substr(dots + 2));
    if (!low.is_number() && !range.logarithmic) return std::nullopt;  // "../corpus.txt"
    if (!low.is_number() || !high.is_number()) refuse_axis(text, "has no numbers beside ..", "Write it as 0..0.5");
    range.low = low;
    range.high = high;
    if (!(range.low < range.high)) refuse_axis(text, "is an empty range", "Give the smaller number first");
    if (range.logarithmic && range.low <= 0)
        refuse_axis(text, "is a range of ratios that begins at 0 or below", "Begin above 0, or leave log: out");
    return range;
}

Json draw(const SweepAxis& axis, const Json& document, Rng& rng) {
    if (!axis.range) return axis.values[rng.below(axis.values.size())];
    const auto& [low, high, logarithmic] = *axis.range;
    const double part = rng.uniform();
    const double value = logarithmic ? low * std::pow(high / low, part) : low + part * (high - low);
    const auto place = field_pointer(axis.field, "--vary");
    const bool whole = document.contains(place) && document[place].is_number_integer();
    return whole ? Json(static_cast<std::int64_t>(std::llround(value))) : Json(value);
}

/// Each once: what is there twice would train the same again.
std::vector<Settings> combined(const SweepRequest& request) {
    std::vector<Settings> all(1);
    for (const auto& axis : request.axes) {
        if (axis.range)
            throw InputError("--vary", fmt::format("{} has a range", axis.field), "a grid needs values",
                             "List them, as 0,0.25,0.5, or draw at random with --draws");
        if (all.size() * axis.values.size() > most_sweep_points) return std::vector<Settings>(most_sweep_points + 1);
        std::vector<Settings> next;
        for (const auto& begun : all)
            for (const auto& value : axis.values) {
                next.push_back(begun);
                next.back().emplace_back(axis.field, value);
            }
        all = std::move(next);
    }
    std::set<Settings> seen;
    std::erase_if(all, [&](const Settings& one) { return !seen.insert(one).second; });
    return all;
}

/// What is trained where nothing is skipped, whatever ratio was asked for.
void take_out_skips(Settings& settings) {
    for (auto& [field, value] : settings)
        if (field == skip_ratio_field) value = 0;
}

/// With skip ratio 0 where the planner, theirs or else `planner`, skips nothing.
Settings as_trained(Settings settings, std::string planner, const std::set<std::string>& full_pipelines) {
    for (const auto& [field, value] : settings)
        if (field == planner_field && value.is_string()) planner = value.get<std::string>();
    if (full_pipelines.contains(planner)) take_out_skips(settings);
    return settings;
}

/// Each once: what was drawn before would train the same again. Fewer than were asked for where there are not as many.
std::vector<Settings> drawn(const Json& document, const std::string& planner, const SweepRequest& request) {
    constexpr int most_draws_in_vain = 1000;  // one after the other
    std::vector<Settings> all;
    std::set<Settings> seen;
    Rng rng(request.draw_seed);
    int in_vain = 0;
    const auto take = [&](Settings one) {
        const bool is_new = seen.insert(as_trained(one, planner, request.full_pipelines)).second;
        if (is_new) all.push_back(std::move(one));
        return is_new;
    };
    const auto wants_more = [&] { return static_cast<int>(all.size()) < request.draws; };
    while (wants_more() && in_vain < most_draws_in_vain) {
        Settings one;
        one.reserve(request.axes.size());
        for (const auto& axis : request.axes) one.emplace_back(axis.field, draw(axis, document, rng));
        in_vain = take(std::move(one)) ? 0 : in_vain + 1;
    }
    // The last few of many come seldom by chance.
    const bool are_listed = std::none_of(request.axes.begin(), request.axes.end(),
                                         [](const SweepAxis& axis) { return axis.range.has_value(); });
    if (!wants_more() || !are_listed) return all;
    auto rest = combined(request);
    if (rest.size() > most_sweep_points) return all;
    for (auto& one : rest)
        if (wants_more()) take(std::move(one));
    return all;
}

SweepPoint make_point(Json document, const Settings& settings) {
    SweepPoint point{settings, {}};
    for (const auto& [field, value] : settings) set_field(document, field, value, "--vary");
    auto parsed = parse_experiment(document);
    std::erase_if(parsed.faults, [](const Fault& fault) { return fault.severity != Fault::Severity::error; });
    for (auto& fault : parsed.faults) fault.what += ", with " + to_string(point);
    if (!parsed.faults.empty()) throw InputError(parsed.faults);
    point.experiment = std::move(parsed.experiment);
    return point;
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        refuse_axis(text, "is no FIELD=VALUES", "Write it as pipeline.skip_ratio=0,0.25,0.5");
    SweepAxis axis{with_dots(text.substr(0, equals)), {}, {}};
    const auto values = trimmed(text.substr(equals + 1));
    axis.range = read_range(text, values);
    if (axis.range) return axis;
    for (const auto& part : split_values(values)) {
        const auto value = trimmed(part);
        if (value.empty()) refuse_axis(text, "has an empty value", "Leave out the comma too many");
        axis.values.push_back(value_of_text(value));
    }
    return axis;
}

std::vector<SweepPoint> sweep_points(const Experiment& base, const SweepRequest& request) {
    const bool varies_seed = std::any_of(request.axes.begin(), request.axes.end(),
                                         [](const SweepAxis& axis) { return axis.field == "seed"; });
    if (varies_seed && request.seeds > 1)
        throw InputError("--seeds", "the seed varies already", "--vary names it", "Leave one of them out");
    auto document = to_json(base);
    document["seeds"] = 1;
    const auto combinations = request.draws > 0 ? drawn(document, base.pipeline.planner, request) : combined(request);
    const auto count = combinations.size() * static_cast<std::size_t>(std::max(request.seeds, 1));
    if (count > most_sweep_points)
        throw InputError("--vary", fmt::format("the sweep has more than {} points", most_sweep_points), "",
                         "Give fewer values, or draw some of them with --draws");
    std::vector<SweepPoint> points;
    std::set<Settings> seen;
    for (const auto& settings : combinations)
        for (int i = 0; i < std::max(request.seeds, 1); ++i) {
            auto own = settings;
            if (request.seeds > 1) own.emplace_back("seed", base.seed + static_cast<std::uint64_t>(i));
            auto point = make_point(document, own);
            if (request.full_pipelines.contains(point.experiment.pipeline.planner)) {
                point.is_full_pipeline = true;
                point.experiment.pipeline.skip_ratio = 0;
                take_out_skips(point.settings);
            }
            if (seen.insert(point.settings).second) points.push_back(std::move(point));
        }
    return points;
}

std::string to_string(const SweepPoint& point) {
    std::string text;
    for (const auto& [field, value] : point.settings)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field, shown(value));
    return text.empty() ? "nothing changed" : text;
}

Experiment what_trains(Experiment experiment) {
    experiment.name = experiment.description = {};
    experiment.seeds = 1;  // each is a run of its own
    for (auto& node : experiment.topology.nodes) node.x = node.y = 0;
    experiment.execution.keep_spans = {};  // what is kept of a run changes nothing in it
    experiment.execution.keep_spans_of = Execution{}.keep_spans_of;
    return experiment;
}

bool trains_alike(const Experiment& a, const Experiment& b) { return what_trains(a) == what_trains(b); }

std::size_t training_hash(const Experiment& experiment) {
    return std::hash<std::string>{}(to_json(what_trains(experiment)).dump());
}

std::vector<std::string> sweepable_fields(const Experiment& experiment) {
    std::vector<std::string> fields{skip_ratio_field, planner_field, "training.learning_rate", "seed"};
    const auto leaves = to_json(experiment).flatten();
    for (const auto& [pointer, value] : leaves.items()) {
        const auto field = with_dots(pointer);
        const auto begins = [&](const char* part) { return field.starts_with(part); };
        if (begins("topology.") || begins("data.") || field == "name" || field == "description" || field == "seeds" ||
            field == "format" || !value.is_primitive() || value.is_null())
            continue;
        if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
    }
    return fields;
}

}  // namespace skippipe
