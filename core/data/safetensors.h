// SPDX-License-Identifier: GPL-3.0-or-later
// Named tensors in a safetensors file: 8 bytes of header length, a JSON header, the tensors' bytes
// (huggingface.co/docs/safetensors).
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/mapped_file.h"

namespace skippipe {

enum class FloatType { f32, f16, bf16 };
std::string_view name_of_type(FloatType type);  ///< "F32", "F16", "BF16"
std::size_t width_of(FloatType type);

/// Rounded to the nearest, ties to even; NaN stays NaN, what is too large becomes infinite.
std::uint16_t to_half(float value);
std::uint16_t to_bfloat(float value);
float from_half(std::uint16_t bits);
float from_bfloat(std::uint16_t bits);

/// A tensor in a mapped file, row-major.
struct StoredTensor {
    std::string type;  ///< as the file says: "F32", "BF16", "I64"
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data;
};

/// An open file.
class SafeTensors {
public:
    /// Throws InputError at `pointer` where the file is not one: a header that is too long, no JSON, of unknown types,
    /// with offsets that leave the file, overlap, leave a gap, or do not fit the shape.
    /// `why` says what the file is for.
    SafeTensors(const std::filesystem::path& path, std::string pointer, const char* why = "tensors are read from it");

    const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }
    /// What the file says of itself ("__metadata__"); only its texts.
    const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
    const std::filesystem::path& path() const { return path_; }
    /// The values of F32, F16 or BF16. Throws InputError where the tensor is missing, of another type or shape.
    std::vector<float> read(std::string_view name, const std::vector<std::int64_t>& shape) const;

private:
    std::filesystem::path path_;
    std::string pointer_;
    MappedFile file_;
    std::map<std::string, StoredTensor, std::less<>> tensors_;
    std::map<std::string, std::string, std::less<>> metadata_;
};

struct TensorName {
    std::string name;
    std::vector<std::int64_t> shape;
};

/// Writes tensors of one type; `values` is asked for each in its turn, so that one is in memory at a time. The file
/// appears whole or not at all. Throws InputError where it cannot be written.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorName>& tensors, FloatType type,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<std::vector<float>(std::size_t)>& values);

}  // namespace skippipe
