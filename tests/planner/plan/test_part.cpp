// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>

#include "core/base/infinite.h"
#include "core/planner/plan/part.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;

namespace {

/// Half of the nodes have an uplink or a downlink.
Problem network(std::uint64_t seed) {
    auto problem = examples::random_problem(seed);
    problem.shared_links = true;
    problem.stage_sizes.clear();
    for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
        for (int n = 0; n < problem.nodes(); ++n) rates->push_back(n % 2 == 0 ? infinite : 1e7 * (1 + n));
    for (const char* queue : {"uplink", "downlink"})
        for (const auto& id : problem.node_ids) problem.line_names.push_back(queue + (" of " + id));
    return problem;
}

}  // namespace

class TestPart : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A plan of a part is a plan of the whole network that leaves the others out, and takes as long there.
    void plans_of_a_part_are_plans_of_the_whole() {
        PlannerRegistry planners;
        register_planners(planners);
        int planned = 0;
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const auto whole = network(seed);
            std::vector<NodeIndex> nodes;
            for (NodeIndex n = 0; n < whole.nodes(); ++n)
                if (n % 4 != 1) nodes.push_back(n);
            std::reverse(nodes.begin(), nodes.end());
            const auto part = with_nodes(whole, nodes);
            QCOMPARE(part.nodes(), static_cast<int>(nodes.size()));
            QCOMPARE(part.line_names.back(), "downlink of " + whole.node_ids[nodes.back()]);
            Plan plan;
            try {
                plan = planners.find("skippipe-joint")->plan(part, {.seed = seed, .steps = 300});
            } catch (const InputError&) {
                continue;
            }
            ++planned;
            const auto as_whole = plan_of_whole(whole, nodes, plan);
            QVERIFY(check_structure(whole, as_whole).empty());
            const auto timeline = evaluate(whole, as_whole), alone = evaluate(part, plan);
            QCOMPARE(timeline.iteration_s, alone.iteration_s);
            QCOMPARE(timeline.bytes, alone.bytes);
            QCOMPARE(plan_of_part(whole, nodes, as_whole), plan);
        }
        QVERIFY(planned > 20);
    }

    void nothing_changes_with_all_of_them() {
        const auto whole = network(3);
        std::vector<NodeIndex> all;
        for (NodeIndex n = 0; n < whole.nodes(); ++n) all.push_back(n);
        const auto same = with_nodes(whole, all);
        QCOMPARE(same.node_ids, whole.node_ids);
        QCOMPARE(same.line_names, whole.line_names);
        QCOMPARE(same.memory, whole.memory);
        QCOMPARE(same.up_bytes_per_s, whole.up_bytes_per_s);
        for (std::size_t pair = 0; pair < whole.hops.size(); ++pair) QCOMPARE(same.hops[pair], whole.hops[pair]);
    }
};

QTEST_APPLESS_MAIN(TestPart)
#include "test_part.moc"
