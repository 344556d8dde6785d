// SPDX-License-Identifier: GPL-3.0-or-later
// Which fields of an experiment have a meaning, and what some of them come to, in words. No widget.
#pragma once
#include <set>
#include <string>

#include <QString>

#include "core/experiment/document.h"

namespace skippipe {

/// What decides which fields apply: with another value other rows are shown.
QString applying_key(const Experiment& e);
/// Fields without a meaning for the values beside them, by their keys.
std::set<std::string> hidden_data_fields(const Experiment& e);
std::set<std::string> hidden_node_fields(const Experiment& e);
/// What a node's memory has to hold, and how many microbatches it does; of an experiment without errors.
QString memory_words(const Experiment& e, const Node& node);

}  // namespace skippipe
