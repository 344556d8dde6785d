// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/common/plan_candidate.h"
#include "tests/benchmarks/bench_planner/figures.h"
#include "tests/planner/random_problems.h"

namespace skippipe::bench {

using namespace planners;

namespace {

/// Five clusters of four nodes in five far regions: 0.1 to 0.25 s and 0.1 to 0.3 GB/s between them, a line a pair of
/// regions and direction.
Problem five_clusters(const authors::Authors& authors) {
    Problem problem = authors.problem;
    problem.shared_links = problem.charge_all_reduce = true;
    problem.gradient_bytes.assign(6, 5e7);
    problem.forward_bytes = problem.backward_bytes = 8.0 * 1024 * 1024 * 4;
    std::vector<Hop> pairs;
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
            pairs.push_back({latency_s, rate, problem.forward_bytes / rate, problem.backward_bytes / rate,
                             from == to ? line(fmt::format("n{}->n{}", a, b)) : shared});
        }
    problem.hops = std::move(pairs);
    return problem;
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

}  // namespace

void joint_after(const authors::Authors& authors, const PlannerRegistry& registry, double seconds, Sizes sizes,
                 int seeds) {
    const bool any_sizes = sizes == Sizes::any;
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
    problem.hops = std::vector<Hop>(36, {0.001, 1e300, 0, 0, 0});
    planned_blocks("6 nodes in one room, every second 3 x slower, paths of 6 of 6 stages", problem, joint);
}

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

}  // namespace skippipe::bench
