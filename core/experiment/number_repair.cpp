// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/number_repair.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "core/experiment/text.h"

namespace skippipe {

namespace {

bool in_token(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.'; }

std::size_t string_end(std::string_view text, std::size_t i) {
    for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    return std::min(i + 1, text.size());
}

bool is_overflow(std::string_view token) {
    if (token.size() < 309 && token.find_first_of("eE") == std::string_view::npos) return false;
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (end != token.data() + token.size() || error != std::errc::result_out_of_range) return false;
    return std::isinf(std::strtod(std::string(token).c_str(), nullptr));  // out of range may also mean too small
}

bool is_not_finite(std::string_view token) {
    std::string word;
    for (const char c : token) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.erase(0, 1);
    return word == "nan" || word == "inf" || word == "infinity";
}

}  // namespace

RepairedText::RepairedText(std::string_view original) : original_(original) {
    std::size_t copied = 0, nulls = 0;
    for (std::size_t i = 0; i < original.size();) {
        if (original[i] == '"') {
            i = string_end(original, i);
            continue;
        }
        if (!in_token(original[i])) {
            ++i;
            continue;
        }
        std::size_t end = i;
        while (end < original.size() && in_token(original[end])) ++end;
        const auto token = original.substr(i, end - i);
        if (token == "null") {
            ++nulls;
        } else if (is_overflow(token) || (token.size() <= 9 && is_not_finite(token))) {
            words_.emplace(nulls++, std::string(token.substr(0, 40)));
            repaired_ += original.substr(copied, i - copied);
            repaired_ += "null";
            copied = end;
            shifts_.push_back(
                {repaired_.size(), static_cast<std::ptrdiff_t>(end) - static_cast<std::ptrdiff_t>(repaired_.size())});
        }
        i = end;
    }
    if (!repaired_.empty()) repaired_ += original.substr(copied);
}

Fault RepairedText::fault(std::size_t null, std::string pointer) const {
    return {std::move(pointer), fmt::format("{} is no finite number", words_.at(null)),
            "JSON has none such, and no time or size is infinite", "Give a finite number"};
}

RepairedText::Place RepairedText::place(std::size_t position) const {
    const auto after = std::upper_bound(shifts_.begin(), shifts_.end(), position,
                                        [](std::size_t p, const Shift& shift) { return p < shift.position; });
    const std::ptrdiff_t offset = after == shifts_.begin() ? 0 : std::prev(after)->offset;
    Place place;
    place.byte = std::min(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(position) + offset), original_.size());
    if (place.byte > 0) --place.byte;  // the parser counts what it has read, the offending byte included
    const auto before = original_.substr(0, place.byte);
    place.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const auto newline = before.rfind('\n');
    place.column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    return place;
}

}  // namespace skippipe
