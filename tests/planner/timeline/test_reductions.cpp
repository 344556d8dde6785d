// SPDX-License-Identifier: GPL-3.0-or-later
// Planned reductions: the cases of docs/semantics.md, and the evaluator against one written apart from it.
#include <QTest>

#include <cmath>

#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "core/planner/timeline/simulator.h"
#include "core/planner/plan/validator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/random_reductions.h"
#include "tests/planner/timeline/reference_evaluator.h"

using namespace skippipe;

namespace {

/// [[D], [A, B]], paths DA, DB; 12 bytes of gradient in stage 1, 4 bytes/s, step 0.25 s.
examples::Example two_replicas() {
    examples::Example example{"reductions", examples::toy({"D", "A", "B"}, 2, 2, 2),
                              Plan{.stages = {{0}, {1, 2}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}}},
                              12.5, 0};
    auto& problem = example.problem;
    problem.shared_links = problem.plan_reductions = true;
    problem.step_seconds = 0.25;
    problem.gradient_bytes = {0, 12};
    for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
    return example;
}

double step_end_s(const Timeline& timeline, NodeIndex node) {
    for (const auto& span : timeline.spans)
        if (span.kind == SpanKind::step && span.node == node) return span.end_s;
    return -1;
}

/// With what has no path either, so that replicas without a visit are there often.
std::pair<Problem, Plan> random_case(std::uint64_t seed) {
    auto [problem, plan] = seed % 3 == 0 ? examples::uneven_plan(seed) : examples::random_plan(seed);
    Rng rng(seed, 0x5ED);
    problem.charge_all_reduce = false;
    problem.plan_reductions = true;
    const bool ties = rng.below(2) == 0;
    for (auto& bytes : problem.gradient_bytes) bytes = ties ? static_cast<double>(rng.below(4)) : 9 * rng.uniform();
    if (ties)
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 1;
    if (problem.shared_links && rng.below(2) == 0) {
        problem = examples::with_uplinks(problem, rng);
    }
    if (rng.below(4) != 0) plan.reductions = examples::random_reductions(plan, rng);
    return {problem, plan};
}

}  // namespace

class TestReductions : public QObject {
    Q_OBJECT

    static void compare(const Problem& problem, const Plan& plan, const std::string& where, int& complete) {
        QVERIFY2(check_structure(problem, plan).empty(), where.c_str());
        const PlannedProblem planned(problem, plan.blocks);
        reference::Iteration wanted(planned.get(), plan);
        wanted.run();
        const auto timeline = evaluate(problem, plan);
        QVERIFY2(timeline.complete == wanted.complete, where.c_str());
        Simulator simulator(planned.get());
        const auto times = simulator.times(flatten(problem, plan), plan.stages);
        if (!wanted.complete) {
            QVERIFY2(std::isinf(times.iteration_s), where.c_str());
            return;
        }
        ++complete;
        QVERIFY2(timeline.makespan_s == wanted.makespan_s, where.c_str());
        QVERIFY2(timeline.iteration_s == wanted.iteration_s, where.c_str());
        QVERIFY2(times.makespan_s == wanted.makespan_s && times.iteration_s == wanted.iteration_s, where.c_str());
        const double above = std::nextafter(timeline.iteration_s, INFINITY);
        QVERIFY2(simulator.times(flatten(problem, plan), plan.stages, above).iteration_s == timeline.iteration_s,
                 where.c_str());
        std::size_t steps = 0;
        for (const auto& span : timeline.spans) {
            if (span.kind != SpanKind::step) continue;
            ++steps;
            QVERIFY2(span.end_s == wanted.stepped_s.at(span.node), where.c_str());
        }
        QVERIFY2(steps == wanted.stepped_s.size(), where.c_str());
    }

private Q_SLOTS:
    void charged() {
        auto example = two_replicas();
        example.problem.plan_reductions = false;
        example.problem.charge_all_reduce = true;
        const auto timeline = evaluate(example.problem, example.plan);
        QCOMPARE(timeline.makespan_s, 12.5);
        QCOMPARE(timeline.iteration_s, 13.75);
    }

    void direct_by_halves() {
        const auto example = two_replicas();
        const auto timeline = evaluate(example.problem, example.plan);
        QCOMPARE(timeline.makespan_s, 12.5);
        QCOMPARE(timeline.iteration_s, 13.75);
        QCOMPARE(step_end_s(timeline, 1), 12.75);
    }

    void exchange() {
        auto example = two_replicas();
        example.plan.reductions = {{}, {{1, PieceForm::exchange, 0, {}, {}}}};
        QCOMPARE(evaluate(example.problem, example.plan).iteration_s, 12.75);
    }

    /// Both send at once, 3 s each on their uplinks, whose head has left the line long before.
    void uplinks() {
        auto example = two_replicas();
        example.problem.up_bytes_per_s = {INFINITY, 2, 2};
        example.problem.down_bytes_per_s = {INFINITY, INFINITY, INFINITY};
        QCOMPARE(evaluate(example.problem, example.plan).iteration_s, 16.75);
    }

    /// What replicas without a visit hand over at 0 s has its numbers after the first Fs and before anything that these
    /// give: by stage and place. Stage 0 is D, F, E, R, of which D alone has a path, to A; E hands to F, F to the root
    /// R over the line that D's message takes too. E's part is at F when D's F ends, at 1 s, and goes first.
    void idle_replicas_come_first() {
        auto problem = examples::toy({"D", "F", "E", "R", "A"}, 2, 2, 1);
        problem.shared_links = problem.plan_reductions = true;
        problem.gradient_bytes = {8, 0};
        problem.balance_data_nodes = false;
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        const auto hop = [&](int from, int to) -> Hop& { return problem.hops[at(from * 5 + to)]; };
        hop(2, 1).bandwidth_bytes_per_s = INFINITY;
        hop(1, 3).line = hop(0, 4).line;
        Piece piece = star_piece(4, 3, 1);
        piece.up = {3, 3, 1, 3};
        Plan plan{.stages = {{0, 1, 2, 3}, {4}}, .blocks = {1, 1}, .paths = {{0, {0, 4}}}, .reductions = {{piece}, {}}};
        const auto sent_s = [&](NodeIndex from, NodeIndex to) {
            for (const auto& span : evaluate(problem, plan).spans)
                if (is_on_line(span.kind) && span.node == from && span.to_node == to) return span.start_s;
            return -1.0;
        };
        QCOMPARE(sent_s(2, 1), 0.0);
        QCOMPARE(sent_s(1, 3), 1.0);
        QCOMPARE(sent_s(0, 4), 3.0);
        // F and E both to R over one line, 2 s each: whoever stands first in the stage.
        piece = star_piece(4, 3, 1);
        hop(2, 3).line = hop(1, 3).line;
        plan.reductions = {{piece}, {}};
        QCOMPARE(sent_s(1, 3), 0.0);
        QCOMPARE(sent_s(2, 3), 2.0);
        std::swap(plan.stages[0][1], plan.stages[0][2]);
        QCOMPARE(sent_s(2, 3), 0.0);
        QCOMPARE(sent_s(1, 3), 2.0);
    }

    /// Bytes of a reduction are in the timeline's: two halves there and back, or the whole both ways.
    void bytes() {
        auto example = two_replicas();
        QCOMPARE(evaluate(example.problem, example.plan).bytes, 24.0);
        example.plan.reductions = {{}, {{1, PieceForm::exchange, 0, {}, {}}}};
        QCOMPARE(evaluate(example.problem, example.plan).bytes, 24.0);
        example.plan.reductions = {{}, {star_piece(2, 0, 1)}};
        QCOMPARE(evaluate(example.problem, example.plan).bytes, 24.0);
    }

    void random_plans() {
        int complete = 0, ordered = 0, shared = 0, uplinks = 0;
        for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
            auto [problem, plan] = random_case(seed);
            const auto where = "seed " + std::to_string(seed);
            compare(problem, plan, where, complete);
            if (QTest::currentTestFailed()) return;
            shared += problem.shared_links ? 1 : 0;
            uplinks += problem.has_uplinks() ? 1 : 0;
            const auto timeline = evaluate(problem, plan);
            if (seed % 4 != 0 || !timeline.complete) continue;
            plan = with_executed_order(plan, problem, timeline);
            Rng rng(seed, 0xABC);
            auto& order = plan.order[rng.below(plan.order.size())];
            if (seed % 8 == 0 && order.size() > 1)
                std::swap(order[rng.below(order.size())], order[rng.below(order.size())]);
            compare(problem, plan, where + ", ordered", ordered);
            if (QTest::currentTestFailed()) return;
        }
        const auto say = std::to_string(complete) + " complete, " + std::to_string(ordered) + " with an order, " +
                         std::to_string(shared) + " on shared lines, " + std::to_string(uplinks) + " with uplinks";
        QVERIFY2(complete > 1500 && ordered > 300 && shared > 1000 && uplinks > 500, say.c_str());
        qInfo("%s", say.c_str());
    }

    /// What a reduction lacks is found before anything runs.
    void faults() {
        const auto rule = [](const examples::Example& example) {
            const auto found = check_structure(example.problem, example.plan);
            return found.empty() ? std::string() : found.front().rule;
        };
        auto example = two_replicas();
        QVERIFY(rule(example).empty());
        example.plan.reductions = {{}, {star_piece(2, 0, 0.5)}};
        QCOMPARE(rule(example), std::string("structure"));  // half of it is summed by nobody
        example.plan.reductions = {{}, {{1, PieceForm::tree, 0, {0, 1}, {0, 0}}}};
        QCOMPARE(rule(example), std::string("structure"));  // B hands to itself
        example.plan.reductions = {{}, {{1, PieceForm::tree, 2, {0, 0}, {0, 0}}}};
        QCOMPARE(rule(example), std::string("structure"));  // no such root
        example.plan.reductions = {{}};
        QCOMPARE(rule(example), std::string("structure"));  // of one stage of two
        example.plan.reductions = {};
        example.problem.hops[2 * 3 + 1].line = no_line;  // B -> A
        QCOMPARE(rule(example), std::string("reach"));
    }
};

QTEST_APPLESS_MAIN(TestReductions)
#include "test_reductions.moc"
