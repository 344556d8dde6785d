// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/paths.h"

#include "core/experiment/described.h"

namespace skippipe {

namespace {

/// Follows describe.h, which says what names a file: a field that comes later is not forgotten here.
struct MakeAbsolute {
    const std::filesystem::path& folder;

    void operator()(const char*, std::string& path, const Info& info) {
        if (info.file && !path.empty()) path = std::filesystem::absolute(folder / path).lexically_normal().string();
    }
    template <class T>
    void operator()(const char* key, std::vector<T>& list, const Info& info) {
        if constexpr (Described<T> || std::is_same_v<T, std::string>)
            for (auto& item : list) (*this)(key, item, info);
    }
    template <class T>
    void operator()(const char*, T& member, const Info&) {
        if constexpr (Described<T>) describe(*this, member);
    }
};

}  // namespace

Experiment with_absolute_paths(Experiment experiment, const std::filesystem::path& folder) {
    MakeAbsolute visitor{folder};
    describe(visitor, experiment);
    return experiment;
}

}  // namespace skippipe
