// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>

namespace skippipe {

/// The text as a POSIX shell takes it for one word, whatever is in it: in single quotes.
inline std::string in_shell_quotes(std::string_view text) {
    std::string word = "'";
    for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return word + "'";
}

}  // namespace skippipe
