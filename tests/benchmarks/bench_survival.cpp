// SPDX-License-Identifier: GPL-3.0-or-later
// Half of the quick start's nodes without data are lost at once: how much of the throughput that is possible with the
// rest the training has once it is planned anew, with nodes that stay in their stages and with nodes that move. One
// JSON line a draw. `bench_survival [DRAWS [SECONDS]]`: SECONDS of search find what is possible, with nodes anywhere.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/engine/cost_compute.h"
#include "core/engine/trainer.h"
#include "core/experiment/io.h"
#include "core/planner/plan/part.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"

using namespace skippipe;

namespace {

constexpr double lost_at_s = 9;

struct Listener final : TrainingListener {
    double last_s = 0, began_s = 0;
    std::string why;
    void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
    void iterated(const IterationReport& report) override {
        last_s = report.timeline->iteration_s;
        began_s = report.offset_s;
    }
    void plan_switched(int, const Plan&, const std::string& reason) override { why = reason; }
};

/// The last of 30 iterations, all at their final pace.
Listener trained(const Experiment& experiment, const Problem& problem, const Plan& plan, const Planner& planner) {
    const auto schedule = one_rank_schedule(problem.nodes(), plan);
    CostCompute compute(problem, schedule, 1);
    LocalTransport transport;
    Listener listener;
    TrainingStart start;
    start.planner = &planner;
    train(experiment, problem, schedule, compute, transport, &listener, nullptr, {}, start);
    return listener;
}

void draw(int number, double seconds, Experiment experiment, const Problem& problem, const Plan& plan,
          const Planner& planner) {
    std::vector<NodeIndex> others;
    for (std::size_t stage = 1; stage < plan.stages.size(); ++stage)
        others.insert(others.end(), plan.stages[stage].begin(), plan.stages[stage].end());
    std::sort(others.begin(), others.end());
    Rng rng(static_cast<std::uint64_t>(number));
    std::set<NodeIndex> lost;
    const auto whole_stage_lost = [&] {
        return std::any_of(plan.stages.begin(), plan.stages.end(), [&](const auto& ring) {
            return std::all_of(ring.begin(), ring.end(), [&](NodeIndex node) { return lost.contains(node); });
        });
    };
    do {
        rng.shuffle(others);
        lost = {others.begin(), others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2)};
    } while (whole_stage_lost());
    std::vector<NodeIndex> left;
    for (NodeIndex node = 0; node < problem.nodes(); ++node)
        if (!lost.contains(node)) left.push_back(node);
    for (const NodeIndex node : lost)
        experiment.failures.push_back(
            {.kind = FailureKind::crash, .target = problem.node_ids[node], .at_s = lost_at_s});
    const auto part = with_nodes(problem, left);
    const double possible_s = evaluate(part, planner.plan(part, {.seed = 1, .seconds = seconds})).iteration_s;
    for (const double move_s : {0.0, 60.0}) {
        experiment.recovery.move_nodes_s = move_s;
        const auto was = trained(experiment, problem, plan, planner);
        std::printf(
            "{\"draw\": %d, \"move_nodes_s\": %g, \"iteration_s\": %.4f, \"possible_s\": %.4f, \"ratio\": %.3f, "
            "\"last_began_s\": %.3f, \"why\": \"%s\"}\n",
            number, move_s, was.last_s, possible_s, possible_s / was.last_s, was.began_s, was.why.c_str());
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int draws = argc > 1 ? std::atoi(argv[1]) : 5;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 8;
    PlannerRegistry planners;
    register_planners(planners);
    auto experiment = load_experiment(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json").experiment;
    experiment.execution.compute = Compute::cost;
    experiment.training.iterations = 30;
    experiment.training.checkpoint_every = 0;
    const auto problem = make_problem(experiment);
    const auto& planner = *planners.find("skippipe-joint");
    const auto plan = planner.plan(problem, {.seed = experiment.seed});
    for (int number = 1; number <= draws; ++number) draw(number, seconds, experiment, problem, plan, planner);
}
