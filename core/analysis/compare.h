// SPDX-License-Identifier: GPL-3.0-or-later
// What differs between runs: parameters and figures, each against a baseline. Pure: values in, values out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/record/record.h"

namespace skippipe {

struct ParameterDifference {
    /// JSON pointer into the experiments. Elements of arrays whose elements all have an `id` of their own are matched
    /// by it, links by their ends:
    /// "/topology/nodes/berlin/memory_microbatches", "/topology/links/a->b/latency_s".
    std::string pointer;
    std::vector<std::optional<std::string>> values;  ///< JSON text, one a run; absent: that run has no such field
    bool operator==(const ParameterDifference&) const = default;
};

/// A document as it is held against others where people read it: each failure one line of words, since field by field
/// they say nothing. `failures`: the document's.
nlohmann::ordered_json comparable(nlohmann::ordered_json document, const std::vector<Failure>& failures);

/// A parameter's value as people read it: words without quotes, several on one line, "none" for an empty list; else
/// JSON.
std::string value_words(const nlohmann::ordered_json& value);

/// Parameters that are not the same in all experiments, in the order of the first document that has them.
/// Equal numbers are equal however they are written (1 and 1.0).
/// With `plans`, one a run: a skip ratio that only some of the plans heed is not the same either.
std::vector<ParameterDifference> differing_parameters(const std::vector<nlohmann::ordered_json>& experiments,
                                                      const std::vector<const Plan*>& plans = {});
/// Whether the run did without it: a skip ratio where its plan visits all stages.
bool is_unused(const ParameterDifference& difference, std::size_t run, const Plan& plan);
/// What is said instead of such a value.
inline constexpr const char* without_it = "0 (full pipeline)";

/// Whether a smaller figure is the better one.
enum class Better { smaller, larger, neither };

struct Figure {
    std::string name;  ///< "iteration_s", "last_validation_loss", ...
    std::string unit;  ///< "s", "tokens/s", "" ...
    Better better = Better::neither;
    std::vector<std::optional<double>> values;  ///< one a run
    std::vector<std::optional<double>> deltas;  ///< value - baseline's; absent where one of them is
    std::vector<std::optional<double>> ratios;  ///< value / baseline's - 1; absent also where the baseline's is 0
};

/// Fills `deltas` and `ratios` from `values`; `baseline` is an index into them.
void add_deltas(Figure& figure, std::size_t baseline);

/// The figures that at least one of the runs has; `baseline` is an index into `runs` (out of range: the first).
std::vector<Figure> compare_figures(const std::vector<RunInfo>& runs, std::size_t baseline = 0);

}  // namespace skippipe
