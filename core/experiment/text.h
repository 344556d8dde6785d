// SPDX-License-Identifier: GPL-3.0-or-later
// Words for faults: values from outside made safe to print, suggestions, and a bound on how many faults are kept.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/fault.h"

namespace skippipe {

inline constexpr std::size_t max_faults = 1000;

/// No further fault would be kept, so none need be worded.
inline bool is_full(const Faults& faults) { return faults.size() > max_faults; }

/// Appends a fault; past `max_faults` only one last fault that says so.
void add_fault(Faults& faults, Fault fault);

/// The text in double quotes, cut to `limit` bytes; control characters and ill-formed UTF-8 become '?'.
std::string in_quotes(std::string_view text, std::size_t limit = 60);

/// A JSON value for a message: `"abc"`, `3.5`, `true`, `a list`, `an object`.
std::string shown(const nlohmann::ordered_json& value);

/// The shortest decimal that reads back as the same double.
std::string number_text(double value);

/// `"a", "b" or "c"`.
std::string choices(const std::vector<std::string_view>& words);

/// The candidate closest by edit distance, empty where none is close enough to be what was meant or there are over
/// 1,000.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);

/// One more step of a JSON pointer (RFC 6901): "/" and the key, with ~ and / escaped.
std::string pointer_step(std::string_view key);

}  // namespace skippipe
