// SPDX-License-Identifier: GPL-3.0-or-later
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

#include "core/experiment/describe.h"
#include "core/experiment/described.h"
#include "core/experiment/io.h"

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

void indent(const Json& json, int depth, bool in_list, std::string& out) {
    const auto line = [&](int levels) { out += '\n' + std::string(static_cast<std::size_t>(2 * levels), ' '); };
    // Nodes, regions, links and failures stand in lists, one a line.
    const bool flat = !json.is_structured() || json.empty() || (on_one_line(json) && (json.is_array() || in_list));
    if (flat && !json.is_structured()) {
        out += json.dump(-1, ' ', false, Json::error_handler_t::replace);  // text from the window may be ill-formed
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

std::string experiment_hash(const Experiment& experiment) {
    Json all = to_json(experiment);
    for (const char* list : {"regions", "nodes"})
        for (auto& place : all["topology"][list]) {
            place.erase("x");
            place.erase("y");
            place.erase("price_per_hour");
            place.erase("rank");  // who hosts a node changes nothing in the plan
        }
    for (const char* not_planned : {"measured_at", "on_map"}) all["topology"].erase(not_planned);
    for (const char* only_predicted : {"transfer_cpu_s", "transfer_cpu_s_per_byte", "reduction_cpu_s_per_byte"})
        all["costs"].erase(only_predicted);
    all["pipeline"].erase("planner");
    all["pipeline"].erase("plan_steps");
    // Fields that came later count only where they say something: plans made before them stay valid.
    if (!experiment.pipeline.plan_blocks) all["pipeline"].erase("plan_blocks");
    if (experiment.pipeline.microbatch_sizes.empty()) all["pipeline"].erase("microbatch_sizes");
    if (experiment.model.kv_heads == 0) all["model"].erase("kv_heads");
    if (experiment.model.rotary_base == ModelSpec{}.rotary_base) all["model"].erase("rotary_base");
    Json part = {
        {"topology", all["topology"]}, {"model", all["model"]}, {"pipeline", all["pipeline"]}, {"costs", all["costs"]}};
    // Of how it is trained, what says how many bytes a planned reduction hands on.
    if (experiment.costs.all_reduce == AllReduceRule::planned && experiment.costs.gradient_bytes.empty() &&
        experiment.training.gradient_wire != WireType::fp32)
        part["gradient_wire"] = all["training"]["gradient_wire"];
    const std::string text = part.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace skippipe
