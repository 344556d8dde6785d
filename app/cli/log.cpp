// SPDX-License-Identifier: GPL-3.0-or-later
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/record/log.h"

namespace skippipe::cli {

namespace {

constexpr std::chrono::milliseconds look{200};

/// What was added to the file since the last call.
std::string read_new(std::ifstream& in) {
    in.clear();
    return {std::istreambuf_iterator<char>{in}, {}};
}

void print_json(const RunInfo& run, const std::filesystem::path& file, const std::string& text) {
    nlohmann::ordered_json json{{"run", run.id}, {"file", file.string()}, {"lines", nlohmann::ordered_json::array()}};
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        json["lines"].push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::cout << json_line(json) << '\n';
}

void show_log(Context& context, const std::string& name, bool follow) {
    Reader reader(context.record);
    const auto run = find_run(reader, name);
    const auto file = log_path(context.record, run.id);
    std::ifstream in{file, std::ios::binary};
    if (!in)
        throw InputError(file.string(), fmt::format("run {} has no log here", run.id),
                         "it was made before logs were kept, or its log was deleted",
                         fmt::format("`skippipe show {}` says what the record knows of it", run.id));
    if (context.json) return print_json(run, file, read_new(in));
    std::cout << read_new(in) << std::flush;
    while (follow) {
        // First whether it goes on, then what it said until then: nothing is missed at its end.
        const auto now = reader.run(run.id);
        follow = now && now->state == RunState::running;
        std::cout << read_new(in) << std::flush;
        if (follow) std::this_thread::sleep_for(look);
    }
}

}  // namespace

void add_log(CLI::App& app, Context& context) {
    auto name = std::make_shared<std::string>();
    auto follow = std::make_shared<bool>(false);
    auto* verb = add_verb(app, context, "log", "What a run said while it was started and ran",
                          "  skippipe log latest\n  skippipe log 3 -f");
    verb->add_option("RUN", *name, "Run number or `latest`")->required();
    verb->add_flag("-f,--follow", *follow, "Go on printing until the run ends")->excludes("--json");
    verb->callback([name, follow, &context] { show_log(context, *name, *follow); });
}

}  // namespace skippipe::cli
