// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "core/experiment/checker.h"
#include "core/experiment/described.h"
#include "core/experiment/io.h"
#include "core/experiment/json_reader.h"
#include "core/experiment/validate.h"

namespace skippipe {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
void read_object(JsonReader& reader, const Json& json, T& object, const Info& info);

template <class T>
void read_value(JsonReader& reader, const Json& json, T& member, const Info& info) {
    reader.read(json, member, info);
}

template <class T>
requires Described<T>
void read_value(JsonReader& reader, const Json& json, T& member, const Info& info) {
    read_object(reader, json, member, info);
}

template <class T>
void read_value(JsonReader& reader, const Json& json, std::optional<T>& member, const Info& info) {
    T value{};
    if (reader.read(json, value, info)) member = value;
}

template <class T>
void read_value(JsonReader& reader, const Json& json, std::vector<T>& member, const Info& info) {
    member.clear();
    if (!json.is_array()) return reader.wrong_type(json, "a list", {.doc = info.doc});
    member.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
        const auto step = reader.into(i);
        read_value(reader, json[i], member.emplace_back(), info);
    }
}

/// Reads the members of one object.
class MemberReader {
public:
    MemberReader(JsonReader& reader, const Json& object) : reader_(reader), object_(object) {}

    template <class T>
    void operator()(const char* key, T& member, const Info& info) {
        known_.push_back(key);
        const auto found = object_.find(key);
        const auto step = reader_.into(key);
        if (found != object_.end())
            read_value(reader_, *found, member, info);
        else if (info.required)
            reader_.missing(key, info);
    }

    void allow(const char* key) { allowed_.push_back(key); }
    void report_unknown() {
        for (const auto& [key, value] : object_.items())
            if (!contains(known_, key) && !contains(allowed_, key)) reader_.unknown(key, known_);
    }

private:
    static bool contains(const std::vector<std::string_view>& keys, std::string_view key) {
        return std::find(keys.begin(), keys.end(), key) != keys.end();
    }

    JsonReader& reader_;
    const Json& object_;
    std::vector<std::string_view> known_, allowed_;
};

template <class T>
void read_object(JsonReader& reader, const Json& json, T& object, const Info& info) {
    if (!json.is_object()) return reader.wrong_type(json, "an object", info);
    MemberReader members(reader, json);
    describe(members, object);
    members.report_unknown();
}

void read_format(JsonReader& reader, const Json& json) {
    const Info info{.doc = "The version of the file's format tells how to read it"};
    const auto step = reader.into("format");
    const auto found = json.find("format");
    if (found == json.end()) return reader.missing("format", info);
    double number = experiment_format;
    if (reader.read(*found, number, info) && number != experiment_format)
        reader.fault(
            fmt::format("format {} is not known", number_text(number)), "this program reads format 1",
            number > experiment_format ? "Open it with a newer version of the program" : "Set \"format\" to 1");
}

ParsedExperiment read_document(const Json& json, std::string at, Faults earlier) {
    ParsedExperiment parsed;
    Faults found;
    JsonReader reader(found, at);
    if (!json.is_object()) {
        reader.wrong_type(json, "an object", {.doc = "An experiment is one JSON object"});
    } else {
        read_format(reader, json);
        MemberReader members(reader, json);
        members.allow("format");
        members.allow("$schema");
        describe(members, parsed.experiment);
        members.report_unknown();
    }
    std::unordered_set<std::string> told;
    for (const auto& fault : earlier) told.insert(fault.pointer);
    parsed.faults = std::move(earlier);
    for (auto& fault : found)
        if (!told.contains(fault.pointer)) add_fault(parsed.faults, std::move(fault));
    if (json.is_object()) validate_meaning(parsed.experiment, at, parsed.faults);
    return parsed;
}

}  // namespace

ParsedExperiment parse_experiment_json(const Json& json, std::string at) {
    return read_document(json, std::move(at), {});
}

ModelSpec parse_model(const Json& json, const std::string& at, Faults& faults) {
    ModelSpec model;
    JsonReader reader(faults, at);
    read_object(reader, json, model, {.doc = "A model is one JSON object"});
    return model;
}

ParsedExperiment parse_experiment(std::string_view text) {
    Faults faults;
    const Json json = parse_json(text, faults);
    if (json.is_null() && has_errors(faults)) return {{}, std::move(faults)};
    return read_document(json, {}, std::move(faults));
}

ParsedExperiment load_experiment(const std::filesystem::path& path) {
    Faults faults;
    const std::string text = read_file(path, faults);
    if (has_errors(faults)) return {{}, std::move(faults)};
    return parse_experiment(text);
}

}  // namespace skippipe
