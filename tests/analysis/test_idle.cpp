// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/analysis/idle.h"
#include "core/base/rng.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"

using namespace skippipe;

namespace {

using Seconds = std::map<std::string, double>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Seconds of_node(const IdleReport& report, int node) {
    Seconds seconds;
    for (std::size_t cause = 0; cause < idle_causes; ++cause)
        if (const double s = report.node_seconds[static_cast<std::size_t>(node)][cause]; s != 0)
            seconds[std::string{to_string(static_cast<IdleCause>(cause))}] = s;
    return seconds;
}

QByteArray text(const Seconds& seconds) {
    QByteArray out;
    for (const auto& [cause, s] : seconds)
        out += QByteArray::fromStdString(cause) + " " + QByteArray::number(s, 'g', 12) + ", ";
    return out;
}

/// Gaps and busy spans tile [0, end] of each used node, and the shares sum to the idle fraction.
void check_tiling(const Problem& problem, const Plan& plan, const Timeline& timeline) {
    const auto report = explain_idle(problem, plan, timeline);
    double end_s = timeline.iteration_s, busy_s = 0;
    for (const auto& span : timeline.spans) end_s = std::max(end_s, span.end_s);
    std::map<int, std::vector<std::pair<double, double>>> tiles;
    for (const auto& stage : plan.stages)
        for (const int node : stage) tiles[node];
    for (const auto& gap : report.gaps) tiles[gap.node].push_back({gap.start_s, gap.end_s});
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) {
            tiles[span.node].push_back({span.start_s, span.end_s});
            busy_s += span.end_s - span.start_s;
        }
    for (auto& [node, parts] : tiles) {
        std::sort(parts.begin(), parts.end());
        double at = 0;
        for (const auto& [from, to] : parts) {
            QCOMPARE(from, at);
            QVERIFY(to > from);
            at = to;
        }
        QCOMPARE(at, end_s);
    }
    const double whole = end_s * static_cast<double>(tiles.size());
    const double shares = std::accumulate(report.share.begin(), report.share.end(), 0.0);
    QVERIFY2(std::abs(busy_s / whole + shares - 1) < 1e-12, qPrintable(QString::number(busy_s / whole + shares - 1)));
}

/// Any stages, any paths: what a planner might give and worse.
std::pair<Problem, Plan> random_case(Rng& rng) {
    const int stages = 1 + static_cast<int>(rng.below(4)), replicas = 1 + static_cast<int>(rng.below(3));
    std::vector<std::string> ids;
    for (int i = 0; i < stages * replicas + 1; ++i) ids.push_back("n" + std::to_string(i));
    const int length = stages == 1 ? 1 : 2 + static_cast<int>(rng.below(static_cast<std::uint64_t>(stages - 1)));
    auto problem = examples::toy(ids, stages, length, 8);
    problem.shared_links = rng.below(2) == 0;
    problem.charge_all_reduce = rng.below(2) == 0;
    problem.plan_reductions = !problem.charge_all_reduce && rng.below(2) == 0;
    problem.step_seconds = rng.uniform();
    for (auto& hop : problem.hops) {
        hop.latency_s = rng.uniform();
        hop.seconds_per_forward = hop.seconds_per_backward = rng.uniform();
    }
    for (auto& speed : problem.seconds_per_sample_per_block) speed = 0.5 + rng.uniform();
    for (auto& bytes : problem.gradient_bytes) bytes = 1;
    for (auto& m : problem.memory) m = 1 + static_cast<int>(rng.below(4));
    Plan plan;
    plan.split_backward = problem.split_backward = rng.below(2) == 0;
    plan.blocks = problem.blocks;
    for (int s = 0; s < stages; ++s) {
        plan.stages.emplace_back();
        for (int r = 0; r < replicas; ++r) plan.stages.back().emplace_back(s * replicas + r);
    }
    for (MicrobatchIndex m = 0; m < 8; ++m) {
        std::vector<int> others(static_cast<std::size_t>(stages - 1));
        std::iota(others.begin(), others.end(), 1);
        rng.shuffle(others);
        Path path{m, {NodeIndex(rng.below(static_cast<std::uint64_t>(replicas)))}};
        for (int hop = 1; hop < length; ++hop)
            path.nodes.emplace_back(others[static_cast<std::size_t>(hop - 1)] * replicas +
                                    static_cast<int>(rng.below(static_cast<std::uint64_t>(replicas))));
        plan.paths.push_back(path);
    }
    return {problem, plan};
}

}  // namespace

class TestIdle : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void by_hand_data() {
        QTest::addColumn<int>("example");
        QTest::addColumn<int>("node");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char* name, int example, int node, Seconds seconds) {
            QTest::newRow(name) << example << node << text(seconds);
        };
        row("collision, D", 0, 0, {{"activation", 1}, {"link", 2.5}, {"gradient", 2}});
        row("collision, A", 0, 1, {{"fill-drain", 4}, {"link", 2}, {"gradient", 0.5}});
        row("memory, D", 1, 0, {{"activation", 1}, {"link", 3}, {"gradient", 6}});
        row("memory, A", 1, 1, {{"fill-drain", 4}, {"link", 2}, {"memory", 2.5}, {"gradient", 1.5}, {"collision", 1}});
        row("all-reduce, D", 6, 0, {{"fill-drain", 7}, {"link", 3}, {"gradient", 1}, {"optimizer", 0.25}});
        row("all-reduce, A", 6, 1,
            {{"fill-drain", 3}, {"link", 2}, {"gradient", 1.5}, {"all-reduce", 12}, {"optimizer", 0.25}});
        row("order, D", 8, 0, {{"order", 2}, {"collision", 1}, {"activation", 1}, {"gradient", 2.5}, {"link", 1}});
        row("order, A", 8, 1, {{"fill-drain", 5}, {"order", 1}, {"gradient", 1.5}, {"link", 1}});
    }
    void by_hand() {
        QFETCH(int, example);
        QFETCH(int, node);
        QFETCH(QByteArray, expected);
        const auto one = examples::all()[static_cast<std::size_t>(example)];
        const auto report = explain_idle(one.problem, one.plan, evaluate(one.problem, one.plan));
        QCOMPARE(text(of_node(report, node)), expected);
    }

    void a_shared_line_is_told_as_link() {
        const auto example = examples::shared_line(true);
        const auto report = explain_idle(example.problem, example.plan, evaluate(example.problem, example.plan));
        const auto queued = std::find_if(report.gaps.begin(), report.gaps.end(),
                                         [](const IdleGap& g) { return g.node == 2 && g.start_s == 5.5; });
        QVERIFY(queued != report.gaps.end());
        QCOMPARE(queued->cause, IdleCause::link);
        QCOMPARE(queued->end_s, 7.5);
        QCOMPARE(queued->microbatch, 1);
        QCOMPARE(queued->other, 1);  // E, whose message stood in the queue
    }

    /// Stage 1 on A, B and C sums in a chain to C and back: C is done first, with one F and B at 4.5-6.5 and so on;
    /// what each waits for is its neighbour in the chain, and B for C once it has A's part; before that B and C, which
    /// have no work, wait for A's, since no sum is whole without it.
    void a_planned_reduction_names_the_replica() {
        auto problem = examples::toy({"D", "A", "B", "C"}, 2, 2, 1);
        problem.plan_reductions = problem.shared_links = true;
        problem.gradient_bytes = {0, 4};
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        Plan plan{.stages = {{0}, {1, 2, 3}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}}};
        plan.reductions = {{}, {{1, PieceForm::tree, 2, {1, 2, 2}, {1, 2, 2}}}};
        // A's B ends at 7.5 and its part is at B at 9.5, at C at 11.5; B has the sum at 13.5, A at 15.5.
        const auto report = explain_idle(problem, plan, evaluate(problem, plan));
        const auto waits = [&](NodeIndex node, IdleCause cause = IdleCause::all_reduce) {
            std::vector<std::tuple<double, double, NodeIndex>> found;
            for (const auto& gap : report.gaps)
                if (gap.node == node && gap.cause == cause) found.emplace_back(gap.start_s, gap.end_s, gap.other);
            return found;
        };
        using Waits = std::vector<std::tuple<double, double, NodeIndex>>;
        QVERIFY(waits(1) == (Waits{{7.5, 15.5, 2}}));
        QVERIFY(waits(2) == (Waits{{7.5, 9.5, 1}, {9.5, 13.5, 3}}));
        QVERIFY(waits(3) == (Waits{{7.5, 11.5, 2}}));
        QVERIFY(waits(1, IdleCause::replica).empty());
        QVERIFY(waits(2, IdleCause::replica) == (Waits{{0, 7.5, 1}}));
        QVERIFY(waits(3, IdleCause::replica) == (Waits{{0, 7.5, 1}}));
        const auto lines = [&](const IdleReport& told, NodeIndex node) {
            std::vector<std::string> names;
            for (const auto& gap : told.gaps)
                if (gap.node == node && gap.cause == IdleCause::all_reduce)
                    names.push_back(problem.line_names[at(gap.line)]);
            return names;
        };
        QCOMPARE(lines(report, 1), std::vector<std::string>{"B->A"});
        QCOMPARE(lines(report, 2), (std::vector<std::string>{"A->B", "C->B"}));
        // B sends at half a line's rate, A receives at a quarter, so slowly that it alone holds up what A waits for.
        for (const char* what : {"uplink of ", "downlink of "})
            for (const auto& id : problem.node_ids) problem.line_names.push_back(what + id);
        problem.up_bytes_per_s = {INFINITY, INFINITY, 2, INFINITY};
        problem.down_bytes_per_s = {INFINITY, 1, INFINITY, INFINITY};
        const auto slower = explain_idle(problem, plan, evaluate(problem, plan));
        QCOMPARE(lines(slower, 1), std::vector<std::string>{"downlink of A"});
        QCOMPARE(lines(slower, 2), (std::vector<std::string>{"A->B", "C->B"}));
        QCOMPARE(lines(slower, 3), std::vector<std::string>{"uplink of B"});
    }

    /// What is idle while its node is down is so for that, and the rest of the gap for what it was; a node of no stage
    /// that was down is idle then and at no other time.
    void a_node_that_was_down() {
        const auto one = examples::all()[0];
        auto timeline = evaluate(one.problem, one.plan);
        const auto before = explain_idle(one.problem, one.plan, timeline);
        const auto gap = std::find_if(before.gaps.begin(), before.gaps.end(), [](const IdleGap& g) {
            return g.node == 1 && g.cause == IdleCause::fill_drain && g.end_s - g.start_s > 1;
        });
        QVERIFY(gap != before.gaps.end());
        const double from_s = gap->start_s + 0.25, to_s = gap->end_s - 0.5;
        timeline.spans.push_back({SpanKind::down, 1, -1, 1, -1, 0, from_s, to_s, 0});
        const auto after = explain_idle(one.problem, one.plan, timeline);
        auto expected = of_node(before, 1);
        expected["fill-drain"] -= to_s - from_s;
        expected["node-down"] = to_s - from_s;
        QCOMPARE(text(of_node(after, 1)), text(expected));
        QCOMPARE(text(of_node(after, 0)), text(of_node(before, 0)));
        const auto is_down = [](const IdleGap& g) { return g.cause == IdleCause::node_down; };
        QCOMPARE(std::count_if(after.gaps.begin(), after.gaps.end(), is_down), std::ptrdiff_t{1});
        const auto down = std::find_if(after.gaps.begin(), after.gaps.end(), is_down);
        QVERIFY(down->node == 1 && down->start_s == from_s && down->end_s == to_s);
        check_tiling(one.problem, one.plan, timeline);

        const auto problem = examples::toy({"D", "A", "Spare"}, 2, 2, 1);
        const Plan plan{.stages = {{0}, {1}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}}};
        auto with_spare = evaluate(problem, plan);
        QVERIFY(of_node(explain_idle(problem, plan, with_spare), 2).empty());
        with_spare.spans.push_back({SpanKind::down, 2, -1, -1, -1, 0, 1, 3, 0});
        QCOMPARE(text(of_node(explain_idle(problem, plan, with_spare), 2)), text({{"node-down", 2}}));
    }

    void examples_tile() {
        for (const auto& example : examples::all())
            check_tiling(example.problem, example.plan, evaluate(example.problem, example.plan));
    }

    void random_plans_tile() {
        Rng rng{7};
        std::array<double, idle_causes> seen{};
        for (int i = 0; i < 500; ++i) {
            const auto [problem, plan] = random_case(rng);
            const auto timeline = evaluate(problem, plan);
            check_tiling(problem, plan, timeline);
            if (QTest::currentTestFailed()) return;
            const auto report = explain_idle(problem, plan, timeline);
            for (std::size_t c = 0; c < idle_causes; ++c) seen[c] += report.share[c];
        }
        for (const auto cause :
             {IdleCause::fill_drain, IdleCause::activation, IdleCause::gradient, IdleCause::link, IdleCause::memory,
              IdleCause::collision, IdleCause::replica, IdleCause::all_reduce, IdleCause::optimizer, IdleCause::unused})
            QVERIFY2(seen[static_cast<std::size_t>(cause)] > 0, to_string(cause).data());
    }

    void spans_in_any_order_say_the_same() {
        Rng rng{11};
        const auto [problem, plan] = random_case(rng);
        auto timeline = evaluate(problem, plan);
        const auto before = explain_idle(problem, plan, timeline);
        rng.shuffle(timeline.spans);
        const auto after = explain_idle(problem, plan, timeline);
        for (std::size_t c = 0; c < idle_causes; ++c) QVERIFY(std::abs(before.share[c] - after.share[c]) < 1e-12);
    }

    void a_node_without_work_is_unused() {
        auto example = examples::collision();
        example.problem = examples::toy({"D", "A", "Z"}, 2, 2, 2);
        example.problem.step_seconds = 0.5;
        example.plan.stages = {{0}, {1, 2}};
        const auto report = explain_idle(example.problem, example.plan, evaluate(example.problem, example.plan));
        QCOMPARE(text(of_node(report, 2)), text({{"unused", 12.5}, {"optimizer", 0.5}}));
        QCOMPARE(report.node_busy_s[2], 0.0);
    }

    void bad_spans_do_no_harm() {
        auto example = examples::collision();
        auto timeline = evaluate(example.problem, example.plan);
        timeline.spans.push_back({SpanKind::forward, 99, -1, 0, 0, 0, 1, 2, 0});
        timeline.spans.push_back({SpanKind::forward, -5, -1, 0, 0, 0, 1, 2, 0});
        timeline.spans.push_back({SpanKind::forward, 0, -1, 0, 0, not_a_number, 1, 2, 0});
        timeline.spans.push_back({SpanKind::transfer_forward, 0, 77, 0, 0, 0, 1, 2, 0});
        const auto report = explain_idle(example.problem, example.plan, timeline);
        QCOMPARE(text(of_node(report, 1)), text({{"fill-drain", 4}, {"link", 2}, {"gradient", 0.5}}));
        const auto empty = explain_idle({}, {}, {});
        QVERIFY(empty.gaps.empty());
    }

    void causes_have_names() {
        for (std::size_t c = 0; c < idle_causes; ++c) {
            QVERIFY(!to_string(static_cast<IdleCause>(c)).empty());
            QVERIFY(!describe(static_cast<IdleCause>(c)).empty());
        }
        QCOMPARE(to_string(IdleCause::node_down), std::string_view{"node-down"});
    }
};

QTEST_APPLESS_MAIN(TestIdle)
#include "test_idle.moc"
