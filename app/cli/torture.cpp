// SPDX-License-Identifier: GPL-3.0-or-later
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "app/cli/verbs.h"
#include "core/base/format.h"
#include "core/engine/torture.h"
#include "core/experiment/describe.h"
#include "core/experiment/failure_text.h"

namespace skippipe::cli {

namespace {

struct TortureOptions {
    std::uint64_t seeds = 10'000, first = 0;
    std::uint64_t seed = 0;
    std::vector<std::size_t> losses;
    int microbatches = 0;
    bool training = false, calm = false;
};

nlohmann::ordered_json summary_json(const TortureSummary& summary) {
    nlohmann::ordered_json json{{"seeds", summary.seeds},
                                {"recoveries", summary.sum.recoveries},
                                {"redone", summary.sum.redone},
                                {"lost_gradients", summary.sum.lost_gradients},
                                {"dropped_microbatches", summary.sum.dropped},
                                {"abandoned", summary.abandoned},
                                {"moved_nodes", summary.sum.moved},
                                {"refused_messages", summary.sum.refused},
                                {"iterations", summary.sum.iterations},
                                {"rejoined_nodes", summary.sum.rejoined},
                                {"setbacks", summary.sum.went_back},
                                {"trainings_ended", summary.trainings_ended},
                                {"seconds", summary.seconds},
                                {"faults", nlohmann::ordered_json::array()}};
    for (const auto& failing : summary.faults)
        json["faults"].push_back({{"seed", failing.seed}, {"what", failing.fault}, {"repeat", command_of(failing)}});
    return json;
}

void tell(const TortureScene& scene) {
    std::cout << fmt::format("{} nodes, {} stages, {} microbatches, paths of {} stages\n", scene.problem.nodes(),
                             scene.problem.stages, scene.plan.paths.size(), scene.problem.path_length);
    for (const auto& d : scene.disturbances) {
        const bool line = d.change.of_line();
        std::cout << fmt::format("  {:.6g} s: {} {}, known at {:.6g} s\n", d.at_s,
                                 line ? name_of_line(scene.problem, d.change) : fmt::format("node {}", d.change.node),
                                 d.change.slows() ? "gets slower"
                                 : d.lives_on     ? "seems lost"
                                                  : "is lost",
                                 d.detected_s);
    }
}

void tell(const TortureTraining& training) {
    const auto& document = training.experiment;
    std::cout << fmt::format("{} nodes, {} stages, {} microbatches, {} iterations, policy {}, rebuild {}\n",
                             training.problem.nodes(), training.problem.stages, training.plan.paths.size(),
                             document.training.iterations, name_of(document.recovery.policy),
                             name_of(document.recovery.rebuild));
    for (const auto& failure : document.failures) std::cout << "    " << failure_text(failure) << '\n';
}

/// One case, told in full.
void repeat(const TortureOptions& options, Context& context) {
    auto part = torture_case(options.seed, options.training);
    if (!options.losses.empty()) part.disturbances = options.losses;
    if (options.calm) part.disturbances.clear();
    part.microbatches = options.microbatches;
    if (!context.json) std::cout << fmt::format("seed {}: ", part.seed);
    if (!context.json && options.training) tell(torture_document(part));
    if (!context.json && !options.training) tell(torture_scene(part));
    const auto outcome = torture_one(part);
    if (!outcome.fault.empty()) context.exit_code = run_failed;
    if (context.json)
        std::cout << json_line({{"seed", part.seed},
                                {"recoveries", outcome.recoveries},
                                {"redone", outcome.redone},
                                {"abandoned", outcome.abandoned},
                                {"fault", outcome.fault}})
                  << '\n';
    else
        std::cout << (outcome.fault.empty()
                          ? fmt::format("fine: {} recoveries, {} operations run again{}\n", outcome.recoveries,
                                        outcome.redone, outcome.abandoned ? "; there was no way on" : "")
                          : "fault: " + outcome.fault + "\n");
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
        std::cout << json_line(summary_json(summary)) << '\n';
        return;
    }
    std::cout << fmt::format(
        "{} seeds in {}: {} recoveries, {} operations run again, {} microbatches left out, {} gradients reported lost, "
        "{} iterations without a way on, {} nodes to other stages, {} messages refused; of trainings {} iterations, {} "
        "nodes back, {} setbacks, {} without a way on; {} faults\n",
        summary.seeds, format_seconds(summary.seconds), summary.sum.recoveries, summary.sum.redone, summary.sum.dropped,
        summary.sum.lost_gradients, summary.abandoned, summary.sum.moved, summary.sum.refused, summary.sum.iterations,
        summary.sum.rejoined, summary.sum.went_back, summary.trainings_ended, summary.faults.size());
    for (const auto& failing : summary.faults)
        std::cout << fmt::format("seed {}{}: {}\n  repeat it: {}\n", failing.seed, failing.training ? ", training" : "",
                                 failing.fault, command_of(failing));
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
    verb->add_option("--only", options->losses, "Of what goes wrong in it only these, counted from 0")
        ->delimiter(',')
        ->needs(one);
    verb->add_flag("--training", options->training, "Its training by a document's failures, not its iteration")
        ->needs(one);
    verb->add_flag("--calm", options->calm, "Nothing goes wrong in it")->needs(one);
    verb->add_option("--microbatches", options->microbatches, "Only its first so many microbatches")->needs(one);
    verb->callback([options, &context, one] {
        if (one->count() > 0)
            repeat(*options, context);
        else
            torture_all(*options, context);
    });
}

}  // namespace skippipe::cli
