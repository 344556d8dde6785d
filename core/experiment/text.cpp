// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace skippipe {

namespace {

/// Length of the well-formed UTF-8 sequence at `i`, 0 where there is none.
std::size_t sequence_length(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
    const auto tail = [&](std::size_t k) { return (byte(k) & 0xC0u) == 0x80u; };
    const unsigned first = byte(i);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return tail(i + 1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const unsigned second = byte(i + 1);
        const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F);
        return !bad && tail(i + 1) && tail(i + 2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned second = byte(i + 1);
        const bool bad = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
        return !bad && tail(i + 1) && tail(i + 2) && tail(i + 3) ? 4 : 0;
    }
    return 0;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (std::tolower(static_cast<unsigned char>(a[i - 1])) !=
                                                     std::tolower(static_cast<unsigned char>(b[j - 1])));
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

void add_fault(Faults& faults, Fault fault) {
    if (is_full(faults)) return;
    if (faults.size() == max_faults)
        fault = {"", fmt::format("more than {} faults", max_faults), "the rest is not listed", "Mend these first"};
    faults.push_back(std::move(fault));
}

std::string in_quotes(std::string_view text, std::size_t limit) {
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequence_length(text, i);
        if (out.size() + std::max<std::size_t>(length, 1) > limit + 1) return out + "...\"";
        const auto byte = static_cast<unsigned char>(text[i]);
        if (length == 0 || byte < 0x20 || byte == 0x7F)
            out += '?';
        else
            out += text.substr(i, length);
        i += std::max<std::size_t>(length, 1);
    }
    return out + '"';
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::string shown(const nlohmann::ordered_json& value) {
    if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
    if (value.is_array()) return "a list";
    if (value.is_object()) return "an object";
    if (value.is_number_float()) return number_text(value.get<double>());
    return value.dump();
}

std::string choices(const std::vector<std::string_view>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
        text += in_quotes(words[i]);
    }
    return text;
}

std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates) {
    std::string_view best;
    if (word.empty() || word.size() > 64 || candidates.size() > 1000) return best;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto candidate : candidates) {
        if (candidate.size() > 64) continue;
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return best;
}

std::string pointer_step(std::string_view key) {
    std::string step = "/";
    for (const char c : key.substr(0, 200)) {
        if (c == '~')
            step += "~0";
        else if (c == '/')
            step += "~1";
        else
            step += c;
    }
    return step;
}

}  // namespace skippipe
