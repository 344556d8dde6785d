// SPDX-License-Identifier: GPL-3.0-or-later
// Plans with planned reductions and uplinks that stay short when nodes and links vary.
#include <QTest>

#include <cmath>

#include "core/base/fault.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/joint/paths/drawn_networks.h"
#include "tests/planner/random_problems.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;
using namespace skippipe::planners;

namespace {

Problem planned(std::uint64_t seed) {
    auto problem = examples::random_problem(seed);
    problem.charge_all_reduce = false;
    problem.plan_reductions = problem.shared_links = true;
    Rng rng(seed, 5);
    if (seed % 2 == 0) {
        problem = examples::with_uplinks(problem, rng);
        for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
            for (double& rate : *rates) rate *= 1e7;
    }
    return problem;
}

}  // namespace

class TestDrawnNetworks : public QObject {
    Q_OBJECT
    PlannerRegistry registry_;

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    /// Without jitter every network is the drawn one; with it the longer half is longer. A cutoff cuts nothing off that
    /// stays below it.
    void the_longer_half() {
        int found = 0;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const auto problem = planned(seed);
            Plan plan;
            try {
                plan = registry_.find("skippipe")->plan(problem, {.seed = seed, .steps = 100});
            } catch (const InputError&) {
                continue;
            }
            const auto candidate = candidate_of(problem, plan);
            const double nominal_s = iteration_s(problem, candidate);
            joint::DrawnNetworks still(problem, {}, seed), varied(problem, {.compute = 0.2, .links = 0.2}, seed);
            QVERIFY(std::abs(still(candidate, INFINITY).iteration_s - nominal_s) < 1e-12 * nominal_s);
            const auto value = varied(candidate, INFINITY);
            if (std::isinf(value.iteration_s)) continue;  // a deadlock where dispatch decides
            QVERIFY2(value.iteration_s > nominal_s, std::to_string(seed).c_str());
            QVERIFY(value.mean_end_s > 0 && value.mean_end_s < value.iteration_s);
            QVERIFY(varied(candidate, value.iteration_s * 1.0001).iteration_s == value.iteration_s);
            QVERIFY(std::isinf(varied(candidate, value.iteration_s * 0.9999).iteration_s));
            ++found;
        }
        QVERIFY2(found > 8, std::to_string(found).c_str());
    }

    /// Never worse for having been asked for, and better where there is something to gain; with uplinks too.
    void robust_plans() {
        const Jitter jitter{.compute = 0.2, .links = 0.3};
        const auto& joint = *registry_.find("skippipe-joint");
        int better[2] = {0, 0};
        for (std::uint64_t seed = 1; seed <= 12 && (better[0] == 0 || better[1] == 0); ++seed) {
            const auto problem = planned(seed);
            PlanRequest request{.seed = seed, .steps = 1500};
            try {
                const auto plain = joint.plan(problem, request);
                request.robust = Robustness{.jitter = jitter, .samples = 100};
                const auto robust = joint.plan(problem, request);
                const auto timeline = evaluate(problem, robust);
                QVERIFY2(timeline.complete && check_plan(problem, robust, timeline).empty(),
                         std::to_string(seed).c_str());
                const auto p95_s = [&](const Plan& plan) {
                    return distribution(problem, plan, jitter, 100, seed, 1).p95_s;
                };
                QVERIFY(p95_s(robust) <= p95_s(plain));
                better[seed % 2] += p95_s(robust) < 0.99 * p95_s(plain) && robust.paths != plain.paths ? 1 : 0;
            } catch (const InputError&) {}
        }
        qInfo("other paths, 1 %% shorter: %d without and %d with uplinks", better[1], better[0]);
        QVERIFY(better[0] > 0 && better[1] > 0);
    }
};

QTEST_APPLESS_MAIN(TestDrawnNetworks)
#include "test_drawn_networks.moc"
