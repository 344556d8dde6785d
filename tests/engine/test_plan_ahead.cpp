// SPDX-License-Identifier: GPL-3.0-or-later
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <QTest>

#include "core/base/index.h"
#include "core/engine/cost_compute.h"
#include "core/engine/moves.h"
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
        experiment.recovery.move_nodes_s = 0;  // who is left stays, unless a test says otherwise
        problem = make_problem(experiment);
        plan = planner().plan(problem, {.seed = 1, .steps = 20'000});
    }
    const Planner& planner() const { return *planners.find("skippipe-joint"); }

    PlannerRegistry planners;
    Experiment experiment;
    Problem problem;
    Plan plan;
};

/// About half of the nodes that are not data nodes are lost 3 s after the start.
Scene half_lost() {
    Scene s;
    s.experiment.training.iterations = 12;
    for (std::size_t stage = 1; stage < s.plan.stages.size(); ++stage) {
        const auto& ring = s.plan.stages[stage];
        for (std::size_t k = ring.size() / 2 + 1; k < ring.size(); ++k)
            s.experiment.failures.push_back(
                {.kind = FailureKind::crash, .target = s.problem.node_ids[at(ring[k])], .at_s = 3});
    }
    return s;
}

/// Two stages keep one node each 3 s after the start.
Scene unevenly_lost() {
    Scene s;
    s.experiment.training.iterations = 12;
    for (const std::size_t stage : {1, 2})
        for (std::size_t k = 1; k < s.plan.stages[stage].size(); ++k)
            s.experiment.failures.push_back(
                {.kind = FailureKind::crash, .target = s.problem.node_ids[at(s.plan.stages[stage][k])], .at_s = 3});
    return s;
}

struct Listener final : TrainingListener {
    std::vector<double> iterations_s;
    std::vector<std::vector<Span>> iterations;
    std::vector<int> switched_at;
    std::vector<Plan> plans;
    std::vector<std::pair<int, std::string>> repaired;  ///< from which iteration on, and why
    std::vector<double> begun_s;                        ///< each iteration, in network time
    std::vector<std::string> cut;
    double ended_s = 0;
    void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
    void iterated(const IterationReport& report) override {
        iterations_s.push_back(report.timeline->iteration_s);
        iterations.push_back(report.timeline->spans);
        begun_s.push_back(report.offset_s);
        ended_s = report.offset_s + report.timeline->iteration_s;
    }
    void recovered(int, double, const RecoveryReport& report) override {
        for (const auto& link : report.links) cut.push_back(link);
    }
    void plan_switched(int iteration, const Plan& plan, const std::string& why) override {
        if (why.find("planned anew") != 0) {  // who is left goes on by what is left of the plan
            repaired.emplace_back(iteration, why);
            return;
        }
        plans.push_back(plan);
        switched_at.push_back(iteration);
    }
};

/// Where it could go on from, after each iteration.
struct Positions final : CommitListener {
    std::vector<TrainingPosition> all;
    std::vector<Plan> plans;
    void committed(const TrainingPosition& position, const Plan& in_force, bool) override {
        all.push_back(position);
        plans.push_back(in_force);
    }
};

Listener trained(const Scene& s, const Planner* planner, Positions* positions = nullptr,
                 const TrainingPosition& from = {}, TrainingController* controller = nullptr) {
    const auto schedule = one_rank_schedule(s.problem.nodes(), s.plan);
    CostCompute compute(s.problem, schedule, 1);
    LocalTransport transport;
    Listener listener;
    TrainingStart start;
    start.planner = planner;
    start.commits = positions;
    start.position = from;
    start.validate_first = from.iterations_done == 0;
    train(s.experiment, s.problem, schedule, compute, transport, &listener, controller, {}, start);
    return listener;
}

/// Has no plan until it is stopped, or for a while.
struct Slow final : Planner {
    std::string name() const override { return "slow"; }
    std::string description() const override { return "Never ends by itself"; }
    bool full_pipeline() const override { return false; }
    Plan plan(const Problem&, const PlanRequest& request) const override {
        for (int k = 0; k < 2'000 && !request.stop.stop_requested(); ++k)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        was_stopped = request.stop.stop_requested();
        throw InputError("/pipeline/planner", "it found no plan", "", "");
    }
    mutable std::atomic<bool> was_stopped = false;
};

/// Stops when it was asked more often than there are iterations.
struct Stopping final : TrainingController {
    explicit Stopping(int asked_before) : left(asked_before) {}
    TrainingCommand next() override { return {.stop = --left < 0}; }
    int left;
};

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

    /// A stage keeps one of its nodes: another one's goes there, unless that takes too long.
    void nodes_go_where_that_is_worth_it() {
        const Scene s;
        std::vector<NodeIndex> gone(s.plan.stages[1].begin() + 1, s.plan.stages[1].end());
        std::sort(gone.begin(), gone.end());
        ReplanController repair;
        const auto repaired = plan_without(s.problem, s.plan, gone, repair);
        const auto planned = [&](double move_s, std::vector<NodeIndex> spares) {
            PlanAhead ahead(&s.planner(), 1, 20'000, move_s);
            ahead.begin(s.problem, repaired, std::move(spares));
            return ahead.take().value();
        };
        const auto stays = planned(0, {}), goes = planned(1e3, {}), too_slow = planned(1e-3, {});
        QCOMPARE(stays.stages, repaired.stages);
        QCOMPARE(too_slow, stays);
        QVERIFY(evaluate(s.problem, goes).iteration_s < 0.98 * evaluate(s.problem, stays).iteration_s);
        const auto moves = moves_between(s.problem, repaired.stages, goes.stages);
        QVERIFY(moves.possible && !moves.list.empty() && moves.lasts_s < 1e3);
        const auto stage_of = stage_of_nodes(goes, s.problem.nodes());
        for (const NodeIndex node : gone) QCOMPARE(stage_of[node], StageIndex(-1));
        const auto with_spares = planned(1e3, gone);  // they are back
        const auto used = stage_of_nodes(with_spares, s.problem.nodes());
        QVERIFY(std::any_of(gone.begin(), gone.end(), [&](NodeIndex node) { return used[node] >= 0; }));
    }

    /// A plan that only goes on without those who are lost is told too, and the old one when they are back.
    void a_plan_without_the_lost_is_told() {
        Scene s;
        s.experiment.training.iterations = 10;
        const auto& lost = s.problem.node_ids[at(s.plan.stages[1].back())];
        const double iteration_s = trained(s, nullptr).iterations_s.front();
        s.experiment.failures = {
            {.kind = FailureKind::crash, .target = lost, .at_s = 2.5 * iteration_s, .rejoin_after_s = 3 * iteration_s}};
        const auto told = trained(s, nullptr);
        QVERIFY(told.plans.empty());
        QCOMPARE(told.repaired.size(), std::size_t{2});
        QCOMPARE(told.repaired[0], std::pair(3, "for the nodes that are left, without " + lost));
        QCOMPARE(told.repaired[1].second, std::string("all nodes are there"));
        QVERIFY(told.repaired[1].first > 3);
        QCOMPARE(told.iterations_s.back(), told.iterations_s.front());
    }

    /// The iteration by the plan made anew begins once nodes have what they need in their stages. Who comes back has no
    /// place until it is planned anew again.
    void training_waits_for_nodes_that_go_elsewhere() {
        auto s = unevenly_lost();
        const auto stayed = trained(s, &s.planner());
        s.experiment.recovery.move_nodes_s = 100;
        Positions positions;
        const auto moved = trained(s, &s.planner(), &positions);
        QCOMPARE(moved.switched_at.size(), std::size_t{1});
        const auto due = at(moved.switched_at.front());
        QCOMPARE(stayed.switched_at.front(), moved.switched_at.front());
        QVERIFY(moved.iterations_s.back() < 0.98 * stayed.iterations_s.back());
        auto before = s.plan.stages;
        for (const auto& absent : positions.all[due].members.absent)
            for (auto& ring : before) std::erase(ring, NodeIndex(absent.node));
        const auto moves = moves_between(s.problem, before, moved.plans[0].stages);
        QVERIFY(moves.lasts_s > 0);
        const double ended_s = moved.begun_s[due - 1] + moved.iterations_s[due - 1];
        QVERIFY(std::abs(moved.begun_s[due] - ended_s - moves.lasts_s) < 1e-9 * moved.begun_s[due]);
        QCOMPARE(stayed.begun_s[due], ended_s);
        QCOMPARE(trained(s, &s.planner()).begun_s, moved.begun_s);
        s.experiment.training.iterations = 22;
        for (auto& failure : s.experiment.failures) failure.rejoin_after_s = moved.begun_s[due];
        const auto back = trained(s, &s.planner());
        QCOMPARE(back.switched_at.size(), std::size_t{2});
        QCOMPARE(back.switched_at.front(), moved.switched_at.front());
        const auto again = at(back.switched_at.back());
        QCOMPARE(back.iterations_s[again - 1], moved.iterations_s.back());
        QVERIFY(back.iterations_s.back() < 0.98 * moved.iterations_s.back());
        int with_stage = 0;
        for (const auto& ring : back.plans[1].stages) with_stage += static_cast<int>(ring.size());
        QVERIFY(with_stage > 20 - static_cast<int>(s.experiment.failures.size()));
    }

    /// From the position after each iteration, with the plan that is in force there: before nodes go elsewhere, after,
    /// and once others are back, up to the last bit.
    void a_training_whose_nodes_went_elsewhere_goes_on() {
        auto s = unevenly_lost();
        s.experiment.pipeline.plan_steps = 2'000;
        s.experiment.training.iterations = 16;
        s.experiment.recovery.planning_s = 3;
        s.experiment.recovery.move_nodes_s = 100;
        for (auto& failure : s.experiment.failures) failure.rejoin_after_s = 15;
        Positions positions;
        const auto whole = trained(s, &s.planner(), &positions);
        QCOMPARE(whole.switched_at.size(), std::size_t{2});
        const auto first_plan = s.plan;
        for (std::size_t k = 1; k + 1 < positions.all.size(); ++k) {
            const auto done = positions.all[k].iterations_done;
            s.plan = positions.plans[k];
            const auto rest = trained(s, &s.planner(), nullptr, positions.all[k]);
            QCOMPARE(rest.begun_s, std::vector<double>(whole.begun_s.begin() + done, whole.begun_s.end()));
            QCOMPARE(rest.iterations_s,
                     std::vector<double>(whole.iterations_s.begin() + done, whole.iterations_s.end()));
            QCOMPARE(s.plan.stages == first_plan.stages, done <= whole.switched_at.front());
        }
    }

    /// A node without a stage is lost: nobody misses it, and no plan made anew counts on it.
    void a_node_without_a_stage_is_lost() {
        auto s = unevenly_lost();
        s.experiment.recovery.move_nodes_s = 100;
        s.experiment.training.iterations = 22;
        for (auto& failure : s.experiment.failures) failure.rejoin_after_s = 18;
        const auto back = trained(s, &s.planner());
        QCOMPARE(back.switched_at.size(), std::size_t{2});
        const auto again = at(back.switched_at.back());
        const auto node_of = [&](const Failure& failure) {
            const auto& ids = s.problem.node_ids;
            return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), failure.target) - ids.begin());
        };
        const auto used = stage_of_nodes(back.plans[1], s.problem.nodes());
        const auto spare = std::find_if(s.experiment.failures.begin(), s.experiment.failures.end(),
                                        [&](const Failure& failure) { return used[node_of(failure)] >= 0; });
        QVERIFY(spare != s.experiment.failures.end());
        const auto node = node_of(*spare);
        const auto target = spare->target;
        // It is there since 21 s, and has no stage before the plan made anew: it is lost in between.
        s.experiment.failures.push_back(
            {.kind = FailureKind::crash, .target = target, .at_s = 0.5 * (21 + back.begun_s[again])});
        const auto lost = trained(s, &s.planner());
        QCOMPARE(lost.iterations_s[again - 1], back.iterations_s[again - 1]);
        for (const auto& plan : lost.plans) QCOMPARE(stage_of_nodes(plan, s.problem.nodes())[node], StageIndex(-1));
        QVERIFY(lost.switched_at.size() >= 2);
    }

    /// Half of the nodes that are not data nodes are lost: at first paths are repaired, planning_s later they are
    /// planned anew, at the same network time in every run.
    void training_goes_over_to_it_when_it_is_due() {
        auto s = half_lost();
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

    /// Who stops a training that waits for a plan does not wait for it.
    void a_training_that_waits_for_its_planner_is_stopped() {
        const auto s = half_lost();
        const Slow slow;
        Stopping stopping(s.experiment.training.iterations + 10);
        const auto trained_before = trained(s, &slow, nullptr, {}, &stopping).iterations_s.size();
        QVERIFY2(slow.was_stopped, "the training did not wait until the planner gave up");
        QVERIFY(trained_before > 0 && trained_before < at(s.experiment.training.iterations));
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

    /// Messages over it take longer for as long as the document says, and the iterations with them.
    void a_link_that_is_degraded() {
        Scene s;
        s.experiment.training.iterations = 10;
        const auto calm = trained(s, nullptr);
        const auto line_of = [&](const Span& span) { return s.problem.hop(span.node, span.to_node).line; };
        const auto sent = std::find_if(calm.iterations[0].begin(), calm.iterations[0].end(),
                                       [](const Span& span) { return span.kind == SpanKind::transfer_forward; });
        QVERIFY(sent != calm.iterations[0].end());
        // Of one kind, since each has its size.
        const auto longest_s = [&](const std::vector<Span>& spans) {
            double longest_s = 0;
            for (const auto& span : spans)
                if (span.kind == SpanKind::transfer_forward && line_of(span) == line_of(*sent))
                    longest_s = std::max(longest_s, span.end_s - span.start_s);
            return longest_s;
        };
        s.experiment.failures = {{.kind = FailureKind::link_degraded,
                                  .target = s.problem.line_names[at(line_of(*sent))],
                                  .at_s = calm.iterations_s[0] * 2.5,
                                  .rejoin_after_s = calm.iterations_s[0] * 4,
                                  .factor = 8}};
        const auto degraded = trained(s, nullptr);
        const double overhead_s = s.problem.overhead_s, calm_s = longest_s(calm.iterations[0]) - overhead_s;
        QCOMPARE(longest_s(degraded.iterations[1]), longest_s(calm.iterations[1]));
        QVERIFY(std::abs(longest_s(degraded.iterations[3]) - overhead_s - 8 * calm_s) < 1e-9);
        QVERIFY(degraded.iterations_s[3] > calm.iterations_s[3]);
        QCOMPARE(longest_s(degraded.iterations.back()), longest_s(calm.iterations.back()));
        QCOMPARE(degraded.iterations_s.back(), calm.iterations_s.back());
    }
};

QTEST_APPLESS_MAIN(TestPlanAhead)
#include "test_plan_ahead.moc"
