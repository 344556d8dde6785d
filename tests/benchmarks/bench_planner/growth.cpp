// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/planner/replan/replan.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/simulator.h"
#include "tests/benchmarks/bench_planner/figures.h"
#include "tests/planner/region_networks.h"

namespace skippipe::bench {

namespace {

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

/// Seconds until a planner's own search shows its first valid plan, and the plan; what it holds in memory by then is in
/// the program's peak.
std::pair<double, Plan> first_plan(const Planner& planner, const Problem& problem) {
    std::stop_source stop;
    PlanRequest request;
    request.stop = stop.get_token();
    request.progress = [&](const PlanProgress& progress) {
        if (progress.best_iteration_s > 0) stop.request_stop();
    };
    const double begin_s = wall_s();
    auto plan = planner.plan(problem, request);
    return {wall_s() - begin_s, std::move(plan)};
}

/// Run in a process of its own for each size, so that the peak is that size's alone.
struct Grown {
    double first_s = 0, timeline_s = 0, peak_bytes = 0;
    double iteration_s = 0, replan_s = 0;
};

double peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

Grown measure(const authors::Authors& authors, const PlannerRegistry& registry, int nodes) {
    Grown result;
    const auto problem = grown(authors, nodes);
    result.first_s = first_plan(*registry.find("skippipe-joint"), problem).first;
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
    result.peak_bytes = peak_bytes();
    return result;
}

/// Machines in regions: the first plan, and planning its rest anew when a node of stage 1 dies in the middle.
Grown measure_regions(const PlannerRegistry& registry, const examples::RegionShape& shape) {
    Grown result;
    const auto problem = examples::region_network(1, shape).problem;
    const auto [first_s, plan] = first_plan(*registry.find("skippipe-joint"), problem);
    result.first_s = first_s;
    result.peak_bytes = peak_bytes();
    const auto timeline = evaluate(problem, plan);
    result.iteration_s = timeline.iteration_s;
    const ReplanRequest request{.progress = progress_at(problem, plan, timeline, 0.4 * timeline.iteration_s),
                                .changes = {{.kind = NetworkChange::Kind::node_down, .node = plan.stages[1][0]}}};
    const double begin_s = cpu_s();
    replan(problem, plan, request);
    result.replan_s = cpu_s() - begin_s;
    return result;
}

Grown measure_apart(const std::function<Grown()>& measured) {
    int ends[2] = {};
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        const Grown grown = measured();
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

}  // namespace

void growth(const authors::Authors& authors, const PlannerRegistry& registry) {
    std::vector<double> sizes, first, timeline, peak;
    for (const int nodes : {10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}) {
        const auto problem = grown(authors, nodes);
        const auto result = measure_apart([&] { return measure(authors, registry, nodes); });
        const auto name = fmt::format("{} nodes x {} microbatches", nodes, problem.microbatches);
        print({"first valid plan of skippipe-joint, " + name, "s", result.first_s, "", 0, 1, "search", 1});
        print({"one timeline, " + name, "s of a core", result.timeline_s, "", 0, 1, "dependent comparisons of events",
               repeats});
        print({"peak memory of the whole program, " + name, "MB", result.peak_bytes / 1e6, "", 0, 1,
               "a way each two groups of nodes", 1});
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
    growth_in_regions(registry);
}

void growth_in_regions(const PlannerRegistry& registry) {
    for (const examples::RegionShape shape : {examples::RegionShape{1000, 10, 5000}, {10000, 10, 50000}}) {
        const auto result = measure_apart([&] { return measure_regions(registry, shape); });
        const auto name = fmt::format("{} nodes in regions x {} microbatches", shape.nodes, shape.microbatches);
        print({"first valid plan of skippipe-joint, " + name, "s", result.first_s, "goal", 60, 1, "search", 1});
        print({"iteration by it, " + name, "s", result.iteration_s, "", 0, 1, "search", 1});
        print({"peak memory of the whole program by then, " + name, "MB", result.peak_bytes / 1e6, "goal", 4295, 1,
               "microbatches", 1});
        print({"replan after a node's death, " + name, "s of a core", result.replan_s, "goal", 2, 1, "simulated rests",
               1});
    }
}

}  // namespace skippipe::bench
