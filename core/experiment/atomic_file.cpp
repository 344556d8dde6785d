// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "core/base/fault.h"

namespace skippipe {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* action, int error) {
    throw InputError(path.string(), fmt::format("cannot {}: {}", action, std::strerror(error)),
                     "nothing was saved there",
                     "Check that the folder exists, is writable and has room, or save elsewhere");
}

/// Of the file that is replaced; else what a new file gets.
mode_t mode_for(const fs::path& target) {
    struct stat status {};
    if (::stat(target.c_str(), &status) == 0) return status.st_mode & 07777u;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666u & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : target_(path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (fs::is_directory(status)) fail(path, "write", EISDIR);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (descriptor_ < 0) fail(path, "write", errno);
        return;
    }
    if (fs::is_symlink(path, error)) {
        target_ = fs::weakly_canonical(path, error);
        if (error) fail(path, "follow its links", error.value());
    }
    name_ = target_.string() + ".XXXXXX";
    descriptor_ = ::mkstemp(name_.data());
    if (descriptor_ < 0) fail(target_, "create a file in its folder", errno);
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty() && !renamed_) ::unlink(name_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail(target_, "write", errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void AtomicFile::commit() {
    if (name_.empty()) return;  // a device or a pipe: it has all
    if (::fchmod(descriptor_, mode_for(target_)) != 0) fail(target_, "set its permissions", errno);
    if (::fsync(descriptor_) != 0) fail(target_, "flush it to the disk", errno);
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "replace it", errno);
    renamed_ = true;
    const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    if (const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); handle >= 0) {
        ::fsync(handle);
        ::close(handle);
    }
}

}  // namespace skippipe
