// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/set_field.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/experiment/text.h"

namespace skippipe {

nlohmann::ordered_json value_of_text(const std::string& text) {
    const auto parsed = nlohmann::ordered_json::parse(text, nullptr, false);
    return parsed.is_discarded() ? nlohmann::ordered_json(text) : parsed;
}

nlohmann::ordered_json::json_pointer field_pointer(const std::string& field, const std::string& option) {
    if (field.empty() || field.find_first_of("/~") != std::string::npos)
        throw InputError(option, in_quotes(field) + " is no field's name", "", "Write it as training.learning_rate");
    // JSON's own exception would come of a place in a list that no number holds.
    for (std::size_t digits = 0; const char c : field) {
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        if (digits > 9)
            throw InputError(option, in_quotes(field) + " names no entry of a list", "", "They count from 0");
    }
    std::string pointer = "/" + field;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    return nlohmann::ordered_json::json_pointer(pointer);
}

void set_field(nlohmann::ordered_json& document, const std::string& field, const nlohmann::ordered_json& value,
               const std::string& option) {
    const auto refuse = [&](const char* what, const char* remedy) {
        throw InputError(option, fmt::format("{} {}", in_quotes(field), what), "", remedy);
    };
    const auto place = field_pointer(field, option);
    // Of a list only entries that are there: `contains` answers no for what is no number.
    if (!document.contains(place.parent_pointer()) || !document[place.parent_pointer()].is_structured())
        refuse("names no part of the document", "`skippipe schema` lists all fields");
    auto& part = document[place.parent_pointer()];
    if (part.is_array() && !document.contains(place)) refuse("names no entry of the list", "They count from 0");
    (part.is_array() ? document[place] : part[place.back()]) = value;
}

}  // namespace skippipe
