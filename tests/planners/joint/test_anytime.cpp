// SPDX-License-Identifier: GPL-3.0-or-later
// More steps are worth it, or at least do no harm: on networks in regions, by steps, so that no clock decides.
#include <QTest>

#include <algorithm>

#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
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

private:
    static constexpr double most_longer = 1.01;
};

QTEST_APPLESS_MAIN(TestAnytime)
#include "test_anytime.moc"
