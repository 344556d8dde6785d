// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of the planners, one JSON line each. `bench_planner [--long | --blocks | --growth | --ten-minutes |
// --timelines]`; --long adds the 30 s search, --blocks prints what planning blocks gives alone, --growth is the table
// from 10 to 2,000 nodes, --ten-minutes is what ten minutes of search find (half an hour in all), --timelines is how
// fast plans are evaluated.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/explain/explain.h"
#include "core/planner/replan/replan.h"
#include "core/planner/timeline/simulator.h"
#include "core/base/rng.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/orders/order_annealer.h"
#include "tests/planner/authors.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;

namespace {

constexpr int repeats = 5;

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Of this thread alone, so that other programs on a shared machine disturb less.
double cpu_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Figure {
    std::string name, unit;
    double value = 0;
    std::string baseline;
    double baseline_value = 0;
    int threads = 1;
    std::string ceiling;
    int repeat = 1;
};

void print(const Figure& figure) {
    const bool compared = figure.baseline_value != 0;
    fmt::print(
        R"({{"name": "{}", "value": {:.6g}, "unit": "{}", "baseline": {}, "baseline_value": {}, "ratio": {}, "threads": {}, "ceiling": "{}", "repeat": {}}})"
        "\n",
        figure.name, figure.value, figure.unit, compared ? "\"" + figure.baseline + "\"" : "null",
        compared ? fmt::format("{:.6g}", figure.baseline_value) : "null",
        compared ? fmt::format("{:.4g}", figure.value / figure.baseline_value) : "null", figure.threads, figure.ceiling,
        figure.repeat);
    std::fflush(stdout);
}

/// Times of plans that each differ from the one before by an exchange of two paths, with every operation simulated.
void timelines(const authors::Authors& authors, bool recorded) {
    const auto plan = authors.plan("skippipe");
    auto schedule = flatten(authors.problem, plan);
    Simulator simulator(authors.problem);
    Rng rng(1);
    double best_s = 1e300, sum_s = 0;
    const int count = recorded ? 2'000 : 20'000;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double begin_s = cpu_s();
        for (int k = 0; k < count; ++k) {
            const ReleaseIndex i(rng.below(30)), j(rng.below(30));
            std::swap_ranges(schedule.path(i), schedule.path(i) + schedule.length, schedule.path(j));
            sum_s += recorded ? simulator.timeline(schedule, plan).makespan_s
                              : simulator.times(schedule, plan.stages).makespan_s;
        }
        best_s = std::min(best_s, (cpu_s() - begin_s) / count);
    }
    if (sum_s <= 0) return;
    print({recorded ? "timelines with every span, 20 nodes x 30 microbatches" : "timelines, 20 nodes x 30 microbatches",
           "1/s of a core", 1 / best_s, "goal", recorded ? 0.0 : 200'000.0, 1,
           "about 60,000 instructions a timeline (callgrind), in chains of dependent loads", repeats});
}

/// The same plans with the orders that they run in bound, as those of skippipe-joint are.
void ordered_timelines(const authors::Authors& authors) {
    PlanCandidate candidate = candidate_of(authors.problem, authors.plan("skippipe"));
    Rng rng(1);
    std::vector<PlanCandidate> candidates;
    for (int k = 0; k < 1'000; ++k) {
        const ReleaseIndex i(rng.below(30)), j(rng.below(30));
        auto& schedule = candidate.schedule;
        std::swap_ranges(schedule.path(i), schedule.path(i) + schedule.length, schedule.path(j));
        candidates.push_back(candidate);
        candidates.back().schedule.order = dispatch_order(authors.problem, candidate);
    }
    Simulator simulator(authors.problem);
    double best_s = 1e300, sum_s = 0;
    for (int repeat = 0; repeat < 4 * repeats; ++repeat) {
        const double begin_s = cpu_s();
        for (const auto& each : candidates) sum_s += simulator.times(each.schedule, each.stages).makespan_s;
        best_s = std::min(best_s, (cpu_s() - begin_s) / static_cast<double>(candidates.size()));
    }
    if (sum_s <= 0) return;
    print({"timelines of bound orders, 20 nodes x 30 microbatches", "1/s of a core", 1 / best_s, "goal", 200'000, 1,
           "dependent maxima along the graph", 4 * repeats});
}

/// What the search asks for: timelines of candidates, stopped as soon as they are sure to be rejected. Moves and
/// bookkeeping included.
void candidates(const authors::Authors& authors, const PlannerRegistry& registry) {
    PlanRequest request;
    request.steps = 100'000;
    const double begin_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    registry.find("skippipe-joint")->plan(authors.problem, request);
    const double used_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC - begin_s;
    print({"candidates of skippipe-joint, 20 nodes x 30 microbatches", "1/s of a core",
           static_cast<double>(request.steps) / used_s, "goal for timelines", 200'000, 1,
           "timelines, stopped once rejected", 1});
}

/// Orders that the search over orders tries on one core, from those of first come, first served.
void order_candidates(const authors::Authors& authors) {
    PlanCandidate candidate = candidate_of(authors.problem, authors.plan("skippipe"));
    candidate.schedule.order = dispatch_order(authors.problem, candidate);
    const double start_s = iteration_s(authors.problem, candidate);
    double best_s = 1e300;
    constexpr std::int64_t steps = 300'000;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        OrderAnnealer chain(authors.problem, candidate, 1, 1);
        const double begin_s = cpu_s();
        chain.run(steps, TemperatureSchedule::between(start_s * 0.004, start_s * 0.0002), {},
                  [](double) { return true; });
        best_s = std::min(best_s, (cpu_s() - begin_s) / steps);
    }
    print({"candidates of the order search, 20 nodes x 30 microbatches", "1/s of a core", 1 / best_s, "", 0, 1,
           "dependent maxima along the graph", repeats});
}

/// With stages of the authors' sizes, or of any.
void joint_after(const authors::Authors& authors, const PlannerRegistry& registry, double seconds, bool any_sizes,
                 int seeds = 3) {
    const int threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 2u));
    Problem problem = authors.problem;
    if (any_sizes) problem.stage_sizes.clear();
    std::vector<Plan> plans;
    for (int seed = 1; seed <= seeds; ++seed) {
        PlanRequest request;
        request.seed = static_cast<std::uint64_t>(seed);
        request.seconds = seconds;
        request.threads = threads;
        plans.push_back(registry.find("skippipe-joint")->plan(problem, request));
    }
    const auto iteration_s = [&](const Plan& plan) { return evaluate(problem, plan).iteration_s; };
    std::sort(plans.begin(), plans.end(),
              [&](const Plan& a, const Plan& b) { return iteration_s(a) < iteration_s(b); });
    const Plan& median = plans[plans.size() / 2];
    const std::string name = any_sizes ? "authors' 20 nodes, stages of any size" : "authors' 20 nodes";
    print({fmt::format("iteration after {:g} s of skippipe-joint, {} (median of seeds)", seconds, name), "s",
           iteration_s(median), "authors' plan", evaluate(authors.problem, authors.plan("skippipe")).iteration_s,
           threads, "search", seeds});
    Problem sized = problem;
    sized.stage_sizes = sizes_of(median.stages);
    print({fmt::format("bound for its stage sizes {}", fmt::join(sized.stage_sizes, " ")), "s",
           lower_bound(sized, sized.path_length).seconds, "that plan", iteration_s(median), 1, "bound", 1});
    if (any_sizes)
        print({"bound for all stage sizes", "s", lower_bound(problem, problem.path_length).seconds, "that plan",
               iteration_s(median), 1, "bound", 1});
}

void planner_times(const authors::Authors& authors, const PlannerRegistry& registry) {
    const double theirs_s = evaluate(authors.problem, authors.plan("skippipe")).iteration_s;
    for (const auto& planner : registry.all()) {
        PlanRequest request;
        request.threads = 2;
        const double begin_s = wall_s();
        const auto plan = planner->plan(authors.problem, request);
        print({"planning time of " + planner->name() + ", 20 nodes x 30 microbatches", "s", wall_s() - begin_s, "", 0,
               request.threads, "search", 1});
        print({"iteration by " + planner->name() + ", authors' 20 nodes", "s",
               evaluate(authors.problem, plan).iteration_s, "authors' plan", theirs_s, request.threads, "search", 1});
    }
}

/// The authors' network again and again; as many microbatches and data nodes per node as theirs.
Problem grown(const authors::Authors& authors, int nodes) {
    Problem problem = authors.problem;
    const int n = authors.problem.nodes();
    problem.node_ids.clear();
    problem.hops.clear();
    problem.line_names.clear();
    problem.stage_sizes.clear();
    for (int a = 0; a < nodes; ++a) problem.node_ids.push_back("n" + std::to_string(a));
    problem.seconds_per_sample_per_block.assign(static_cast<std::size_t>(nodes), 0.055);
    problem.memory.assign(static_cast<std::size_t>(nodes), 3);
    for (int a = 0; a < nodes; ++a)
        for (int b = 0; b < nodes; ++b) {
            Hop hop = authors.problem.hop(NodeIndex(a % n), NodeIndex(b % n));
            if (a % n == b % n) hop.latency_s = 0.36;
            hop.line = a * nodes + b;
            problem.hops.push_back(hop);
            problem.line_names.push_back(problem.node_ids[static_cast<std::size_t>(a)] + "->" +
                                         problem.node_ids[static_cast<std::size_t>(b)]);
        }
    problem.microbatches = nodes * 3 / 2;
    problem.microbatches -= problem.microbatches % std::max(1, nodes / 4);
    return problem;
}

/// Paths of four of six stages dealt out evenly over a grown network: what planning 1,000 nodes in no time gives.
Plan dealt(const Problem& problem) {
    Plan plan{.planner = "dealt", .stages = PerStage<std::vector<NodeIndex>>(6), .blocks = problem.blocks};
    const int data_nodes = problem.nodes() / 4;
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        plan.stages[static_cast<std::size_t>(n < data_nodes ? 0 : 1 + (n - data_nodes) % 5)].push_back(n);
    const auto node = [&](int stage, int turn) {
        return plan.stages[static_cast<std::size_t>(stage)]
                          [static_cast<std::size_t>(turn) % plan.stages[static_cast<std::size_t>(stage)].size()];
    };
    int turn = 0;
    for (MicrobatchIndex m = 0; m < problem.microbatches; ++m) {
        Path path{m, {node(0, m)}};
        for (int hop = 0; hop < 3; ++hop, ++turn) path.nodes.push_back(node(1 + turn % 5, turn / 5));
        std::sort(path.nodes.begin() + 1, path.nodes.end(),
                  [&](int a, int b) { return (a - data_nodes) % 5 < (b - data_nodes) % 5; });
        plan.paths.push_back(path);
    }
    return plan;
}

/// Slope of log y over log x by least squares: how a cost grows with the size.
double exponent(const std::vector<double>& x, const std::vector<double>& y) {
    double mean_x = 0, mean_y = 0, products = 0, squares = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        mean_x += std::log(x[k]) / static_cast<double>(x.size());
        mean_y += std::log(y[k]) / static_cast<double>(x.size());
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
        products += (std::log(x[k]) - mean_x) * (std::log(y[k]) - mean_y);
        squares += (std::log(x[k]) - mean_x) * (std::log(x[k]) - mean_x);
    }
    return products / squares;
}

/// Seconds until a planner's own search shows its first valid plan; what it holds in memory by then is in the program's
/// peak.
double first_plan_s(const Planner& planner, const Problem& problem) {
    std::stop_source stop;
    PlanRequest request;
    request.stop = stop.get_token();
    request.progress = [&](const PlanProgress& progress) {
        if (progress.best_iteration_s > 0) stop.request_stop();
    };
    const double begin_s = wall_s();
    planner.plan(problem, request);
    return wall_s() - begin_s;
}

/// Run in a process of its own for each size, so that the peak is that size's alone: 10 to 2,000 nodes.
struct Grown {
    double first_s = 0, timeline_s = 0, peak_bytes = 0;
};
Grown measure(const authors::Authors& authors, const PlannerRegistry& registry, int nodes) {
    Grown result;
    const auto problem = grown(authors, nodes);
    result.first_s = first_plan_s(*registry.find("skippipe-joint"), problem);
    const auto plan = dealt(problem);
    const auto schedule = flatten(problem, plan);
    Simulator simulator(problem);
    const int count = std::max(3, 1'000'000 / problem.microbatches / nodes);
    result.timeline_s = 1e300;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double started_s = cpu_s();
        for (int k = 0; k < count; ++k) simulator.times(schedule, plan.stages);
        result.timeline_s = std::min(result.timeline_s, (cpu_s() - started_s) / count);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    result.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
    return result;
}

Grown measure_apart(const authors::Authors& authors, const PlannerRegistry& registry, int nodes) {
    int ends[2] = {};
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        const Grown grown = measure(authors, registry, nodes);
        _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
    }
    close(ends[1]);
    Grown result;
    const bool complete = child > 0 && read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!complete) throw std::runtime_error("the measurement of one size did not end");
    return result;
}

void growth(const authors::Authors& authors, const PlannerRegistry& registry) {
    std::vector<double> sizes, first, timeline, peak;
    for (const int nodes : {10, 20, 50, 100, 200, 500, 1000, 2000}) {
        const auto problem = grown(authors, nodes);
        const auto result = measure_apart(authors, registry, nodes);
        const auto name = fmt::format("{} nodes x {} microbatches", nodes, problem.microbatches);
        print({"first valid plan of skippipe-joint, " + name, "s", result.first_s, "", 0, 1, "search", 1});
        print({"one timeline, " + name, "s of a core", result.timeline_s, "", 0, 1, "dependent comparisons of events",
               repeats});
        print({"peak memory of the whole program, " + name, "MB", result.peak_bytes / 1e6, "", 0, 1,
               "a line and a hop each pair of nodes", 1});
        sizes.push_back(nodes);
        first.push_back(result.first_s);
        timeline.push_back(result.timeline_s);
        peak.push_back(result.peak_bytes);
    }
    const auto fitted = static_cast<int>(sizes.size());
    print({"exponent over the nodes, first valid plan", "", exponent(sizes, first), "", 0, 1,
           "least squares of logarithms", fitted});
    print({"exponent over the nodes, one timeline", "", exponent(sizes, timeline), "", 0, 1,
           "least squares of logarithms", fitted});
    print({"exponent over the nodes, peak memory", "", exponent(sizes, peak), "", 0, 1, "least squares of logarithms",
           fitted});
}

/// Five clusters of four nodes in five far regions: 0.1 to 0.25 s and 0.1 to 0.3 GB/s between them, a line a pair of
/// regions and direction.
Problem five_clusters(const authors::Authors& authors) {
    Problem problem = authors.problem;
    problem.shared_links = problem.charge_all_reduce = true;
    problem.gradient_bytes.assign(6, 5e7);
    problem.forward_bytes = problem.backward_bytes = 8.0 * 1024 * 1024 * 4;
    problem.hops.clear();
    problem.line_names.clear();
    const auto line = [&](const std::string& name) {
        problem.line_names.push_back(name);
        return static_cast<int>(problem.line_names.size()) - 1;
    };
    std::vector<int> between(25, -1);
    for (int a = 0; a < 20; ++a)
        for (int b = 0; b < 20; ++b) {
            const int from = a / 4, to = b / 4, apart = std::abs(from - to);
            auto& shared = between[static_cast<std::size_t>(from * 5 + to)];
            if (from != to && shared < 0) shared = line(fmt::format("r{}->r{}", from, to));
            const double latency_s = from == to ? 0.001 : 0.07 + 0.045 * apart,
                         rate = from == to ? 2e9 : 3.5e8 - 6e7 * apart;
            problem.hops.push_back({latency_s, rate, problem.forward_bytes / rate, problem.backward_bytes / rate,
                                    from == to ? line(fmt::format("n{}->n{}", a, b)) : shared});
        }
    return problem;
}

/// How much shorter the iterations of skippipe-joint are than those of skippipe, default steps of both.
void against_skippipe(const authors::Authors& authors, const PlannerRegistry& registry) {
    std::vector<std::pair<std::string, Problem>> problems;
    for (const char* name : {"authors-18", "authors-42", "single-cluster", "quick-start"}) {
        const auto experiment =
            load_experiment(fmt::format("{}/resources/experiments/{}.json", SKIPPIPE_SOURCE_DIR, name)).experiment;
        problems.emplace_back(name, make_problem(experiment));
    }
    problems.emplace_back("five clusters of four", five_clusters(authors));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        problems.emplace_back(fmt::format("random network {}", seed), examples::random_problem(seed));
        problems.back().second.shared_links = true;
    }
    std::vector<double> ratios;
    for (const auto& [name, problem] : problems) {
        PlanRequest request;
        request.threads = 2;
        const double joint_s = evaluate(problem, registry.find("skippipe-joint")->plan(problem, request)).iteration_s;
        const double theirs_s = evaluate(problem, registry.find("skippipe")->plan(problem, request)).iteration_s;
        ratios.push_back(joint_s / theirs_s);
        print({"iteration by skippipe-joint, " + name, "s", joint_s, "skippipe", theirs_s, 2, "search", 1});
    }
    std::sort(ratios.begin(), ratios.end());
    print({"iteration by skippipe-joint, median over the networks", "x", ratios[ratios.size() / 2],
           "skippipe; goal 0.92", 1, 2, "search", static_cast<int>(ratios.size())});
    print({"iteration by skippipe-joint, worst of the networks", "x", ratios.back(), "skippipe; goal 1", 1, 2, "search",
           static_cast<int>(ratios.size())});
}

/// The median of three seeds with the blocks as they are, with planned blocks, and how many blocks the microbatches run
/// through (where they skip, blocks that leave stage 0, which none skips, are also less work).
void planned_blocks(const std::string& name, Problem problem, const Planner& joint) {
    const auto blocks_run = [&](const Plan& plan) {
        const auto stage_of = stage_of_nodes(plan, problem.nodes());
        double run = 0;
        for (const auto& path : plan.paths)
            for (const NodeIndex node : path.nodes) run += plan.blocks[stage_of[node]];
        return run;
    };
    const auto median = [&] {
        std::vector<std::pair<double, Plan>> found;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            PlanRequest request;
            request.seed = seed;
            request.threads = 2;
            const auto plan = joint.plan(problem, request);
            found.emplace_back(evaluate(problem, plan).iteration_s, plan);
        }
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        return found[1];
    };
    problem.plan_blocks = false;
    const auto [fixed_s, fixed] = median();
    problem.plan_blocks = true;
    const auto [planned_s, planned] = median();
    print({"iteration by skippipe-joint with planned blocks, " + name, "s", planned_s, "four blocks a stage", fixed_s,
           2, "search", 3});
    print({fmt::format("blocks run by all microbatches, planned as {}, {}", fmt::join(planned.blocks, " "), name), "",
           blocks_run(planned), "four blocks a stage", blocks_run(fixed), 2, "", 3});
}

/// 24 blocks over six stages, every second node three times as slow: the authors' nodes, and six in one room, one a
/// stage.
void planned_blocks(const authors::Authors& authors, const PlannerRegistry& registry) {
    const auto& joint = *registry.find("skippipe-joint");
    Problem problem = authors.problem;
    problem.stage_sizes.clear();
    for (std::size_t n = 1; n < problem.node_ids.size(); n += 2) problem.seconds_per_sample_per_block[n] *= 3;
    for (const int length : {4, 6}) {
        problem.path_length = length;
        planned_blocks(fmt::format("authors' 20 nodes, every second 3 x slower, paths of {} of 6 stages", length),
                       problem, joint);
    }
    problem.node_ids.resize(6);
    problem.seconds_per_sample_per_block.resize(6);
    problem.memory.assign(6, 6);
    problem.hops.assign(36, {0.001, 1e300, 0, 0, 0});
    planned_blocks("6 nodes in one room, every second 3 x slower, paths of 6 of 6 stages", problem, joint);
}

/// How soon skippipe-joint has a plan of a large network, and how good it is then.
void large(const authors::Authors& authors, const PlannerRegistry& registry, int nodes, int microbatches,
           double seconds, double goal_s) {
    auto problem = grown(authors, nodes);
    problem.microbatches = microbatches;
    const auto name = fmt::format("{} nodes x {} microbatches", nodes, microbatches);
    double first_s = 0;
    const double begin_s = wall_s();
    PlanRequest request;
    request.seconds = seconds;
    request.threads = 2;
    request.progress = [&](const PlanProgress& progress) {
        if (first_s == 0 && progress.best_iteration_s > 0) first_s = wall_s() - begin_s;
    };
    const auto plan = registry.find("skippipe-joint")->plan(problem, request);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    print({"first plan of skippipe-joint, " + name, "s", first_s, "goal", goal_s, 2, "search", 1});
    print({fmt::format("iteration after {:g} s of skippipe-joint, {}", seconds, name), "s",
           evaluate(problem, plan).iteration_s, "bound", lower_bound(problem, problem.path_length).seconds, 2, "search",
           1});
    print({"peak memory of the whole program after that", "MB", static_cast<double>(usage.ru_maxrss) / 1024, "goal",
           2048, 2, "", 1});
}

/// A node of stage 1 dies in the middle of an iteration.
void replanning(const std::string& name, const Problem& problem, const Plan& plan, double goal_s) {
    const auto timeline = evaluate(problem, plan);
    const ReplanRequest request{.progress = progress_at(problem, plan, timeline, 0.4 * timeline.iteration_s),
                                .changes = {{.kind = NetworkChange::Kind::node_down, .node = plan.stages[1][0]}}};
    double best_s = 1e300;
    Replan result;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double begin_s = cpu_s();
        result = replan(problem, plan, request);
        best_s = std::min(best_s, cpu_s() - begin_s);
    }
    print(
        {"replan after a node's death, " + name, "s of a core", best_s, "goal", goal_s, 1, "simulated rests", repeats});
    print({"iteration after a node's death, " + name, "s", result.iteration_s, "undisturbed", timeline.iteration_s, 1,
           "", 1});
    print({"iteration after the forced repair alone, " + name, "s", result.repaired_s, "undisturbed",
           timeline.iteration_s, 1, "", 1});
}

void replanning(const authors::Authors& authors) {
    replanning("20 nodes x 30 microbatches", authors.problem, authors.plan("skippipe"), 0.1);
    auto problem = grown(authors, 1000);
    problem.microbatches = 5000;
    replanning("1000 nodes x 5000 microbatches", problem, dealt(problem), 2);
}

/// Chain, waits, what-ifs and the bound of the placement.
void explanations(const authors::Authors& authors) {
    const auto plan = authors.plan("skippipe");
    const auto timeline = evaluate(authors.problem, plan);
    double best_s = 1e300;
    std::size_t asked = 0;
    for (int repeat = 0; repeat < 4 * repeats; ++repeat) {
        const double begin_s = cpu_s();
        asked = explain(authors.problem, plan, timeline).what_ifs.size();
        best_s = std::min(best_s, cpu_s() - begin_s);
    }
    print({fmt::format("explanation of a plan, 20 nodes x 30 microbatches, {} what-ifs", asked), "s of a core", best_s,
           "", 0, 1, "re-evaluated timelines and a bound", 4 * repeats});
}

}  // namespace

int main(int argc, char** argv) {
    const bool longer = argc > 1 && std::strcmp(argv[1], "--long") == 0;
    const bool blocks_alone = argc > 1 && std::strcmp(argv[1], "--blocks") == 0;
    const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
    PlannerRegistry registry;
    register_planners(registry);
    if (blocks_alone) return planned_blocks(authors, registry), 0;
    if (argc > 1 && std::strcmp(argv[1], "--growth") == 0) {
        growth(authors, registry);
        return 0;
    }
    const auto rates = [&] {
        timelines(authors, false);
        timelines(authors, true);
        ordered_timelines(authors);
        candidates(authors, registry);
        order_candidates(authors);
        explanations(authors);
    };
    if (argc > 1 && std::strcmp(argv[1], "--timelines") == 0) {
        rates();
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--ten-minutes") == 0) {
        for (const double seconds : {20.0, 600.0}) large(authors, registry, 200, 1000, seconds, 1);
        for (const bool any_sizes : {false, true}) joint_after(authors, registry, 600, any_sizes, 1);
        return 0;
    }
    rates();
    for (const bool any_sizes : {false, true}) {
        joint_after(authors, registry, 5, any_sizes);
        if (longer) joint_after(authors, registry, 30, any_sizes);
    }
    planner_times(authors, registry);
    against_skippipe(authors, registry);
    planned_blocks(authors, registry);
    growth(authors, registry);
    replanning(authors);
    large(authors, registry, 200, 1000, longer ? 20 : 5, 1);
    large(authors, registry, 1000, 5000, 10, 10);
}
