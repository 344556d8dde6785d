// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe import`: runs of other records, other people's or other machines', in this one.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/verbs.h"
#include "core/record/import.h"

namespace skippipe::cli {
namespace {

void import_records(const std::vector<std::string>& files, Context& context) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& file : files) {
        const auto runs = import_runs(file, context.record);
        int added = 0;
        for (const auto& run : runs) {
            added += run.here != 0;
            if (context.json)
                all.push_back({{"file", file},
                               {"run_there", run.there},
                               {"run", run.here},
                               {"name", run.name},
                               {"why", run.why}});
            else if (run.grown)
                std::cout << fmt::format("run {} is run {} here, which has its newer iterations now: {}\n", run.there,
                                         run.here, run.name);
            else if (run.here != 0)
                std::cout << fmt::format("run {} is run {} here: {}\n", run.there, run.here, run.name);
            else
                std::cout << fmt::format("run {} was left out: {}\n", run.there, run.why);
        }
        if (!context.json) std::cout << fmt::format("{}: {} of {} runs imported\n", file, added, runs.size());
    }
    if (context.json) std::cout << json_line(all) << '\n';
}

}  // namespace

void add_import(CLI::App& app, Context& context) {
    auto files = std::make_shared<std::vector<std::string>>();
    auto* verb =
        add_verb(app, context, "import",
                 "Adds the runs of other records to this one, with their spans, metrics, tags and notes; what is "
                 "here already is left out, or gets the iterations that came since",
                 "  skippipe import ~/from-anna/record.sqlite\n"
                 "  skippipe import a.sqlite b.sqlite --db all.sqlite");
    verb->add_option("RECORD", *files, "Records to read")->required()->check(CLI::ExistingFile);
    verb->callback([files, &context] { import_records(*files, context); });
}

}  // namespace skippipe::cli
