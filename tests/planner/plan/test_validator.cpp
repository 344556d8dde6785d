// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

/// Five stages of two nodes (2s, 2s + 1), full reach, p = 3, ten microbatches within every rule.
std::pair<Problem, Plan> valid() {
    std::vector<std::string> ids;
    for (int n = 0; n < 10; ++n) ids.push_back("n" + std::to_string(n));
    auto problem = examples::toy(ids, 5, 3, 10);
    Plan plan{.planner = "test", .stages = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}, .blocks = {1, 1, 1, 1, 1}};
    // Every stage five times, as CC2 wants it; one of the paths goes back by one stage, some pass over two.
    const int stages[10][2] = {{1, 2}, {2, 3}, {3, 4}, {4, 3}, {1, 4}, {1, 2}, {2, 3}, {3, 4}, {1, 2}, {1, 4}};
    int visits[5] = {};
    for (MicrobatchIndex m = 0; m < 10; ++m) {
        Path path{m, {NodeIndex(m % 2)}};
        for (const int s : stages[m]) path.nodes.emplace_back(2 * s + visits[s]++ % 2);
        plan.paths.push_back(path);
    }
    return {problem, plan};
}

std::string rules(const Problem& problem, const Plan& plan) {
    std::string text;
    const auto structure = check_structure(problem, plan);
    for (const auto& violation : structure.empty() ? check_plan(problem, plan, evaluate(problem, plan)) : structure)
        if (text.find(violation.rule) == std::string::npos) text += (text.empty() ? "" : " ") + violation.rule;
    return text;
}

}  // namespace

class TestValidator : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void passes_a_valid_plan() {
        const auto [problem, plan] = valid();
        QCOMPARE(rules(problem, plan), "");
    }

    void names_each_broken_rule() {
        const auto broken = [](const std::function<void(Problem&, Plan&)>& change) {
            auto [problem, plan] = valid();
            change(problem, plan);
            return rules(problem, plan);
        };
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[1].nodes[1] = 2; }), "CC2");  // stage 1 runs 6, at most 5
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[0].nodes[0] = 2; }), "CC1");
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[0].nodes[1] = 1; }), "CC1");
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[0].nodes[0] = 1; }), "CC1");       // data nodes start 4 and 6
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[0].nodes = {0, 4, 5}; }), "CC2");  // a stage twice
        QCOMPARE(broken([](Problem&, Plan& p) { std::swap(p.paths[4].nodes[1], p.paths[4].nodes[2]); }),
                 "CC3");  // back by 3
        QCOMPARE(broken([](Problem& r, Plan&) { r.constraints.max_swaps = 0; }), "CC3");
        QCOMPARE(broken([](Problem& r, Plan&) { r.constraints.max_passed_over = 1; }), "CC3");
        QCOMPARE(broken([](Problem& r, Plan&) { r.hops[0 * 10 + 2].line = no_line; }), "reach");
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths.pop_back(); }), "structure");
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[1].microbatch = 0; }), "structure");
        QCOMPARE(broken([](Problem&, Plan& p) { p.stages[4].push_back(0); }), "structure");
        QCOMPARE(broken([](Problem&, Plan& p) { p.stages.pop_back(); }), "structure");
        QCOMPARE(broken([](Problem&, Plan& p) { p.paths[0].nodes.pop_back(); }), "structure");
        QCOMPARE(broken([](Problem& r, Plan&) { r.path_length = 4; }), "skip-ratio");
    }

    void planned_blocks() {
        const auto with = [](bool planned, PerStage<int> blocks) {
            auto [problem, plan] = valid();
            problem.plan_blocks = planned;
            plan.blocks = std::move(blocks);
            return rules(problem, plan);
        };
        QCOMPARE(with(true, {1, 1, 1, 1, 1}), "");
        for (const auto& blocks : {PerStage<int>{2, 1, 1, 1, 0}, PerStage<int>{1, 1, 1, 2},
                                   PerStage<int>{1, 1, 1, 1, 2}, PerStage<int>{3, 1, 1, 1, -1}, PerStage<int>{}})
            QCOMPARE(with(true, blocks), "structure");
        auto [problem, plan] = valid();
        problem.blocks = {1, 2, 3, 1, 1};
        plan.blocks = {3, 2, 1, 1, 1};
        QCOMPARE(rules(problem, plan), "structure");
        problem.plan_blocks = true;
        QCOMPARE(rules(problem, plan), "");
    }

    /// What memory takes follows from the plan's blocks, not from those it began with.
    void memory_of_planned_blocks() {
        auto [problem, plan] = valid();
        problem.plan_blocks = true;
        problem.blocks = {2, 2, 2, 2, 2};
        problem.stage_bytes = {1, 0, 1};
        problem.memory_bytes.assign(10, 40);
        problem.set_blocks(problem.blocks);
        QCOMPARE(problem.memory[3], 19);
        plan.blocks = {1, 1, 1, 1, 6};
        const auto planned = evaluate(problem, plan);
        QVERIFY(check_plan(problem, plan, planned).empty());
        problem.memory_bytes.assign(10, 12);
        QCOMPARE(PlannedProblem(problem, plan.blocks).get().memory[3], 1);
        const auto found = check_plan(problem, plan, planned);
        QVERIFY(!found.empty() && found.front().rule == "TC1");
    }

    void malformed_orders_are_found_before_a_run() {
        auto example = examples::ordered("F1 F0 L1 L0 B1 B0 ", "F1 F0 B1 B0 ", 12.5);
        QCOMPARE(rules(example.problem, example.plan), "");
        for (const char* order : {"F1 F0 B1 ", "F1 F0 B1 B0 B0 ", "F1 F0 B1 L0 ", "F1 F0 B1 B7 ", ""}) {
            example.plan.order[1] = examples::order(order);
            QCOMPARE(rules(example.problem, example.plan), "order");
        }
    }

    void deadlock_is_a_violation_and_no_time() {
        const auto example = examples::deadlock(1);
        QCOMPARE(rules(example.problem, example.plan), "deadlock");
        const auto violations = check_plan(example.problem, example.plan, evaluate(example.problem, example.plan));
        QVERIFY(violations.front().what.find("A: F1 waits for memory") != std::string::npos);
        QVERIFY(violations.front().what.find("B: F0 waits for memory") != std::string::npos);
    }

    /// A timeline whose gradients are not summed as the plan says is told: what lacks, what is there twice, what is
    /// handed over before it is there, and who steps too early.
    void reads_the_reductions() {
        auto problem = examples::toy({"D", "A", "B", "C"}, 2, 2, 3);
        problem.shared_links = problem.plan_reductions = true;
        problem.step_seconds = 0.25;
        problem.gradient_bytes = {0, 12};
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        Plan plan{.stages = {{0}, {1, 2, 3}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}, {2, {0, 3}}}};
        // A hands its part to B, B both to C; the sum goes back the same way. Three quarters are exchanged in one
        // round.
        plan.reductions = {{},
                           {{0.25, PieceForm::tree, 2, {1, 2, 2}, {1, 2, 2}}, {0.75, PieceForm::exchange, 0, {}, {}}}};
        const auto told = [&](const std::function<void(std::vector<Span>&)>& change) {
            auto timeline = evaluate(problem, plan);
            change(timeline.spans);
            const auto found = check_plan(problem, plan, timeline);
            return found.empty() ? std::string() : found.front().rule + ": " + found.front().what;
        };
        const auto sent = [](std::vector<Span>& spans, NodeIndex from, NodeIndex to, double bytes) {
            return &*std::find_if(spans.begin(), spans.end(), [&](const Span& span) {
                return span.kind == SpanKind::transfer_reduction && span.node == from && span.to_node == to &&
                       span.bytes == bytes;
            });
        };
        QCOMPARE(told([](auto&) {}), std::string());
        QVERIFY(told([&](auto& spans) {
                    spans.erase(spans.begin() + (sent(spans, 1, 2, 3) - spans.data()));
                }).find("0 transfers of 3 bytes from A to B, its pieces ask for 1") != std::string::npos);
        QVERIFY(told([&](auto& spans) {
                    spans.push_back(*sent(spans, 3, 1, 9));
                }).find("2 transfers of 9 bytes from C to A") != std::string::npos);
        QVERIFY(told([&](auto& spans) { sent(spans, 1, 2, 3)->bytes = 5; }).find("bytes from A to B") !=
                std::string::npos);
        QVERIFY(told([&](auto& spans) { sent(spans, 1, 2, 3)->ready_s -= 0.1; }).find("before it has them") !=
                std::string::npos);  // its own part
        QVERIFY(told([&](auto& spans) { sent(spans, 2, 3, 3)->ready_s -= 0.1; }).find("B hands 3 bytes to C") !=
                std::string::npos);  // that of its child
        QVERIFY(told([&](auto& spans) { sent(spans, 3, 2, 3)->ready_s -= 0.1; }).find("C hands 3 bytes to B") !=
                std::string::npos);  // the sum
        QVERIFY(told([&](auto& spans) {
                    for (auto& span : spans)
                        if (span.kind == SpanKind::step && span.node == 1) span.start_s -= 0.1;
                }).find("A steps at") != std::string::npos);
    }

    /// What the evaluator makes of random pieces is by the rules.
    void random_reductions_are_by_the_rules() {
        int reduced = 0;
        for (std::uint64_t seed = 1; seed <= 400; ++seed) {
            auto [problem, plan] = seed % 3 == 0 ? examples::uneven_plan(seed) : examples::random_plan(seed);
            Rng rng(seed, 5);
            problem.charge_all_reduce = false;
            problem.plan_reductions = true;
            if (problem.shared_links && seed % 2 == 0) problem = examples::with_uplinks(problem, rng);
            if (seed % 5 != 0) plan.reductions = examples::random_reductions(plan, rng);
            const auto timeline = evaluate(problem, plan);
            if (!timeline.complete) continue;
            for (const auto& violation : check_plan(problem, plan, timeline))
                QVERIFY2(violation.what.find("reduction") == std::string::npos,
                         (std::to_string(seed) + ": " + violation.what).c_str());
            ++reduced;
        }
        QVERIFY(reduced > 150);
    }

    /// A timeline that breaks TC1 or TC2 is told, whoever made it.
    void reads_the_timeline() {
        auto example = examples::collision();
        auto timeline = evaluate(example.problem, example.plan);
        example.problem.memory[1] = 1;
        const auto held = check_plan(example.problem, example.plan, timeline);
        QCOMPARE(held.size(), std::size_t{1});
        QCOMPARE(held.front().rule, "TC1");
        example.problem.memory[1] = 3;
        for (auto& span : timeline.spans)
            if (span.node == 1 && span.kind == SpanKind::backward && span.microbatch == 1)
                span.start_s = 7, span.ready_s = 6.5;
        const auto collided = check_plan(example.problem, example.plan, timeline);
        QCOMPARE(collided.size(), std::size_t{1});
        QCOMPARE(collided.front().rule, "TC2");
    }
};

QTEST_APPLESS_MAIN(TestValidator)
#include "test_validator.moc"
