// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/checkpoint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/data/safetensors.h"
#include "core/experiment/io.h"
#include "core/record/checkpoints.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* why_read = "a run goes on from it";
constexpr const char* remedy_read = "Go on from an earlier checkpoint of this run, or start it anew";
constexpr std::string_view checksum_prefix = "xxh3.";

[[noreturn]] void refuse(const fs::path& file, std::string what) {
    throw InputError(file.string(), std::move(what), why_read, remedy_read);
}

std::string checksum(const void* data, std::size_t bytes) { return fmt::format("{:016x}", XXH3_64bits(data, bytes)); }

std::string stage_file(int stage) { return fmt::format("stage-{}.safetensors", stage); }

struct NamedTensor {
    std::string name;
    std::vector<float> values;
};

void write_tensors(const fs::path& file, std::vector<NamedTensor> tensors,
                   std::map<std::string, std::string> metadata) {
    std::vector<TensorName> names;
    for (const auto& tensor : tensors) {
        names.push_back({tensor.name, {static_cast<std::int64_t>(tensor.values.size())}});
        metadata[std::string(checksum_prefix) + tensor.name] =
            checksum(tensor.values.data(), tensor.values.size() * sizeof(float));
    }
    metadata["format"] = "skippipe-checkpoint";
    metadata["version"] = std::to_string(checkpoint_format);
    write_safetensors(file, names, FloatType::f32, metadata,
                      [&](std::size_t i) { return std::exchange(tensors[i].values, {}); });
}

std::string residual_name(const MessageResidual& r) {
    return fmt::format("microbatch-{}.from-{}.to-{}.{}", r.microbatch, r.from_node, r.to_node,
                       r.gradient ? "backward" : "forward");
}

std::string residual_name(const GradientResidual& r) {
    return fmt::format("stage-{}.node-{}.gradient", r.stage, r.node);
}

std::optional<GradientResidual> gradient_residual_of(const std::string& name) {
    GradientResidual r;
    char what[16] = {};
    if (std::sscanf(name.c_str(), "stage-%d.node-%d.%15s", &r.stage, &r.node, what) != 3 ||
        std::string_view(what) != "gradient")
        return std::nullopt;
    return r;
}

MessageResidual residual_of(const fs::path& file, const std::string& name) {
    MessageResidual r;
    char direction[16] = {};
    if (std::sscanf(name.c_str(), "microbatch-%d.from-%d.to-%d.%15s", &r.microbatch, &r.from_node, &r.to_node,
                    direction) != 4)
        refuse(file, "has a tensor " + name + ", which is none of a checkpoint's");
    r.gradient = std::string_view(direction) == "backward";
    return r;
}

/// A file as it says itself what it is.
CheckpointFile described(const fs::path& path, const SafeTensors& file) {
    CheckpointFile found{path.filename().string(), fs::file_size(path), {}};
    for (const auto& [key, value] : file.metadata())
        if (key.starts_with(checksum_prefix)) found.checksums[key.substr(checksum_prefix.size())] = value;
    return found;
}

const CheckpointFile* find_file(const CheckpointManifest& manifest, const std::string& name) {
    const auto found = std::find_if(manifest.files.begin(), manifest.files.end(),
                                    [&](const CheckpointFile& file) { return file.name == name; });
    return found == manifest.files.end() ? nullptr : &*found;
}

/// The file is the one of the manifest, whole and to the bit.
SafeTensors open_checked(const fs::path& folder, const CheckpointFile& expected) {
    const auto path = folder / expected.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) refuse(path, "cannot be read: " + error.message());
    if (bytes != expected.bytes)
        refuse(path, fmt::format("has {} bytes instead of {}: it was cut off or replaced", bytes, expected.bytes));
    SafeTensors file(path, path.string(), why_read);
    for (const auto& [name, tensor] : file.tensors()) {
        const auto wanted = expected.checksums.find(name);
        if (wanted == expected.checksums.end()) refuse(path, "has a tensor " + name + " that the manifest lacks");
        if (checksum(tensor.data.data(), tensor.data.size()) != wanted->second)
            refuse(path, "is damaged: the bytes of " + name + " are not those that were written");
    }
    if (file.tensors().size() != expected.checksums.size()) refuse(path, "lacks tensors that the manifest names");
    return file;
}

std::vector<float> values_of(const SafeTensors& file, const std::string& name) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end()) refuse(file.path(), "has no tensor " + name);
    return file.read(name, found->second.shape);
}

/// Network time, or null: never.
Json time_or_never(double at_s) { return std::isfinite(at_s) ? Json(at_s) : Json(nullptr); }
double time_or_never(const Json& json) {
    return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

Json to_json(const std::vector<Membership::Slower>& slower) {
    Json list = Json::array();
    for (const auto& [change, back_s, seed] : slower)
        list.push_back(
            {static_cast<int>(change.kind), change.node, change.to, change.factor, time_or_never(back_s), seed});
    return list;
}

std::vector<Membership::Slower> slower_from(const Json& json) {
    std::vector<Membership::Slower> slower;
    for (const auto& one : json) {
        const int kind = one.at(0);
        if (kind < static_cast<int>(NetworkChange::Kind::line_slower) ||
            kind > static_cast<int>(NetworkChange::Kind::node_varies))
            throw std::out_of_range("an unknown kind of slowness");
        slower.push_back(
            {{.kind = static_cast<NetworkChange::Kind>(kind), .node = one.at(1), .to = one.at(2), .factor = one.at(3)},
             time_or_never(one.at(4)),
             one.size() > 5 ? one.at(5).get<std::uint64_t>() : 0});
    }
    return slower;
}

Json to_json(const Membership& members) {
    Json absent = Json::array();
    for (const auto& one : members.absent)
        absent.push_back({one.node, time_or_never(one.back_s), one.lost_as, one.stage});
    return {{"absent", std::move(absent)},
            {"slower", to_json(members.slower)},
            {"placed_without", members.placed.without},
            {"placed_slower", to_json(members.placed.slower)},
            {"since_s", members.since_s},
            {"squared_norms", members.squared_norms},
            {"learning_rates", members.learning_rates}};
}

/// Checked against the experiment by whoever goes on with it.
Membership members_from(const Json& json) {
    Membership members;
    for (const auto& one : json.value("absent", Json::array()))
        members.absent.push_back(
            {one.at(0), time_or_never(one.at(1)), one.at(2), one.size() > 3 ? one.at(3).get<int>() : -1});
    members.slower = slower_from(json.value("slower", Json::array()));
    members.placed = {json.value("placed_without", std::vector<NodeIndex>{}),
                      slower_from(json.value("placed_slower", Json::array()))};
    members.since_s = json.value("since_s", 0.0);
    members.squared_norms = json.value("squared_norms", std::vector<double>{});
    members.learning_rates = json.value("learning_rates", std::vector<double>{});
    return members;
}

Json to_json(const CheckpointManifest& m) {
    Json files = Json::array();
    for (const auto& file : m.files)
        files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.checksums}});
    Faults faults;
    const auto experiment = parse_json(m.experiment_json, faults), plan = parse_json(m.plan_json, faults);
    return {{"format", checkpoint_format},
            {"iterations_done", m.position.iterations_done},
            {"validated", m.position.validated},
            {"network_s", m.position.network_s},
            {"machine_s", m.position.machine_s},
            {"tokens", m.position.tokens},
            {"members", to_json(m.position.members)},
            {"written_utc", m.written_utc},
            {"build", m.build},
            {"data", m.data},
            {"base_dir", m.base_dir},
            {"save_weights", m.save_weights},
            {"threads", m.threads},
            {"calibrate", m.calibrate},
            {"steps", m.steps},
            {"learning_rates", m.learning_rates},
            {"files", std::move(files)},
            {"experiment", experiment},
            {"plan", plan}};
}

CheckpointManifest from_json(const Json& json) {
    CheckpointManifest m;
    m.position = {json.at("iterations_done"), json.at("validated"),
                  json.at("network_s"),       json.at("machine_s"),
                  json.at("tokens"),          members_from(json.value("members", Json::object()))};
    m.written_utc = json.at("written_utc");
    m.build = json.at("build");
    m.data = json.at("data");
    m.base_dir = json.at("base_dir");
    m.save_weights = json.at("save_weights");
    m.threads = json.at("threads");
    m.calibrate = json.at("calibrate");
    m.steps = json.at("steps").get<std::vector<std::int64_t>>();
    m.learning_rates = json.value("learning_rates", std::vector<double>(m.steps.size(), 1.0));
    for (const auto& file : json.at("files"))
        m.files.push_back(
            {file.at("name"), file.at("bytes"), file.at("xxh3").get<std::map<std::string, std::string>>()});
    m.experiment_json = json.at("experiment").dump();
    m.plan_json = json.at("plan").dump();
    return m;
}

std::string content_checksum(const Json& content) {
    const auto text = content.dump(-1, ' ', false, Json::error_handler_t::replace);
    return checksum(text.data(), text.size());
}

std::string now_utc() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace

std::uint64_t CheckpointManifest::bytes() const {
    std::uint64_t sum = 0;
    for (const auto& file : files) sum += file.bytes;
    return sum;
}

void write_stage(const fs::path& folder, int stage, StageState state) {
    if (state.weights.empty()) return;
    std::vector<NamedTensor> tensors;
    tensors.push_back({"weights", std::move(state.weights)});
    tensors.push_back({"adamw_m", std::move(state.m)});
    tensors.push_back({"adamw_v", std::move(state.v)});
    write_tensors(folder / stage_file(stage), std::move(tensors),
                  {{"stage", std::to_string(stage)},
                   {"steps", std::to_string(state.steps)},
                   {"learning_rate", fmt::format("{}", state.learning_rate)}});
}

void take_over_stage(const fs::path& from, const fs::path& folder, int stage) {
    const auto file = stage_file(stage);
    std::error_code error;
    fs::copy_file(from / file, folder / file, fs::copy_options::overwrite_existing, error);
    if (error)
        throw InputError(folder.string(), fmt::format("stage {} has no node left, and no checkpoint has it", stage),
                         error.message(), "Let a node of it come back");
}

void write_residuals(const fs::path& folder, int rank, RoundingResiduals residuals) {
    if (residuals.empty()) return;
    std::vector<NamedTensor> tensors;
    tensors.reserve(residuals.messages.size() + residuals.gradients.size());
    for (auto& one : residuals.messages) tensors.push_back({residual_name(one), std::move(one.values)});
    for (auto& one : residuals.gradients) tensors.push_back({residual_name(one), std::move(one.values)});
    write_tensors(folder / fmt::format("residuals-rank-{}.safetensors", rank), std::move(tensors), {});
}

CheckpointManifest write_manifest(const fs::path& folder, CheckpointManifest manifest) {
    manifest.written_utc = now_utc();
    std::map<std::string, CheckpointFile> files;
    manifest.steps.clear();
    manifest.learning_rates.clear();
    std::map<int, std::pair<std::int64_t, double>> stages;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".safetensors") continue;
        const SafeTensors file(entry.path(), entry.path().string(), why_read);
        const auto& says = file.metadata();
        if (const auto stage = says.find("stage"); stage != says.end())
            stages[std::stoi(stage->second)] = {std::stoll(says.find("steps")->second),
                                                std::stod(says.find("learning_rate")->second)};
        files[entry.path().filename().string()] = described(entry.path(), file);
    }
    for (const auto& [stage, of_optimizer] : stages) {
        manifest.steps.push_back(of_optimizer.first);
        manifest.learning_rates.push_back(of_optimizer.second);
    }
    for (auto& [name, file] : files) manifest.files.push_back(std::move(file));
    const auto content = to_json(manifest);
    write_file_atomically(folder / checkpoint_manifest,
                          Json{{"xxh3", content_checksum(content)}, {"checkpoint", content}}.dump(
                              1, ' ', false, Json::error_handler_t::replace) +
                              "\n");
    return manifest;
}

CheckpointManifest read_manifest(const fs::path& folder) {
    const auto path = folder / checkpoint_manifest;
    Faults faults;
    const auto text = read_file(path, faults);
    const auto json = has_errors(faults) ? Json{} : parse_json(text, faults);
    if (has_errors(faults)) refuse(path, "cannot be read: " + faults.front().what);
    if (!json.is_object() || !json.contains("checkpoint") || !json.contains("xxh3"))
        refuse(path, "is no manifest of a checkpoint");
    const auto& content = json["checkpoint"];
    if (json["xxh3"] != content_checksum(content)) refuse(path, "is damaged: it is not what was written");
    try {
        if (const int format = content.at("format"); format != checkpoint_format)
            refuse(path, fmt::format("is of format {}; this program reads {}", format, checkpoint_format));
        return from_json(content);
    } catch (const nlohmann::json::exception& error) {
        refuse(path, std::string("cannot be understood: ") + error.what());
    }
}

void verify_checkpoint(const fs::path& folder, const CheckpointManifest& manifest) {
    for (const auto& file : manifest.files) open_checked(folder, file);
}

StageState read_stage(const fs::path& folder, const CheckpointManifest& manifest, int stage) {
    const auto* expected = find_file(manifest, stage_file(stage));
    if (!expected) return {};
    const auto file = open_checked(folder, *expected);
    return {values_of(file, "weights"), values_of(file, "adamw_m"), values_of(file, "adamw_v"),
            manifest.steps.at(static_cast<std::size_t>(stage)),
            manifest.learning_rates.at(static_cast<std::size_t>(stage))};
}

RoundingResiduals read_residuals(const fs::path& folder, const CheckpointManifest& manifest) {
    RoundingResiduals all;
    for (const auto& expected : manifest.files) {
        if (!expected.name.starts_with("residuals-")) continue;
        const auto file = open_checked(folder, expected);
        for (const auto& [name, tensor] : file.tensors()) {
            if (auto gradient = gradient_residual_of(name)) {
                gradient->values = values_of(file, name);
                all.gradients.push_back(std::move(*gradient));
                continue;
            }
            all.messages.push_back(residual_of(file.path(), name));
            all.messages.back().values = values_of(file, name);
        }
    }
    return all;
}

}  // namespace skippipe
