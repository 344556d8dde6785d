// SPDX-License-Identifier: GPL-3.0-or-later
// stop, pause, resume, extend, fail: commands to a run that goes on, left in its record as the window leaves them. A
// run that does not go on any more is resumed from a checkpoint.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "app/cli/resuming.h"
#include "app/cli/train_job.h"
#include "app/cli/verbs.h"
#include "core/experiment/io.h"

namespace skippipe::cli {

namespace {

constexpr std::chrono::seconds patience{5};  ///< a run looks for commands several times a second
constexpr std::chrono::milliseconds look{50};

struct Control {
    const char *name, *description, *taken;
};
constexpr Control controls[] = {
    {"stop", "Stop a run after the iteration at hand; what it recorded stays", "stops after the iteration at hand"},
    {"pause", "Pause a run after the iteration at hand, until it is resumed", "is paused"},
    {"resume", "Let a paused run go on; one that ended early goes on from its newest checkpoint", "goes on"}};

/// What makes no sense of a run as it is.
void check(const RunInfo& run, const std::string& command) {
    const auto refuse = [&](const std::string& what, const std::string& remedy) {
        throw InputError("RUN", fmt::format("run {} {}", run.id, what), "", remedy);
    };
    if (run.state != RunState::running)
        refuse(fmt::format("does not run: it {}", run.state == RunState::finished  ? "has finished"
                                                  : run.state == RunState::stopped ? "was stopped"
                                                                                   : to_string(run.state)),
               "List those that do with `skippipe runs --state running`");
    if (command == "pause" && run.paused)
        refuse("is paused already", fmt::format("`skippipe resume {}` lets it go on", run.id));
    if (command == "resume" && !run.paused)
        refuse("is not paused", fmt::format("`skippipe pause {}` pauses it", run.id));
}

bool is_taken(Reader& reader, RunId run, std::int64_t command) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!reader.is_taken(run, command)) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(look);
    }
    return true;
}

/// Leaves a command in the record and says what became of it.
void tell(Context& context, Reader& reader, RunId run, const std::string& command, const std::string& payload,
          const std::string& done) {
    const bool taken = is_taken(reader, run, reader.send_command(run, command, payload));
    if (context.json)
        std::cout << json_line({{"run", run}, {"command", command}, {"taken", taken}}) << '\n';
    else if (taken)
        std::cout << fmt::format("run {} {}\n", run, done);
    else
        std::cout << fmt::format("run {} was told to {}; it has not answered within {} s, and does so once it can\n",
                                 run, command, patience.count());
}

/// What a run stops on it is told when it begins to train.
void require_no_stop_option(const RunInfo& run, const std::vector<AlarmKind>& stop_on) {
    if (!stop_on.empty())
        throw InputError(
            "--stop-on", fmt::format("run {} trains already", run.id),
            "what it stops on was said when it was begun or resumed",
            fmt::format("Leave the option out; or `skippipe stop {0}`, then `skippipe resume {0}` with it", run.id));
}

struct ControlOptions {
    std::string run;
    std::vector<AlarmKind> stop_on;
};

void control(Context& context, const Control& what, const ControlOptions& options) {
    std::optional<Reader> opened(std::in_place, context.record);
    const auto run = find_run(*opened, options.run);
    if (what.name == std::string_view("resume") && run.state != RunState::running) {
        opened.reset();
        return resume_run(context, run, options.stop_on);
    }
    check(run, what.name);
    require_no_stop_option(run, options.stop_on);
    tell(context, *opened, run.id, what.name, "{}", what.taken);
}

struct Extension {
    std::string run;
    int iterations = 0;
    std::vector<AlarmKind> stop_on;
};

/// One that goes on is told; any other goes on from its newest checkpoint.
void extend(Context& context, const Extension& options) {
    std::optional<Reader> opened(std::in_place, context.record);
    const auto run = find_run(*opened, options.run);
    if (options.iterations <= run.iterations)
        throw InputError("--iterations", fmt::format("run {} has {} of them already", run.id, run.iterations),
                         "it is the number of iterations in all", fmt::format("Name more than {}", run.iterations));
    if (run.state == RunState::running) {
        require_no_stop_option(run, options.stop_on);
        return tell(context, *opened, run.id, "extend",
                    nlohmann::ordered_json{{"iterations", options.iterations}}.dump(),
                    fmt::format("goes on to {} iterations", options.iterations));
    }
    opened.reset();
    resume_run(context, run, options.stop_on, options.iterations);
}

struct NodeLoss {
    std::string run, node;
    std::optional<double> back_after_s;
};

void fail_node(Context& context, const NodeLoss& loss) {
    Reader reader(context.record);
    const auto run = find_run(reader, loss.run);
    check(run, "fail");
    const auto parsed = parse_experiment(reader.experiment_json(run.id));
    const auto& nodes = parsed.experiment.topology.nodes;
    if (std::none_of(nodes.begin(), nodes.end(), [&](const Node& node) { return node.id == loss.node; }))
        throw InputError("NODE", fmt::format("run {} has no node \"{}\"", run.id, loss.node), "",
                         "Name one of the experiment's nodes (`skippipe show`)");
    nlohmann::ordered_json payload{{"node", loss.node}, {"back_after_s", nullptr}};
    if (loss.back_after_s) payload["back_after_s"] = *loss.back_after_s;
    tell(context, reader, run.id, "fail", payload.dump(), fmt::format("loses {} before the next iteration", loss.node));
}

}  // namespace

void add_control(CLI::App& app, Context& context) {
    for (const auto& what : controls) {
        auto options = std::make_shared<ControlOptions>();
        auto* verb = add_verb(app, context, what.name, what.description,
                              fmt::format("  skippipe {0} latest\n  skippipe {0} 3 --json", what.name));
        verb->add_option("RUN", options->run, "Run number or `latest`")->required();
        if (what.name == std::string_view("resume")) add_stop_option(*verb, options->stop_on);
        verb->callback([options, &what, &context] { control(context, what, *options); });
    }
    auto more = std::make_shared<Extension>();
    auto* longer = add_verb(app, context, "extend",
                            "Train a run for more iterations: one that goes on, or one that ended, from its newest "
                            "checkpoint; to the bit as if it had been begun with them",
                            "  skippipe extend latest --iterations 500");
    longer->add_option("RUN", more->run, "Run number or `latest`")->required();
    longer->add_option("--iterations", more->iterations, "In all, those done included")
        ->required()
        ->check(CLI::Range(1, 1'000'000'000));
    add_stop_option(*longer, more->stop_on);
    longer->callback([more, &context] { extend(context, *more); });
    auto loss = std::make_shared<NodeLoss>();
    auto* verb = add_verb(app, context, "fail", "Make a node of a run fail: it is lost, and the others go on",
                          "  skippipe fail latest node-3 --back-after 60\n  skippipe fail 3 node-3");
    verb->add_option("RUN", loss->run, "Run number or `latest`")->required();
    verb->add_option("NODE", loss->node, "Its id. Under the wall clock all nodes of its rank are lost")->required();
    verb->add_option("--back-after", loss->back_after_s,
                     "Seconds of the run's clock until it is back; left out: it does not come back")
        ->check(number_between(0, 1e12));
    verb->callback([loss, &context] { fail_node(context, *loss); });
}

}  // namespace skippipe::cli
