// SPDX-License-Identifier: GPL-3.0-or-later
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/experiment/atomic_file.h"
#include "core/experiment/io.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path, Faults& faults, const JsonLimits& limits) {
    const auto refuse = [&](std::string what, std::string remedy) {
        add_fault(faults, {path.string(), std::move(what), "nothing could be read", std::move(remedy)});
        return std::string();
    };
    std::error_code error;
    if (fs::is_directory(path, error)) return refuse("is a folder", "Name a file in it");
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr)
        return refuse(fmt::format("cannot be opened: {}", std::strerror(errno)), "Check the name and its permissions");
    std::string bytes;
    std::vector<char> chunk(1u << 16);
    std::size_t count = 0;
    while (bytes.size() <= limits.bytes && (count = std::fread(chunk.data(), 1, chunk.size(), file)) > 0)
        bytes.append(chunk.data(), count);
    const bool broken = std::ferror(file) != 0;
    std::fclose(file);
    if (broken) return refuse("cannot be read to its end", "Check the disk, or copy the file elsewhere");
    if (bytes.size() > limits.bytes)
        return refuse(fmt::format("holds more than {} bytes", limits.bytes), "Check that this is the right file");
    return bytes;
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

}  // namespace skippipe
