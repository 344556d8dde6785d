// SPDX-License-Identifier: GPL-3.0-or-later
#include <iostream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/analysis/clock_words.h"
#include "core/analysis/export.h"
#include "core/analysis/frozen_run.h"
#include "core/experiment/io.h"

namespace skippipe::cli {

namespace {

struct ExportOptions {
    std::string run, format = "csv", what = "spans", output;
    int iteration = -1;
};

/// The plan that carries its experiment: `run` does with it what the run did.
std::string plan_text(const FrozenRun& frozen) {
    auto experiment = frozen.experiment;
    experiment.seeds = 1;
    return to_json(frozen.plan, frozen.problem, skippipe::to_json(experiment)).dump(2) + "\n";
}

void write_out(const ExportOptions& options, RunId run, const std::string& text, Context& context) {
    if (options.output.empty()) {
        std::cout << text;
        return;
    }
    write_file_atomically(options.output, text);
    if (context.json)
        std::cout << json_line(
                         {{"run", run}, {"format", options.format}, {"file", options.output}, {"bytes", text.size()}})
                  << '\n';
}

[[noreturn]] void refuse_empty(const char* what, RunId run, int iteration) {
    throw InputError(
        "RUN",
        fmt::format("run {} has no {}{}", run, what, iteration >= 0 ? fmt::format(" in iteration {}", iteration) : ""),
        "", "See `skippipe show`");
}

std::string metrics_text(Reader& reader, RunId run, int iteration) {
    auto metrics = reader.metrics(run);
    if (iteration >= 0) {
        std::erase_if(metrics, [&](const Metric& metric) { return metric.iteration != iteration; });
        if (metrics.empty()) refuse_empty("metrics", run, iteration);
    }
    std::ostringstream text;
    write_metrics_csv(text, metrics);
    return text.str();
}

std::string spans_text(Reader& reader, const RunInfo& info, const FrozenRun& frozen, const std::string& format,
                       int iteration) {
    const auto& problem = frozen.problem;
    const auto spans = reader.spans(info.id, iteration);
    if (spans.empty()) refuse_empty("spans", info.id, iteration);
    std::ostringstream text;
    if (format == "csv")
        write_spans_csv(text, spans, problem);
    else if (format == "chrome-trace")
        write_chrome_trace(text, spans, problem, recorded_plans(reader, info.id, problem), info.name);
    else
        text << timeline_svg(spans, problem, recorded_plan(reader, info.id, problem, iteration),
                             {.title = fmt::format("{}: run {}, iteration {}", info.name, info.id, iteration),
                              .clock = run_clock({frozen.experiment.execution.clock})});
    return text.str();
}

/// Options that the format would leave out of account.
void require_meant(const ExportOptions& options) {
    if (options.format != "csv" && options.what == "metrics")
        throw InputError("--what", "metrics as " + options.format, "they are a table", "Use --format csv");
    if (options.format == "plan" && options.iteration >= 0)
        throw InputError("--iteration", "a plan of one iteration", "the file repeats the run from its first one",
                         "Leave it out; `skippipe show --json` has later plans");
}

void export_run(const ExportOptions& options, Context& context) {
    require_meant(options);
    Reader reader(context.record);
    const auto info = find_run(reader, options.run);
    const auto frozen = read_frozen(reader, info.id);
    if (options.format == "plan" && info.first_iteration > 0)
        report({{"RUN", fmt::format("run {} is a fork and begins in the middle of another run", info.id),
                 "the file begins at the first iteration",
                 fmt::format("`skippipe report {} -o run.html` says how to repeat it", info.id),
                 Fault::Severity::warning}},
               false);
    if (options.format == "plan") return write_out(options, info.id, plan_text(frozen), context);
    if (options.format == "csv" && options.what == "metrics")
        return write_out(options, info.id, metrics_text(reader, info.id, options.iteration), context);
    const bool first = options.format == "svg" && options.iteration < 0;
    const int iteration = first ? first_drawable_iteration(reader, info.id) : options.iteration;
    write_out(options, info.id, spans_text(reader, info, frozen, options.format, iteration), context);
}

}  // namespace

void add_export(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExportOptions>();
    auto* verb = add_verb(
        app, context, "export", "A run as a file for other programs",
        "  skippipe export latest --format csv -o spans.csv\n  skippipe export 3 --format csv --what metrics\n"
        "  skippipe export 3 --format chrome-trace -o trace.json   (opens in Perfetto)\n  skippipe export 3 "
        "--format svg --iteration 0 -o timeline.svg\n  skippipe export 3 --format plan -o run-3.json && skippipe run "
        "run-3.json");
    verb->add_option("RUN", options->run, "Run number or `latest`")->required();
    verb->add_option("--format", options->format, "csv, chrome-trace, svg, or plan: what repeats the run exactly")
        ->check(CLI::IsMember({"csv", "chrome-trace", "svg", "plan"}))
        ->capture_default_str();
    verb->add_option("--what", options->what, "csv: spans or metrics")
        ->check(CLI::IsMember({"spans", "metrics"}))
        ->capture_default_str();
    verb->add_option("--iteration", options->iteration,
                     "Only this iteration; default: all (svg: the first that has spans)")
        ->check(CLI::NonNegativeNumber);
    verb->add_option("-o,--output", options->output, "File to write; default: standard output");
    verb->callback([options, &context] { export_run(*options, context); });
}

}  // namespace skippipe::cli
