// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of 12 to 30 nodes whose shortest plan is known: each was planted, and the bound proves that none is shorter.
#include <QTest>

#include "core/planner/bounds/bounds.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/faults.h"
#include "tests/planner/planted.h"

using namespace skippipe;

class TestPlanted : public QObject {
    Q_OBJECT

    static constexpr double tolerance = 1e-9;

private Q_SLOTS:
    void planted_plans_are_the_shortest() {
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            const auto [problem, plan] = examples::planted_problem(seed);
            QVERIFY(problem.nodes() >= 12 && problem.nodes() <= 30);
            const auto found = examples::faults_of(problem, plan);
            QVERIFY2(found.empty(), (std::to_string(seed) + ": " + found).c_str());
            const double planted_s = evaluate(problem, plan).iteration_s;
            const auto bound = lower_bound(problem, problem.path_length);
            QVERIFY2(std::abs(planted_s - bound.seconds) <= tolerance * planted_s,
                     (std::to_string(seed) + ": " + std::to_string(planted_s) + " s, bound " +
                      std::to_string(bound.seconds) + " s by " + bound.which)
                         .c_str());
        }
    }

    /// With a few steps; bench_planner --planted says how many of all it finds with more.
    void joint_finds_them() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto& joint = *registry.find("skippipe-joint");
        int found = 0;
        for (std::uint64_t seed = 1; seed <= problems; ++seed) {
            const auto [problem, plan] = examples::planted_problem(seed);
            PlanRequest request;
            request.seed = seed;
            request.steps = 20'000;
            const double planted_s = evaluate(problem, plan).iteration_s,
                         joint_s = evaluate(problem, joint.plan(problem, request)).iteration_s;
            QVERIFY2(joint_s >= planted_s * (1 - tolerance), std::to_string(seed).c_str());
            found += joint_s <= planted_s * (1 + tolerance) ? 1 : 0;
        }
        qInfo("%d of %d", found, problems);
        QVERIFY2(found >= fewest_found, std::to_string(found).c_str());
    }

private:
    static constexpr int problems = 20, fewest_found = 15;
};

QTEST_APPLESS_MAIN(TestPlanted)
#include "test_planted.moc"
