// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/fault.h"

namespace skippipe {

MappedFile map_file(const std::filesystem::path& path, const std::string& pointer, const char* why) {
    const auto refuse = [&](const std::string& reason) {
        return InputError(pointer, path.string() + " cannot be read: " + reason, why,
                          "Check the name and its permissions");
    };
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw refuse(std::strerror(errno));
    const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor, [](const int* d) { ::close(*d); });
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) throw refuse(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) throw refuse("it is not a file");
    MappedFile file;
    file.size = static_cast<std::size_t>(status.st_size);
    if (file.size == 0) return file;
    void* const data = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) throw refuse(std::strerror(errno));
    file.owner = std::shared_ptr<const void>(
        data, [size = file.size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
    file.data = static_cast<const std::byte*>(data);
    return file;
}

}  // namespace skippipe
