// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

#include "core/base/fault.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/orders/replica_exchange.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;
using namespace skippipe::planners::joint;

/// The search over orders keeps the times of what a change leaves as it was: they must be those of the exact evaluator
/// all along.
class TestOrderAnnealer : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    void times_are_the_evaluators() {
        int exact = 0, shared = 0, shorter = 0, split = 0, blocks = 0, sizes = 0;
        for (std::uint64_t seed = 1; seed <= 240; ++seed) {
            auto problem =
                examples::random_problem(seed, {.most_nodes = 14, .missing_lines = seed % 4 == 0 ? 0.05 : 0.0});
            problem.split_backward = seed % 3 == 0;
            if (seed % 5 == 0) problem = examples::uneven(problem, seed / 5);
            PlanRequest request;
            request.seed = seed;
            request.steps = 20;
            Plan plan;
            try {
                plan = registry_.find(seed % 2 == 0 ? "skippipe" : "dtfm-skip")->plan(problem, request);
            } catch (const InputError&) {
                continue;  // no plan without the lines that are missing
            }
            PlanCandidate candidate = candidate_of(problem, plan);
            if (candidate.schedule.order.empty()) candidate.schedule.order = dispatch_order(problem, candidate);
            const double before_s = iteration_s(problem, candidate);
            OrderAnnealer chain(problem, candidate, seed, 1);
            QVERIFY(chain.best_s() == before_s);
            chain.run(3000, TemperatureSchedule::between(before_s * 0.02, before_s * 0.0005), {},
                      [](double) { return true; });
            const auto after = make_plan(problem, chain.best(), "orders", request, 0, "");
            const auto timeline = evaluate(problem, after);
            const auto say = "seed " + std::to_string(seed) + ": " + std::to_string(chain.best_s()) +
                             " s, the evaluator says " + std::to_string(timeline.iteration_s);
            QVERIFY2(chain.best_s() == timeline.iteration_s, say.c_str());
            const auto found = check_plan(problem, after, timeline);
            QVERIFY2(found.empty(), (say + ", " + (found.empty() ? "" : found.front().what)).c_str());
            ++(has_dedicated_lines(problem) ? exact : shared);
            shorter += chain.best_s() < before_s ? 1 : 0;
            split += problem.split_backward ? 1 : 0;
            blocks += problem.plan_blocks ? 1 : 0;
            sizes += problem.sizes.size() > 1 ? 1 : 0;
        }
        qInfo(
            "%d where times follow a graph, %d where lines are shared, %d split, %d with planned blocks, %d with "
            "several sizes; %d became shorter",
            exact, shared, split, blocks, sizes, shorter);
        QVERIFY(exact > 40 && shared > 20 && split > 40 && shorter > 60 && blocks > 10 && sizes > 10);
    }

    void reproducible() {
        const auto problem = examples::random_problem(7);
        PlanRequest request;
        request.steps = 6000;
        request.threads = 2;
        const auto once = registry_.find("skippipe-joint")->plan(problem, request);
        request.threads = 1;
        QVERIFY(registry_.find("skippipe-joint")->plan(problem, request) == once);
    }

    /// Chains that exchange what they have: exact, valid, never longer than what they began with, the same on any
    /// number of threads, and of as many steps as their rounds say, so that what the clock ended can be found again by
    /// steps.
    void replicas_exchange() {
        constexpr int rounds = 2;
        int tried = 0, shorter = 0;
        for (std::uint64_t seed = 1; tried < 6; ++seed) {
            const auto problem = examples::random_problem(seed);
            if (!has_dedicated_lines(problem) || problem.microbatches < 15) continue;
            ++tried;
            PlanRequest request;
            request.steps = 20;
            PlanCandidate candidate = candidate_of(problem, registry_.find("skippipe")->plan(problem, request));
            if (candidate.schedule.order.empty()) candidate.schedule.order = dispatch_order(problem, candidate);
            const double before_s = iteration_s(problem, candidate);
            const auto search = [&](int threads) {
                ReplicaExchange exchange(problem, candidate, before_s * 0.015, before_s * 0.0024, seed, 1);
                for (int k = 0; k < rounds; ++k) exchange.round(threads);
                exchange.finish(threads, nullptr, [] { return true; });
                return exchange;
            };
            const auto exchange = search(1), again = search(3);
            const auto plan = make_plan(problem, exchange.best(), "exchange", request, 0, "");
            const auto timeline = evaluate(problem, plan);
            QVERIFY(timeline.iteration_s == exchange.best_s() && check_plan(problem, plan, timeline).empty());
            QVERIFY(make_plan(problem, again.best(), "exchange", request, 0, "") == plan);
            QCOMPARE(exchange.steps(), rounds * ReplicaExchange::steps_a_round_in_all);
            QVERIFY(exchange.best_s() <= before_s);
            ReplicaExchange other(problem, candidate, before_s * 0.015, before_s * 0.0024, seed, 2);
            other.round(1);
            other.finish(1, &exchange.best(), [] { return true; });
            QVERIFY(other.best_s() <= exchange.best_s());
            shorter += exchange.best_s() < before_s ? 1 : 0;
        }
        QVERIFY(shorter > 3);
    }

    /// A large problem in partitions: valid, the same on any number of threads, and shorter than what it started from.
    void partitions_make_a_plan() {
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            const auto problem = examples::many_regions(seed);
            PlanRequest request;
            request.seed = seed;
            request.steps = 1500;
            request.threads = 2;
            const auto plan = registry_.find("skippipe-joint")->plan(problem, request);
            const auto timeline = evaluate(problem, plan);
            const auto found = check_plan(problem, plan, timeline);
            QVERIFY2(found.empty(), found.empty() ? "" : found.front().what.c_str());
            request.threads = 1;
            QVERIFY(registry_.find("skippipe-joint")->plan(problem, request) == plan);
            const double before_s = evaluate(problem, registry_.find("skippipe")->plan(problem, request)).iteration_s;
            qInfo("%.2f s, %.2f s by skippipe", timeline.iteration_s, before_s);
            QVERIFY(timeline.iteration_s < 0.95 * before_s);
        }
    }
};

QTEST_APPLESS_MAIN(TestOrderAnnealer)
#include "test_order_annealer.moc"
