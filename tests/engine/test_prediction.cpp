// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <limits>

#include "core/device/gpus.h"
#include "core/engine/prediction.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "tests/engine/random_plans.h"

using namespace skippipe;

namespace {

Machines machines(int ranks, int workers, int cores) {
    return {std::vector<Machines::Rank>(static_cast<std::size_t>(ranks), {0, workers}), {cores}};
}

RankSchedule one_rank(const Problem& problem, const Plan& plan) {
    return make_schedule(problem, plan, std::vector<int>(static_cast<std::size_t>(problem.nodes()), 0), 1);
}

}  // namespace

class TestPrediction : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void with_cores_for_all_it_is_the_evaluator() {
        int complete = 0;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            const auto [problem, plan] = examples::random_plan(seed);
            const auto expected = evaluate(problem, plan);
            if (!expected.complete) continue;
            ++complete;
            const auto schedule = one_rank(problem, plan);
            QCOMPARE(predict(problem, schedule, machines(1, problem.nodes(), problem.nodes())).iteration_s,
                     expected.iteration_s);
        }
        QVERIFY(complete > 20);
    }

    /// Two data nodes, no other stage, one core: F, L, B of both one after the other.
    void operations_wait_for_a_core_of_their_host() {
        auto problem = examples::toy({"D", "E"}, 1, 1, 2);
        const Plan plan{.stages = {{0, 1}}, .blocks = {1}, .paths = {{0, {0}}, {1, {1}}}};
        const auto schedule = one_rank(problem, plan);
        QCOMPARE(predict(problem, schedule, machines(1, 2, 2)).makespan_s, 3.5);
        QCOMPARE(predict(problem, schedule, machines(1, 2, 1)).makespan_s, 7.0);
        QCOMPARE(predict(problem, schedule, machines(1, 1, 2)).makespan_s, 7.0);
    }

    void operations_wait_for_the_gpu_that_nodes_share() {
        auto problem = examples::toy({"D", "E"}, 1, 1, 2);
        const Plan plan{.stages = {{0, 1}}, .blocks = {1}, .paths = {{0, {0}}, {1, {1}}}};
        const auto schedule = one_rank(problem, plan);
        auto plenty = machines(1, 2, 2);
        plenty.gpu_of = {0, 1};
        QCOMPARE(predict(problem, schedule, plenty).makespan_s, 3.5);
        plenty.gpu_of = {1, 1};
        QCOMPARE(predict(problem, schedule, plenty).makespan_s, 7.0);
        plenty.gpu_of = {no_gpu, 0};
        QCOMPARE(predict(problem, schedule, plenty).makespan_s, 3.5);
        plenty.gpu_of = {0, 0};
        plenty.gpus_are_shared = false;
        QCOMPARE(predict(problem, schedule, plenty).makespan_s, 3.5);
        plenty.gpus_are_shared = true;
        // What was measured has what they took of each other in it.
        auto measured = evaluate(problem, plan);
        const auto why = explain_difference(problem, schedule, plenty, measured);
        QCOMPARE(why.operations_s, -3.5);
        QCOMPARE(why.coordination_s, 0.0);
    }

    /// D and A on a rank each: four messages, whose ends the one core works for beside seven seconds of operations.
    void messages_take_the_cores_that_ranks_share() {
        auto problem = examples::toy({"D", "A"}, 2, 2, 1);
        problem.transfer_cpu_s = 0.25;
        problem.transfer_cpu_s_per_byte = 0.05;
        problem.forward_bytes = 3;
        problem.backward_bytes = 5;
        const Plan plan{.stages = {{0}, {1}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}}};
        const auto apart = make_schedule(problem, plan, {0, 1}, 2);
        const double free_s = evaluate(problem, plan).makespan_s;
        QCOMPARE(predict(problem, apart, machines(2, 1, 3)).makespan_s, free_s);
        // Forward to A, forward back for the loss, gradient to A, gradient back.
        QCOMPARE(predict(problem, apart, machines(2, 1, 2)).makespan_s,
                 free_s + 2 * (0.25 + 0.05 * 3) + 2 * (0.25 + 0.05 * 5));
        QCOMPARE(predict(problem, make_schedule(problem, plan, {0, 0}, 1), machines(1, 1, 1)).makespan_s, free_s);
    }

    /// D and A on one rank, B, the root, and C on another. Each rank works for one part or sum after the other, and on
    /// crowded hosts for the messages too. A's part goes to B, which hands the sum to C and then to A.
    void parts_and_sums_take_the_ranks_that_hand_them_on() {
        auto problem = examples::toy({"D", "A", "B", "C"}, 2, 2, 1);
        problem.seconds_per_sample_per_block[0] = 0.01;  // D is done long before the sums
        problem.plan_reductions = true;
        problem.gradient_bytes = {0, 10};
        Plan plan{.stages = {{0}, {1, 2, 3}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}}};
        plan.reductions = {{}, {star_piece(3, 1, 1)}};
        const auto schedule = make_schedule(problem, plan, {0, 0, 1, 1}, 2);
        const double free_s = evaluate(problem, plan).iteration_s;
        QCOMPARE(predict(problem, schedule, machines(2, 1, 3)).iteration_s, free_s);
        problem.reduction_cpu_s_per_byte = 0.02;  // 0.1 s an end
        QCOMPARE(predict(problem, schedule, machines(2, 1, 3)).iteration_s, free_s + 0.5);
        problem.transfer_cpu_s = 0.1;
        problem.transfer_cpu_s_per_byte = 0.01;  // and 0.1 s an end
        QCOMPARE(predict(problem, schedule, machines(2, 1, 3)).iteration_s, free_s + 0.5);
        QCOMPARE(predict(problem, schedule, machines(2, 1, 2)).iteration_s, free_s + 0.9);
        // On one rank nothing is a message.
        const auto together = make_schedule(problem, plan, {0, 0, 0, 0}, 1);
        QCOMPARE(predict(problem, together, machines(1, 4, 4)).iteration_s, free_s + 0.5);
        // On one GPU parts stay where they are, but for those that are rounded to int8.
        auto on_gpu = machines(1, 4, 4);
        on_gpu.gpu_of = {no_gpu, 0, 0, 0};
        QCOMPARE(predict(problem, together, on_gpu).iteration_s, free_s);
        on_gpu.gpu_of = {no_gpu, 0, 1, 0};  // A and C by way of B
        QCOMPARE(predict(problem, together, on_gpu).iteration_s, free_s + 0.5);
        on_gpu.gpu_of = {no_gpu, 0, 0, 0};
        problem.weight_bytes_per_gradient_byte = 2;
        QCOMPARE(predict(problem, together, on_gpu).iteration_s, free_s);
        problem.weight_bytes_per_gradient_byte = 3.94;
        QCOMPARE(predict(problem, together, on_gpu).iteration_s, free_s + 0.5);
    }

    /// Three ranks on one core. B, whom nobody visits, works for its part 0-1.5, which keeps D's F waiting (1.5-2.5); A
    /// takes the part 2.5-4, which keeps A's F waiting (4-5); L 6-6.5; A's B 7.5-9.5, then A works for its own part
    /// 9.5-11, which keeps D's B waiting (11-13), and that keeps B, who takes it 13-14.5.
    void parts_and_sums_take_cores_from_operations() {
        auto problem = examples::toy({"D", "A", "B"}, 2, 2, 1);
        problem.plan_reductions = true;
        problem.gradient_bytes = {0, 10};
        problem.reduction_cpu_s_per_byte = 0.3;
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
        Plan plan{.stages = {{0}, {1, 2}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}}};
        plan.reductions = {{}, {Piece{1, PieceForm::exchange, 0, {}, {}}}};
        const auto crowded = predict(problem, make_schedule(problem, plan, {0, 1, 2}, 3), machines(3, 1, 1));
        QCOMPARE(crowded.makespan_s, 13.0);
        QCOMPARE(crowded.iteration_s, 14.5);
    }

    /// What is put in by hand comes out under its name.
    void differences_are_found_and_add_up() {
        const auto example = examples::collision();
        const auto schedule = one_rank(example.problem, example.plan);
        const auto cores = machines(1, 2, 2);
        auto bound = schedule;
        bound.plan.order = executed_order(evaluate(example.problem, example.plan), 2);
        auto slower = example.problem;
        for (auto& s : slower.seconds_per_sample_per_block) s *= 1.5;
        const auto operations = explain_difference(example.problem, bound, cores, evaluate(slower, bound.plan));
        QVERIFY(operations.operations_s > 4);
        QVERIFY(std::abs(operations.transfers_s) < 1e-9 && std::abs(operations.coordination_s) < 1e-9 &&
                std::abs(operations.reduction_s) < 1e-9);
        auto farther = example.problem;
        for (auto& hop : farther.hops) hop.latency_s = 2;
        const auto transfers = explain_difference(example.problem, bound, cores, evaluate(farther, bound.plan));
        QVERIFY(transfers.transfers_s > 3);
        QVERIFY(std::abs(transfers.operations_s) < 1e-9 && std::abs(transfers.coordination_s) < 1e-9);
        auto late = evaluate(example.problem, bound.plan);
        late.makespan_s += 0.5;
        late.iteration_s += 0.75;
        const auto rest = explain_difference(example.problem, bound, cores, late);
        QCOMPARE(rest.coordination_s, 0.5);
        QCOMPARE(rest.reduction_s, 0.25);
        QCOMPARE(rest.predicted_s + rest.operations_s + rest.transfers_s + rest.coordination_s + rest.reduction_s,
                 rest.measured_s);
    }
};

QTEST_GUILESS_MAIN(TestPrediction)
#include "test_prediction.moc"
