// SPDX-License-Identifier: GPL-3.0-or-later
// Which fields of an experiment have a meaning, and what some of them come to, in words. No widget.
#pragma once
#include <map>
#include <set>
#include <string>

#include <QString>

#include "core/base/fault.h"
#include "core/experiment/document.h"

namespace skippipe {

/// A part of the experiment that has a form.
enum class FormPart { pipeline, constraints, training, data, costs, recovery, execution, node };

/// Fields of that part without a meaning for the values beside them, by their keys. One that a fault speaks of stays,
/// to be corrected.
std::set<std::string> hidden_fields(FormPart part, const Experiment& e, const Faults& faults);
/// Whether nodes of one region pass the common switch: there are regions, and no matrix of hops replaces it.
bool has_switch(const Experiment& e);
/// What decides which rows are shown: with another value the form is built anew.
QString applying_key(const Experiment& e, const Faults& faults);

/// Fields of the pipeline that few experiments set: they stand below the others, folded.
const std::set<std::string>& seldom_fields();
/// How many of these are not as in a new experiment.
int seldom_set(const Pipeline& pipeline);

/// What holds for a node where a field of it is not set, with where it comes from, by the field's key: "3 (of
/// pipeline)". `has_errors`: nothing can be derived from the whole experiment.
std::map<std::string, QString> values_in_force(const Experiment& e, const Node& node, bool has_errors);

/// What a rule for planners means as it is set, in a sentence, by the key of its field; empty: it has none.
QString constraint_words(const std::string& key, const Experiment& e);
/// What a node's memory has to hold, and how many microbatches it does; of an experiment without errors.
QString memory_words(const Experiment& e, const Node& node);

}  // namespace skippipe
