// SPDX-License-Identifier: GPL-3.0-or-later
// More steps are worth it, or at least do no harm: on networks in regions, by steps, so that no clock decides.
#include <QTest>

#include <algorithm>
#include <stop_token>
#include <utility>

#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/faults.h"
#include "tests/planner/region_networks.h"

using namespace skippipe;

class TestAnytime : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void twice_the_steps_are_never_much_longer() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto& joint = *registry.find("skippipe-joint");
        double worst = 0, whole = 1;
        for (const examples::RegionShape shape : {examples::RegionShape{60, 6, 180}, {100, 8, 400}})
            for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                const auto problem = examples::region_network(seed, shape).problem;
                double before_s = 0, first_s = 0;
                for (const std::int64_t steps : {1000, 2000, 4000}) {
                    PlanRequest request;
                    request.steps = steps;
                    const double seconds = evaluate(problem, joint.plan(problem, request)).iteration_s;
                    qInfo("%d nodes, seed %d, %d steps: %.4f s, %.4f", shape.nodes, static_cast<int>(seed),
                          static_cast<int>(steps), seconds, before_s > 0 ? seconds / before_s : 1.0);
                    if (before_s > 0)
                        worst = std::max(worst, seconds / before_s);
                    else
                        first_s = seconds;
                    before_s = seconds;
                }
                whole = std::min(whole, before_s / first_s);
            }
        QVERIFY2(worst <= most_longer, std::to_string(worst).c_str());
        QVERIFY2(whole < 0.96, std::to_string(whole).c_str());
    }

    /// Fixed pipelines are dealt out by chance: what less of it finds is not lost.
    void twice_the_pipelines_are_never_much_longer() {
        PlannerRegistry registry;
        register_planners(registry);
        for (const auto& [seed, steps] : {std::pair{3, 7'500}, {5, 15'000}}) {
            const auto problem =
                examples::region_network(static_cast<std::uint64_t>(seed), examples::RegionShape{60, 6, 180}).problem;
            const auto after = [&](std::int64_t so_many) {
                PlanRequest request;
                request.steps = so_many;
                request.threads = 2;
                return evaluate(problem, registry.find("skippipe-joint")->plan(problem, request)).iteration_s;
            };
            const double once_s = after(steps), twice_s = after(2 * steps);
            QVERIFY2(twice_s <= once_s * most_longer, std::to_string(twice_s / once_s).c_str());
        }
    }

    /// By the clock, too, the first plan is told before anything is searched; what is told never gets longer, and is
    /// what the plan takes.
    void the_first_plan_comes_at_once() {
        PlannerRegistry registry;
        register_planners(registry);
        examples::RegionShape many{60, 6, 180}, few{24, 4, 48};
        many.gradient_bytes = few.gradient_bytes = 5e7;
        for (const auto& shape : {few, many}) {
            const auto problem = examples::region_network(1, shape).problem;
            double first = -1;
            std::stop_source stop;
            PlanRequest request;
            request.seconds = 60;
            request.stop = stop.get_token();
            request.progress = [&](const PlanProgress& progress) {
                if (progress.best_iteration_s <= 0 || first >= 0) return;
                first = progress.fraction;
                stop.request_stop();
            };
            const auto plan = registry.find("skippipe-joint")->plan(problem, request);
            QVERIFY(examples::faults_of(problem, plan).empty());
            QVERIFY2(first >= 0 && first < 0.1 + 1e-9, std::to_string(first).c_str());
        }
    }

    void what_is_told_never_gets_longer() {
        PlannerRegistry registry;
        register_planners(registry);
        for (const double gradient_bytes : {0.0, 5e7})
            for (examples::RegionShape shape : {examples::RegionShape{24, 4, 48}, {60, 6, 180}}) {
                shape.gradient_bytes = gradient_bytes;
                const auto problem = examples::region_network(1, shape).problem;
                double told_s = 0, longer_s = 0;
                PlanRequest request;
                request.steps = 2000;
                request.progress = [&](const PlanProgress& progress) {
                    if (told_s > 0) longer_s = std::max(longer_s, progress.best_iteration_s - told_s);
                    if (told_s > 0 && progress.best_iteration_s <= 0) longer_s = told_s;
                    told_s = progress.best_iteration_s;
                };
                const auto plan = registry.find("skippipe-joint")->plan(problem, request);
                QCOMPARE(longer_s, 0.0);
                QCOMPARE(told_s, evaluate(problem, plan).iteration_s);
            }
    }

private:
    static constexpr double most_longer = 1.01;
};

QTEST_APPLESS_MAIN(TestAnytime)
#include "test_anytime.moc"
