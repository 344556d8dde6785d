// SPDX-License-Identifier: GPL-3.0-or-later
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/analysis/frozen_run.h"
#include "core/analysis/export.h"
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

void export_run(const ExportOptions& options, Context& context) {
    Reader reader(context.record);
    const auto info = find_run(reader, options.run);
    const auto frozen = read_frozen(reader, info.id);
    if (options.format == "plan") return write_out(options, info.id, plan_text(frozen), context);
    const int iteration = options.format == "svg" ? std::max(0, options.iteration) : options.iteration;
    const bool metrics = options.format == "csv" && options.what == "metrics";
    const auto spans = metrics ? std::vector<RecordedSpan>{} : reader.spans(info.id, iteration);
    if (!metrics && spans.empty())
        throw InputError("RUN",
                         fmt::format("run {} has no spans{}", info.id,
                                     iteration >= 0 ? fmt::format(" in iteration {}", iteration) : ""),
                         "", "See `skippipe show`");
    std::ostringstream text;
    if (metrics)
        write_metrics_csv(text, reader.metrics(info.id));
    else if (options.format == "csv")
        write_spans_csv(text, spans, frozen.problem);
    else if (options.format == "chrome-trace")
        write_chrome_trace(text, spans, frozen.problem, frozen.plan, info.name);
    else
        text << timeline_svg(spans, frozen.problem, frozen.plan,
                             {.title = fmt::format("{}: run {}, iteration {}", info.name, info.id, iteration)});
    write_out(options, info.id, text.str(), context);
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
    verb->add_option("--iteration", options->iteration, "Only this iteration; default: all (svg: the first)")
        ->check(CLI::NonNegativeNumber);
    verb->add_option("-o,--output", options->output, "File to write; default: standard output");
    verb->callback([options, &context] { export_run(*options, context); });
}

}  // namespace skippipe::cli
