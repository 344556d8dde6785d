// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
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

/// Columns: figures come one after the other, so their widths are not known beforehand.
constexpr std::size_t name_width = 62, number_width = 9;

std::string cell(const nlohmann::ordered_json& figure, const char* key) {
    const auto value = figure.find(key);
    if (value == figure.end() || value->is_null()) return std::string{no_number};
    if (value->is_string()) return value->get<std::string>();
    return value->is_number() ? format_number(value->get<double>()) : value->dump();
}

std::string row(const std::string& name, const std::string& value, const std::string& unit, const std::string& ratio,
                const std::string& baseline, const std::string& threads, const std::string& ceiling) {
    return fmt::format("{:<{}}  {:>{}} {:<15} {:>{}} {:>7}  {}{}\n", name, name_width, value, number_width, unit, ratio,
                       number_width, threads, baseline, ceiling.empty() ? "" : "; " + ceiling);
}

std::string row(const nlohmann::ordered_json& f) {
    const auto baseline = cell(f, "baseline_value") + " " + cell(f, "baseline");
    const auto ceiling = f.find("ceiling");
    return row(cell(f, "name"), cell(f, "value"), cell(f, "unit"), cell(f, "ratio"), baseline, cell(f, "threads"),
               ceiling == f.end() || ceiling->is_null() ? "" : cell(f, "ceiling"));
}

/// Hands on each figure as the program prints it, one JSON object a line: {"name", "value", "unit", "baseline",
/// "baseline_value", "ratio", "threads", "ceiling"}. False where the program fails.
bool run_program(const std::filesystem::path& program, bool long_runs,
                 const std::function<void(nlohmann::ordered_json)>& take) {
    const std::string command = "'" + program.string() + "'" + (long_runs ? " --long" : "");
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return false;
    char* line = nullptr;
    std::size_t size = 0;
    while (::getline(&line, &size, pipe) > 0) {
        auto figure = nlohmann::ordered_json::parse(line, nullptr, false);
        if (figure.is_object() && figure.contains("name")) take(std::move(figure));
    }
    std::free(line);
    const int status = ::pclose(pipe);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Each row as it comes; on standard error which program runs, and how many are left.
void bench(const std::string& only, bool long_runs, Context& context) {
    const auto start = std::chrono::steady_clock::now();
    auto figures = nlohmann::ordered_json::array();
    if (!context.json)
        std::cout << row("figure", "value", "unit", "ratio", "baseline; ceiling", "threads", "") << std::flush;
    const auto all = programs(only);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        std::cerr << fmt::format("{} ({} of {}, {} so far)\n", all[i].filename().string(), i + 1, all.size(),
                                 format_seconds(passed.count()));
        const bool ended = run_program(all[i], long_runs, [&](nlohmann::ordered_json figure) {
            if (!context.json) std::cout << row(figure) << std::flush;
            figures.push_back(std::move(figure));
        });
        if (ended) continue;
        std::cerr << "error: " << all[i].string() << " failed\n";
        context.exit_code = run_failed;
    }
    if (context.json) std::cout << json_line(figures) << '\n';
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
    struct Options {
        std::string only;
        bool long_runs = false;
    };
    auto options = std::make_shared<Options>();
    auto* verb =
        add_verb(app, context, "bench", "Measure speed and memory on this machine; each figure is printed as it comes",
                 "  skippipe bench\n  skippipe bench --only planner --json");
    verb->add_option("--only", options->only, "Only programs whose name contains this");
    verb->add_flag("--long", options->long_runs, "Also what takes minutes");
    verb->callback([options, &context] { bench(options->only, options->long_runs, context); });
}

}  // namespace skippipe::cli
