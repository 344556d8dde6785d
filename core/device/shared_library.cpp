// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/shared_library.h"

#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/base/fault.h"

namespace skippipe {

SharedLibrary::SharedLibrary(std::string place, const std::vector<std::string>& names, const std::string& what,
                             const std::string& remedy)
    : place_(std::move(place)), remedy_(remedy) {
    std::string why;
    for (const auto& name : names) {
        handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        name_ = name;
        if (handle_) return;
        const char* said = ::dlerror();
        why += (why.empty() ? "" : "; ") + std::string(said ? said : name + " was not found");
    }
    throw InputError(place_, what + " is missing", why, remedy_);
}

void* SharedLibrary::address(const char* symbol) const {
    if (void* found = ::dlsym(handle_, symbol)) return found;
    throw InputError(place_, fmt::format("{} has no {}", name_, symbol), "it is older than what is needed here",
                     remedy_);
}

}  // namespace skippipe
