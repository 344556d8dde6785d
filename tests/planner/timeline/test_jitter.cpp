// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/base/statistics.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/jitter.h"
#include "core/planner/timeline/simulator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/joint/paths/tail_cost.h"
#include "tests/planner/authors.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;
using namespace skippipe::planners::joint;

/// How plans fare when nodes and links vary, and plans made for that.
class TestJitter : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;

    Plan plan(const std::string& planner, const Problem& problem, std::int64_t steps,
              const std::optional<Robustness>& robust = {}, int threads = 1) const {
        PlanRequest request;
        request.steps = steps;
        request.threads = threads;
        request.robust = robust;
        return registry_.find(planner)->plan(problem, request);
    }

    /// The plan with the order in which its nodes work on the network as drawn.
    static Plan in_order(const Problem& problem, Plan plan) {
        const auto timeline = evaluate(problem, plan);
        plan.order.assign(static_cast<std::size_t>(problem.nodes()), {});
        for (const auto& span : timeline.spans)
            if (is_compute(span.kind))
                plan.order[static_cast<std::size_t>(span.node)].push_back({span.kind == SpanKind::forward ? OpKind::F
                                                                           : span.kind == SpanKind::loss  ? OpKind::L
                                                                                                          : OpKind::B,
                                                                           span.microbatch});
        return plan;
    }

    /// The network of one lane of the scenarios.
    static Problem lane(const Problem& problem, const Scenarios& scenarios, int k) {
        auto drawn = problem;
        for (std::size_t n = 0; n < drawn.node_ids.size(); ++n)
            drawn.seconds_per_sample_per_block[n] *= scenarios.node[n].of[k];
        for (auto& hop : drawn.hops) {
            if (hop.line == no_line) continue;
            const double factor = scenarios.line[static_cast<std::size_t>(hop.line)].of[k];
            hop = {hop.latency_s * factor, hop.bandwidth_bytes_per_s / factor, hop.seconds_per_forward * factor,
                   hop.seconds_per_backward * factor, hop.line};
        }
        return drawn;
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    void without_jitter_all_is_nominal() {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const auto problem = examples::random_problem(seed);
            const auto made = plan("dtfm-skip", problem, 50);
            const double nominal_s = evaluate(problem, made).iteration_s;
            const auto d = distribution(problem, made, {}, 30, seed, 1);
            for (const double seconds : {d.nominal_s, d.mean_s, d.least_s, d.p5_s, d.p50_s, d.p95_s, d.most_s})
                QCOMPARE(seconds, nominal_s);
            QCOMPARE(d.standard_deviation_s, 0.0);
            QCOMPARE(d.deadlocks, 0);
        }
    }

    void reproducible_whatever_the_threads() {
        const auto problem = examples::random_problem(3);
        const auto made = plan("dtfm-skip", problem, 50);
        const Jitter jitter{0.2, 0.3};
        const auto one = sampled_iteration_s(problem, made, jitter, 200, 7, 1);
        QVERIFY(one == sampled_iteration_s(problem, made, jitter, 200, 7, 3));
        QVERIFY(one != sampled_iteration_s(problem, made, jitter, 200, 8, 1));
        const auto fewer = sampled_iteration_s(problem, made, jitter, 50, 7, 2);
        QVERIFY(std::equal(fewer.begin(), fewer.end(), one.begin()));
        QVERIFY(*std::max_element(one.begin(), one.end()) > *std::min_element(one.begin(), one.end()));
    }

    /// One microbatch: F, L and B on D, F and B on A, two messages each way: a sum with a factor for every term.
    void by_hand() {
        auto problem = examples::toy({"D", "A"}, 2, 2, 1);
        const Plan made{.stages = {{0}, {1}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}}};
        QCOMPARE(evaluate(problem, made).iteration_s, 10.5);
        Rng rng(5);
        Factors factors;
        draw_factors(problem, {0.2, 0.1}, rng, factors);
        Rng same(5);
        const double by_hand_s =
            3.5 * factors.node[0] + 3 * factors.node[1] + 2 * factors.line[1] + 2 * factors.line[2];
        const double drawn_s = evaluate(sample_problem(problem, {0.2, 0.1}, same), made).iteration_s;
        QVERIFY(std::abs(drawn_s - by_hand_s) < 1e-12);

        // Moments of a sum of independent factors; percentiles are those of the sorted sample.
        const auto d = distribution(problem, made, {0.2, 0.1}, 20'000, 1, 2);
        const double sd_s = std::sqrt(0.04 * (3.5 * 3.5 + 9) + 0.01 * 8);
        QVERIFY(std::abs(d.mean_s - 10.5) < 4 * sd_s / std::sqrt(20'000));
        QVERIFY(std::abs(d.standard_deviation_s / sd_s - 1) < 0.03);
        auto sorted = sampled_iteration_s(problem, made, {0.2, 0.1}, 101, 1, 1);
        const auto few = distribution(problem, made, {0.2, 0.1}, 101, 1, 1);
        std::sort(sorted.begin(), sorted.end());
        QCOMPARE(few.least_s, sorted[0]);
        QCOMPARE(few.p5_s, sorted[5]);
        QCOMPARE(few.p50_s, sorted[50]);
        QCOMPARE(few.p95_s, sorted[95]);
        QCOMPARE(few.most_s, sorted[100]);

        // With one node there is one factor, which scales all: percentiles of the lognormal itself.
        const auto alone = examples::toy({"D"}, 1, 1, 2);
        const Plan own{.stages = {{0}}, .blocks = {1}, .paths = {{0, {0}}, {1, {0}}}};
        Rng again(5);
        draw_factors(alone, {0.5, 0.5}, again, factors);
        Rng once_more(5);
        QVERIFY(std::abs(evaluate(sample_problem(alone, {0.5, 0.5}, once_more), own).iteration_s -
                         7 * factors.node[0]) < 1e-12);
        const auto scaled = distribution(alone, own, {0.2, 0}, 20'000, 1, 2);
        const double variance = std::log(1.04), sigma = std::sqrt(variance);
        QVERIFY(std::abs(scaled.p50_s / (7 * std::exp(-variance / 2)) - 1) < 0.01);
        QVERIFY(std::abs(scaled.p95_s / (7 * std::exp(1.6449 * sigma - variance / 2)) - 1) < 0.01);
        QVERIFY(std::abs(scaled.p5_s / (7 * std::exp(-1.6449 * sigma - variance / 2)) - 1) < 0.01);
    }

    void factors_are_lognormal_with_mean_one() {
        const auto problem = examples::random_problem(4);
        Rng rng(1);
        Factors factors;
        std::vector<double> nodes, lines;
        for (int i = 0; i < 2000; ++i) {
            draw_factors(problem, {0.2, 0.5}, rng, factors);
            nodes.insert(nodes.end(), factors.node.begin(), factors.node.end());
            lines.insert(lines.end(), factors.line.begin(), factors.line.begin() + 10);
        }
        QVERIFY(std::abs(mean(nodes) - 1) < 0.005);
        QVERIFY(std::abs(standard_deviation(nodes) - 0.2) < 0.005);
        QVERIFY(std::abs(mean(lines) - 1) < 0.02);
        QVERIFY(std::abs(standard_deviation(lines) - 0.5) < 0.03);
        QVERIFY(std::abs(median(nodes) - 1 / std::sqrt(1.04)) <
                0.005);  // the mean is above: the longer tail is that of slow-downs
        QVERIFY(*std::min_element(lines.begin(), lines.end()) > 0);
    }

    /// Slow is slow in everything: a line for all its pairs and both kinds of message, bandwidth and latency alike.
    /// Links draw the same numbers whether nodes vary or not.
    void a_line_has_one_factor() {
        auto problem = examples::random_problem(6);
        problem.hops[1].line = no_line;
        Rng rng(9), same(9);
        const auto drawn = sample_problem(problem, {0.3, 0.3}, rng);
        const auto links_only = sample_problem(problem, {0, 0.3}, same);
        QVERIFY(links_only.seconds_per_sample_per_block == problem.seconds_per_sample_per_block);
        QVERIFY(drawn.seconds_per_sample_per_block != problem.seconds_per_sample_per_block);
        std::vector<double> factor(problem.line_names.size(), 0);
        for (std::size_t h = 0; h < problem.hops.size(); ++h) {
            const Hop &before = problem.hops[h], &after = drawn.hops[h];
            QCOMPARE(after.line, before.line);
            QCOMPARE(after.latency_s, links_only.hops[h].latency_s);
            if (before.line == no_line) continue;
            double& of_line = factor[static_cast<std::size_t>(before.line)];
            if (of_line == 0) of_line = after.latency_s / before.latency_s;
            for (const double ratio :
                 {after.latency_s / before.latency_s, before.bandwidth_bytes_per_s / after.bandwidth_bytes_per_s,
                  after.seconds_per_forward / before.seconds_per_forward,
                  after.seconds_per_backward / before.seconds_per_backward})
                QVERIFY(std::abs(ratio / of_line - 1) < 1e-12);
        }
    }

    void deadlocks_count_as_infinite() {
        const auto example = examples::deadlock(1);
        const auto d = distribution(example.problem, example.plan, {0.2, 0.2}, 40, 1, 1);
        QCOMPARE(d.deadlocks, 40);
        for (const double seconds : {d.nominal_s, d.mean_s, d.p50_s, d.p95_s, d.most_s}) QVERIFY(std::isinf(seconds));
        constexpr double infinite = std::numeric_limits<double>::infinity();
        QCOMPARE(quantile({infinite, 1, infinite, infinite}, 0.9), infinite);
        QCOMPARE(quantile({infinite, 1, 2}, 0.5), 2.0);
    }

    /// What the search minimises is the evaluator's time of the plan with its order bound, over the drawn networks;
    /// lines that several nodes hand to may be served in another order, so shared links agree without jitter.
    void the_search_computes_true_times() {
        int compared = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            auto problem = examples::random_problem(seed);
            problem.split_backward = false;
            for (std::size_t n = 0; n < problem.node_ids.size(); ++n)  // no two that hand to a line at the same instant
                problem.seconds_per_sample_per_block[n] *= 1 + 1e-3 * static_cast<double>(n);
            auto made = plan("dtfm-skip", problem, 50);
            made.order.clear();
            Simulator simulator(problem);
            const PlanCandidate candidate = candidate_of(problem, made);
            const double nominal_s = simulator.times(candidate.schedule, candidate.stages).iteration_s;
            std::vector<double> end_s;
            if (!std::isfinite(nominal_s)) continue;
            QVERIFY(simulator.operation_ends(end_s));
            const auto still = draw_scenarios(problem, {}, seed);
            const double still_s = TailCost(problem, still)(candidate, end_s).iteration_s;
            QVERIFY2(std::abs(still_s - nominal_s) < 1e-14 * nominal_s,
                     fmt::format("seed {}: {} instead of {}", seed, still_s, nominal_s).c_str());
            if (problem.shared_links) continue;
            const auto scenarios = draw_scenarios(problem, {0.2, 0.2}, seed);
            const auto bound = in_order(problem, made);
            std::vector<double> seconds;
            for (int k = 0; k < Scenarios::lanes; ++k)
                seconds.push_back(evaluate(lane(problem, scenarios, k), bound).iteration_s);
            std::sort(seconds.begin(), seconds.end(), std::greater<>());
            seconds.resize(Scenarios::lanes / 2);
            const double wanted_s = mean(seconds);
            const double found_s = TailCost(problem, scenarios)(candidate, end_s).iteration_s;
            QVERIFY2(std::abs(found_s - wanted_s) < 1e-14 * wanted_s,  // the order of the mean's sum
                     fmt::format("seed {}: {} instead of {}", seed, found_s, wanted_s).c_str());
            ++compared;
        }
        QVERIFY2(compared > 15, std::to_string(compared).c_str());
    }

    /// On the sample that it was asked for; and every plan is valid and the same whatever the threads.
    void robust_is_never_worse() {
        const Robustness robust{{0.2, 0.2}, 200};
        int better = 0;
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const auto problem = examples::random_problem(seed, {.most_nodes = 16});
            const auto p95_s = [&](const Plan& made) {
                return distribution(problem, made, robust.jitter, robust.samples, 1, 1).p95_s;
            };
            const auto plain = plan("skippipe-joint", problem, 600);
            const auto made = plan("skippipe-joint", problem, 600, robust);
            const auto violations = check_plan(problem, made, evaluate(problem, made));
            QVERIFY2(violations.empty(),
                     ("seed " + std::to_string(seed) + (violations.empty() ? "" : ": " + violations[0].what)).c_str());
            QVERIFY2(p95_s(made) <= p95_s(plain), std::to_string(seed).c_str());
            better += p95_s(made) < p95_s(plain) ? 1 : 0;
            if (seed % 5 == 0) QVERIFY(made == plan("skippipe-joint", problem, 600, robust, 3));
        }
        QVERIFY2(better >= 20, std::to_string(better).c_str());
    }

    /// On networks that nothing in the search has seen.
    void robust_gains_on_the_authors_problem() {
        const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        const Jitter jitter{0.2, 0.2};
        const auto p95_s = [&](const Plan& made) {
            return distribution(authors.problem, made, jitter, 1000, 4711, 1).p95_s;
        };
        const double plain_s = p95_s(plan("skippipe-joint", authors.problem, 30'000));
        const double robust_s = p95_s(plan("skippipe-joint", authors.problem, 30'000, Robustness{jitter, 1000}));
        QVERIFY2(robust_s < 0.98 * plain_s, (std::to_string(robust_s) + " against " + std::to_string(plain_s)).c_str());
    }
};

QTEST_APPLESS_MAIN(TestJitter)
#include "test_jitter.moc"
