// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

#include "core/planner/bounds/bounds.h"
#include "core/planner/explain/explain.h"
#include "core/planner/plan/validator.h"
#include "core/planner/replan/replan.h"
#include "core/planner/replan/validate_residual.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/jitter.h"
#include "plugins/planners/all.h"
#include "tests/planner/faults.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;

/// Plans that have chosen their stages' blocks, and microbatches of several sizes: whatever is said about such a plan
/// is said of its own times.
class TestUneven : public QObject {
    Q_OBJECT

    static constexpr std::uint64_t instances = 60;
    PlannerRegistry registry_;
    std::vector<std::pair<Problem, Plan>> plans_;

    static std::string text(std::size_t k) { return "seed " + std::to_string(k + 1); }

private Q_SLOTS:
    void initTestCase() {
        register_planners(registry_);
        for (std::uint64_t seed = 1; seed <= instances; ++seed) {
            auto problem = examples::uneven(examples::random_problem(900 + seed), seed);
            PlanRequest request;
            request.seed = seed;
            request.steps = 1000;
            plans_.emplace_back(problem, registry_.find("skippipe-joint")->plan(problem, request));
        }
    }

    /// The problem of a document that gives these blocks, and the one whose planner has chosen them, are the same.
    void chosen_or_given_blocks() {
        int moved = 0;
        for (std::size_t k = 0; k < plans_.size(); ++k) {
            const auto& [problem, plan] = plans_[k];
            if (!problem.plan_blocks) continue;
            moved += plan.blocks != problem.blocks ? 1 : 0;
            Problem given = problem;
            given.set_blocks(plan.blocks);
            given.plan_blocks = false;
            const auto chosen = evaluate(problem, plan), same = evaluate(given, plan);
            QVERIFY2(chosen.iteration_s == same.iteration_s && chosen.spans == same.spans, text(k).c_str());
            QVERIFY2(score(problem, plan).violations.empty(), text(k).c_str());
            const int length = static_cast<int>(plan.paths.front().nodes.size());
            const double free_s = lower_bound(problem, length).seconds, given_s = lower_bound(given, length).seconds;
            QVERIFY2(free_s > 0 && free_s <= chosen.iteration_s && given_s <= chosen.iteration_s, text(k).c_str());
        }
        QVERIFY(moved > 15);
    }

    /// The chain of pieces covers the iteration without a gap, and what a unit more would give is exact.
    void explained() {
        for (std::size_t k = 0; k < plans_.size(); ++k) {
            const auto& [problem, plan] = plans_[k];
            const auto timeline = evaluate(problem, plan);
            const auto why = explain(problem, plan, timeline);
            double at_s = 0;
            for (const auto& piece : why.chain) {
                QVERIFY2(std::abs(piece.start_s - at_s) <= 1e-9 * timeline.iteration_s, text(k).c_str());
                at_s = piece.end_s;
            }
            QVERIFY2(std::abs(at_s - timeline.iteration_s) <= 1e-9 * timeline.iteration_s, text(k).c_str());
            for (const auto& what_if : why.what_ifs)
                if (what_if.complete && !plan.order.empty() && what_if.upgrade.kind != Upgrade::Kind::node_memory)
                    QVERIFY2(what_if.iteration_s == evaluate(upgraded(problem, what_if.upgrade), plan).iteration_s,
                             text(k).c_str());
        }
    }

    void without_jitter_every_sample_is_the_plan() {
        for (std::size_t k = 0; k < plans_.size(); k += 3) {
            const auto& [problem, plan] = plans_[k];
            const auto found = distribution(problem, plan, {.compute = 0, .links = 0}, 3, 1, 1);
            const double seconds = evaluate(problem, plan).iteration_s;
            QVERIFY2(found.nominal_s == seconds && found.least_s == seconds && found.most_s == seconds,
                     text(k).c_str());
        }
    }

    /// Cut anywhere: the rest of a plan that nothing happens to ends when the plan does; after the loss of a node it is
    /// valid.
    void replanned() {
        int lost = 0;
        for (std::size_t k = 0; k < plans_.size(); ++k) {
            const auto& [problem, plan] = plans_[k];
            const auto timeline = evaluate(problem, plan);
            const auto progress = progress_at(problem, plan, timeline, 0.4 * timeline.makespan_s);
            const auto same = replan(problem, plan, {.progress = progress});
            QVERIFY2(std::abs(same.unchanged_s - timeline.iteration_s) <= 1e-9 * timeline.iteration_s, text(k).c_str());
            NodeIndex down = -1;
            for (const auto& stage : plan.stages)
                if (stage.size() > 1) down = stage.back();
            if (down < 0) continue;
            const ReplanRequest request{.progress = progress,
                                        .changes = {{.kind = NetworkChange::Kind::node_down, .node = down}}};
            try {
                const auto result = replan(problem, plan, request);
                const auto found = examples::text_of(
                    check_residual(problem, plan, request.progress, {down}, result.plan, result.timeline));
                QVERIFY2(found.empty(), (text(k) + ": " + found).c_str());
                ++lost;
            } catch (const InputError&) {  // memory does not take it
            }
        }
        QVERIFY2(lost > 25, std::to_string(lost).c_str());
    }

    void robust_plans_are_valid() {
        for (std::size_t k = 0; k < 12; ++k) {
            const auto& problem = plans_[k].first;
            PlanRequest request;
            request.steps = 300;
            request.robust = Robustness{{.compute = 0.2, .links = 0.2}, 50};
            const auto plan = registry_.find("skippipe-joint")->plan(problem, request);
            const auto found = check_plan(problem, plan, evaluate(problem, plan));
            QVERIFY2(found.empty(), text(k).c_str());
        }
    }

    /// A plan made with other blocks begins the search with them.
    void warm_start_keeps_blocks() {
        const auto& [problem, plan] = plans_[1];
        QVERIFY(problem.plan_blocks);
        PlanRequest request;
        request.steps = 1;
        request.warm_start = &plan;
        const auto again = registry_.find("skippipe-joint")->plan(problem, request);
        QVERIFY(evaluate(problem, again).iteration_s <= evaluate(problem, plan).iteration_s);
    }

    /// Threefold speed of half of the nodes: a plan that may move blocks is shorter.
    void moving_blocks_pays() {
        auto problem = examples::random_problem(3, {.most_nodes = 12, .most_stages = 4});
        problem.stage_sizes.clear();
        problem.path_length = problem.stages;
        problem.blocks.assign(problem.blocks.size(), 4);
        for (std::size_t n = 0; n < problem.node_ids.size(); ++n)
            problem.seconds_per_sample_per_block[n] = n % 2 == 0 ? 0.1 : 0.3;
        problem.gradient_bytes_per_block = 1e7;
        problem.set_blocks(problem.blocks);
        PlanRequest request;
        request.steps = 20'000;
        const double fixed_s = evaluate(problem, registry_.find("skippipe-joint")->plan(problem, request)).iteration_s;
        problem.plan_blocks = true;
        const double planned_s =
            evaluate(problem, registry_.find("skippipe-joint")->plan(problem, request)).iteration_s;
        qInfo("%.3f s with 4 blocks a stage, %.3f s with planned ones", fixed_s, planned_s);
        QVERIFY(planned_s < 0.97 * fixed_s);
    }
};

QTEST_APPLESS_MAIN(TestUneven)
#include "test_uneven.moc"
