// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/planner/replan/replan.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/benchmarks/bench_planner/figures.h"

namespace skippipe::bench {

namespace {

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

}  // namespace

void replanning(const authors::Authors& authors) {
    replanning("20 nodes x 30 microbatches", authors.problem, authors.plan("skippipe"), 0.1);
    auto problem = grown(authors, 1000);
    problem.microbatches = 5000;
    replanning("1000 nodes x 5000 microbatches", problem, dealt(problem), 2);
}

}  // namespace skippipe::bench
