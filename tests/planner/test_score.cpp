// SPDX-License-Identifier: GPL-3.0-or-later
// A plan beside its bound, which no plan undercuts, and what it breaks.
#include <QTest>

#include <algorithm>
#include <string>
#include <vector>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/planner.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/flat_plan.h"
#include "plugins/planners/all.h"
#include "tests/planner/examples.h"

using namespace skippipe;
using examples::toy;

class TestScore : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;
    Plan planned(const char* planner, const Problem& problem) {
        return registry_.find(planner)->plan(problem, {.seed = 1, .steps = 500});
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    /// Paths of two stages of six, each passing over three at most: no path comes to the last stage.
    void stages_that_no_path_comes_to() {
        for (const int length : {2, 3}) {
            Problem problem = toy({"a", "b", "c", "d", "e", "f"}, 6, length, 4);
            problem.constraints.max_passed_over = length == 2 ? 3 : 1;
            for (const char* planner : {"skippipe", "skippipe-joint", "dtfm-skip"}) {
                const auto plan = planned(planner, problem);
                const auto row = score(problem, plan);
                QVERIFY2(row.lower_bound_seconds > 0 && row.lower_bound_seconds <= row.iteration_seconds, planner);
            }
        }
    }

    /// What a split backward keeps waiting is half of it: a bound of whole ones would be above the plan.
    void a_split_plan_has_the_bound_of_one() {
        Problem problem = toy({"a", "b", "c", "d"}, 4, 4, 1);
        const auto plan = planned("zero-bubble", problem);
        QVERIFY(plan.split_backward && !problem.split_backward);
        const auto row = score(problem, plan);
        QVERIFY2(row.gap >= 0 && row.violations.empty(), std::to_string(row.gap).c_str());
        QVERIFY(row.lower_bound_seconds < lower_bound(problem, 4).seconds);
    }

    /// Operations that take no time begin and end at once; their order is still the one they ran in.
    void losses_that_take_no_time_keep_their_order() {
        Problem problem = toy({"a", "b"}, 2, 2, 40);
        problem.loss_factor = 0;
        problem.memory.assign(2, 40);
        const auto row = score(problem, planned("gpipe", problem));
        QVERIFY2(row.violations.empty(), row.violations.empty() ? "" : row.violations.front().c_str());
    }

    /// A plan that strays from what the experiment fixes says so, and is not measured by a bound that is not its own.
    void a_plan_of_another_placement_is_told() {
        Problem free = toy({"a", "b", "c", "d"}, 2, 2, 8), fixed = free, sized = free;
        free.placement = PerStage<std::vector<NodeIndex>>({{NodeIndex(0), NodeIndex(1)}, {NodeIndex(2), NodeIndex(3)}});
        fixed.placement =
            PerStage<std::vector<NodeIndex>>({{NodeIndex(0)}, {NodeIndex(1), NodeIndex(2), NodeIndex(3)}});
        sized.stage_sizes = PerStage<int>({1, 3});
        const auto plan = planned("gpipe", free);
        QVERIFY(score(free, plan).violations.empty());
        for (const Problem* other : {&fixed, &sized}) {
            const auto row = score(*other, plan);
            QVERIFY(row.gap >= 0 && !row.violations.empty());
            QVERIFY2(row.violations.front().starts_with("placement: stage 0 has"), row.violations.front().c_str());
        }
        QCOMPARE(score(fixed, plan).violations.front(),
                 std::string("placement: stage 0 has a, b, the experiment gives it a"));
    }

    /// Operations are packed with 17 bits of the microbatch's number.
    void the_most_microbatches_can_be_told_apart() {
        auto experiment = load_experiment(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json").experiment;
        experiment.pipeline.microbatches = 131'071;
        const auto refused = [&] {
            const auto faults = parse_experiment(to_json(experiment)).faults;
            return std::any_of(faults.begin(), faults.end(), [](const Fault& fault) {
                return fault.pointer == "/pipeline/microbatches" &&
                       fault.what.find("out of range") != std::string::npos;
            });
        };
        QVERIFY(!refused());
        const ReleaseIndex last(experiment.pipeline.microbatches - 1);
        QVERIFY(packed_index(pack(last, 7)) == last && packed_step(pack(last, 7)) == 7);
        experiment.pipeline.microbatches += 2;
        QVERIFY(refused());
    }
};

QTEST_APPLESS_MAIN(TestScore)
#include "test_score.moc"
