// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace skippipe {

/// A file that is written piece by piece beside its target and takes the target's place at once, or disappears without
/// a trace: no half file is ever seen. A device or a pipe is written at once, and stays what it is. Every member throws
/// InputError where the system refuses.
class AtomicFile {
public:
    /// A symbolic link is followed: what it points to is replaced.
    explicit AtomicFile(const std::filesystem::path& path);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::string_view bytes);
    /// Flushes to the disk and renames.
    void commit();

private:
    std::filesystem::path target_;
    std::string name_;
    int descriptor_ = -1;
    bool renamed_ = false;
};

}  // namespace skippipe
