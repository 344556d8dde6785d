// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/experiment/atomic_file.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t max_header_bytes = 100'000'000;  // the format's own limit
constexpr std::size_t max_dimensions = 8;

std::optional<std::uint64_t> width_of_name(std::string_view type) {
    constexpr std::pair<std::string_view, std::uint64_t> widths[] = {
        {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},  {"I32", 4},     {"I16", 2},    {"I8", 1},
        {"U64", 8}, {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
    for (const auto& [name, width] : widths)
        if (name == type) return width;
    return {};
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& pointer, const std::string& what) {
    throw InputError(pointer, path.string() + " " + what, "its tensors cannot be told",
                     "Write or download it again, or name another file");
}

/// Elements, nothing where the shape is none or their number leaves 2^63.
std::optional<std::uint64_t> elements(const Json& shape, std::vector<std::int64_t>& extents) {
    if (!shape.is_array() || shape.size() > max_dimensions) return {};
    std::uint64_t product = 1;
    for (const auto& extent : shape) {
        if (!extent.is_number_unsigned()) return {};
        const auto value = extent.get<std::uint64_t>();
        if (value != 0 && product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / value)
            return {};
        product *= value;
        extents.push_back(
            static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max())));
    }
    return product;
}

struct Placed {
    std::uint64_t begin = 0, end = 0;
};

/// One entry of the header; throws std::runtime_error with what is wrong with it.
Placed read_entry(const Json& entry, std::uint64_t data_bytes, StoredTensor& tensor) {
    const auto need = [](bool fine, const char* what) {
        if (!fine) throw std::runtime_error(what);
    };
    need(entry.is_object() && entry.contains("dtype") && entry.contains("shape") && entry.contains("data_offsets"),
         "lacks dtype, shape or data_offsets");
    need(entry["dtype"].is_string(), "has a dtype that is no word");
    tensor.type = entry["dtype"].get<std::string>();
    const auto width = width_of_name(tensor.type);
    need(width.has_value(), "has an unknown dtype");
    const auto count = elements(entry["shape"], tensor.shape);
    need(count.has_value(), "has an impossible shape");
    const auto& offsets = entry["data_offsets"];
    need(
        offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned(),
        "has no two offsets");
    const Placed place{offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
    need(place.begin <= place.end && place.end <= data_bytes, "lies beyond the end of the file");
    need(*count <= data_bytes && *count * *width == place.end - place.begin, "has another size than its shape says");
    return place;
}

}  // namespace

std::string_view name_of_type(FloatType type) {
    return type == FloatType::f32 ? "F32" : type == FloatType::f16 ? "F16" : "BF16";
}
std::size_t width_of(FloatType type) { return type == FloatType::f32 ? 4 : 2; }

std::uint16_t to_bfloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t to_half(float value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return sign | 0x7E00;
    const double size = std::abs(static_cast<double>(value));
    if (size >= 65520) return sign | 0x7C00;
    // Halves between powers of two are evenly spaced: 2^-24 at the bottom. nearbyint rounds ties to even.
    const int exponent = size < std::ldexp(1.0, -14) ? -14 : std::ilogb(size);
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    // steps has the leading one where it is not subnormal, and carries into the exponent by itself.
    return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(exponent + 14) * 1024 + steps));
}

float from_half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = 0;
    if (exponent == 31)
        size = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    else
        size = std::ldexp(static_cast<float>(exponent == 0 ? fraction : 1024 + fraction), std::max(exponent, 1) - 25);
    return bits & 0x8000 ? -size : size;
}

SafeTensors::SafeTensors(const std::filesystem::path& path, std::string pointer, const char* why)
    : path_(path), pointer_(std::move(pointer)), file_(map_file(path, pointer_, why)) {
    std::uint64_t length = 0;
    if (file_.size < sizeof length) refuse(path_, pointer_, "is too short for a safetensors file");
    std::memcpy(&length, file_.data, sizeof length);
    if (length > max_header_bytes || length > file_.size - sizeof length)
        refuse(path_, pointer_,
               fmt::format("says its header has {} bytes: it is no safetensors file, or was cut off", length));
    const std::string_view text(reinterpret_cast<const char*>(file_.data) + sizeof length, length);
    const auto header = Json::parse(text, nullptr, false);
    if (!header.is_object()) refuse(path_, pointer_, "has a header that is no JSON object");
    const auto data = std::span(file_.data, file_.size).subspan(sizeof length + length);
    std::vector<Placed> places;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
            for (const auto& [key, value] : entry.items())
                if (value.is_string()) metadata_[key] = value.get<std::string>();
            continue;
        }
        try {
            auto& tensor = tensors_[name];
            places.push_back(read_entry(entry, data.size(), tensor));
            tensor.data = data.subspan(places.back().begin, places.back().end - places.back().begin);
        } catch (const std::runtime_error& error) {
            refuse(path_, pointer_, fmt::format("has a tensor {} that {}", in_quotes(name), error.what()));
        }
    }
    std::sort(places.begin(), places.end(),
              [](const Placed& a, const Placed& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    std::uint64_t end = 0;
    for (const auto& place : places) {
        if (place.begin != end)
            refuse(path_, pointer_,
                   fmt::format("has tensors that {} at byte {}", place.begin < end ? "overlap" : "leave a gap", end));
        end = place.end;
    }
    if (end != data.size())
        refuse(path_, pointer_, fmt::format("has {} bytes that belong to no tensor", data.size() - end));
}

std::vector<float> SafeTensors::read(std::string_view name, const std::vector<std::int64_t>& shape) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) refuse(path_, pointer_, fmt::format("has no tensor {}", in_quotes(name)));
    const auto& tensor = found->second;
    if (tensor.shape != shape)
        throw InputError(
            pointer_,
            fmt::format("{} has {} of shape [{}]", path_.string(), in_quotes(name), fmt::join(tensor.shape, ", ")),
            fmt::format("the model's is [{}]", fmt::join(shape, ", ")),
            "Give /model the dimensions that the weights were trained with");
    std::vector<float> values;
    const auto convert = [&]<class Stored>(auto widen, Stored) {
        values.resize(tensor.data.size() / sizeof(Stored));
        for (std::size_t i = 0; i < values.size(); ++i) {
            Stored stored;
            std::memcpy(&stored, tensor.data.data() + i * sizeof stored, sizeof stored);
            values[i] = widen(stored);
        }
    };
    if (tensor.type == "F32")
        convert([](float value) { return value; }, float{});
    else if (tensor.type == "F16")
        convert(from_half, std::uint16_t{});
    else if (tensor.type == "BF16")
        convert(from_bfloat, std::uint16_t{});
    else
        refuse(path_, pointer_, fmt::format("has {} as {}; F32, F16 and BF16 are read", in_quotes(name), tensor.type));
    return values;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<TensorName>& tensors, FloatType type,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<std::vector<float>(std::size_t)>& values) {
    nlohmann::ordered_json header;
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::uint64_t offset = 0;
    for (const auto& tensor : tensors) {
        std::uint64_t bytes = width_of(type);
        for (const auto extent : tensor.shape) bytes *= static_cast<std::uint64_t>(extent);
        header[tensor.name] = {
            {"dtype", name_of_type(type)}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
        offset += bytes;
    }
    auto text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    AtomicFile file(path);
    const std::uint64_t length = text.size();
    file.write({reinterpret_cast<const char*>(&length), sizeof length});
    file.write(text);
    std::vector<std::uint16_t> narrow;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto wide = values(i);
        std::size_t size = 1;
        for (const auto extent : tensors[i].shape) size *= static_cast<std::size_t>(extent);
        if (wide.size() != size)
            throw std::logic_error(tensors[i].name + ": another number of values than its shape says");
        if (type == FloatType::f32) {
            file.write({reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof(float)});
            continue;
        }
        narrow.resize(wide.size());
        std::transform(wide.begin(), wide.end(), narrow.begin(), type == FloatType::f16 ? to_half : to_bfloat);
        file.write({reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(std::uint16_t)});
    }
    file.commit();
}

}  // namespace skippipe
