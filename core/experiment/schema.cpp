// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/experiment/describe.h"
#include "core/experiment/described.h"
#include "core/experiment/io.h"

namespace skippipe {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json object_schema();

/// A bound as a whole number where it is one, so that it reads as people write it.
Json bound(double value) {
    if (value == std::trunc(value) && std::abs(value) <= 9007199254740992.0) return static_cast<std::int64_t>(value);
    return value;
}

void add_range(const Info& info, Json& schema) {
    if (std::isfinite(info.min)) schema[info.above_min ? "exclusiveMinimum" : "minimum"] = bound(info.min);
    if (std::isfinite(info.max)) schema["maximum"] = bound(info.max);
}

template <class T>
struct Schema {
    static Json of(const Info& info) {
        if constexpr (Described<T>) {
            return object_schema<T>();
        } else if constexpr (std::is_enum_v<T>) {
            Json words = Json::array();
            for (const auto& [value, name] : names_of(static_cast<T*>(nullptr))) words.push_back(std::string(name));
            return {{"enum", words}};
        } else if constexpr (std::is_same_v<T, bool>) {
            return {{"type", "boolean"}};
        } else if constexpr (std::is_arithmetic_v<T>) {
            Json schema = {{"type", std::is_integral_v<T> ? "integer" : "number"}};
            add_range(info, schema);
            return schema;
        } else {
            return {{"type", "string"}};
        }
    }
};

template <class T>
struct Schema<std::vector<T>> {
    static Json of(const Info& info) { return {{"type", "array"}, {"items", Schema<T>::of(info)}}; }
};

template <class T>
struct Schema<std::optional<T>> {
    static Json of(const Info& info) { return Schema<T>::of(info); }
};

template <class T>
void add_default(const T& value, Json& schema) {
    if constexpr (std::is_enum_v<T>)
        schema["default"] = std::string(name_of(value));
    else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
        schema["default"] = value;
}

struct MemberSchema {
    Json& properties;
    Json& required;

    template <class T>
    void operator()(const char* key, const T& member, const Info& info) {
        Json schema = Schema<T>::of(info);
        std::string doc = info.doc;
        if (*info.unit != '\0') doc += std::string(" [") + info.unit + "]";
        schema["description"] = doc;
        if (info.required)
            required.push_back(key);
        else
            add_default(member, schema);
        properties[key] = std::move(schema);
    }
};

template <class T>
void add_members(Json& properties, Json& required) {
    const T defaults;
    MemberSchema visitor{properties, required};
    describe(visitor, defaults);
}

template <class T>
Json object_schema() {
    Json properties = Json::object(), required = Json::array();
    add_members<T>(properties, required);
    Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    if (!required.empty()) schema["required"] = required;
    return schema;
}

}  // namespace

Json experiment_schema() {
    Json properties = {{"$schema", {{"type", "string"}, {"description", "For editors; not read"}}},
                       {"format", {{"const", experiment_format}, {"description", "Version of the file's format"}}}};
    Json required = Json::array({"format"});
    add_members<Experiment>(properties, required);
    return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"title", "SkipPipe Studio experiment"},
            {"type", "object"},
            {"properties", properties},
            {"required", required},
            {"additionalProperties", false}};
}

}  // namespace skippipe
