// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/fault.h"

namespace samples {

inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::filesystem::path resources() { return std::filesystem::path(SKIPPIPE_SOURCE_DIR) / "resources"; }
inline std::filesystem::path test_data() { return std::filesystem::path(SKIPPIPE_SOURCE_DIR) / "tests" / "data"; }

/// A small experiment without faults.
inline std::string small() { return text_of(test_data() / "small.json"); }

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("not in the sample: " + from);
    return text.replace(at, from.size(), to);
}

inline const skippipe::Fault* find(const skippipe::Faults& faults, const std::string& pointer) {
    const auto found =
        std::find_if(faults.begin(), faults.end(), [&](const auto& fault) { return fault.pointer == pointer; });
    return found == faults.end() ? nullptr : &*found;
}

inline std::string listed(const skippipe::Faults& faults) {
    std::string text;
    for (const auto& fault : faults) text += to_string(fault) + "\n";
    return text;
}

}  // namespace samples
