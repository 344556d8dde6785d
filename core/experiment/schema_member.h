// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>

namespace skippipe {

/// The "$schema" of an experiment's text, by which editors know what it may hold: no part of the experiment, but who
/// saves a file that was opened keeps it. Empty where the text has none, or is no JSON.
std::string schema_of(std::string_view text);
/// The text that `to_text` made with that "$schema" first of all; empty: as it is.
std::string with_schema(std::string text, const std::string& schema);

}  // namespace skippipe
