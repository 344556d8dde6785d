// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "core/base/format.h"
#include "core/planner/explain/explain.h"
#include "core/planner/explain/node_what_ifs.h"
#include "core/planner/explain/shared_work.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "plugins/planners/all.h"
#include "tests/planner/authors.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_problems.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

Explanation explained(const examples::Example& example) {
    return explain(example.problem, example.plan, evaluate(example.problem, example.plan));
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

const WhatIf* find(const Explanation& why, Upgrade::Kind kind, const std::string& name) {
    for (const auto& what_if : why.what_ifs)
        if (what_if.upgrade.kind == kind && what_if.name == name) return &what_if;
    return nullptr;
}

}  // namespace

class TestExplain : public QObject {
    Q_OBJECT

    /// What a microbatch of the examples pays where nothing is in its way: F, F, L, B, B and four transfers.
    static void compare_waits(const MicrobatchCosts& costs, const std::vector<Wait>& waits, double latency_s = 4,
                              double transfer_s = 0) {
        QCOMPARE(costs.compute_s, 6.0);
        QCOMPARE(costs.loss_s, 0.5);
        QCOMPARE(costs.latency_s, latency_s);
        QCOMPARE(costs.transfer_s, transfer_s);
        QCOMPARE(costs.waits.size(), waits.size());
        for (std::size_t i = 0; i < waits.size(); ++i) {
            const Wait &is = costs.waits[i], &should = waits[i];
            QCOMPARE(to_string(is.cause), to_string(should.cause));
            QVERIFY2(is == should, qPrintable(QString("microbatch %1, wait %2: from %3 to %4 on node %5")
                                                  .arg(costs.microbatch)
                                                  .arg(i)
                                                  .arg(is.start_s)
                                                  .arg(is.end_s)
                                                  .arg(is.node)));
        }
    }

    static bool names_uplink(const Problem& problem, int line) {
        return line != no_line && problem.line_names[at(line)].find("link of ") != std::string::npos;
    }

    /// Everything that has to add up, whatever the plan.
    static void check_sums(const Problem& problem, const Plan& plan, const std::string& where) {
        const auto timeline = evaluate(problem, plan);
        const auto why = explain(problem, plan, timeline);
        QCOMPARE(why.microbatches.size(), plan.paths.size());
        std::map<MicrobatchIndex, double> ends;
        for (const auto& span : timeline.spans)
            if (span.kind == SpanKind::backward || span.kind == SpanKind::input_gradient)
                ends[span.microbatch] = std::max(ends[span.microbatch], span.end_s);
        double waited_s = 0, placed_s = 0;
        for (const auto& costs : why.microbatches) {
            QVERIFY2(near(costs.alone_s() + costs.waiting_s(), costs.end_s), where.c_str());
            QVERIFY2(costs.end_s == ends[costs.microbatch], where.c_str());
            std::array<double, wait_causes> by_cause{};
            for (const auto& wait : costs.waits) {
                QVERIFY2(wait.end_s > wait.start_s, where.c_str());
                QVERIFY2(!wait.others.empty() || (wait.cause == WaitCause::link && problem.plan_reductions),
                         where.c_str());
                QVERIFY2(wait.cause != WaitCause::memory ||
                             (wait.operation == OpKind::F &&
                              problem.memory[static_cast<std::size_t>(wait.node)] != unlimited_memory),
                         where.c_str());
                QVERIFY2(wait.cause != WaitCause::order || !plan.order.empty(),
                         ("without an order a free node runs what it may: " + where).c_str());
                QVERIFY2(wait.cause != WaitCause::link || problem.shared_links, where.c_str());
                by_cause[static_cast<std::size_t>(wait.cause)] += wait.seconds();
            }
            for (std::size_t cause = 0; cause < wait_causes; ++cause)
                QVERIFY2(near(by_cause[cause], costs.waits_s[cause]), where.c_str());
            waited_s += costs.waiting_s();
        }
        for (const auto& place : why.places) placed_s += place.seconds;
        QVERIFY2(near(placed_s, waited_s), where.c_str());
        check_chain(why, where);
        const Plan bound = with_executed_order(plan, problem, timeline);
        const auto again = evaluate(problem, bound);
        QVERIFY2(again.iteration_s == timeline.iteration_s && check_structure(problem, bound).empty(), where.c_str());
        for (const auto& asked : why.what_ifs)  // of one node the same is said
            if (asked.upgrade.node >= 0) {
                const auto own = node_what_ifs(problem, plan, timeline, asked.upgrade.node);
                const auto same = std::find_if(own.begin(), own.end(),
                                               [&](const WhatIf& one) { return one.upgrade == asked.upgrade; });
                QVERIFY2(same != own.end() && *same == asked, (where + ": " + asked.words()).c_str());
            }
        for (NodeIndex node = 0; node < problem.nodes(); ++node)
            if (const auto shared = shared_work(problem, plan, timeline, node))
                check_shared_work(problem, plan, timeline, node, *shared, where);
        for (const auto& what_if : why.what_ifs)
            check_what_if(problem, plan, bound, what_if, timeline.iteration_s, where + ": " + what_if.words());
    }

    /// What it promises is what the exact evaluator says of the plan that it means.
    static inline int shared_work_ = 0, shorter_by_sharing_ = 0;
    static void check_shared_work(const Problem& problem, const Plan& plan, const Timeline& timeline, NodeIndex node,
                                  const SharedWork& shared, const std::string& where) {
        QVERIFY2(shared.from == node || shared.to == node, where.c_str());
        const auto stages = stage_of_nodes(plan, problem.nodes());
        QVERIFY2(stages[shared.from] == stages[shared.to] && stages[node] > 0, where.c_str());
        const Plan moved = with_shared_work(plan, problem, timeline, shared);
        QVERIFY2(check_structure(problem, moved).empty(), where.c_str());
        std::size_t different = 0;
        for (std::size_t i = 0; i < plan.paths.size(); ++i) different += plan.paths[i] != moved.paths[i];
        QVERIFY2(different == shared.microbatches.size() && different > 0, where.c_str());
        const auto after = evaluate(problem, moved);
        QVERIFY2(after.complete && near(after.iteration_s, timeline.iteration_s * (1 + shared.change)), where.c_str());
        // The first that is chosen is the best of all alone.
        const auto alone_s = [&](MicrobatchIndex microbatch) {
            const Plan other = with_shared_work(plan, problem, timeline, {shared.from, shared.to, {microbatch}, 0});
            const auto then = evaluate(problem, other);
            return then.complete && check_structure(problem, other).empty() ? then.iteration_s
                                                                            : std::numeric_limits<double>::infinity();
        };
        const double first_s = alone_s(shared.microbatches.front());
        for (const auto& path : plan.paths)
            if (std::find(path.nodes.begin(), path.nodes.end(), shared.from) != path.nodes.end())
                QVERIFY2(alone_s(path.microbatch) >= first_s - 1e-9, where.c_str());
        ++shared_work_;
        shorter_by_sharing_ += shared.change < 0;
    }

    static void check_what_if(const Problem& problem, const Plan& plan, const Plan& bound, const WhatIf& what_if,
                              double iteration_s, const std::string& where) {
        const auto seconds = [&](const Plan& one) {
            const auto timeline = evaluate(upgraded(problem, what_if.upgrade), one);
            return timeline.complete ? timeline.iteration_s : std::numeric_limits<double>::infinity();
        };
        const double free_s = seconds(plan), bound_s = plan.order.empty() ? seconds(bound) : free_s;
        QVERIFY2(std::isfinite(std::min(free_s, bound_s)) == what_if.complete, where.c_str());
        if (!what_if.complete) return;
        QVERIFY2(what_if.iteration_s == std::min(free_s, bound_s), where.c_str());
        QVERIFY2(what_if.order_kept == (!plan.order.empty() || bound_s < free_s), where.c_str());
        QVERIFY2(what_if.change_s == what_if.iteration_s - iteration_s, where.c_str());
    }

    static void check_chain(const Explanation& why, const std::string& where) {
        QVERIFY2(!why.chain.empty() && why.chain.front().start_s == 0 && why.chain.back().end_s == why.iteration_s,
                 where.c_str());
        for (std::size_t i = 1; i < why.chain.size(); ++i)
            QVERIFY2(why.chain[i].start_s == why.chain[i - 1].end_s, where.c_str());
        QVERIFY2(near(why.compute_s() + why.links_s() + why.all_reduce_s + why.step_s, why.iteration_s), where.c_str());
        double reduced_s = 0;
        for (const auto& link : why.links) reduced_s += link.all_reduce_s;
        QVERIFY2(near(reduced_s, why.all_reduce_s), where.c_str());
    }

private Q_SLOTS:
    void collision() {
        const auto why = explained(examples::collision());
        // Both microbatches are at least 10.5 s on their way, and the second one's B comes after the first one's.
        QVERIFY(std::abs(why.placed.seconds - 12.5) < 1e-9);
        QCOMPARE(why.placed.node, 0);
        QCOMPARE(why.placed_gap(), 0.0);
        const auto placed = why.placed_words(examples::collision().problem);
        QVERIFY2(placed == "With every node in its stage no plan is shorter than " + format_seconds(12.5) +
                               " (D: memory and work of the data nodes, with the shortest paths); this one is as short",
                 placed.c_str());
        compare_waits(why.microbatches[0], {});
        compare_waits(why.microbatches[1], {{WaitCause::collision, OpKind::F, 0, no_line, 0, 1, {0}},
                                            {WaitCause::collision, OpKind::B, 1, no_line, 6.5, 7.5, {0}}});
        QCOMPARE(why.microbatches[1].end_s, 12.5);
        // B1 waits for the node, B0 does not: from there the chain is the other microbatch's.
        QCOMPARE(why.nodes.size(), std::size_t{2});
        QVERIFY((why.nodes[0] == NodeShare{1, 5.0}) && (why.nodes[1] == NodeShare{0, 3.5}));
        QCOMPARE(why.links.size(), std::size_t{1});
        QCOMPARE(why.links[0].name, std::string("D ↔ A"));
        QCOMPARE(why.links[0].latency_s, 4.0);
        QVERIFY(why.chain[0].start == ChainPiece::Start::release);
        QVERIFY(why.chain.back().start == ChainPiece::Start::input);
        QVERIFY(why.chain[why.chain.size() - 3].start == ChainPiece::Start::node);
        // Latencies of 0.5 s: F1 starts on A at 2.5, B0 ends there at 6.5 and B1 at 8.5.
        QVERIFY(near(find(why, Upgrade::Kind::link, "D ↔ A")->change_s, -2));
        QVERIFY(near(find(why, Upgrade::Kind::link_latency, "D ↔ A")->change_s, -2));
        QVERIFY(near(find(why, Upgrade::Kind::link_bandwidth, "D ↔ A")->change_s, 0));
        QVERIFY2(why.summary(examples::collision().problem).starts_with("critical node A"),
                 why.summary(examples::collision().problem).c_str());
    }

    void memory() {
        const auto why = explained(examples::memory());
        compare_waits(why.microbatches[0], {});
        compare_waits(why.microbatches[1], {{WaitCause::collision, OpKind::F, 0, no_line, 0, 1, {0}},
                                            {WaitCause::memory, OpKind::F, 1, no_line, 3, 7.5, {0}},
                                            {WaitCause::collision, OpKind::L, 0, no_line, 9.5, 10.5, {0}}});
        QCOMPARE(why.microbatches[1].end_s, 17.0);
        QCOMPARE(why.places[0].node, 1);
        QCOMPARE(why.places[0].seconds, 4.5);
        const auto* more = find(why, Upgrade::Kind::node_memory, "A");
        QVERIFY(more != nullptr && near(more->iteration_s, 12.5) && near(more->change, -4.5 / 17));
    }

    /// One microbatch after the other through M = 1 everywhere: the chain goes through the release.
    void memory_in_the_chain() {
        auto example = examples::memory();
        example.problem.memory = {1, 1};
        const auto why = explained(example);
        compare_waits(why.microbatches[1], {{WaitCause::collision, OpKind::F, 0, no_line, 0, 1, {0}},
                                            {WaitCause::memory, OpKind::F, 0, no_line, 1, 10.5, {0}}});
        int by_memory = 0;
        for (const auto& piece : why.chain) by_memory += piece.start == ChainPiece::Start::memory ? 1 : 0;
        QCOMPARE(by_memory, 1);
        check_sums(example.problem, example.plan, "M = 1");
    }

    void deadlock() {
        const auto stuck = examples::deadlock(1);
        QVERIFY_EXCEPTION_THROWN(explained(stuck), std::invalid_argument);
        const auto example = examples::deadlock(2);
        const auto why = explained(example);
        QCOMPARE(why.iteration_s, 15.5);
        for (const auto& costs : why.microbatches)
            QCOMPARE(costs.waits_s[static_cast<std::size_t>(WaitCause::memory)], 0.0);
        check_sums(example.problem, example.plan, example.name);
    }

    void shared_line() {
        const auto why = explained(examples::shared_line(true));
        compare_waits(why.microbatches[0], {}, 2, 12);
        compare_waits(why.microbatches[1], {{WaitCause::link, OpKind::F, 1, 0, 1, 4, {0}}}, 2, 12);
        QCOMPARE(why.links.size(), std::size_t{1});
        QVERIFY((why.links[0].lines == std::vector{0, 1}));
        QCOMPARE(why.links[0].queue_s, 3.0);
        QCOMPARE(why.links[0].transfer_s, 12.0);
        QCOMPARE(why.links[0].latency_s, 2.0);
        const auto alone = explained(examples::shared_line(false));
        QCOMPARE(alone.links[0].queue_s, 0.0);
        for (const auto& costs : alone.microbatches)
            QCOMPARE(costs.waits_s[static_cast<std::size_t>(WaitCause::link)], 0.0);
    }

    void all_reduce() {
        const auto why = explained(examples::all_reduce());
        QCOMPARE(why.all_reduce_s, 12.0);
        QCOMPARE(why.step_s, 0.25);
        QCOMPARE(why.links[0].name, std::string("B ↔ C"));
        QCOMPARE(why.links[0].all_reduce_s, 12.0);
        QVERIFY((why.nodes[0] == NodeShare{0, 3.5}) && (why.nodes[1] == NodeShare{3, 3.0}));
        // The edge falls from 3 s to 1.5, the other two stay at 2: 4 rounds of 2 instead of 3.
        QVERIFY(near(find(why, Upgrade::Kind::link, "B ↔ C")->change_s, -4));
        QVERIFY(near(why.what_ifs.front().change_s, -4));
    }

    void binding_order() {
        const auto why = explained(examples::ordered("F1 F0 L1 L0 B1 B0 ", "F0 F1 B1 B0 ", 14.5));
        compare_waits(why.microbatches[1], {{WaitCause::order, OpKind::F, 1, no_line, 2, 3, {0}},
                                            {WaitCause::collision, OpKind::F, 1, no_line, 3, 4, {0}}});
        compare_waits(why.microbatches[0], {{WaitCause::collision, OpKind::F, 0, no_line, 0, 1, {1}},
                                            {WaitCause::order, OpKind::L, 0, no_line, 5, 6, {1}},
                                            {WaitCause::collision, OpKind::L, 0, no_line, 6, 6.5, {1}},
                                            {WaitCause::collision, OpKind::B, 1, no_line, 8, 9.5, {1}}});
    }

    /// Two nodes send 4 bytes each to a third at 0 s over lines of their own, 1 byte/s up, 2 bytes/s down: what is
    /// second at the downlink waits there, what limits both is the uplink; twice its rate is worth most.
    void uplinks() {
        auto problem = examples::toy({"D", "E", "A"}, 2, 2, 2);
        problem.shared_links = true;
        problem.forward_bytes = 4;
        problem.up_bytes_per_s = {1, 1, INFINITY};
        problem.down_bytes_per_s = {INFINITY, INFINITY, 2};
        for (const char* name :
             {"uplink of D", "uplink of E", "uplink of A", "downlink of D", "downlink of E", "downlink of A"})
            problem.line_names.emplace_back(name);
        const Plan plan{.stages = {{0, 1}, {2}}, .blocks = {1, 1}, .paths = {{0, {0, 2}}, {1, {1, 2}}}};
        check_sums(problem, plan, "uplinks");
        const auto why = explain(problem, plan, evaluate(problem, plan));
        // F 0-1; on the uplinks 1-5; heads at A at 2 s: 2-4, and 4-6 after it; there at 6 s, one second after the last.
        const auto& first = why.microbatches[0].waits;
        QVERIFY(
            std::none_of(first.begin(), first.end(), [](const Wait& wait) { return wait.cause == WaitCause::link; }));
        const auto& second = why.microbatches[1].waits;
        const auto down =
            std::find_if(second.begin(), second.end(), [](const Wait& wait) { return wait.cause == WaitCause::link; });
        QVERIFY(down != second.end());
        QCOMPARE(problem.line_names[at(down->line)], std::string("downlink of A"));
        QCOMPARE(down->start_s, 2.0);
        QCOMPARE(down->end_s, 4.0);
        QVERIFY(std::any_of(why.links.begin(), why.links.end(),
                            [](const LinkShare& link) { return link.name == "uplink of D" && link.transfer_s == 4; }));
        // At half the rate the downlink is what all wait for: it serves D's message, whose head came over the line, at
        // 2-6 and E's at 6-10.
        auto slower = problem;
        slower.down_bytes_per_s[2] = 1;
        check_sums(slower, plan, "a slow downlink");
        std::vector<std::string> chain;
        for (const auto& piece : explain(slower, plan, evaluate(slower, plan)).chain)
            chain.push_back(std::string(to_string(piece.kind)) + " " +
                            (piece.line == no_line ? "" : slower.line_names[at(piece.line)]));
        chain.resize(5);
        QCOMPARE(chain, (std::vector<std::string>{"compute ", "latency D->A", "queue downlink of A",
                                                  "transfer downlink of A", "compute "}));
        const auto faster = upgraded(problem, {Upgrade::Kind::link_bandwidth, -1, {down->line - 5}});
        QCOMPARE(faster.up_bytes_per_s, (std::vector<double>{2, 1, INFINITY}));
        QCOMPARE(upgraded(problem, {Upgrade::Kind::link, -1, {down->line}}).down_bytes_per_s[2], 4.0);
    }

    /// Stage 1 on A and B, which sum 12 bytes by halves; A's half for B takes the line that B's gradient takes to D
    /// from 7.5 to 9 s, B's B ends at 8.5.
    void a_reduction_goes_first() {
        auto problem = examples::toy({"D", "A", "B"}, 2, 2, 2);
        problem.shared_links = problem.plan_reductions = true;
        problem.gradient_bytes = {0, 12};
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        problem.hops[2 * 3 + 0].line = problem.hops[1 * 3 + 2].line;
        const Plan plan{.stages = {{0}, {1, 2}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}}};
        check_sums(problem, plan, "a reduction goes first");
        const auto why = explain(problem, plan, evaluate(problem, plan));
        const auto& waits = why.microbatches[1].waits;
        const auto queued =
            std::find_if(waits.begin(), waits.end(), [](const Wait& wait) { return wait.cause == WaitCause::link; });
        QVERIFY(queued != waits.end());
        QCOMPARE(queued->start_s, 8.5);
        QCOMPARE(queued->end_s, 9.0);
        QVERIFY(queued->others.empty());
        QCOMPARE(queued->reductions, (std::vector<ReductionAhead>{{1, 1}}));
        QCOMPARE(queued->ahead(problem), std::string("the gradient of stage 1 from A"));
    }

    void every_example_adds_up() {
        for (const auto& example : examples::all())
            if (example.complete) check_sums(example.problem, example.plan, example.name);
    }

    void random_plans_add_up() {
        PlannerRegistry registry;
        register_planners(registry);
        std::array<int, wait_causes> seen{};
        int deadlocks = 0, uplinks = 0;
        for (std::uint64_t seed = 1; seed <= 80; ++seed) {
            auto problem = examples::random_problem(seed);
            problem.plan_reductions = !problem.charge_all_reduce && seed % 2 == 0;
            Rng rng(seed, 21);
            if (problem.shared_links && seed % 3 == 0) problem = examples::with_uplinks(problem, rng);
            PlanRequest request;
            request.seed = seed;
            request.steps = 50;
            for (const char* name : {"dtfm-skip", "1f1b", "skippipe-joint"}) {
                Plan plan;
                try {
                    plan = registry.find(name)->plan(problem, request);
                } catch (const InputError&) {
                    continue;  // this one has no plan for it
                }
                for (int turn = 0; turn < 2; ++turn) {
                    const std::string where = std::string(name) +
                                              (turn == 0 ? "" : ", by dispatch, split the other way") + ", seed " +
                                              std::to_string(seed);
                    const auto timeline = evaluate(problem, plan);
                    deadlocks += timeline.complete ? 0 : 1;
                    if (timeline.complete) {
                        check_sums(problem, plan, where);
                        if (QTest::currentTestFailed()) return;
                        for (const auto& costs :
                             explain(problem, plan, timeline, {.nodes = 0, .links = 0}).microbatches)
                            for (const auto& wait : costs.waits) {
                                ++seen[static_cast<std::size_t>(wait.cause)];
                                uplinks += names_uplink(problem, wait.line) ? 1 : 0;
                            }
                    }
                    plan.order.clear();
                    plan.split_backward = !plan.split_backward;
                }
            }
        }
        for (std::size_t cause = 0; cause < wait_causes; ++cause)
            QVERIFY2(seen[cause] > 100, std::string(to_string(static_cast<WaitCause>(cause))).c_str());
        QVERIFY(deadlocks < 40);
        QVERIFY2(uplinks > 100, std::to_string(uplinks).c_str());
        QVERIFY2(shared_work_ > 50 && shorter_by_sharing_ > 5,
                 fmt::format("{} {}", shared_work_, shorter_by_sharing_).c_str());
    }

    void authors_plan() {
        const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        check_sums(authors.problem, authors.plan("skippipe"), "authors");
    }

    /// One stage: no transfer anywhere.
    void single_stage() {
        auto problem = examples::toy({"D"}, 1, 1, 2);
        const Plan plan{.stages = {{0}}, .blocks = {1}, .paths = {{0, {0}}, {1, {0}}}};
        const auto why = explain(problem, plan, evaluate(problem, plan));
        QCOMPARE(why.iteration_s, 7.0);
        QVERIFY(why.links.empty());
        QCOMPARE(why.microbatches[1].waiting_s(), 3.5);
        check_sums(problem, plan, "one stage");
    }

    void upgrades() {
        const auto problem = examples::shared_line(true).problem;
        const auto faster = upgraded(problem, {Upgrade::Kind::link, -1, {0}});
        for (std::size_t i = 0; i < problem.hops.size(); ++i) {
            const double factor = problem.hops[i].line == 0 ? 2 : 1;
            QCOMPARE(faster.hops[i].latency_s, problem.hops[i].latency_s / factor);
            QCOMPARE(faster.hops[i].bandwidth_bytes_per_s, problem.hops[i].bandwidth_bytes_per_s * factor);
            QCOMPARE(faster.hops[i].seconds_per_backward, problem.hops[i].seconds_per_backward / factor);
        }
        QCOMPARE(upgraded(problem, {Upgrade::Kind::link_latency, -1, {0}}).hops[2].seconds_per_forward,
                 problem.hops[2].seconds_per_forward);
        QCOMPARE(upgraded(problem, {Upgrade::Kind::link_bandwidth, -1, {0}}).hops[2].latency_s,
                 problem.hops[2].latency_s);
        QCOMPARE(upgraded(problem, {Upgrade::Kind::node_speed, 1, {}}).forward_s(1, 0), problem.forward_s(1, 0) / 2);
        QCOMPARE(upgraded(problem, {Upgrade::Kind::node_memory, 1, {}}).memory[1], problem.memory[1] + 1);
        auto endless = problem;
        endless.memory[1] = unlimited_memory;
        QCOMPARE(upgraded(endless, {Upgrade::Kind::node_memory, 1, {}}).memory[1], unlimited_memory);
    }
};

QTEST_APPLESS_MAIN(TestExplain)
#include "test_explain.moc"
