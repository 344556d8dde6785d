// SPDX-License-Identifier: GPL-3.0-or-later
// What is known about a search without another one: how often it finds a planted optimum, and whether more time ever
// makes its plan longer.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/planner/timeline/evaluator.h"
#include "tests/benchmarks/bench_planner/figures.h"
#include "tests/planner/planted.h"
#include "tests/planner/region_networks.h"

namespace skippipe::bench {

void planted(const PlannerRegistry& registry) {
    constexpr int problems = 200;
    const auto& joint = *registry.find("skippipe-joint");
    for (const std::int64_t steps : {20'000, 200'000}) {
        int found = 0;
        double excess = 0, worst = 0;
        const double begin_s = cpu_s();
        for (std::uint64_t seed = 1; seed <= problems; ++seed) {
            const auto [problem, plan] = examples::planted_problem(seed);
            PlanRequest request;
            request.seed = seed;
            request.steps = steps;
            const double longer =
                evaluate(problem, joint.plan(problem, request)).iteration_s / evaluate(problem, plan).iteration_s - 1;
            found += longer < 1e-9 ? 1 : 0;
            excess += longer / problems;
            worst = std::max(worst, longer);
        }
        const auto name = fmt::format("12 to 30 nodes, {} steps", steps);
        print({"planted optima found, " + name, "of 200", static_cast<double>(found), "all", problems, 1, "proof",
               problems});
        print({"longer than the planted optimum on the mean, " + name, "%", 100 * excess, "worst", 100 * worst, 1,
               "proof", problems});
        print({"time of a planted problem, " + name, "s of a core", (cpu_s() - begin_s) / problems, "", 0, 1, "search",
               problems});
    }
}

void anytime(const PlannerRegistry& registry, double seconds) {
    const auto& joint = *registry.find("skippipe-joint");
    std::vector<double> ratios;
    for (const examples::RegionShape shape :
         {examples::RegionShape{24, 4, 48}, {60, 6, 180}, {100, 8, 400}, {200, 10, 1000}})
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            const auto problem = examples::region_network(seed, shape).problem;
            const auto after_s = [&](double allowed_s) {
                PlanRequest request;
                request.seconds = allowed_s;
                request.threads = 2;
                return evaluate(problem, joint.plan(problem, request)).iteration_s;
            };
            const double once_s = after_s(seconds);
            ratios.push_back(after_s(2 * seconds) / once_s);
            print({fmt::format("iteration after {:g} s over that after {:g} s, {} nodes in regions, seed {}",
                               2 * seconds, seconds, shape.nodes, seed),
                   "", ratios.back(), "goal", 1.01, 2, "search", 1});
        }
    print({"the worst of them", "", *std::max_element(ratios.begin(), ratios.end()), "goal", 1.01, 2, "search",
           static_cast<int>(ratios.size())});
}

}  // namespace skippipe::bench
