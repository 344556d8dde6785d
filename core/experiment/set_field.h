// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace skippipe {

/// JSON, or where it is none the text itself: "0.25" is a number, "gpipe" a text.
nlohmann::ordered_json value_of_text(const std::string& text);

/// Where a field is, named as below. Throws InputError at `option` where that is no name.
nlohmann::ordered_json::json_pointer field_pointer(const std::string& field, const std::string& option);

/// Sets one field of a document. `field` is its names and places in lists between dots: "training.learning_rate",
/// "topology.nodes.0.rank". Throws InputError at `option` where the document has no such part, or no such entry of a
/// list; whether the field is known, and the value fits, is said when the document is parsed.
void set_field(nlohmann::ordered_json& document, const std::string& field, const nlohmann::ordered_json& value,
               const std::string& option);

}  // namespace skippipe
