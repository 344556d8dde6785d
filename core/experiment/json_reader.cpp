// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/json_reader.h"

#include <fmt/format.h>

#include "core/base/format.h"

namespace skippipe {

namespace {

/// Bytes with a prefix: nobody counts fifteen zeros.
std::string limit_text(double value, std::string_view unit) {
    if (value != 0 && (unit == "B" || unit == "B/s")) return format_si(value, unit);
    return unit.empty() ? number_text(value) : fmt::format("{} {}", number_text(value), unit);
}

std::string range_text(const Info& info) {
    const bool below = std::isfinite(info.min), above = std::isfinite(info.max);
    const std::string most = limit_text(info.max, info.unit), least = limit_text(info.min, info.unit);
    if (below && above && !info.above_min) return fmt::format("from {} to {}", number_text(info.min), most);
    if (below && above) return fmt::format("above {} and at most {}", number_text(info.min), most);
    if (below) return fmt::format("{} {}", info.above_min ? "above" : "of at least", least);
    if (above) return fmt::format("of at most {}", most);
    return "";
}

std::string wish(const char* wanted, const Info& info) {
    const std::string range = range_text(info);
    return fmt::format("Give {}{}{}", wanted, range.empty() ? "" : " ", range);
}

}  // namespace

void JsonReader::fault(std::string what, std::string why, std::string remedy) {
    add_fault(faults_, {pointer_, std::move(what), std::move(why), std::move(remedy)});
}

void JsonReader::wrong_type(const Json& value, const char* wanted, const Info& info) {
    if (full()) return;
    fault(fmt::format("{} is not {}", shown(value), wanted), info.doc, wish(wanted, info));
}

void JsonReader::missing(std::string_view key, const Info& info) {
    fault(fmt::format("{} is missing", in_quotes(key)), info.doc, fmt::format("Add {}", in_quotes(key)));
}

void JsonReader::unknown(std::string_view key, const std::vector<std::string_view>& known) {
    if (full()) return;
    const auto step = into(key);
    const auto meant = closest(key, known);
    fault(fmt::format("unknown key {}", in_quotes(key)), "it would have no effect",
          meant.empty() ? fmt::format("Remove it; known here are {}", choices(known))
                        : fmt::format("Did you mean {}?", in_quotes(meant)));
}

void JsonReader::unknown_word(const std::string& word, const std::vector<std::string_view>& words, const Info& info) {
    if (full()) return;
    const auto meant = closest(word, words);
    fault(fmt::format("{} is none of {}", in_quotes(word), choices(words)), info.doc,
          meant.empty() ? fmt::format("Choose {}", choices(words)) : fmt::format("Did you mean {}?", in_quotes(meant)));
}

bool JsonReader::in_range(double number, const Info& info) {
    const bool fits = info.above_min ? number > info.min : number >= info.min;
    if (fits && number <= info.max) return true;
    if (full()) return false;
    fault(fmt::format("{} is out of range", number_text(number)), info.doc, wish("a number", info));
    return false;
}

bool JsonReader::whole_number(const Json& value, double& number, const Info& info) {
    if (!value.is_number()) {
        wrong_type(value, "a whole number", info);
        return false;
    }
    number = value.get<double>();
    if (std::isfinite(number) && number == std::trunc(number)) return true;
    wrong_type(value, "a whole number", info);
    return false;
}

bool JsonReader::read(const Json& value, bool& member, const Info& info) {
    if (value.is_boolean()) {
        member = value.get<bool>();
        return true;
    }
    wrong_type(value, "true or false", info);
    return false;
}

bool JsonReader::read(const Json& value, double& member, const Info& info) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
        wrong_type(value, "a number", info);
        return false;
    }
    if (!in_range(value.get<double>(), info)) return false;
    member = value.get<double>();
    return true;
}

bool JsonReader::read(const Json& value, std::string& member, const Info& info) {
    if (value.is_string()) {
        member = value.get<std::string>();
        return true;
    }
    wrong_type(value, "a text", info);
    return false;
}

}  // namespace skippipe
