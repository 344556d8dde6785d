// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Limits on text from outside, applied while it is parsed, before any document is built.
struct JsonLimits {
    std::size_t bytes = 64u << 20;
    int depth = 32;
    std::size_t values = 4'000'000;
};

/// Parses JSON of any origin: duplicate keys, depth and size are checked on the way (SAX). Appends faults; where the
/// text is no JSON the result is null and a fault gives line and column, and says in plain words what is wrong there.
nlohmann::ordered_json parse_json(std::string_view text, Faults& faults, const JsonLimits& limits = {});

/// Reads a file as bytes; faults where it is missing, unreadable or above limits.bytes.
std::string read_file(const std::filesystem::path& path, Faults& faults, const JsonLimits& limits = {});

/// Writes through a temporary file beside it, fsync and rename, so that no half file is ever seen. Throws InputError.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

struct ParsedExperiment {
    Experiment experiment;  ///< what could be understood; defaults elsewhere
    Faults faults;          ///< all of them: syntax, unknown and duplicate keys, types, ranges, meaning
};

/// Text to document, with every fault found, those of `validate` included.
ParsedExperiment parse_experiment(std::string_view text);
ParsedExperiment parse_experiment_json(const nlohmann::ordered_json& json, std::string at);
/// The same from parsed JSON (a plan file carries its experiment as a value); pointers start with `at`.
/// A template, since text converts to JSON and JSON to text without being asked.
template <std::same_as<nlohmann::ordered_json> Json>
ParsedExperiment parse_experiment(const Json& json, std::string at = {}) {
    return parse_experiment_json(json, std::move(at));
}
/// Reads and parses a file.
ParsedExperiment load_experiment(const std::filesystem::path& path);

/// A model alone, from JSON of the form that experiments have under "model"; pointers start with `at`.
ModelSpec parse_model(const nlohmann::ordered_json& json, const std::string& at, Faults& faults);
nlohmann::ordered_json to_json(const ModelSpec& model);

/// The document as JSON, every field written, in the order of describe.h, "format" first.
nlohmann::ordered_json to_json(const Experiment& experiment);
/// Indented text with a newline at the end: what is saved.
std::string to_text(const Experiment& experiment);
/// What a plan of an experiment depends on, all else as in an empty document: who planned it and how long apart, equal
/// parts have equal plans. Cheaper to compare than hashes, which say the same.
Experiment planning_part(const Experiment& experiment);
/// 16 hex digits over the canonical text of what a plan depends on (name, description and canvas places left out).
std::string experiment_hash(const Experiment& experiment);
/// JSON Schema (draft 2020-12), made from describe.h.
nlohmann::ordered_json experiment_schema();

}  // namespace skippipe
