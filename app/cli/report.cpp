// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe report`: runs as a page that stands alone.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/verbs.h"
#include "core/analysis/report.h"
#include "core/base/build_info.h"
#include "core/base/shell.h"
#include "core/experiment/io.h"

namespace skippipe::cli {
namespace {

struct PageOptions {
    std::vector<std::string> runs;
    std::string output, title, question, over = "network-time";
    bool no_timelines = false;
};

/// As a person types it: in quotes only where the shell would read it otherwise.
std::string shell_word(const std::string& text) {
    const bool is_plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || std::string_view("._-+/").find(static_cast<char>(c)) != std::string_view::npos;
    });
    return is_plain && !text.empty() ? text : in_shell_quotes(text);
}

/// The command that writes the same as PDF, which needs the window's fonts.
std::string pdf_command(const PageOptions& options, const std::vector<RunInfo>& runs, const Context& context) {
    std::vector<RunId> numbers;
    numbers.reserve(runs.size());
    for (const auto& run : runs) numbers.push_back(run.id);
    auto command =
        fmt::format("skippipe-studio --report {} --runs {}", shell_word(options.output), fmt::join(numbers, ","));
    if (!options.question.empty()) command += " --question " + in_shell_quotes(options.question);
    if (context.record != default_record_path()) command += " --db " + shell_word(context.record.string());
    return command;
}

/// The name's ending says the format: this program writes HTML.
bool is_pdf(const std::string& output) {
    auto ending = std::filesystem::path(output).extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
    return ending == ".pdf";
}

void write_report(const PageOptions& options, Context& context) {
    Reader reader(context.record);
    std::vector<RunInfo> infos;
    for (const auto& name : options.runs) infos.push_back(find_run(reader, name));
    if (is_pdf(options.output))
        throw InputError("--output", options.output + " would be HTML under a name that says PDF",
                         "this program writes the page as HTML", "For PDF: " + pdf_command(options, infos, context));
    std::vector<ReportRun> runs;
    for (const auto& info : infos) {
        runs.push_back(read_report_run(reader, info, !options.no_timelines));
        if (!runs.back().note.empty())
            std::cerr << fmt::format("note: no accounting and no timeline of run {}: {}\n", runs.back().info.id,
                                     runs.back().note);
    }
    const auto title = options.title.empty() ? report_title(runs) : options.title;
    const auto text = report_html(runs, {.title = title,
                                         .question = options.question,
                                         .x = work_axis(options.over).value_or(WorkAxis::network_time),
                                         .program = fmt::format("skippipe {}", version)});
    write_file_atomically(options.output, text);
    if (context.json)
        std::cout << json_line({{"file", options.output}, {"runs", runs.size()}, {"bytes", text.size()}}) << '\n';
    else
        std::cout << fmt::format("{} runs in {}\n", runs.size(), options.output);
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
    auto options = std::make_shared<PageOptions>();
    auto* verb = add_verb(app, context, "report",
                          "Runs as one HTML page that stands alone: differences, figures, losses, timelines, how to "
                          "repeat (the first run is the baseline)",
                          "  skippipe report 1 2 3 -o skip.html --question \"Does leaving stages out pay?\"\n"
                          "  skippipe report latest -o run.html\n"
                          "As PDF:\n"
                          "  skippipe-studio --report skip.pdf --runs 1,2,3");
    verb->add_option("RUN", options->runs, "Run numbers; the first is the baseline")->required()->expected(1, 100);
    verb->add_option("-o,--output", options->output, "File to write, .html")->required();
    verb->add_option("--title", options->title, "Its title; default: the experiment's name");
    verb->add_option("--question", options->question, "What the runs were made to answer");
    verb->add_option("--over", options->over, "What losses are drawn and compared over")
        ->check(
            CLI::IsMember({"iteration", "tokens", "microbatches", "flops", "network-time", "machine-time", "money"}))
        ->capture_default_str();
    verb->add_flag("--no-timelines", options->no_timelines, "Leave the timelines out");
    verb->callback([options, &context] { write_report(*options, context); });
}

}  // namespace skippipe::cli
