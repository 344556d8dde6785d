// SPDX-License-Identifier: GPL-3.0-or-later
// What an iteration costs, counted by hand, and runs held against each other where they spent the same.
#include <QtTest>
#include <cmath>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "core/analysis/accounting.h"
#include "core/analysis/equal_view.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/planner.h"
#include "plugins/planners/all.h"
#include "tests/planner/examples.h"

using namespace skippipe;

namespace {

/// D = 4, F = 8, V = 10, T = 3: small enough for paper.
ModelSpec tiny() { return {.blocks = 2, .width = 4, .heads = 2, .ffn_width = 8, .vocabulary = 10, .sequence = 3}; }

/// Six stages of one block on nodes 0, 1..5, one microbatch after the other over the first `length` of them, from the
/// second on in turn.
std::pair<Problem, Plan> six_stages(int length) {
    auto problem = examples::toy({"a", "b", "c", "d", "e", "f"}, 6, length, 30);
    Plan plan{.stages = {{0}, {1}, {2}, {3}, {4}, {5}}, .blocks = problem.blocks};
    for (MicrobatchIndex m = 0; m < 30; ++m) {
        Path path{m, {0}};
        for (int hop = 1; hop < length; ++hop) path.nodes.emplace_back(1 + (m + hop - 1) % 5);
        std::sort(path.nodes.begin() + 1, path.nodes.end());
        plan.paths.push_back(path);
    }
    return {problem, plan};
}

const LineBytes* line(const Accounting& accounting, const std::string& name) {
    for (const auto& one : accounting.lines)
        if (one.name == name) return &one;
    return nullptr;
}

void close(double actual, double expected) {
    const bool equal = std::abs(actual - expected) <= 1e-12 * std::max(1.0, std::abs(expected));
    QVERIFY2(equal, qPrintable(QStringLiteral("%1, not %2").arg(actual, 0, 'g', 17).arg(expected, 0, 'g', 17)));
}

Metric metric(const char* name, int iteration, double value, double network_s = 0, double machine_s = 0) {
    return {.iteration = iteration, .name = name, .value = value, .network_s = network_s, .machine_s = machine_s};
}

}  // namespace

class TestAccounting : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Each product of a block on its own: rows x inner x columns, two FLOPs a multiply-add, for one sample of 3
    /// tokens.
    void flops_of_a_tiny_llama() {
        const double products = 3 * 4 * 4 * 3 +  // queries, keys, values
                                3 * 4 * 4 +      // output projection
                                2 * (3 * 2 * 3) +
                                2 * (3 * 3 * 2) +             // two heads of width 2: scores, and scores times values
                                2 * (3 * 4 * 8) + 3 * 8 * 4;  // gate and up, down
        QCOMPARE(3 * block_flops_per_token(tiny()), 2 * products);
        QCOMPARE(block_flops_per_token(tiny()), 368.0);
        QCOMPARE(head_flops_per_token(tiny()), 80.0);
        auto derived = tiny();
        derived.ffn_width = 0;  // 8 D / 3 up to a multiple of 8: 16
        QCOMPARE(block_flops_per_token(derived), 8 * 16.0 + 6 * 4 * 16 + 4 * 4 * 3);
    }

    /// Three microbatches of one sample through two stages of one block.
    void an_iteration_by_hand() {
        const auto example = examples::all_reduce();
        const auto one =
            account_iteration(tiny(), example.problem, example.plan, evaluate(example.problem, example.plan));
        QCOMPARE(one.iterations, 1);
        QCOMPARE(one.microbatches, 3);
        QCOMPARE(one.samples, 3);
        QCOMPARE(one.tokens, 9);
        QCOMPARE(one.block_executions, 6);
        QCOMPARE(one.forward_block_flops, 6.0 * 3 * 368);
        QCOMPARE(one.backward_block_flops, 2 * 6.0 * 3 * 368);
        QCOMPARE(one.head_flops, 3 * 9.0 * 80);
        QCOMPARE(one.nodes, 4);
        QCOMPARE(one.used_nodes, 4);
        QCOMPARE(one.working_nodes, 4);
        QCOMPARE(one.busy_node_s, 3 * (1 + 0.5 + 2) + 3 * (1 + 2.0));
        QCOMPARE(one.network_s, 21.75);
        QCOMPARE(one.idle_node_s, 4 * 21.75 - one.busy_node_s);
        // The ring A, B, C: each sends 2 (r-1) / r of 12 bytes to the next, none the other way.
        QCOMPARE(one.transfer_bytes, 0.0);
        QCOMPARE(one.all_reduce_bytes, 3 * 16.0);
        QCOMPARE(one.lines.size(), std::size_t{3});
        for (const char* name : {"A->B", "B->C", "C->A"})
            QVERIFY2(line(one, name) && line(one, name)->all_reduce_bytes == 16, name);
    }

    /// Microbatches of 1, 2 and 1 samples; the plan has moved a block from stage 1 to stage 0.
    void an_uneven_iteration_by_hand() {
        auto example = examples::all_reduce();
        example.problem.sizes = {1, 2};
        example.problem.plan_blocks = true;
        example.problem.blocks = {1, 2};
        example.plan.blocks = {2, 1};
        example.problem.forward_bytes = 10;
        example.problem.backward_bytes = 7;
        example.problem.gradient_bytes_per_block = 12;
        const auto one =
            account_iteration(tiny(), example.problem, example.plan, evaluate(example.problem, example.plan));
        QCOMPARE(one.samples, 4);
        QCOMPARE(one.tokens, 12);
        QCOMPARE(one.block_executions, 9);
        QCOMPARE(one.forward_block_flops, 4 * 3.0 * 3 * 368);
        QCOMPARE(one.head_flops, 3 * 12.0 * 80);
        QCOMPARE(one.busy_node_s, 4 * (2 * (1 + 0.5 + 2) + (1 + 2.0)));
        QCOMPARE(one.transfer_bytes, 4 * 2 * 17.0);
        QCOMPARE(line(one, "D->B")->forward_bytes, 20.0);
        QCOMPARE(one.all_reduce_bytes, 3 * 16.0);
    }

    /// A hop out and a hop back, the gradient's the other way round; every byte of the timeline is on a line.
    void bytes_of_lines_are_those_of_the_timeline() {
        auto example = examples::deadlock(2);
        auto& problem = example.problem;
        const auto& plan = example.plan;
        problem.forward_bytes = 10;
        problem.backward_bytes = 7;
        const auto by_hand = account_iteration(tiny(), problem, plan, evaluate(problem, plan));  // D A B and E B A
        const std::map<std::string, std::pair<double, double>> expected{
            {"D->A", {10, 0}}, {"A->B", {10, 7}}, {"B->D", {10, 0}}, {"D->B", {0, 7}}, {"B->A", {10, 7}},
            {"A->D", {0, 7}},  {"E->B", {10, 0}}, {"A->E", {10, 0}}, {"E->A", {0, 7}}, {"B->E", {0, 7}}};
        QCOMPARE(by_hand.lines.size(), expected.size());
        for (const auto& [name, bytes] : expected) {
            const auto* found = line(by_hand, name);
            QVERIFY2(found, name.c_str());
            QCOMPARE(found->forward_bytes, bytes.first);
            QCOMPARE(found->backward_bytes, bytes.second);
        }
        QCOMPARE(by_hand.transfer_bytes, 6 * 10.0 + 6 * 7.0);
    }

    void every_planners_bytes_add_up() {
        PlannerRegistry planners;
        register_planners(planners);
        Faults faults;
        auto experiment =
            parse_experiment(read_file(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json", faults))
                .experiment;
        for (const char* name : {"gpipe", "1f1b", "dtfm-skip", "skippipe"}) {
            const bool planned = *name == 'g' || *name == 's';
            experiment.costs.all_reduce = planned ? AllReduceRule::planned : AllReduceRule::charged;
            const auto problem = make_problem(experiment);
            const auto plan = planners.find(name)->plan(problem, {.steps = 50});
            const auto timeline = evaluate(problem, plan);
            const auto one = account_iteration(experiment.model, problem, plan, timeline);
            double on_lines = 0, transfers = 0, reduced = 0;
            for (const auto& carried : one.lines) on_lines += carried.bytes();
            for (const auto& span : timeline.spans) (is_transfer(span.kind) ? transfers : reduced) += span.bytes;
            QVERIFY2(transfers > 0 && reduced > 0, name);
            close(one.transfer_bytes, transfers);
            close(one.all_reduce_bytes, reduced);
            close(one.bytes(), timeline.bytes);
            close(on_lines, timeline.bytes);
            close(1 - one.busy_node_s / (one.busy_node_s + one.idle_node_s), timeline.idle_fraction());
            QVERIFY(account_plan(experiment.model, problem, plan) == one);
        }
    }

    /// 33 % of six stages: four visits instead of six, so the full pipeline runs 1.5 x the blocks, 5/3 of those outside
    /// stage 0.
    void a_skip_costs_what_it_executes() {
        const auto [full_problem, full_plan] = six_stages(6);
        const auto [skip_problem, skip_plan] = six_stages(4);
        const auto full = *account_plan(tiny(), full_problem, full_plan),
                   skip = *account_plan(tiny(), skip_problem, skip_plan);
        QCOMPARE(full.block_executions, 180);
        QCOMPARE(skip.block_executions, 120);
        QCOMPARE(full.block_flops() / skip.block_flops(), 1.5);
        QCOMPARE((full.block_executions - full.microbatches) * 3, (skip.block_executions - skip.microbatches) * 5);
        QCOMPARE(full.tokens, skip.tokens);
        QCOMPARE(full.head_flops, skip.head_flops);
    }

    void unequal_stages_count_their_blocks() {
        auto example = examples::collision();
        example.problem.blocks = example.plan.blocks = {1, 3};
        const auto one = *account_plan(tiny(), example.problem, example.plan);
        QCOMPARE(one.block_executions, 2 * (1 + 3));
    }

    void a_replica_without_microbatches_is_no_working_node() {
        auto example = examples::all_reduce();
        example.plan.paths[2].nodes = {0, 2};
        const auto one = *account_plan(tiny(), example.problem, example.plan);
        QCOMPARE(one.used_nodes, 4);
        QCOMPARE(one.working_nodes, 3);
    }

    void no_timeline_no_accounting() {
        const auto stuck = examples::deadlock(1);
        QVERIFY(!account_plan(tiny(), stuck.problem, stuck.plan));
        auto broken = examples::collision();
        broken.plan.paths[0].nodes = {1, 0};
        QVERIFY(!account_plan(tiny(), broken.problem, broken.plan));
    }

    void a_run_is_its_iterations() {
        const auto example = examples::all_reduce();
        const auto one = *account_plan(tiny(), example.problem, example.plan);
        RunInfo run;
        run.iterations_done = 4;
        run.machine_s = 2.5;
        auto all = account_run(one, run);
        QCOMPARE(all.iterations, 4);
        QCOMPARE(all.tokens, 4 * one.tokens);
        QCOMPARE(all.block_flops(), 4 * one.block_flops());
        QCOMPARE(all.bytes(), 4 * one.bytes());
        QCOMPARE(all.busiest_line()->bytes(), 4 * 16.0);
        QCOMPARE(all.network_s, 4 * 21.75);
        QCOMPARE(all.idle_node_s, 4 * one.idle_node_s);
        QCOMPARE(all.machine_s, 2.5);
        run.iteration_s = 30;  // as executed
        all = account_run(one, run);
        QCOMPARE(all.network_s, 120.0);
        QCOMPARE(all.idle_node_s, 4 * 120.0 - 4 * one.busy_node_s);
        run.first_iteration = 3;  // a fork
        all = account_run(one, run);
        QCOMPARE(all.iterations, 1);
        QCOMPARE(all.block_flops(), one.block_flops());
        QCOMPARE(all.network_s, 30.0);
        auto forked = one;
        forked.before = {.iterations = 3, .machine_s = 2};  // of 2.5 s
        QCOMPARE(account_run(forked, run).machine_s, 0.5);
        run.iterations_done = run.first_iteration = 0;
        QCOMPARE(account_run(one, run).block_flops(), 0.0);
    }

    void figures_have_deltas_to_the_baseline() {
        const auto [problem, plan] = six_stages(6);
        const auto [skip_problem, skip_plan] = six_stages(4);
        const auto figures = accounting_figures(
            {account_plan(tiny(), problem, plan), account_plan(tiny(), skip_problem, skip_plan), std::nullopt});
        std::map<std::string, Figure> named;
        for (const auto& figure : figures) named[figure.name] = figure;
        close(*named["block_flops"].ratios[1], -1.0 / 3);
        QCOMPARE(*named["tokens"].deltas[1], 0.0);
        QVERIFY(!named["tokens"].values[2] && !named["tokens"].ratios[2]);
        QVERIFY(!named["machine_s"].ratios[1]);  // 0 of 0
        QVERIFY(accounting_figures({std::nullopt, std::nullopt}).empty());
    }

    void losses_stand_where_they_were_measured() {
        Accounting iteration{.microbatches = 10, .forward_block_flops = 1, .backward_block_flops = 2};
        const std::vector<Metric> metrics{metric("validation_loss", 0, 5), metric("loss", 0, 4.5, 7, 3),
                                          metric("loss", 1, std::numeric_limits<double>::quiet_NaN()),
                                          metric("loss", 2, 4, 21, 9), metric("validation_loss", 3, 3.5, 21, 9)};
        using Points = std::vector<CurvePoint>;
        QVERIFY(curve_points(metrics, "loss", WorkAxis::block_flops, &iteration) == (Points{{3, 4.5}, {9, 4}}));
        QVERIFY(curve_points(metrics, "validation_loss", WorkAxis::block_flops, &iteration) ==
                (Points{{0, 5}, {9, 3.5}}));
        QVERIFY(curve_points(metrics, "loss", WorkAxis::microbatches, &iteration) == (Points{{10, 4.5}, {30, 4}}));
        QVERIFY(curve_points(metrics, "loss", WorkAxis::network_time) == (Points{{7, 4.5}, {21, 4}}));
        QVERIFY(curve_points(metrics, "loss", WorkAxis::machine_time) == (Points{{3, 4.5}, {9, 4}}));
        QVERIFY(curve_points(metrics, "loss", WorkAxis::iteration) == (Points{{1, 4.5}, {3, 4}}));
        QVERIFY(curve_points(metrics, "loss", WorkAxis::block_flops).empty());
    }

    /// A fork's iterations took what its own plan takes, those before it what that plan took.
    void a_fork_goes_on_from_what_was_done_before_it() {
        Accounting iteration{.microbatches = 10, .forward_block_flops = 1, .backward_block_flops = 2, .money = 5};
        const std::vector<Metric> metrics{metric("loss", 2, 4.5), metric("loss", 3, 4)};
        using Points = std::vector<CurvePoint>;
        const auto points = [&](WorkAxis axis) { return curve_points(metrics, "loss", axis, &iteration); };
        iteration.before = {.iterations = 2, .is_known = true, .microbatches = 8, .block_flops = 100, .money = 1};
        QVERIFY(points(WorkAxis::block_flops) == (Points{{103, 4.5}, {106, 4}}));
        QVERIFY(points(WorkAxis::microbatches) == (Points{{18, 4.5}, {28, 4}}));
        QVERIFY(points(WorkAxis::money) == (Points{{6, 4.5}, {11, 4}}));
        QVERIFY(points(WorkAxis::iteration) == (Points{{3, 4.5}, {4, 4}}));
        iteration.before->money.reset();
        QVERIFY(points(WorkAxis::money).empty() && !points(WorkAxis::block_flops).empty());
        iteration.before->is_known = false;
        QVERIFY(points(WorkAxis::block_flops).empty() && points(WorkAxis::microbatches).empty());
        QCOMPARE(points(WorkAxis::iteration).size(), std::size_t{2});
    }

    /// The baseline: 6, 4, 3 at 0, 30, 60. The other does 20 an iteration: 6, 3, 2 at 0, 20, 40.
    void equal_flops_by_hand() {
        const Accounting dear{.forward_block_flops = 10, .backward_block_flops = 20},
            cheap{.forward_block_flops = 5, .backward_block_flops = 15};
        const std::vector<Metric> slow{metric("validation_loss", 0, 6), metric("validation_loss", 1, 4),
                                       metric("validation_loss", 2, 3)};
        const std::vector<Metric> fast{metric("validation_loss", 0, 6), metric("validation_loss", 1, 3),
                                       metric("validation_loss", 2, 2)};
        const auto curve = [](const std::vector<Metric>& metrics, const Accounting& one) {
            return curve_points(metrics, "validation_loss", WorkAxis::block_flops, &one);
        };
        const auto view = equal_view({curve(slow, dear), curve(fast, cheap)});
        QCOMPARE(*view.common_x, 40.0);
        QCOMPARE(*view.shortest, std::size_t{1});
        QCOMPARE(*view.target, 3.0);
        QVERIFY(!view.runs[0].value);  // between readings at 30 and 60 of 60 nothing is known
        QCOMPARE(*view.runs[1].value, 2.0);
        QCOMPARE(*view.runs[0].reaches->x, 60.0);
        QCOMPARE(*view.runs[1].reaches->x, 20.0);
        QCOMPARE(*view.runs[0].share, 1.0);
        close(*view.runs[1].share, 1.0 / 3);
        QCOMPARE(*view.runs[0].end_x, 60.0);
        QCOMPARE(*view.runs[1].last_value, 2.0);
    }

    void views_of_little() {
        QVERIFY(!equal_view({{}, {}}).common_x);
        const auto lone = equal_view({{}, {{1, 5}, {3, 4}}});
        QVERIFY(!lone.runs[0].value && !lone.runs[1].share && !lone.shortest);
        QCOMPARE(*lone.runs[1].value, 4.0);
        // One begins after the other has ended: nothing is made up. A target between two points is met between them.
        const auto apart = equal_view({{{0, 6}, {2, 4}}, {{3, 5}, {5, 3}}});
        QVERIFY(apart.runs[0].value && !apart.runs[1].value);
        QCOMPARE(*apart.target, 4.0);
        QVERIFY(!apart.runs[1].reaches->x && !apart.runs[1].share);  // two readings are no curve
        QCOMPARE(*apart.runs[1].reaches->after, 3.0);
        QCOMPARE(apart.runs[1].reaches->by, 5.0);
        // Five readings are one: between neighbours a line is drawn, and a wider hole among them stays one.
        const std::vector<CurvePoint> five{{0, 8}, {1, 7}, {2, 5}, {3, 4}, {4, 3}};
        const auto near = equal_view({five, {{0, 6}, {2.5, 3.5}}});
        QCOMPARE(*near.runs[0].value, 4.5);
        QCOMPARE(*near.runs[0].reaches->x, 3.5);
        const std::vector<CurvePoint> hole{{0, 8}, {1, 7}, {2, 6}, {3, 5}, {5, 3}, {6, 2}};
        QVERIFY(!measured_at(hole, 4) && *measured_at(hole, 3) == 5 && *measured_at(hole, 5.5) == 2.5);
        QVERIFY(!arrival(hole, 4)->x && arrival(hole, 4)->by == 5 && *arrival(hole, 9)->x == 0 && !arrival(hole, 1));
        // Two ends that differ by rounding alone are one.
        const auto even = equal_view({{{0, 2}, {0.1 + 0.2, 1}}, {{0, 2}, {0.3, 1}}});
        QVERIFY(!even.shortest && even.runs[0].value);
    }

    /// Validations, unless they are so few that nothing between them can be told and iterations tell more.
    void the_loss_to_compare_by_is_one_that_was_read() {
        const auto run = [](int validations, int losses) {
            std::vector<Metric> metrics;
            for (int i = 0; i < validations; ++i) metrics.push_back(metric("validation_loss", i, 5));
            for (int i = 0; i < losses; ++i) metrics.push_back(metric("loss", i, 5));
            return metrics;
        };
        const auto often = run(5, 40), seldom = run(4, 40), nothing = run(4, 2);
        QCOMPARE(loss_to_compare({&often, &often}), std::string("validation_loss"));
        QCOMPARE(loss_to_compare({&often, &seldom}), std::string("loss"));
        QCOMPARE(loss_to_compare({&nothing}), std::string("validation_loss"));
        QCOMPARE(loss_to_compare({}), std::string("validation_loss"));
    }

    void axes_have_names() {
        for (const auto axis : {WorkAxis::iteration, WorkAxis::tokens, WorkAxis::microbatches, WorkAxis::block_flops,
                                WorkAxis::network_time, WorkAxis::machine_time})
            QVERIFY(work_axis(to_string(axis)) == axis);
        QVERIFY(!work_axis("") && !work_axis("FLOPS"));
    }
};

QTEST_APPLESS_MAIN(TestAccounting)
#include "test_accounting.moc"
