// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "core/experiment/io.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* action, int error) {
    throw InputError(path.string(), fmt::format("cannot {}: {}", action, std::strerror(error)), "nothing was saved there",
                     "Check that the folder exists, is writable and has room, or save elsewhere");
}

/// A file beside the target that disappears again unless it is renamed to it.
class TemporaryFile {
public:
    explicit TemporaryFile(const fs::path& target) : target_(target) {
        const std::string pattern = target.string() + ".XXXXXX";
        name_.assign(pattern.c_str(), pattern.c_str() + pattern.size() + 1);
        descriptor_ = ::mkstemp(name_.data());
        if (descriptor_ < 0) fail(target_, "create a file in its folder", errno);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (!renamed_) ::unlink(name_.data());
    }

    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto written = ::write(descriptor_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) fail(target_, "write", errno);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    void become_target() {
        if (::fchmod(descriptor_, mode()) != 0) fail(target_, "set its permissions", errno);
        if (::fsync(descriptor_) != 0) fail(target_, "flush it to the disk", errno);
        if (::rename(name_.data(), target_.c_str()) != 0) fail(target_, "replace it", errno);
        renamed_ = true;
        const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
        if (const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); handle >= 0) {
            ::fsync(handle);
            ::close(handle);
        }
    }

private:
    /// Of the file that is replaced; else what a new file gets.
    mode_t mode() const {
        struct stat status {};
        if (::stat(target_.c_str(), &status) == 0) return status.st_mode & 07777u;
        const mode_t mask = ::umask(0);
        ::umask(mask);
        return 0666u & ~mask;
    }

    fs::path target_;
    std::vector<char> name_;
    int descriptor_ = -1;
    bool renamed_ = false;
};

}  // namespace

std::string read_file(const fs::path& path, Faults& faults, const JsonLimits& limits) {
    const auto refuse = [&](std::string what, std::string remedy) {
        add_fault(faults, {path.string(), std::move(what), "nothing could be read", std::move(remedy)});
        return std::string();
    };
    std::error_code error;
    if (fs::is_directory(path, error)) return refuse("is a folder", "Name a file in it");
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return refuse(fmt::format("cannot be opened: {}", std::strerror(errno)), "Check the name and its permissions");
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
    std::error_code error;
    const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path) : path;
    if (fs::is_directory(target, error)) fail(target, "write", EISDIR);
    TemporaryFile file(target);
    file.write(bytes);
    file.become_target();
}

}  // namespace skippipe
