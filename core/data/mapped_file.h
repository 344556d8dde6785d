// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace skippipe {

/// The bytes of a file, read from the disk as they are touched; valid while `owner` lives. As with every mapped file,
/// whoever shortens it meanwhile ends the program.
struct MappedFile {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
    std::size_t size = 0;
};

/// Throws InputError at `pointer` where it is not a readable regular file; `why` says what it is for.
MappedFile map_file(const std::filesystem::path& path, const std::string& pointer,
                    const char* why = "it holds data to train on");

}  // namespace skippipe
