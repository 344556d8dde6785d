// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/index.h"
#include "core/engine/survival.h"
#include "core/experiment/validate.h"
#include "plugins/planners/all.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using Kind = NetworkChange::Kind;

namespace {

/// Six nodes of three stages, 4 s an iteration or so.
struct Scene {
    Scene() : problem(examples::random_problem(3)) {
        PlannerRegistry planners;
        register_planners(planners);
        PlanRequest request;
        request.steps = 50;
        plan = planners.find("1f1b")->plan(problem, request);
    }
    std::vector<FailureEvent> events(int iteration, double offset_s, double expected_s = 4) const {
        return FailureSchedule(experiment, problem).of_iteration(iteration, offset_s, expected_s, plan.stages);
    }
    Experiment experiment;
    Problem problem;
    Plan plan;
};

}  // namespace

class TestFailures : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Failures by time and rate are the same whichever iterations they fall into.
    void a_rate_is_a_function_of_seed_and_time() {
        Scene s;
        s.experiment.failures.push_back(
            {.kind = FailureKind::crash, .target = std::string(any_target), .rate_per_hour = 3600});
        std::vector<double> whole, pieces;
        std::vector<int> nodes, nodes_of_pieces;
        for (const auto& event : s.events(0, 0, 10)) {
            if (event.disturbance.at_s >= 100) break;
            whole.push_back(event.disturbance.at_s);
            nodes.push_back(event.disturbance.change.node);
        }
        for (int i = 0; i < 25; ++i)
            for (const auto& event : s.events(i, 4.0 * i))
                if (event.disturbance.at_s < 4) {
                    pieces.push_back(4.0 * i + event.disturbance.at_s);
                    nodes_of_pieces.push_back(event.disturbance.change.node);
                }
        QVERIFY(whole.size() > 60 && whole.size() < 140);  // one a second: 100 +- 4 deviations
        QCOMPARE(pieces.size(), whole.size());
        for (std::size_t k = 0; k < whole.size(); ++k) QVERIFY(std::abs(pieces[k] - whole[k]) < 1e-9);
        QCOMPARE(nodes_of_pieces, nodes);
        s.experiment.seed = 2;
        const auto others = s.events(0, 0, 10);
        QVERIFY(others.front().disturbance.at_s != whole.front());
    }

    /// A schedule that goes on from what it was asked for last says what one says that was never asked.
    void whatever_was_asked_before() {
        Scene s;
        for (const double rate_per_hour : {3600.0, 400.0})
            s.experiment.failures.push_back(
                {.kind = FailureKind::crash, .target = std::string(any_target), .rate_per_hour = rate_per_hour});
        const FailureSchedule asked(s.experiment, s.problem);
        Rng rng(5);
        int happened = 0;
        for (int i = 0; i < 200; ++i) {
            const double offset_s = i % 5 == 4 ? 0 : 300 * rng.uniform();  // also back to the start
            const auto events = asked.of_iteration(0, offset_s, 4, s.plan.stages), fresh = s.events(0, offset_s);
            QCOMPARE(events.size(), fresh.size());
            for (std::size_t k = 0; k < events.size(); ++k) {
                QCOMPARE(events[k].disturbance.at_s, fresh[k].disturbance.at_s);
                QCOMPARE(events[k].disturbance.change.node, fresh[k].disturbance.change.node);
                QCOMPARE(events[k].failure, fresh[k].failure);
            }
            happened += static_cast<int>(events.size());
        }
        QVERIFY(happened > 10'000);
    }

    void once_and_by_chance() {
        Scene s;
        s.experiment.failures.push_back({.kind = FailureKind::crash, .target = "n1", .at_s = 9.5, .rejoin_after_s = 2});
        s.experiment.failures.push_back(
            {.kind = FailureKind::slow_down, .target = "n2", .at_iteration = 7, .factor = 3});
        s.experiment.failures.push_back(
            {.kind = FailureKind::stage_loss, .target = "1", .probability_per_iteration = 0.25});
        s.experiment.failures.push_back(
            {.kind = FailureKind::crash, .target = std::string(any_data_node), .probability_per_iteration = 0.25});
        int crashes = 0, slow_downs = 0, losses = 0, of_data = 0;
        std::set<int> data_nodes;
        for (int i = 0; i < 400; ++i)
            for (const auto& event : s.events(i, 4.0 * i)) {
                const auto& d = event.disturbance;
                if (event.failure == 0 && d.at_s < 4) {
                    ++crashes;
                    QCOMPARE(i, 2);
                    QVERIFY(std::abs(d.at_s - 1.5) < 1e-9 && std::abs(event.back_s - 11.5) < 1e-9);
                    // Its last heartbeat was at 9.5 s, and the deadline passes 0.2 s later.
                    QVERIFY(std::abs(d.detected_s - 1.7) < 1e-9);
                }
                if (event.failure == 1) {
                    ++slow_downs;
                    QCOMPARE(i, 7);
                    QVERIFY(d.change.kind == Kind::node_slower && d.change.factor == 3);
                    QVERIFY(d.at_s >= 0 && d.at_s < 4);
                }
                losses += event.failure == 2 ? 1 : 0;
                if (event.failure == 3) {
                    ++of_data;
                    data_nodes.insert(d.change.node);
                    QVERIFY(d.change.kind == Kind::node_down);
                }
            }
        QVERIFY(of_data > 60 && of_data < 140);
        QCOMPARE(data_nodes, std::set<int>(s.plan.stages[0].begin(), s.plan.stages[0].end()));
        QCOMPARE(crashes, 1);
        QCOMPARE(slow_downs, 1);
        const auto nodes = static_cast<int>(s.plan.stages[1].size());
        QCOMPARE(losses % nodes, 0);
        QVERIFY(losses / nodes > 60 && losses / nodes < 140);
    }

    /// What `validate` takes for a line is what the engine finds, whatever is drawn; and what it refuses would never
    /// happen.
    void a_line_that_can_fail_is_one_for_document_and_engine() {
        Rng rng(5, 1);
        int lines = 0, none = 0;
        for (int round = 0; round < 60; ++round) {
            Experiment e;
            const char* regions[] = {"west", "east", "empty"};
            for (const char* region : regions) e.topology.regions.push_back({.id = region});
            for (int n = 0; n < 4; ++n)
                e.topology.nodes.push_back({.id = "n" + std::to_string(n), .region = n == 3 ? "" : regions[n % 2]});
            std::vector<std::string> names(std::begin(regions), std::end(regions));
            for (const auto& node : e.topology.nodes) names.push_back(node.id);
            std::set<std::pair<std::string, std::string>> drawn;
            for (const auto& from : names)
                for (const auto& to : names) {
                    const bool nodes = from[0] == 'n' && to[0] == 'n',
                               mixed = nodes != (from[0] == 'n' || to[0] == 'n');
                    if (mixed || (nodes && from == to) || rng.uniform() < 0.4 || !drawn.emplace(from, to).second)
                        continue;
                    const bool both = rng.uniform() < 0.3 && drawn.emplace(to, from).second;
                    e.topology.links.push_back({from, to, 0.01, 1e7, both});
                }
            if (round % 10 == 9) e.topology.hop_matrix_s.assign(4, std::vector<double>(4, 0.1));
            for (int n = 0; n < 4 && round % 10 == 9; ++n) e.topology.hop_matrix_s[at(n)][at(n)] = 0;
            e.pipeline.stages = 2;
            e.pipeline.stage_sizes = {2, 2};
            if (has_errors(validate(e))) continue;  // a node that nobody reaches
            const Problem problem = make_problem(e);
            for (const auto& from : names)
                for (const auto& to : names) {
                    e.failures = {{.kind = FailureKind::link_cut, .target = from + "->" + to, .at_s = 1}};
                    const auto events = FailureSchedule(e, problem).of_iteration(0, 0, 4, {});
                    const auto faults = validate(e);
                    const bool refused = std::any_of(faults.begin(), faults.end(), [](const Fault& fault) {
                        return fault.pointer == "/failures/0/target";
                    });
                    QVERIFY2(events.empty() == refused, (from + "->" + to).c_str());
                    ++(refused ? none : lines);
                }
        }
        QVERIFY(lines > 500 && none > 500);
    }

    /// Who is down has no part in the plan, and comes back when it is time; a stage that was lost whole has its newest
    /// weights from the node that was lost last.
    void who_is_there() {
        Scene s;
        s.experiment.failures.push_back(
            {.kind = FailureKind::stage_loss, .target = "1", .at_s = 1, .rejoin_after_s = 5});
        Survival survival(s.experiment, s.problem, s.plan);
        QCOMPARE(survival.plan(0), s.plan);
        const auto events = survival.events(0, 0);
        const auto& ring = s.plan.stages[1];
        QCOMPARE(events.size(), ring.size());
        survival.happened(0, events, events.size());
        for (const int node : ring) QVERIFY(survival.down(node) && survival.sibling(node, {}) == -1);
        QVERIFY(survival.bring_back(5.9).empty());
        QCOMPARE(survival.next_back_s(2), 6.0);
        QCOMPARE(survival.bring_back(6.0).size(), ring.size());
        QCOMPARE(survival.plan(0), s.plan);
    }
};

QTEST_APPLESS_MAIN(TestFailures)
#include "test_failures.moc"
