// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <sys/wait.h>

#include "app/cli/verbs.h"
#include "core/base/format.h"

namespace skippipe::cli {

namespace {

/// The benchmark programs, found beside this one.
std::vector<std::filesystem::path> programs(const std::string& only) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::read_symlink("/proc/self/exe").parent_path())) {
        const auto name = entry.path().filename().string();
        if (name.rfind("bench_", 0) == 0 && name.find('.') == std::string::npos && name.find(only) != std::string::npos)
            found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    if (found.empty())
        throw InputError("bench", "no benchmark program of that name", "they are built with the tests",
                         "Build them with `./studio build`, and see --only");
    return found;
}

/// One JSON object a line: {"name", "value", "unit", "baseline", "baseline_value", "ratio", "threads", "ceiling"}.
bool run_program(const std::filesystem::path& program, bool long_runs, std::vector<nlohmann::ordered_json>& figures) {
    const std::string command = "'" + program.string() + "'" + (long_runs ? " --long" : "");
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return false;
    std::string text;
    char chunk[4096];
    for (std::size_t n; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) text.append(chunk, n);
    const int status = ::pclose(pipe);
    for (std::size_t from = 0; from < text.size();) {
        const auto end = std::min(text.find('\n', from), text.size());
        auto figure = nlohmann::ordered_json::parse(text.substr(from, end - from), nullptr, false);
        if (figure.is_object() && figure.contains("name")) figures.push_back(std::move(figure));
        from = end + 1;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string cell(const nlohmann::ordered_json& figure, const char* key) {
    const auto value = figure.find(key);
    if (value == figure.end() || value->is_null()) return std::string{no_number};
    if (value->is_string()) return value->get<std::string>();
    return value->is_number() ? format_number(value->get<double>()) : value->dump();
}

void bench(const std::string& only, bool long_runs, Context& context) {
    std::vector<nlohmann::ordered_json> figures;
    for (const auto& program : programs(only)) {
        std::cerr << "running " << program.filename().string() << '\n';
        if (!run_program(program, long_runs, figures)) {
            std::cerr << "error: " << program.string() << " failed\n";
            context.exit_code = run_failed;
        }
    }
    if (context.json) {
        std::cout << nlohmann::ordered_json(figures).dump() << '\n';
        return;
    }
    std::vector<std::vector<std::string>> rows{{"figure", "value", "unit", "ratio", "baseline", "threads", "ceiling"}};
    for (const auto& f : figures)
        rows.push_back({cell(f, "name"), cell(f, "value"), cell(f, "unit"), cell(f, "ratio"),
                        cell(f, "baseline_value") + "  " + cell(f, "baseline"), cell(f, "threads"),
                        cell(f, "ceiling")});
    std::cout << table(rows);
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
    struct Options {
        std::string only;
        bool long_runs = false;
    };
    auto options = std::make_shared<Options>();
    auto* verb = add_verb(app, context, "bench", "Measure speed and memory on this machine and print the table",
                          "  skippipe bench\n  skippipe bench --only planner --json");
    verb->add_option("--only", options->only, "Only programs whose name contains this");
    verb->add_flag("--long", options->long_runs, "Also what takes minutes");
    verb->callback([options, &context] { bench(options->only, options->long_runs, context); });
}

}  // namespace skippipe::cli
