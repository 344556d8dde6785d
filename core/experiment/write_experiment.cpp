// SPDX-License-Identifier: GPL-3.0-or-later
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>

#include <fmt/format.h>

#include "core/experiment/describe.h"
#include "core/experiment/described.h"
#include "core/experiment/io.h"
#include "core/experiment/schema_member.h"

namespace skippipe {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
void write_members(const T& object, Json& json);

template <class T>
Json written(const T& value) {
    if constexpr (Described<T>) {
        Json json = Json::object();
        write_members(value, json);
        return json;
    } else if constexpr (std::is_enum_v<T>) {
        return std::string(name_of(value));
    } else {
        return value;
    }
}

template <class T>
Json written(const std::vector<T>& values) {
    Json json = Json::array();
    for (const auto& value : values) json.push_back(written(value));
    return json;
}

struct MemberWriter {
    Json& json;

    template <class T>
    void operator()(const char* key, const T& member, const Info&) {
        json[key] = written(member);
    }
    template <class T>
    void operator()(const char* key, const std::optional<T>& member, const Info&) {
        if (member) json[key] = *member;
    }
};

template <class T>
void write_members(const T& object, Json& json) {
    MemberWriter writer{json};
    describe(writer, object);
}

/// A list of plain values fits one line; anything else one line a member.
bool on_one_line(const Json& json) {
    for (const auto& value : json)
        if (value.is_structured()) return false;
    return true;
}

/// Whole numbers as people write them: 1080, not 1080.0. What reads them knows which are none.
std::string plain_text(const Json& value) {
    constexpr double most_exact = 9007199254740992.0;
    if (value.is_number_float()) {
        const double number = value.get<double>();
        const bool is_minus_zero = number == 0 && std::signbit(number);
        if (number == std::trunc(number) && std::abs(number) <= most_exact && !is_minus_zero)
            return std::to_string(static_cast<std::int64_t>(number));
    }
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);  // text from the window may be ill-formed
}

void indent(const Json& json, int depth, bool in_list, std::string& out) {
    const auto line = [&](int levels) { out += '\n' + std::string(static_cast<std::size_t>(2 * levels), ' '); };
    // Nodes, regions, links and failures stand in lists, one a line.
    const bool flat = !json.is_structured() || json.empty() || (on_one_line(json) && (json.is_array() || in_list));
    if (flat && !json.is_structured()) {
        out += plain_text(json);
        return;
    }
    const bool list = json.is_array();
    out += list ? '[' : '{';
    bool first = true;
    for (const auto& [key, value] : json.items()) {
        if (!first) out += flat ? ", " : ",";
        if (!flat) line(depth + 1);
        if (!list) out += Json(key).dump() + ": ";
        indent(value, depth + 1, list, out);
        first = false;
    }
    if (!flat) line(depth);
    out += list ? ']' : '}';
}

}  // namespace

Json to_json(const ModelSpec& model) { return written(model); }

Json to_json(const Experiment& experiment) {
    Json json = {{"format", experiment_format}};
    write_members(experiment, json);
    return json;
}

std::string to_text(const Experiment& experiment) {
    std::string text;
    indent(to_json(experiment), 0, false, text);
    return text + "\n";
}

std::string schema_of(std::string_view text) {
    Faults told_elsewhere;
    const Json json = parse_json(text, told_elsewhere);
    if (!json.is_object()) return {};
    const auto found = json.find("$schema");
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::string with_schema(std::string text, const std::string& schema) {
    constexpr std::string_view begin = "{\n";
    if (!schema.empty() && text.starts_with(begin))
        text.insert(begin.size(), fmt::format("  \"$schema\": {},\n", plain_text(schema)));
    return text;
}

Experiment planning_part(const Experiment& experiment) {
    const Costs no_costs;
    Experiment part;
    part.topology = experiment.topology;
    part.model = experiment.model;
    part.pipeline = experiment.pipeline;
    part.costs = experiment.costs;
    for (auto& region : part.topology.regions) region.x = region.y = 0;
    for (auto& node : part.topology.nodes) {
        node.x = node.y = 0;
        node.price_per_hour.reset();
        node.rank = Node{}.rank;
    }
    part.topology.measured_at = Topology{}.measured_at;
    part.topology.on_map = Topology{}.on_map;
    part.costs.transfer_cpu_s = no_costs.transfer_cpu_s;
    part.costs.transfer_cpu_s_per_byte = no_costs.transfer_cpu_s_per_byte;
    part.costs.reduction_cpu_s_per_byte = no_costs.reduction_cpu_s_per_byte;
    part.pipeline.planner = Pipeline{}.planner;
    part.pipeline.plan_steps = Pipeline{}.plan_steps;
    // Of how it is trained, what says how many bytes a planned reduction hands on.
    if (part.costs.all_reduce == AllReduceRule::planned && part.costs.gradient_bytes.empty())
        part.training.gradient_wire = experiment.training.gradient_wire;
    return part;
}

std::string experiment_hash(const Experiment& experiment) {
    const Experiment planned = planning_part(experiment);
    Json all = to_json(planned);
    // What is not planned is no part of the text.
    for (const char* list : {"regions", "nodes"})
        for (auto& place : all["topology"][list]) {
            place.erase("x");
            place.erase("y");
            place.erase("price_per_hour");
            place.erase("rank");
        }
    for (const char* not_planned : {"measured_at", "on_map"}) all["topology"].erase(not_planned);
    for (const char* only_predicted : {"transfer_cpu_s", "transfer_cpu_s_per_byte", "reduction_cpu_s_per_byte"})
        all["costs"].erase(only_predicted);
    all["pipeline"].erase("planner");
    all["pipeline"].erase("plan_steps");
    // Fields that came later count only where they say something: plans made before them stay valid.
    if (!planned.pipeline.plan_blocks) all["pipeline"].erase("plan_blocks");
    if (planned.pipeline.microbatch_sizes.empty()) all["pipeline"].erase("microbatch_sizes");
    if (planned.model.kv_heads == 0) all["model"].erase("kv_heads");
    if (planned.model.rotary_base == ModelSpec{}.rotary_base) all["model"].erase("rotary_base");
    Json part = {
        {"topology", all["topology"]}, {"model", all["model"]}, {"pipeline", all["pipeline"]}, {"costs", all["costs"]}};
    if (planned.training.gradient_wire != WireType::fp32) part["gradient_wire"] = all["training"]["gradient_wire"];
    const std::string text = part.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace skippipe
