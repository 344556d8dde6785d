// SPDX-License-Identifier: GPL-3.0-or-later
#include <chrono>
#include <ctime>
#include <iostream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "app/cli/planning.h"
#include "app/cli/verbs.h"
#include "core/run/worker_group.h"
#include "core/run/worker_process.h"
#include "core/base/format.h"
#include "core/engine/calibrate.h"
#include "core/engine/launch.h"
#include "core/experiment/io.h"

namespace skippipe::cli {

namespace {

struct ProbeOptions {
    std::string file, output;
    int ranks = 0, threads = 0;
    bool keep_links = false;
};

/// Starts the ranks and waits for what they measure.
std::vector<RankProbe> measure(const Experiment& experiment, const Problem& problem, const Plan& plan,
                               const ProbeOptions& options, bool launched) {
    const protocol::Job job{to_text(experiment), to_json(plan, problem, nullptr).dump(),
                            std::filesystem::absolute(options.file).parent_path().string(), options.threads, true};
    WorkerGroup workers(job, experiment.execution.ranks, launched);
    std::vector<RankProbe> ranks;
    Faults faults;
    protocol::Message message;
    for (bool ended = false; !ended && !interrupted();) {
        const auto read = workers.read(message, 0.2);
        if (read == RankGroup::Read::closed)
            faults.push_back({"worker", "the worker " + workers.wait(1) + " before it had measured anything",
                              "without it nothing is known", "Look at its messages above"});
        if (read == RankGroup::Read::timeout)
            if (const auto fault = workers.lost_rank()) faults.push_back(*fault);
        if (read == RankGroup::Read::message) {
            if (const auto* probed = std::get_if<protocol::Probed>(&message))
                for (const auto& text : probed->ranks) ranks.push_back(parse_rank_probe(text));
            if (const auto* failed = std::get_if<protocol::Failed>(&message)) faults = failed->faults;
            ended = std::holds_alternative<protocol::Done>(message);
        }
        ended = ended || !faults.empty();
    }
    if (faults.empty() && !interrupted()) workers.wait(30);
    if (!faults.empty()) throw InputError(faults);
    if (ranks.empty())
        throw InputError("probe", "stopped before it had measured anything", "Ctrl+C ends it",
                         "Start it again; it takes some seconds");
    return ranks;
}

std::string with_spread(const Measured& m, const std::function<std::string(double)>& format) {
    return m.median > 0 ? fmt::format("{} ±{:.0f} %", format(m.median), 100 * m.spread / m.median) : "";
}

/// Of each rank whose machine was measured: to and from several others at once, and whether that is a limit.
void print_connections(const std::vector<RankProbe>& ranks) {
    std::vector<std::vector<std::string>> rows{{"rank", "others", "sends", "receives", "taken as"}};
    const auto rate = [](double b) { return format_si(b, "B/s"); };
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const auto& connection = ranks[r].connection;
        if (connection.peers.size() < 2) continue;
        const auto limits = connection_limits(ranks, static_cast<int>(r));
        rows.push_back({std::to_string(r), std::to_string(connection.peers.size()),
                        with_spread(connection.up_bytes_per_s, rate), with_spread(connection.down_bytes_per_s, rate),
                        limits.up_bytes_per_s && limits.down_bytes_per_s ? "uplink and downlink"
                        : limits.up_bytes_per_s                          ? "uplink"
                        : limits.down_bytes_per_s                        ? "downlink"
                                                                         : "no limit"});
    }
    if (rows.size() > 1) std::cout << "\nWith several other machines at once:\n" << table(rows);
}

void print(const std::vector<RankProbe>& ranks, const Problem& problem) {
    const auto seconds = [](double s) { return format_seconds(s); };
    std::vector<std::vector<std::string>> nodes{{"node", "rank", "host", "forward", "backward", "loss"}};
    std::vector<std::vector<std::string>> links{{"link", "latency", "bandwidth"}};
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (const auto& node : ranks[r].nodes)
            nodes.push_back({problem.node_ids.at(static_cast<std::size_t>(node.node)), std::to_string(r), ranks[r].host,
                             with_spread(node.forward_s, seconds), with_spread(node.backward_s, seconds),
                             with_spread(node.loss_s, seconds)});
        for (const auto& link : ranks[r].links)
            links.push_back({fmt::format("rank {} -> {}", link.from, link.to), with_spread(link.latency_s, seconds),
                             with_spread(link.bandwidth_bytes_per_s, [](double b) { return format_si(b, "B/s"); })});
    }
    std::cout << "A microbatch (median and spread; time of the computing thread while all ranks compute):\n"
              << table(nodes);
    if (links.size() > 1) std::cout << "\nBetween ranks:\n" << table(links);
    print_connections(ranks);
    std::cout << fmt::format("\nInside a rank: {} from an operation's end to the next one's start; memory copies {}\n",
                             with_spread(ranks.front().handover_s, seconds),
                             format_si(ranks.front().copy_bytes_per_s, "B/s"));
    double step_s = 0, iteration_cpu_s = 0;
    for (const auto& rank : ranks) {
        step_s = std::max(step_s, rank.step_s.median);
        iteration_cpu_s += rank.iteration_cpu_s;
    }
    if (step_s > 0) std::cout << fmt::format("AdamW on the nodes of the slowest rank: {}\n", seconds(step_s));
    if (const double sums_s = ranks.front().reduction_cpu_s_per_byte; sums_s > 0)
        std::cout << fmt::format("Adding and rounding parts of gradients: {} of a core for each MB handed over\n",
                                 seconds(1e6 * sums_s));
    if (iteration_cpu_s > 0)
        std::cout << fmt::format("An iteration's messages and coordination: {} of a core\n", seconds(iteration_cpu_s));
}

nlohmann::ordered_json ranks_json(const std::vector<RankProbe>& ranks) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& rank : ranks) json.push_back(nlohmann::ordered_json::parse(to_json_text(rank)));
    return {{"ranks", std::move(json)}};
}

void probe(const ProbeOptions& options, Context& context) {
    const auto launch = launch_environment();
    if (launch && launch->rank > 0) become_worker();
    auto experiment = read_experiment(options.file);
    experiment.execution.clock = Clock::wall;
    if (options.ranks > 0) experiment.execution.ranks = options.ranks;
    if (launch && launch->world_size > 1) experiment.execution.ranks = launch->world_size;
    experiment.execution.transport = experiment.execution.ranks > 1 ? Transport::gloo : Transport::local;
    const auto problem = make_problem(experiment);
    const auto plan = make_plan(find_planner(context.planners, experiment.pipeline.planner), problem,
                                plan_request(experiment, options.threads), !context.json);
    const auto schedule = make_schedule(problem, plan, assign_ranks(experiment, plan), experiment.execution.ranks);
    if (!context.json)
        std::cerr << fmt::format("measuring {} nodes on {} ranks and their links ...\n", problem.nodes(),
                                 experiment.execution.ranks);
    const auto ranks = measure(experiment, problem, plan, options, launch && launch->world_size > 1);
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const auto measured =
        measured_experiment(experiment, schedule, ranks, options.keep_links || experiment.execution.shape_links,
                            fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)));
    if (context.json)
        std::cout << json_line(ranks_json(ranks)) << std::endl;
    else
        print(ranks, problem);
    if (options.output.empty()) return;
    write_file_atomically(options.output, to_text(to_be_stored(measured, options.file, options.output)));
    if (!context.json) std::cout << fmt::format("\nThe experiment with these values: {}\n", options.output);
}

}  // namespace

void add_probe(CLI::App& app, Context& context) {
    auto options = std::make_shared<ProbeOptions>();
    auto* verb = add_verb(app, context, "probe",
                          "Measure how fast each stage is on each node and each link between ranks, and write an "
                          "experiment with these values",
                          "  skippipe probe quick-start.json --ranks 2 -o measured.json\n  mpirun -np 4 skippipe probe "
                          "cluster.json -o measured.json");
    verb->add_option("EXPERIMENT", options->file, "Experiment file")->required();
    verb->add_option("--ranks", options->ranks, "Processes instead of the experiment's")->check(CLI::Range(1, 4096));
    verb->add_option("--threads", options->threads, "Workers of a rank")->check(CLI::Range(1, 1024));
    verb->add_flag(
        "--keep-links", options->keep_links,
        "Take the speeds of the nodes and leave the drawn links (always so where execution.shape_links holds)");
    verb->add_option("-o,--output", options->output,
                     "Write the experiment with measured speeds, links and their date here");
    verb->callback([options, &context] { probe(*options, context); });
}

}  // namespace skippipe::cli
