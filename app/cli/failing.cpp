// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/failing.h"

#include <fmt/format.h>

#include "core/experiment/failure_text.h"
#include "core/experiment/failure_trace.h"
#include "core/experiment/text.h"
#include "core/experiment/validate.h"

namespace skippipe::cli {

void add_failure_options(CLI::App& verb, FailureOptions& options) {
    verb.add_option("--fail", options.texts,
                    "KIND:TARGET@WHEN, then xFACTOR and +BACK where wanted: one more failure, any number of times. "
                    "crash:node-3@120s+60s, stage-loss:any@3%, slow-down:node-2@iteration=5x3, link-cut:a->b@0.5/h+30s")
        ->allow_extra_args(false);
    verb.add_option("--trace", options.trace, "CSV of node,down_s,up_s: a crash a row, in seconds of network time");
}

void add_failures(Experiment& experiment, const FailureOptions& options) {
    auto& failures = experiment.failures;
    const auto first = failures.size();
    for (const auto& text : options.texts) failures.push_back(parse_failure(text, "--fail"));
    if (!options.trace.empty()) {
        const auto trace = load_failure_trace(options.trace, experiment.topology);
        failures.insert(failures.end(), trace.begin(), trace.end());
    }
    if (failures.size() == first) return;
    // Faults of a text name the option; those of what the document lacks for it, the document.
    Faults faults;
    for (auto fault : validate(experiment)) {
        if (fault.severity != Fault::Severity::error) continue;
        for (std::size_t i = 0; i < options.texts.size(); ++i) {
            const auto pointer = fmt::format("/failures/{}", first + i);
            if (fault.pointer != pointer && !fault.pointer.starts_with(pointer + "/")) continue;
            fault.pointer = "--fail";
            fault.what = in_quotes(options.texts[i]) + ": " + fault.what;
            break;
        }
        add_fault(faults, fault);
    }
    if (has_errors(faults)) throw InputError(faults);
}

}  // namespace skippipe::cli
