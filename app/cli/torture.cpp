// SPDX-License-Identifier: GPL-3.0-or-later
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "app/cli/verbs.h"
#include "core/base/format.h"
#include "core/engine/torture.h"

namespace skippipe::cli {

namespace {

struct TortureOptions {
    std::uint64_t seeds = 10'000, first = 0;
    std::uint64_t seed = 0;
    std::vector<std::size_t> losses;
    int microbatches = 0;
    bool one = false;
};

std::string command_of(const TortureCase& failing) {
    return fmt::format("skippipe torture --seed {} --only {} --microbatches {}", failing.seed,
                       fmt::join(failing.disturbances, ","), failing.microbatches);
}

nlohmann::ordered_json summary_json(const TortureSummary& summary) {
    nlohmann::ordered_json json{{"seeds", summary.seeds},
                                {"recoveries", summary.recoveries},
                                {"redone", summary.redone},
                                {"lost_gradients", summary.lost_gradients},
                                {"dropped_microbatches", summary.dropped},
                                {"abandoned", summary.abandoned},
                                {"moved_nodes", summary.moved},
                                {"seconds", summary.seconds},
                                {"faults", nlohmann::ordered_json::array()}};
    for (const auto& failing : summary.faults)
        json["faults"].push_back({{"seed", failing.seed}, {"what", failing.fault}, {"repeat", command_of(failing)}});
    return json;
}

/// One case, told in full.
void repeat(const TortureOptions& options, Context& context) {
    TortureCase part{.seed = options.seed, .disturbances = options.losses, .microbatches = options.microbatches};
    if (part.disturbances.empty())
        for (std::size_t k = 0; k < torture_scene(options.seed).disturbances.size(); ++k)
            part.disturbances.push_back(k);
    const auto scene = torture_scene(part);
    const auto outcome = torture_iteration(scene);
    std::cout << fmt::format("seed {}: {} nodes, {} stages, {} microbatches, paths of {} stages\n", part.seed,
                             scene.problem.nodes(), scene.problem.stages, scene.plan.paths.size(),
                             scene.problem.path_length);
    for (const auto& d : scene.disturbances)
        std::cout << fmt::format("  {:.6g} s: node {} {}, known at {:.6g} s\n", d.at_s, d.change.node,
                                 d.change.slows() ? "gets slower" : "is lost", d.detected_s);
    std::cout << (outcome.fault.empty()
                      ? fmt::format("fine: {} recoveries, {} operations run again{}\n", outcome.recoveries,
                                    outcome.redone, outcome.abandoned ? "; there was no way on" : "")
                      : "fault: " + outcome.fault + "\n");
    if (!outcome.fault.empty()) context.exit_code = run_failed;
}

void torture_all(const TortureOptions& options, Context& context) {
    const bool terminal = ::isatty(STDERR_FILENO) != 0 && !context.json;
    const auto summary = torture(options.first, options.seeds, [&](std::uint64_t done) {
        if (terminal) std::cerr << fmt::format("\r{} of {} seeds", done, options.seeds) << std::flush;
        return true;
    });
    if (terminal) std::cerr << "\r\033[K";
    if (!summary.faults.empty()) context.exit_code = run_failed;
    if (context.json) {
        std::cout << summary_json(summary).dump() << '\n';
        return;
    }
    std::cout << fmt::format(
        "{} seeds in {}: {} recoveries, {} operations run again, {} microbatches left out, {} gradients reported lost, "
        "{} iterations without a way on, {} nodes to other stages, {} faults\n",
        summary.seeds, format_seconds(summary.seconds), summary.recoveries, summary.redone, summary.dropped,
        summary.lost_gradients, summary.abandoned, summary.moved, summary.faults.size());
    for (const auto& failing : summary.faults)
        std::cout << fmt::format("seed {}: {}\n  repeat it: {}\n", failing.seed, failing.fault, command_of(failing));
}

}  // namespace

void add_torture(CLI::App& app, Context& context) {
    const auto options = std::make_shared<TortureOptions>();
    auto* verb = add_verb(app, context, "torture",
                          "Lose nodes at random instants of random plans, and check that nothing is lost or done twice",
                          "  skippipe torture --seeds 10000\n  skippipe torture --seed 4711");
    verb->add_option("--seeds", options->seeds, "How many seeds")->check(CLI::Range(1, 1'000'000'000));
    verb->add_option("--first", options->first, "The first of them");
    auto* one = verb->add_option("--seed", options->seed, "This one alone, told in full");
    verb->add_option("--only", options->losses, "Of its disturbances only these, counted from 0")
        ->delimiter(',')
        ->needs(one);
    verb->add_option("--microbatches", options->microbatches, "Only its first so many microbatches")->needs(one);
    verb->callback([options, &context, one] {
        if (one->count() > 0)
            repeat(*options, context);
        else
            torture_all(*options, context);
    });
}

}  // namespace skippipe::cli
