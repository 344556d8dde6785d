// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/index.h"
#include "core/engine/cost_compute.h"
#include "core/engine/plan_ahead.h"
#include "core/engine/trainer.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"

using namespace skippipe;

namespace {

/// The quick start with the charged ring, which is planned sooner: 20 nodes in six stages.
struct Scene {
    Scene() {
        register_planners(planners);
        experiment = load_experiment(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json").experiment;
        experiment.execution.compute = Compute::cost;
        experiment.costs.all_reduce = AllReduceRule::charged;
        experiment.pipeline.plan_steps = 100'000;
        problem = make_problem(experiment);
        plan = planner().plan(problem, {.seed = 1, .steps = 20'000});
    }
    const Planner& planner() const { return *planners.find("skippipe-joint"); }

    PlannerRegistry planners;
    Experiment experiment;
    Problem problem;
    Plan plan;
};

struct Listener final : TrainingListener {
    std::vector<double> iterations_s;
    std::vector<std::vector<Span>> iterations;
    std::vector<int> switched_at;
    std::vector<std::string> cut;
    double ended_s = 0;
    void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
    void iterated(const IterationReport& report) override {
        iterations_s.push_back(report.timeline->iteration_s);
        iterations.push_back(report.timeline->spans);
        ended_s = report.offset_s + report.timeline->iteration_s;
    }
    void recovered(int, double, const RecoveryReport& report) override {
        for (const auto& link : report.links) cut.push_back(link);
    }
    void plan_switched(int iteration, const Plan&, const std::string& why) override {
        QVERIFY(why.find("planned anew") == 0);
        switched_at.push_back(iteration);
    }
};

/// Where it could go on from, after each iteration.
struct Positions final : CommitListener {
    std::vector<TrainingPosition> all;
    void committed(const TrainingPosition& position, const Plan&, bool) override { all.push_back(position); }
};

Listener trained(const Scene& s, const Planner* planner, Positions* positions = nullptr,
                 const TrainingPosition& from = {}) {
    const auto schedule = one_rank_schedule(s.problem.nodes(), s.plan);
    CostCompute compute(s.problem, schedule, 1);
    LocalTransport transport;
    Listener listener;
    TrainingStart start;
    start.planner = planner;
    start.commits = positions;
    start.position = from;
    start.validate_first = from.iterations_done == 0;
    train(s.experiment, s.problem, schedule, compute, transport, &listener, nullptr, {}, start);
    return listener;
}

}  // namespace

class TestPlanAhead : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Nodes stay in their stages; nothing longer than the plan in force is ever offered.
    void a_shorter_plan_for_those_who_are_left() {
        const Scene s;
        auto left = s.plan;
        const auto gone = left.stages[1].back();
        ReplanController repair;
        const auto repaired = plan_without(s.problem, left, {gone}, repair);
        PlanAhead ahead(&s.planner(), 1, 50'000);
        QVERIFY(!ahead.begun() && !ahead.ready());
        ahead.begin(s.problem, repaired);
        const auto better = ahead.take();
        QVERIFY(better.has_value());
        QCOMPARE(better->stages, repaired.stages);
        QVERIFY(evaluate(s.problem, *better).iteration_s < evaluate(s.problem, repaired).iteration_s);
        ahead.begin(s.problem, *better);
        ahead.give_up();
        QVERIFY(!ahead.begun() && !ahead.take().has_value());
    }

    void nobody_plans_without_a_planner_or_for_a_stage_without_nodes() {
        const Scene s;
        PlanAhead nobody(nullptr, 1, 0);
        nobody.begin(s.problem, s.plan);
        QVERIFY(!nobody.begun());
        auto lost = s.plan;
        lost.stages[1].clear();
        PlanAhead ahead(&s.planner(), 1, 1000);
        ahead.begin(s.problem, lost);
        QVERIFY(!ahead.begun());
    }

    /// Half of the nodes that are not data nodes are lost: at first paths are repaired, planning_s later they are
    /// planned anew, at the same network time in every run.
    void training_goes_over_to_it_when_it_is_due() {
        Scene s;
        s.experiment.training.iterations = 12;
        for (std::size_t stage = 1; stage < s.plan.stages.size(); ++stage) {
            const auto& ring = s.plan.stages[stage];
            for (std::size_t k = ring.size() / 2 + 1; k < ring.size(); ++k)
                s.experiment.failures.push_back(
                    {.kind = FailureKind::crash, .target = s.problem.node_ids[at(ring[k])], .at_s = 3});
        }
        const auto repaired = trained(s, nullptr), planned = trained(s, &s.planner());
        QVERIFY(repaired.switched_at.empty());
        QCOMPARE(planned.switched_at.size(), std::size_t{1});
        const auto due = at(planned.switched_at.front());
        for (std::size_t i = 0; i < due; ++i) QCOMPARE(planned.iterations_s[i], repaired.iterations_s[i]);
        double passed_s = 0;  // since the repaired plan came into force, after the iteration of the loss
        for (std::size_t i = 2; i < due; ++i) passed_s += planned.iterations_s[i];
        QVERIFY(passed_s >= s.experiment.recovery.planning_s);
        for (std::size_t i = due; i < planned.iterations_s.size(); ++i)
            QVERIFY(planned.iterations_s[i] < 0.95 * repaired.iterations_s[i]);
        QCOMPARE(trained(s, &s.planner()).iterations_s, planned.iterations_s);
        s.experiment.recovery.planning_s = 0;
        QCOMPARE(trained(s, &s.planner()).iterations_s, repaired.iterations_s);
    }

    /// From the position after each iteration, that in which the node was lost too: the plan made anew comes into force
    /// when it does without an interruption.
    void a_training_that_goes_on_goes_over_to_it_when_it_is_due() {
        Scene s;
        s.experiment.training.iterations = 8;
        s.experiment.pipeline.plan_steps = 2'000;
        s.experiment.recovery.planning_s = 3;
        s.experiment.failures = {
            {.kind = FailureKind::crash, .target = s.problem.node_ids[at(s.plan.stages[1].back())], .at_s = 4}};
        Positions positions;
        const auto whole = trained(s, &s.planner(), &positions);
        QCOMPARE(whole.switched_at.size(), std::size_t{1});
        for (const auto& from : positions.all) {
            if (from.iterations_done == 0 || from.iterations_done == 8) continue;
            const auto rest = trained(s, &s.planner(), nullptr, from);
            const auto gone = whole.iterations_s.begin() + from.iterations_done;
            QCOMPARE(rest.iterations_s, std::vector<double>(gone, whole.iterations_s.end()));
            if (from.iterations_done <= whole.switched_at.front()) QCOMPARE(rest.switched_at, whole.switched_at);
        }
    }

    /// Training waits for a plan around a link that is cut, and takes the old one again when the link is back. A cut
    /// that no path goes over is none.
    void around_a_link_that_is_cut() {
        Scene s;
        s.experiment.training.iterations = 14;
        std::map<std::string, int> used;  // lines by the transfers of an undisturbed iteration
        const auto calm = trained(s, &s.planner());
        const auto line_of = [&](const Span& span) {
            return s.problem.line_names[at(s.problem.hop(span.node, span.to_node).line)];
        };
        const auto over = [&](const std::vector<Span>& spans, const std::string& line) {
            return std::count_if(spans.begin(), spans.end(), [&](const Span& span) {
                return span.to_node >= 0 && span.kind != SpanKind::all_reduce && line_of(span) == line;
            });
        };
        for (const auto& link : s.experiment.topology.links)
            used[link.from + "->" + link.to] = static_cast<int>(over(calm.iterations[0], link.from + "->" + link.to));
        const auto busiest = std::max_element(used.begin(), used.end(),
                                              [](const auto& a, const auto& b) { return a.second < b.second; });
        const auto idle = std::find_if(used.begin(), used.end(), [](const auto& one) { return one.second == 0; });
        QVERIFY(busiest->second > 2 && idle != used.end());

        s.experiment.failures = {
            {.kind = FailureKind::link_cut, .target = busiest->first, .at_s = 4, .rejoin_after_s = 12}};
        const auto disturbed = trained(s, &s.planner());
        QCOMPARE(disturbed.cut, std::vector<std::string>{busiest->first});
        int around = 0;
        for (const auto& spans : disturbed.iterations) around += over(spans, busiest->first) == 0 ? 1 : 0;
        QVERIFY(around > 0 && around < 8);
        QCOMPARE(over(disturbed.iterations.back(), busiest->first), over(calm.iterations[0], busiest->first));
        QVERIFY(disturbed.ended_s > calm.ended_s + s.experiment.recovery.planning_s);
        QVERIFY_THROWS_EXCEPTION(InputError, [&] {
            s.experiment.failures[0].rejoin_after_s.reset();
            trained(s, nullptr);
        }());

        s.experiment.failures = {{.kind = FailureKind::link_cut, .target = idle->first, .at_s = 4}};
        const auto unharmed = trained(s, &s.planner());
        QVERIFY(unharmed.cut.empty());
        QCOMPARE(unharmed.iterations_s.front(), calm.iterations_s.front());
    }

    /// Durations vary for as long as the document says, as the seed says.
    void nodes_and_links_that_vary() {
        Scene s;
        s.experiment.training.iterations = 10;
        const auto calm = trained(s, nullptr);
        const Failure jitter{.kind = FailureKind::jitter,
                             .at_s = calm.iterations_s[0] * 2.5,
                             .rejoin_after_s = calm.iterations_s[0] * 3,
                             .factor = 0.8};
        for (const auto& node : s.problem.node_ids) {
            s.experiment.failures.push_back(jitter);
            s.experiment.failures.back().target = node;
        }
        const auto varies = trained(s, nullptr);
        QCOMPARE(varies.iterations_s[1], calm.iterations_s[1]);
        QVERIFY(varies.iterations_s[3] != calm.iterations_s[3] && varies.iterations_s[3] != varies.iterations_s[4]);
        QCOMPARE(varies.iterations_s.back(), calm.iterations_s.back());
        QCOMPARE(trained(s, nullptr).iterations_s, varies.iterations_s);
        ++s.experiment.seed;
        QVERIFY(trained(s, nullptr).iterations_s != varies.iterations_s);

        s.experiment.failures = {jitter};
        const auto sent = std::find_if(calm.iterations[0].begin(), calm.iterations[0].end(),
                                       [](const Span& span) { return span.to_node >= 0; });
        s.experiment.failures[0].target = s.problem.line_names[at(s.problem.hop(sent->node, sent->to_node).line)];
        const auto link = trained(s, nullptr);
        const auto arrivals = [](const std::vector<Span>& spans) {
            double sum = 0;
            for (const auto& span : spans) sum += span.to_node >= 0 ? span.end_s - span.start_s : 0;
            return sum;
        };
        QCOMPARE(arrivals(link.iterations[1]), arrivals(calm.iterations[1]));
        QVERIFY(std::abs(arrivals(link.iterations[3]) - arrivals(calm.iterations[3])) > 1e-6);
    }
};

QTEST_APPLESS_MAIN(TestPlanAhead)
#include "test_plan_ahead.moc"
