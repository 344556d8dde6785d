// SPDX-License-Identifier: GPL-3.0-or-later
// The document's fields in the words that people read.
#pragma once
#include <string>

#include <QString>

namespace skippipe {

/// "Run 4" of "run 4".
QString capitalised(QString words);
/// What a field is called where people read it: "Samples per microbatch" of "microbatch_samples".
QString label_of(const char* key);
/// A fault's words without the names that fields have in files, where they stand behind what fields are called here:
/// "Leave out Microbatches in memory" of "Leave out Microbatches in memory (memory_microbatches)".
QString without_keys(QString words);
/// What a JSON pointer into the document points at: "Skip ratio" of "/pipeline/skip_ratio", "n3, memory", and of an
/// element that has no name "Nodes 3, memory".
QString place_words(const std::string& pointer);

}  // namespace skippipe
